# What others link: all of npgpu but the commands. Devices, modules, probes and backends register themselves, so who links
# the archive links all of it.
add_library(npgpu_archive STATIC)
set_target_properties(npgpu_archive PROPERTIES OUTPUT_NAME npgpu EXPORT_NAME archive LINKER_LANGUAGE CXX)
add_library(npgpu_library INTERFACE)
set_target_properties(npgpu_library PROPERTIES EXPORT_NAME npgpu)
add_library(npgpu::npgpu ALIAS npgpu_library)
target_compile_features(npgpu_library INTERFACE cxx_std_20)
target_include_directories(npgpu_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
get_property(_kinds GLOBAL PROPERTY NPGPU_KINDS)
npgpu_closure(_folders campaign modules probes ${_kinds})
foreach(_folder ${_folders})
  target_sources(npgpu_archive PRIVATE $<TARGET_OBJECTS:npgpu_${_folder}>)
endforeach()
set(_needs hdf5::hdf5 fmt::fmt Threads::Threads PkgConfig::HWLOC ${CMAKE_DL_LIBS})
if(NPGPU_WITH_CUDA)
  list(APPEND _needs CUDA::cudart_static)
endif()
target_link_libraries(npgpu_archive PRIVATE ${_needs})
target_link_libraries(npgpu_library INTERFACE $<BUILD_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,npgpu_archive>>
  $<INSTALL_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,npgpu::archive>>)

# In parts: `cmake --install build/default --component program` leaves the library, Python and documents out.
include(CMakePackageConfigHelpers)
set(_data ${CMAKE_INSTALL_DATADIR}/npgpu)
set(_package ${CMAKE_INSTALL_LIBDIR}/cmake/npgpu)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY data/devices DESTINATION ${_data} COMPONENT program)
install(DIRECTORY slurm/ DESTINATION ${_data}/slurm COMPONENT program USE_SOURCE_PERMISSIONS)

install(DIRECTORY plots/ DESTINATION ${_data}/plots COMPONENT python FILES_MATCHING PATTERN "*.py"
  PATTERN __pycache__ EXCLUDE)

install(FILES data/TRACE_FORMAT.md README.md CHANGELOG.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR}
  COMPONENT documents)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documents PATTERN "*.py" EXCLUDE)

install(TARGETS npgpu_archive npgpu_library EXPORT npgpu-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY include/npgpu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development)  # to be read and copied: sources
install(EXPORT npgpu-targets NAMESPACE npgpu:: DESTINATION ${_package} COMPONENT development)
configure_package_config_file(cmake/npgpu-config.cmake.in ${PROJECT_BINARY_DIR}/npgpu-config.cmake
  INSTALL_DESTINATION ${_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/npgpu-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/npgpu-config.cmake ${PROJECT_BINARY_DIR}/npgpu-config-version.cmake
  DESTINATION ${_package} COMPONENT development)
