# NPGPU_STATIC: the program holds all libraries but the C library's and libgcc_s, which every Linux has, so that it can
# be carried to other machines. (libgcc's archive would ask for a newer C library than the program does.) Included after
# the libraries are found. What of these the program never calls, such as HDF5's way to files on the network, the linker
# leaves out; but HDF5 1.14 calls that itself if it was built with it, as Debian 13's is, and then libcurl's archive
# lacks what it needs in turn. cmake/static_parts.c has what else the archives miss.
add_link_options(-static-libstdc++)

# Debian has no libfmt.a. Without a call to it, --as-needed leaves the shared library out.
get_target_property(_type fmt::fmt TYPE)
if(NOT _type STREQUAL "STATIC_LIBRARY")
  add_compile_definitions(FMT_HEADER_ONLY)
endif()

# The archives of libraries that are known by name or path, in their order. The C library's stay as they are.
function(npgpu_archives out)
  set(archives "")
  foreach(library ${ARGN})
    get_filename_component(name ${library} NAME_WE)
    string(REGEX REPLACE "^lib" "" name ${name})
    if(name MATCHES "^(m|dl|rt|pthread)$")
      list(APPEND archives ${name})
    else()
      find_library(NPGPU_ARCHIVE_${name} lib${name}.a HINTS ${HWLOC_STATIC_LIBRARY_DIRS} ${HWLOC_LIBDIR})
      if(EXISTS ${library} AND library MATCHES "\\.a$")
        list(APPEND archives ${library})
      elseif(NPGPU_ARCHIVE_${name})
        list(APPEND archives ${NPGPU_ARCHIVE_${name}})
      else()
        message(STATUS "no archive of ${name} was found: it is left out")
      endif()
    endif()
  endforeach()
  set(${out} ${archives} PARENT_SCOPE)
endfunction()

# libsz may be libaec's, which it then needs.
npgpu_archives(_archives ${HDF5_C_LIBRARIES} aec)
set_property(TARGET hdf5::hdf5 PROPERTY INTERFACE_LINK_LIBRARIES ${_archives})

npgpu_archives(_archives ${HWLOC_STATIC_LIBRARIES})
set_property(TARGET PkgConfig::HWLOC PROPERTY INTERFACE_LINK_LIBRARIES ${_archives})

# Their licences want their notices to travel with the program.
foreach(_package libhdf5-dev libaec-dev zlib1g-dev libhwloc-dev libfmt-dev nlohmann-json3-dev)
  set(_notice /usr/share/doc/${_package}/copyright)
  if(EXISTS ${_notice})
    install(FILES ${_notice} DESTINATION ${CMAKE_INSTALL_DOCDIR}/notices RENAME ${_package}.txt COMPONENT program)
  else()
    message(STATUS "no notice of ${_package} is in ${_notice}: add it to what you hand on")
  endif()
endforeach()
