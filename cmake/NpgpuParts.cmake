# Parts of npgpu that need something a machine may lack, or have in halves: compilers without headers, headers without
# libraries, a toolkit that is too old. Each is a cache variable NPGPU_<part> that is AUTO, ON or OFF. What it needs is
# found, and a few lines are compiled and linked with it, in a configuration of its own (cmake/parts): there nothing can
# fail this configuration, and of what it finds nothing stays in this cache, where it would be out of date when
# something is installed or removed.
#
#   npgpu_try(MPI "install ...")
#       sets NPGPU_WITH_MPI, and makes the target npgpu::mpi or sets NPGPU_MPI_WHY. Where it does not work, AUTO leaves
#       it out with a status line, and ON is an error.

# Whether a cache variable is there because a user gave it, and not what a module of CMake found earlier.
function(npgpu_is_given name out)
  get_property(help CACHE ${name} PROPERTY HELPSTRING)
  if(help MATCHES "^(No help, variable specified on the command line\\.)?$")
    set(${out} ON PARENT_SCOPE)
  else()
    set(${out} OFF PARENT_SCOPE)
  endif()
endfunction()

# What is set for this configuration and is for that of a part too, written down as its initial cache.
function(npgpu_write_settings file)
  set(text "")
  foreach(name CMAKE_MAKE_PROGRAM CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_EXE_LINKER_FLAGS CMAKE_PREFIX_PATH
      CMAKE_TOOLCHAIN_FILE CMAKE_SYSROOT CMAKE_FIND_ROOT_PATH CMAKE_CUDA_COMPILER CMAKE_CUDA_ARCHITECTURES
      CMAKE_CUDA_FLAGS CMAKE_CUDA_HOST_COMPILER)
    if(NOT "${${name}}" STREQUAL "")
      string(APPEND text "set(${name} [==[${${name}}]==] CACHE STRING \"\")\n")
    endif()
  endforeach()
  get_cmake_property(names CACHE_VARIABLES)
  list(FILTER names INCLUDE REGEX "^(MPI|UCX|OPENCL|PKG_CONFIG|CUDAToolkit|CMAKE_FIND)_")
  foreach(name ${names})
    npgpu_is_given(${name} given)
    if(given)
      string(APPEND text "set(${name} [==[$CACHE{${name}}]==] CACHE STRING \"\")\n")
    endif()
  endforeach()
  file(WRITE ${file} "${text}")
endfunction()

# The sentence in what a configuration and a compiler printed that says most, as it can stand in a string of C.
function(npgpu_reason out log)
  if(log MATCHES "includes non-existent path[ \n]*\"([^\"]*)\"")
    set(reason "its headers are missing, there is no ${CMAKE_MATCH_1}")
  elseif(log MATCHES "npgpu: ([^\n]+)")
    set(reason "${CMAKE_MATCH_1}")
  elseif(log MATCHES "(cannot find [^\n]+|undefined reference [^\n]+)" OR log MATCHES "error[^\n:]*: ([^\n]+)" OR
      log MATCHES "(nvcc fatal [^\n]+)")
    set(reason "a few lines cannot be compiled with it (${CMAKE_MATCH_1})")
  else()
    set(reason "a few lines cannot be compiled with it")
  endif()
  string(REGEX REPLACE "[\"\\;]" "'" reason "${reason}")
  string(STRIP "${reason}" reason)
  set(${out} "${reason}" PARENT_SCOPE)
endfunction()

# Sets `ok`, and `why` if it is not.
function(npgpu_try_alone part folder ok why)
  file(REMOVE_RECURSE ${folder})
  npgpu_write_settings(${folder}/settings.cmake)
  execute_process(COMMAND ${CMAKE_COMMAND} -G ${CMAKE_GENERATOR} -C ${folder}/settings.cmake -DPART=${part}
      -S ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/parts -B ${folder}
    OUTPUT_VARIABLE log ERROR_VARIABLE log RESULT_VARIABLE failed TIMEOUT 300)
  if(failed STREQUAL "0")
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${folder}
      OUTPUT_VARIABLE built ERROR_VARIABLE built RESULT_VARIABLE failed TIMEOUT 300)
    string(APPEND log "${built}")
  endif()
  file(WRITE ${folder}/log.txt "${log}")
  if(failed STREQUAL "0")
    set(${ok} ON PARENT_SCOPE)
  else()
    npgpu_reason(reason "${log}")
    set(${ok} OFF PARENT_SCOPE)
    set(${why} "${reason}" PARENT_SCOPE)
  endif()
endfunction()

# Macros: what they set is for the whole project. A part without `why` is switched off.
macro(npgpu_leave_out part why needs)
  set(NPGPU_WITH_${part} OFF)
  if(NPGPU_${part} STREQUAL "OFF")
    set(NPGPU_${part}_WHY "switched off with -DNPGPU_${part}=OFF")
  else()
    set(NPGPU_${part}_WHY "${why}: ${needs}")
    if(NPGPU_${part} STREQUAL "ON")
      message(FATAL_ERROR "NPGPU_${part}=ON, but ${NPGPU_${part}_WHY}")
    endif()
  endif()
  message(STATUS "${part} is left out: ${NPGPU_${part}_WHY}")
endmacro()

macro(npgpu_try part needs)
  string(TOLOWER ${part} _part)
  set(_folder ${PROJECT_BINARY_DIR}/CMakeFiles/npgpu_parts/${_part})
  set(NPGPU_WITH_${part} OFF)
  if(NOT NPGPU_${part} STREQUAL "OFF")
    npgpu_try_alone(${_part} ${_folder} NPGPU_WITH_${part} _why)
  endif()
  if(NPGPU_WITH_${part})
    include(${_folder}/found.cmake)
  else()
    npgpu_leave_out(${part} "${_why}" "${needs}")
  endif()
endmacro()

include(NpgpuCuda)
npgpu_try(MPI "install an MPI with its headers (Debian: libopenmpi-dev)")
npgpu_try(UCX "install UCX with its headers (Debian: libucx-dev)")
npgpu_try(OPENCL "install OpenCL's headers (Debian: opencl-headers)")
