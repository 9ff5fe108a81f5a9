# Unit tests stand beside their sources; a layer's tests are one program.
#
#   lockstep_layer_tests(NAME schedule SOURCES schedule_test.cpp ... [LIBRARIES lockstep_train] [TIMEOUT 60]
#                        [TRAINING]                  starts programs that need libtorch or come with PyTorch's wheel, though it is
#                                                    not linked with libtorch
#                        [TOGETHER]                  one process runs them all: their suite sets up what takes long
#                        [ORACLE]                    computes much to compare with: never compiled with -O0, whatever tests are
#                        [PROPERTIES LABELS slow])   what ctest knows of each test
#
# Each TEST is a ctest entry named <layer>.<Suite>.<Test>, with a timeout. Starting a program that is linked with libtorch takes
# longer than most of its tests: with LOCKSTEP_TESTS_TOGETHER it is started twice only, once for each half of its tests.
# Without LOCKSTEP_TESTS nothing is registered, and GoogleTest is not needed.
if(LOCKSTEP_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

set(LOCKSTEP_TEST_DATA "${PROJECT_SOURCE_DIR}/../shared/data"
    CACHE PATH "Folder of real data for tests; what needs it is skipped where it is absent")

function(lockstep_layer_tests)
  cmake_parse_arguments(PARSE_ARGV 0 tests "TRAINING;TOGETHER;ORACLE" "NAME;TIMEOUT" "SOURCES;LIBRARIES;PROPERTIES")
  if(NOT LOCKSTEP_TESTS OR NOT tests_SOURCES)
    return()
  endif()
  if(NOT tests_TIMEOUT)
    set(tests_TIMEOUT 60)
  endif()
  if(LOCKSTEP_SANITIZE) # everything takes several times as long
    math(EXPR tests_TIMEOUT "5 * ${tests_TIMEOUT}")
  endif()
  if(NOT tests_LIBRARIES)
    set(tests_LIBRARIES lockstep_comm)
  endif()
  set(target lockstep_${tests_NAME}_tests)
  add_executable(${target} ${tests_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE lockstep_flags ${tests_LIBRARIES} fmt::fmt GTest::gmock
                                          GTest::gtest_main)
  if(tests_LIBRARIES MATCHES "lockstep_(train|lab)")
    set(has_libtorch ON)
  else()
    set(has_libtorch OFF)
  endif()
  if(NOT LOCKSTEP_COMM_TESTS AND NOT has_libtorch AND NOT tests_TRAINING)
    set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(NOT has_libtorch) # lockstep_torch_headers says it where a precompiled header has to agree
    separate_arguments(flags UNIX_COMMAND "${LOCKSTEP_TEST_FLAGS}")
    if(tests_ORACLE)
      list(REMOVE_ITEM flags -O0)
    endif()
    target_compile_options(${target} PRIVATE ${flags})
  endif()
  set(environment
      "LOCKSTEP_TEST_DATA=${LOCKSTEP_TEST_DATA};LOCKSTEP_BINARY_DIR=${PROJECT_BINARY_DIR};XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/cache-of-tests"
  )
  if(has_libtorch) # ranks that are threads would wait for each other, spinning, in the one pool of threads of OpenBLAS
    string(APPEND environment ";OPENBLAS_NUM_THREADS=1")
  endif()
  # Which processes run them; none: one for each test.
  set(parts "")
  if(tests_TOGETHER)
    set(parts all)
  elseif(LOCKSTEP_TESTS_TOGETHER AND has_libtorch)
    set(parts half_0 half_1)
    math(EXPR tests_TIMEOUT "10 * ${tests_TIMEOUT}")
  endif()
  if(parts)
    list(LENGTH parts shards)
    set(shard 0)
    foreach(part IN LISTS parts)
      add_test(NAME ${tests_NAME}.${part} COMMAND ${target})
      set_tests_properties(
        ${tests_NAME}.${part} PROPERTIES TIMEOUT ${tests_TIMEOUT} ${tests_PROPERTIES} ENVIRONMENT
                                         "${environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
      math(EXPR shard "${shard} + 1")
    endforeach()
    return()
  endif()
  gtest_discover_tests(
    ${target}
    TEST_PREFIX ${tests_NAME}.
    DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${tests_TIMEOUT} ${tests_PROPERTIES} ENVIRONMENT "${environment}")
endfunction()
