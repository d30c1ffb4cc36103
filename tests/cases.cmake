# The end-to-end tests: pytest of the machine's own Python drives the program over real core files
# of every interpreter that is found. One CTest test for each file.
set(PSC_TEST_CORES "${PROJECT_BINARY_DIR}/cores" CACHE PATH
  "Where core files for the tests are made once and kept")

find_program(PSC_PYTEST_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(PSC_PYTEST_PYTHON NAMES python3)
execute_process(COMMAND ${PSC_PYTEST_PYTHON} -c "import pytest, jsonschema"
  RESULT_VARIABLE psc_pytest_missing OUTPUT_QUIET ERROR_QUIET)
if(psc_pytest_missing)
  message(WARNING "No pytest and jsonschema for ${PSC_PYTEST_PYTHON} "
    "(Debian: python3-pytest python3-jsonschema): tests/cases is skipped")
endif()

file(GLOB psc_case_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cases/test_*.py)
foreach(source IN LISTS psc_case_files)
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "" name ${name})
  if(psc_pytest_missing)
    add_test(NAME cases.${name} COMMAND sh -c "echo 'pytest is missing'; exit 77")
  else()
    add_test(NAME cases.${name}
      COMMAND ${PSC_PYTEST_PYTHON} -B -m pytest ${source}
        --junitxml=${PROJECT_BINARY_DIR}/Testing/cases/${name}.xml)
  endif()
  set_tests_properties(cases.${name} PROPERTIES LABELS cases SKIP_RETURN_CODE 77 TIMEOUT 3600
    ENVIRONMENT "PSC_PROGRAM=$<TARGET_FILE:pystack-core>;PSC_BUILD_DIR=${PROJECT_BINARY_DIR};PSC_TEST_CORES=${PSC_TEST_CORES};PSC_SANITIZED=${PSC_SANITIZE}")
endforeach()

# The longest ones first, so that the last to end does not run alone.
foreach(name IN ITEMS native_stacks merge json)
  set_tests_properties(cases.${name} PROPERTIES COST 100)
endforeach()

# Six of the others once more for each suite of debuggers, when that is asked for.
set_tests_properties(cases.newer_debuggers PROPERTIES TIMEOUT 7200)

# Not a test: numbers to read. `cmake --build build --target bench`
add_custom_target(bench
  COMMAND ${PSC_PYTEST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/bench/bench.py
    --program $<TARGET_FILE:pystack-core> --folder ${PROJECT_BINARY_DIR}/bench
  COMMAND ${PSC_PYTEST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/bench/pause.py
    --program $<TARGET_FILE:pystack-core> --folder ${PROJECT_BINARY_DIR}/bench
  COMMAND ${PSC_PYTEST_PYTHON} -B ${CMAKE_CURRENT_SOURCE_DIR}/bench/cython_cost.py
    --program $<TARGET_FILE:pystack-core> --folder ${PROJECT_BINARY_DIR}/bench
  DEPENDS pystack-core USES_TERMINAL VERBATIM)
