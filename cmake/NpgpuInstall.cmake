# What others link: the vocabulary, the engine, the simulator, traces, models and reports. Modules and commands stay in the
# program: a static archive would drop the modules' registration.
add_library(npgpu_library STATIC)
set_target_properties(npgpu_library PROPERTIES OUTPUT_NAME npgpu EXPORT_NAME npgpu)
add_library(npgpu::npgpu ALIAS npgpu_library)
target_compile_features(npgpu_library PUBLIC cxx_std_20)
target_include_directories(npgpu_library PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
foreach(folder engine simulate trace model report)
  target_sources(npgpu_library PRIVATE $<TARGET_OBJECTS:npgpu_${folder}>)
endforeach()
set_target_properties(npgpu_library PROPERTIES LINKER_LANGUAGE CXX)
target_link_libraries(npgpu_library PRIVATE hdf5::hdf5 fmt::fmt Threads::Threads)

include(CMakePackageConfigHelpers)
install(TARGETS npgpu_library EXPORT npgpu-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/npgpu DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY data/devices DESTINATION ${CMAKE_INSTALL_DATADIR}/npgpu)
install(DIRECTORY plots/ DESTINATION ${CMAKE_INSTALL_DATADIR}/npgpu/plots FILES_MATCHING PATTERN "*.py"
  PATTERN pyproject.toml PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE PATTERN *.egg-info EXCLUDE)
install(FILES data/TRACE_FORMAT.md README.md CHANGELOG.md LICENSE CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY slurm/ DESTINATION ${CMAKE_INSTALL_DATADIR}/npgpu/slurm USE_SOURCE_PERMISSIONS)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})  # to be read and copied: their sources
install(EXPORT npgpu-targets NAMESPACE npgpu:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/npgpu)
configure_package_config_file(cmake/npgpu-config.cmake.in ${PROJECT_BINARY_DIR}/npgpu-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/npgpu)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/npgpu-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/npgpu-config.cmake ${PROJECT_BINARY_DIR}/npgpu-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/npgpu)
