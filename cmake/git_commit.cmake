# Run at build time: OUTPUT gets the commit the sources are at, "-dirty" if they differ. In an archive of them `git
# archive` has written it into commit.txt. "unknown" elsewhere.
cmake_minimum_required(VERSION 3.24)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/commit.txt commit LIMIT_COUNT 1)
if(commit MATCHES "^[0-9a-f]+$")
  string(SUBSTRING ${commit} 0 12 commit)
else()
  execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed OR NOT commit)
    set(commit unknown)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define NPGPU_GIT_COMMIT \"@commit@\"\n" @ONLY)
