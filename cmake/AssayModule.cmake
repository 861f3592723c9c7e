# assay_module(NAME base SOURCES a.cc … [DEPS assay_x …] [TESTS a_test.cc …])
#
# One folder of src/ is one static library `assay_<name>` and, with tests on, one GoogleTest binary
# `assay_<name>_test`. Tests stand beside the code they test.
#
# Left out: designated initializers name what differs from a default (missing-field-initializers), and
# GCC 12 sees null and overlapping pointers inside its own optimised standard headers.
set(ASSAY_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    -Wcast-qual -Wunused -Woverloaded-virtual -Wformat=2 -Wno-missing-field-initializers -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND ASSAY_WARNINGS -Wno-restrict)
endif()

function(assay_target_options target)
  target_compile_options(${target} PRIVATE ${ASSAY_WARNINGS})
  if(ASSAY_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${ASSAY_SANITIZE})
    # GCC reports false positives in instrumented standard headers.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
endfunction()

function(assay_module)
  cmake_parse_arguments(M "" "NAME" "SOURCES;DEPS;TESTS;TEST_DEPS" ${ARGN})
  add_library(assay_${M_NAME} STATIC ${M_SOURCES})
  target_include_directories(assay_${M_NAME} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(assay_${M_NAME} PUBLIC ${M_DEPS})
  assay_target_options(assay_${M_NAME})
  if(ASSAY_TESTS AND M_TESTS)
    add_executable(assay_${M_NAME}_test ${M_TESTS})
    target_link_libraries(assay_${M_NAME}_test PRIVATE assay_${M_NAME} ${M_TEST_DEPS}
                                                       GTest::gmock GTest::gtest_main)
    target_compile_definitions(assay_${M_NAME}_test PRIVATE
                               ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    assay_target_options(assay_${M_NAME}_test)
    gtest_discover_tests(assay_${M_NAME}_test DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
