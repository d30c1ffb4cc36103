# `lint`: the formatter and the static analyser over the analyzer's own files.
find_program(CLANG_FORMAT clang-format)
find_program(CLANG_TIDY clang-tidy)
file(GLOB_RECURSE lint_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/analyzer/*.c)
file(GLOB_RECURSE lint_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/analyzer/*.h)
if(CLANG_FORMAT AND CLANG_TIDY)
  add_custom_target(lint
    COMMAND ${CLANG_FORMAT} --dry-run -Werror ${lint_sources} ${lint_headers}
    COMMAND ${CLANG_TIDY} -p ${CMAKE_BINARY_DIR} --quiet ${lint_sources}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()
