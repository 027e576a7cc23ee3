# Run at build time: OUTPUT gets the commit the sources are at, "-dirty" if they differ, "unknown" outside git.
cmake_minimum_required(VERSION 3.24)
execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed OR NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define NPGPU_GIT_COMMIT \"@commit@\"\n" @ONLY)
