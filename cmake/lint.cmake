# `lint`: format, static analysis, and the Python files; of a tree that clang builds (cmake --preset clang).
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_target(lint
  COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/tools/lint.py ${CMAKE_BINARY_DIR}
  USES_TERMINAL VERBATIM)
