# One target per folder. A folder's headers are reachable only through its own
# include root (a directory holding one symlink), so including a folder that is
# not among DEPS fails to compile.
#
#   skald_folder(outbox DEPS store bus LIBS OpenSSL::Crypto)
#
# compiles *.cc below the folder (tests aside) into skald_outbox, and *_test.cc
# into outbox_test, which ctest runs. ROTATING: see skald_test; SEQUENTIAL, OPTIMISED_TOO: see skald_unit_test.
# ALONE: a file that becomes an object of its own in the archive.
function(skald_folder name)
  cmake_parse_arguments(ARG "SEQUENTIAL;OPTIMISED_TOO" "ALONE;ROTATING" "DEPS;LIBS;TEST_DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_(test|main)\\.cc$")

  set(root ${CMAKE_BINARY_DIR}/roots/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${name} ${root}/${name} SYMBOLIC)

  if(sources)
    if(ARG_ALONE)
      set(alone ${CMAKE_CURRENT_SOURCE_DIR}/${name}/${ARG_ALONE})
      list(REMOVE_ITEM sources ${alone})
    endif()
    skald_batches(units skald_${name} ${sources})
    add_library(skald_${name} STATIC ${units} ${alone})
    skald_precompiled(skald_${name})
    set(scope PUBLIC)
  else()
    add_library(skald_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  list(TRANSFORM ARG_DEPS PREPEND skald_)
  target_include_directories(skald_${name} ${scope} ${root} ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(skald_${name} ${scope} ${ARG_DEPS} ${ARG_LIBS})

  if(tests AND PROJECT_IS_TOP_LEVEL)
    list(TRANSFORM ARG_TEST_DEPS PREPEND skald_)
    set(kinds ${ARGN})
    list(FILTER kinds INCLUDE REGEX "^(SEQUENTIAL|OPTIMISED_TOO)$")
    list(TRANSFORM ARG_ROTATING PREPEND "ROTATING;" OUTPUT_VARIABLE rotating)
    skald_test(${name}_test ${rotating} ${tests})
    target_link_libraries(${name}_test PRIVATE skald_${name} ${ARG_TEST_DEPS})
    skald_unit_test(${name}_test ${kinds})
  endif()
endfunction()

# What runs under the sanitizers: `unit` to ctest, `unit_tests` to the build. The whole run leaves it to
# them: `sanitized` to ctest, and not in the build's `all`.
# SEQUENTIAL: starts no thread. The others are `threaded` and `threaded_tests`, for ThreadSanitizer.
# OPTIMISED_TOO: runs in the release as well.
add_custom_target(unit_tests)
add_custom_target(threaded_tests)
function(skald_unit_test name)
  set_property(TEST ${name} APPEND PROPERTY LABELS unit)
  add_dependencies(unit_tests ${name})
  if(NOT "OPTIMISED_TOO" IN_LIST ARGN)
    set_property(TEST ${name} APPEND PROPERTY LABELS sanitized)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(NOT "SEQUENTIAL" IN_LIST ARGN)
    set_property(TEST ${name} APPEND PROPERTY LABELS threaded)
    add_dependencies(threaded_tests ${name})
  endif()
endfunction()

# What tests are made of: not optimised, which halves the compiler's time. What a test waits for is in the libraries, which
# are. The sanitizers' presets optimise nothing: that takes longer than it saves, and hides what a sanitizer could see.
function(skald_harness target)
  target_compile_options(${target} PRIVATE -O0)
  skald_precompiled(${target})
endfunction()

# A gtest program that ctest runs as one test. ROTATING VARIABLE: it computes so long that `./test` runs a part of its
# cases, one of as many as the variable says, the next one after each commit.
function(skald_test name)
  cmake_parse_arguments(ARG "" "ROTATING" "" ${ARGN})
  skald_batches(units ${name} ${ARG_UNPARSED_ARGUMENTS})
  add_executable(${name} ${units})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck_gtest skald_env)
  skald_harness(${name})
  set(part "")
  if(ARG_ROTATING)
    set(part ${PROJECT_SOURCE_DIR}/tools/part.sh ${ARG_ROTATING})
  endif()
  add_test(NAME ${name} COMMAND ${part} $<TARGET_FILE:${name}>)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
