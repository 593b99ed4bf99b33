# Headers of other projects, parsed once for all targets; for the sanitizers' presets, whose compiler spends a third
# of its time on them (g++ wins little by it). Ours are not among them: a file reaches what its folder may include,
# and no more. The other presets do without, so an #include that is missing is found there.
#
# By hand, not by target_precompile_headers: that names absolute paths, and the cache would not serve two clones.
set(headers
    algorithm array atomic charconv chrono condition_variable cstdint cstdio cstdlib cstring deque filesystem fstream
    functional future iostream list map memory mutex optional random set span sstream stdexcept string string_view
    thread tuple type_traits unordered_map utility variant vector unistd.h
    boost/describe.hpp boost/json.hpp boost/mp11.hpp fmt/format.h gmock/gmock.h gtest/gtest.h)

if(SKALD_PRECOMPILE)
  list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n")
  string(CONCAT text ${headers})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.h CONTENT "${text}")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  get_directory_property(options COMPILE_OPTIONS)
  foreach(library Boost::json fmt::fmt)
    list(APPEND flags "-D$<JOIN:$<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>,$<SEMICOLON>-D>")
  endforeach()
  list(PREPEND flags ${CMAKE_CXX_COMPILER})
  list(APPEND flags ${options} -std=c++${CMAKE_CXX_STANDARD}
       "$<TARGET_PROPERTY:GTest::gtest,INTERFACE_COMPILE_OPTIONS>" -x c++-header precompiled.h)
  # It names this folder, so the cache may not bring it from another one. What is compiled with it is known to the cache
  # by the text beside it (CCACHE_PCH_EXTSUM), which is the same in every clone.
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/precompiled.pch DEPENDS precompiled.h DEPFILE precompiled.d VERBATIM
    COMMAND ${flags} -E -P -o precompiled.pch.sum
    COMMAND ${flags} -Xclang -fno-pch-timestamp -MD -MT precompiled.pch -MF precompiled.d -c -o precompiled.pch
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMAND_EXPAND_LISTS COMMENT "Building precompiled.pch")
  add_custom_target(skald_precompiled DEPENDS ${CMAKE_BINARY_DIR}/precompiled.pch)
endif()

function(skald_precompiled target)
  if(SKALD_PRECOMPILE)
    add_dependencies(${target} skald_precompiled)
    target_compile_options(${target} PRIVATE "SHELL:-include-pch precompiled.pch")  # Ninja compiles in the build folder
  endif()
endfunction()
