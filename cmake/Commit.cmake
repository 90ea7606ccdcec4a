# Run while building (cmake -DSOURCE=… -DHEADER=… -P Commit.cmake): writes the commit that is checked
# out into a header, and leaves the header alone where it says so already.
execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
set(text "// Written by the build.\n#pragma once\n\n#define TIDERACE_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${HEADER} "${text}")
endif()
