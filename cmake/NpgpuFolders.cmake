# How the folders join the build.
#
#   npgpu_folder(engine SOURCES a.cpp ... UPSTREAM trace ... LIBRARIES fmt::fmt)
#       the folder's object library, npgpu_engine; it links only upstream. Without SOURCES: every .cpp but main.cpp.
#   npgpu_module(cuMemcpy REQUIRES CUDA)
#       netpipe/modules/cuMemcpy.cpp, which registers itself; left out with a status line where a
#       requirement is missing.
#   npgpu_tests(engine sizes schedule)
#       tests/sizes_test.cpp and tests/schedule_test.cpp in one program, one ctest entry a file.
#
# Object libraries, because a static archive drops objects that nothing names, which is all a
# self-registering module is.

# Compiling (NPGPU_FAST_BUILD): half of a file's compile time goes into headers. Folders marked BATCH
# are compiled several files at a time, so names in anonymous namespaces are unique within such a folder. Folders marked
# SMALL hold nothing that is slow to run, and are compiled with -Og: 9 to 19 % sooner than with -O1, which files, trace and
# model ask for, because all that is read and derived goes through them. They share one precompiled header, and the others
# share another: GCC wants the same flags wherever one is used, but for the level of optimization.

set_property(GLOBAL PROPERTY NPGPU_OBJECTS "")
set_property(GLOBAL PROPERTY NPGPU_MODULES "")
set_property(GLOBAL PROPERTY NPGPU_MISSING "")

set(NPGPU_TEST_FLAGS -O0)  # checks take twice as long to compile with -O2
if(CMAKE_CXX_FLAGS MATCHES "fsanitize=address")
  list(APPEND NPGPU_TEST_FLAGS -fno-sanitize=all)  # and twice as long again; what they call is sanitized
endif()
set(NPGPU_TEST_OBJECTS "" CACHE PATH
  "Another build folder of these sources, whose compiled tests are linked with this build's library instead of compiled again")
set(NPGPU_PRECOMPILED <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <map> <memory>
  <optional> <random> <set> <span> <sstream> <string> <variant> <vector> <fmt/format.h>)

function(npgpu_precompile target)
  if(NPGPU_FAST_BUILD)
    target_precompile_headers(${target} PRIVATE ${NPGPU_PRECOMPILED} ${ARGN})
  endif()
endfunction()

# The first folder of a group makes the header, the others use it.
function(npgpu_share_precompiled target group)
  get_property(first GLOBAL PROPERTY NPGPU_PRECOMPILED_BY_${group})
  if(first AND NPGPU_FAST_BUILD)
    target_precompile_headers(${target} REUSE_FROM ${first})
  elseif(NOT first)
    npgpu_precompile(${target} ${ARGN})
    set_property(GLOBAL PROPERTY NPGPU_PRECOMPILED_BY_${group} ${target})
  endif()
endfunction()

# Compiles the files of a target in batches of about as many files each. A batch of 24 took up to 1.3 GB with GCC 12
# (12: 1.2 GB). Where there are processors for them, there are more, smaller batches.
set(NPGPU_BATCH "" CACHE STRING "Files in a batch; 1: each by itself, for work on the sources; empty: by processors")
cmake_host_system_information(RESULT npgpu_processors QUERY NUMBER_OF_LOGICAL_CORES)
cmake_host_system_information(RESULT npgpu_memory QUERY TOTAL_PHYSICAL_MEMORY)
# GCC tidies its memory again and again, which took 9 to 15 % of its time. Where each of the files that are compiled at a time
# (Ninja: two more than processors) can have 2 GB, it does so later; a file then takes 14 to 33 % more memory.
math(EXPR _enough "2000 * (${npgpu_processors} + 2)")
if(NPGPU_FAST_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND npgpu_memory GREATER _enough)
  target_compile_options(npgpu_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-expand=400;--param=ggc-min-heapsize=400000>")
endif()
function(npgpu_batches target files)
  if(NOT NPGPU_FAST_BUILD OR NPGPU_BATCH EQUAL 1)
    return()
  endif()
  set(most 24)
  if(npgpu_processors GREATER 4)
    set(most 12)
  endif()
  if(NPGPU_BATCH)
    set(most ${NPGPU_BATCH})
  endif()
  if(files GREATER most)  # else one batch, also of what modules and probes add
    math(EXPR batches "(${files} + ${most} - 1) / ${most}")
    math(EXPR most "(${files} + ${batches} - 1) / ${batches}")
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${most})
endfunction()

# As folders marked SMALL are, also a program.
function(npgpu_small target)
  target_compile_options(${target} PRIVATE -fPIC $<$<CONFIG:Release>:-Og>)
  npgpu_share_precompiled(${target} small <nlohmann/json.hpp> "${PROJECT_SOURCE_DIR}/include/npgpu/vocabulary/trace.hpp")
endfunction()

function(npgpu_folder folder)
  cmake_parse_arguments(arg "BATCH;SMALL;KIND" "" "SOURCES;UPSTREAM;LIBRARIES" ${ARGN})
  set(target npgpu_${folder})
  if(NOT arg_SOURCES)
    file(GLOB_RECURSE arg_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp)
    list(REMOVE_ITEM arg_SOURCES main.cpp)
  endif()
  add_library(${target} OBJECT ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PUBLIC npgpu_flags ${arg_LIBRARIES})
  if(arg_BATCH)
    list(LENGTH arg_SOURCES files)
    npgpu_batches(${target} ${files})
    file(GLOB_RECURSE device_code *.cu)  # newer CMake would batch these, too, and names in them are not unique
    set_source_files_properties(${device_code} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  if(arg_SMALL)
    npgpu_small(${target})
  elseif(arg_BATCH)
    npgpu_share_precompiled(${target} fast)
  endif()
  # Objects do not travel through object libraries: an executable names every folder it needs.
  set_property(TARGET ${target} PROPERTY NPGPU_UPSTREAM ${arg_UPSTREAM})
  foreach(up ${arg_UPSTREAM})
    if(NOT TARGET npgpu_${up})
      message(FATAL_ERROR "folder ${folder} links ${up}, which is not upstream of it")
    endif()
    # Usage requirements (include paths, libraries) of the folder upstream, not its objects.
    target_link_libraries(${target} PUBLIC
      $<TARGET_GENEX_EVAL:npgpu_${up},$<TARGET_PROPERTY:npgpu_${up},INTERFACE_LINK_LIBRARIES>>)
  endforeach()
  set_property(GLOBAL APPEND PROPERTY NPGPU_OBJECTS ${target})
  if(arg_KIND)  # of measurement: its backends join by themselves, and whoever measures links all kinds
    set_property(GLOBAL APPEND PROPERTY NPGPU_KINDS ${folder})
  endif()
endfunction()

# All folders upstream of those given, and they themselves.
function(npgpu_closure out)
  set(todo ${ARGN})
  set(seen "")
  while(todo)
    list(POP_FRONT todo folder)
    if(NOT folder IN_LIST seen)
      list(APPEND seen ${folder})
      get_target_property(up npgpu_${folder} NPGPU_UPSTREAM)
      if(up)
        list(APPEND todo ${up})
      endif()
    endif()
  endwhile()
  set(${out} ${seen} PARENT_SCOPE)
endfunction()

function(npgpu_link target)
  npgpu_closure(folders ${ARGN})
  foreach(folder ${folders})
    target_link_libraries(${target} PRIVATE npgpu_${folder})
  endforeach()
endfunction()

function(npgpu_module name)
  cmake_parse_arguments(arg "" "" "REQUIRES" ${ARGN})
  foreach(need ${arg_REQUIRES})
    if(NOT NPGPU_WITH_${need})
      message(STATUS "module ${name} is left out: needs ${need}")
      # A string and no list: a reason may hold a semicolon.
      set_property(GLOBAL APPEND_STRING PROPERTY NPGPU_MISSING
        "\n      {\"${name}\", \"needs ${need}: ${NPGPU_${need}_WHY}\"},")
      return()
    endif()
  endforeach()
  target_sources(npgpu_modules PRIVATE ${PROJECT_SOURCE_DIR}/netpipe/modules/${name}.cpp)
  set_property(GLOBAL APPEND PROPERTY NPGPU_MODULES ${name})
endfunction()

# npgpu_probe(compute SOURCES compute/host.cpp CUDA compute/cuda.cu OPENCL compute/opencl.cpp): sources in probes/, and
# compute/description.cpp.
function(npgpu_probe name)
  cmake_parse_arguments(arg "" "" "SOURCES;CUDA;OPENCL" ${ARGN})
  target_sources(npgpu_descriptions PRIVATE ${PROJECT_SOURCE_DIR}/probes/${name}/description.cpp)
  foreach(source ${arg_SOURCES})
    target_sources(npgpu_probes PRIVATE ${PROJECT_SOURCE_DIR}/probes/${source})
  endforeach()
  if(NPGPU_WITH_CUDA)
    foreach(source ${arg_CUDA})
      target_sources(npgpu_probes PRIVATE ${PROJECT_SOURCE_DIR}/probes/${source})
    endforeach()
  elseif(arg_CUDA)
    message(STATUS "probe ${name} is without GPUs: needs CUDA")
  endif()
  if(NPGPU_WITH_OPENCL)
    foreach(source ${arg_OPENCL})
      target_sources(npgpu_probes PRIVATE ${PROJECT_SOURCE_DIR}/probes/${source})
    endforeach()
  endif()
endfunction()

# SOURCES: more that the program is made of.
function(npgpu_tests folder)
  if(NOT NPGPU_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "GPU" "" "SOURCES;LINK" ${ARGN})
  if(NOT arg_LINK)
    set(arg_LINK ${folder})
  endif()
  set(program npgpu_tests_${folder})
  set(sources ${arg_SOURCES})
  foreach(name ${arg_UNPARSED_ARGUMENTS})
    list(APPEND sources ${PROJECT_SOURCE_DIR}/tests/${name}_test.cpp)
  endforeach()
  if(NPGPU_TEST_OBJECTS)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_BINARY_DIR BASE_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE place)
    file(GLOB_RECURSE sources ${NPGPU_TEST_OBJECTS}/${place}/CMakeFiles/${program}.dir/*.o)
  endif()
  add_executable(${program} $<TARGET_OBJECTS:npgpu_tests_main> ${sources})
  set_target_properties(${program} PROPERTIES LINKER_LANGUAGE CXX)
  target_link_libraries(${program} PRIVATE npgpu_flags doctest::doctest)
  target_compile_options(${program} PRIVATE ${NPGPU_TEST_FLAGS})
  target_compile_definitions(${program} PRIVATE NPGPU_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  if(NPGPU_FAST_BUILD AND NOT NPGPU_TEST_OBJECTS)
    target_precompile_headers(${program} REUSE_FROM npgpu_tests_main)
  endif()
  list(LENGTH sources files)
  npgpu_batches(${program} ${files})  # a test's file has a namespace of its own
  npgpu_link(${program} ${arg_LINK})
  foreach(name ${arg_UNPARSED_ARGUMENTS})
    add_test(NAME ${folder}.${name} COMMAND ${program} --source-file=*/${name}_test.cpp)
    set_tests_properties(${folder}.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
      FAIL_REGULAR_EXPRESSION "test cases: +0 ")  # a filter that matches nothing is no pass
    if(arg_GPU)
      set_tests_properties(${folder}.${name} PROPERTIES LABELS gpu)
    endif()
  endforeach()
endfunction()

# A program of tests/bench, linked with the folders named. Only the target npgpu_benches builds it; CI asks for that.
function(npgpu_bench name source)
  if(NOT NPGPU_TESTS)
    return()
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/bench/${source})
  target_link_libraries(${name} PRIVATE npgpu_flags)
  npgpu_link(${name} ${ARGN})
  if(NOT TARGET npgpu_benches)
    add_custom_target(npgpu_benches)
  endif()
  add_dependencies(npgpu_benches ${name})
endfunction()

function(npgpu_status)
  get_property(modules GLOBAL PROPERTY NPGPU_MODULES)
  list(JOIN modules " " modules)
  message(STATUS "npgpu ${PROJECT_VERSION}: modules ${modules}; CUDA ${NPGPU_WITH_CUDA}; MPI ${NPGPU_WITH_MPI}; UCX ${NPGPU_WITH_UCX}; OpenCL ${NPGPU_WITH_OPENCL}")
endfunction()
