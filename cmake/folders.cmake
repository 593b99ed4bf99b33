# One target per folder. A folder's headers are reachable only through its own
# include root (a directory holding one symlink), so including a folder that is
# not among DEPS fails to compile.
#
#   skald_folder(outbox DEPS store bus LIBS OpenSSL::Crypto)
#
# compiles *.cc below the folder (tests aside) into skald_outbox, and *_test.cc
# into outbox_test, which ctest runs. SEQUENTIAL: no thread is started in its tests.
# ALONE: a file that becomes an object of its own in the archive.
function(skald_folder name)
  cmake_parse_arguments(ARG "SEQUENTIAL" "ALONE" "DEPS;LIBS;TEST_DEPS" ${ARGN})
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
    skald_test(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE skald_${name} ${ARG_TEST_DEPS})
    if(ARG_SEQUENTIAL)
      skald_unit_test(${name}_test SEQUENTIAL)
    else()
      skald_unit_test(${name}_test)
    endif()
  endif()
endfunction()

# What also runs under the sanitizers: `unit` to ctest, `unit_tests` to the build; and where threads
# are started, so that ThreadSanitizer has something to see, `threaded` and `threaded_tests`.
add_custom_target(unit_tests)
add_custom_target(threaded_tests)
function(skald_unit_test name)
  set_property(TEST ${name} APPEND PROPERTY LABELS unit)
  add_dependencies(unit_tests ${name})
  if(NOT "SEQUENTIAL" IN_LIST ARGN)
    set_property(TEST ${name} APPEND PROPERTY LABELS threaded)
    add_dependencies(threaded_tests ${name})
  endif()
endfunction()

# A gtest program that ctest runs as one test.
function(skald_test name)
  skald_batches(units ${name} ${ARGN})
  add_executable(${name} ${units})
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest_main rapidcheck_gtest skald_env)
  # Half of the compiler's time; what a test waits for is in the libraries, which are optimised.
  # The sanitizers' presets optimise nothing: that takes longer than it saves, and hides what a sanitizer could see.
  target_compile_options(${name} PRIVATE -O0)
  skald_precompiled(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
