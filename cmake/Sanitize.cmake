# Instrumented builds, each in a build folder of its own.

if(ZEROGRAPH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "ZEROGRAPH_FUZZ needs clang, for libFuzzer: configure "
            "with -DCMAKE_CXX_COMPILER=clang++-14, or run tools/fuzz.sh")
  endif()
  set(zg_sanitizers address,undefined,fuzzer-no-link)
elseif(ZEROGRAPH_SANITIZE)
  set(zg_sanitizers ${ZEROGRAPH_SANITIZE})
else()
  return()
endif()

# Line tables are enough to name the place; -O1 keeps the frames.
add_compile_options(-fsanitize=${zg_sanitizers} -fno-sanitize-recover=all
                    -fno-omit-frame-pointer -g1 -O1)
add_link_options(-fsanitize=${zg_sanitizers})
# So it shows where a file does not include what it uses.
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
