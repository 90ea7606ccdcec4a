# The programs in a document, as sources of a test that runs each of them: generated/documents/NAME.cc.
#
#   tiderace_document_programs(DOCUMENT docs/routes.md NAME routes)
#
# Each C++ block is compiled in a namespace of its own, after the #includes of all. A block with a main
# is registered under the heading above it: routes/routes, answers/pages, answers/pages_2
# (tests/documents/program.h). A block that specialises FromRequest or Convert, which no namespace
# may do, is a source of its own. A block without a main is compiled where it stands, so a TEST in it runs.
# A header stands for a document with its example (Room.cmake) under the heading "Example".
# What a test cannot use is replaced: ports by one of the kernel's choice, and the URLs of servers by
# that of the test.
function(tiderace_document_programs)
  cmake_parse_arguments(ARG "" "DOCUMENT;NAME" "" ${ARGN})
  if(ARG_DOCUMENT MATCHES "\\.h$")
    tiderace_read_example(${PROJECT_SOURCE_DIR}/${ARG_DOCUMENT} example)
    set(text "# Example\n```cpp\n${example}```\n")
  else()
    file(READ ${PROJECT_SOURCE_DIR}/${ARG_DOCUMENT} text)
  endif()
  set(text "\n${text}")  # so that a title follows the end of a line, as headings do
  set(includes "")
  set(code "")
  set(names "")
  set(place 0)
  while(TRUE)
    string(SUBSTRING "${text}" ${place} -1 rest)
    string(FIND "${rest}" "```cpp\n" begin)
    if(begin EQUAL -1)
      break()
    endif()
    math(EXPR begin "${place} + ${begin} + 7")
    string(SUBSTRING "${text}" ${begin} -1 rest)
    string(FIND "${rest}" "```" length)
    string(SUBSTRING "${rest}" 0 ${length} block)
    string(SUBSTRING "${text}" 0 ${begin} before)
    math(EXPR place "${begin} + ${length} + 3")

    string(REGEX REPLACE "[^\n]" "" newlines "${before}")
    string(LENGTH "${newlines}" line)

    set(heading -1)
    foreach(mark "\n## " "\n### " "\n# ")
      string(FIND "${before}" "${mark}" found REVERSE)
      if(found GREATER heading AND (heading EQUAL -1 OR NOT mark STREQUAL "\n# "))
        set(heading ${found})
      endif()
    endforeach()
    string(SUBSTRING "${before}" ${heading} -1 name)
    string(REGEX REPLACE "^\n#+ ([^\n]*)\n.*" "\\1" name "${name}")
    string(TOLOWER "${name}" name)
    string(REGEX REPLACE "[^a-z0-9]+" "_" name "${name}")
    set(number 1)
    set(unique ${name})
    while(unique IN_LIST names)
      math(EXPR number "${number} + 1")
      set(unique ${name}_${number})
    endwhile()
    list(APPEND names ${unique})

    string(REGEX MATCHALL "#include [^\n]*" found "${block}")
    string(REPLACE ";" "\n" found "${found}")
    string(APPEND includes "${found}\n")
    string(REGEX REPLACE "#include [^\n]*" "" block "${block}")
    string(REGEX REPLACE "\"(127\\.0\\.0\\.1)?:[0-9]+\"" "\"127.0.0.1:0\"" block "${block}")
    string(REGEX REPLACE "\"(https?://(127\\.0\\.0\\.1:8080|example\\.org)/|redis://localhost)\"" "documents::server()"
           block "${block}")
    string(REPLACE "\"unix:/tmp/" "\"unix:" block "${block}")

    set(main_name main)
    if(block MATCHES "struct tiderace::(http::FromRequest|json::Convert)<")
      set(main_name main_of_${unique})
      string(REPLACE "int main(" "static int ${main_name}(" block "${block}")
    endif()
    string(FIND "${block}" "int ${main_name}(" main)
    set(registered "")
    if(NOT main EQUAL -1)
      set(registered "const documents::Registered registered(\"${ARG_NAME}/${unique}\", ${main_name});\n")
      string(SUBSTRING "${block}" ${main} -1 rest)
      if(NOT rest MATCHES "return ")  # which only the real main may omit
        string(REPLACE "int ${main_name}(" "void ${main_name}(" block "${block}")
      endif()
    endif()
    set(lines "#line ${line} \"${PROJECT_SOURCE_DIR}/${ARG_DOCUMENT}\"\n${block}${registered}")
    if(NOT main_name STREQUAL "main")
      set(file ${PROJECT_BINARY_DIR}/generated/documents/${ARG_NAME}_${unique}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "#include \"tests/documents/program.h\"\n${found}\n${lines}" @ONLY)
      target_sources(documents_test PRIVATE ${file})
      # Its names are global, and so are those of the next.
      set_source_files_properties(${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      continue()
    endif()
    string(APPEND code "\nnamespace document_${ARG_NAME}_${unique} {\n"
                       "${lines}"
                       "}  // namespace document_${ARG_NAME}_${unique}\n")
  endwhile()
  set(file ${PROJECT_BINARY_DIR}/generated/documents/${ARG_NAME}.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT "#include \"tests/documents/program.h\"\n${includes}${code}" @ONLY)
  target_sources(documents_test PRIVATE ${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${ARG_DOCUMENT})
endfunction()
