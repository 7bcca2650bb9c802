# How targets of this project are declared.

# Warnings are errors; floating-point contraction is never the compiler's
# choice (the same bits everywhere rest on it). No other library may replace a
# function of ours, so that it can be inlined in a shared library too.
function(zg_compile_options target)
  # An instrumented build warns of what isn't there, and clang of other things.
  set(errors -Werror)
  if(ZEROGRAPH_SANITIZE OR ZEROGRAPH_FUZZ)
    set(errors)
  endif()
  target_compile_options(${target} PRIVATE -Wall -Wextra ${errors}
                         -Wno-unused-parameter -ffp-contract=off -fno-semantic-interposition)
endfunction()

# zg_library(name SOURCES... DEPENDS targets... [PRECOMPILED owner]): code
# without MLIR, which uses the headers that `owner` precompiles.
function(zg_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  zg_compile_options(${name})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM ${ARG_PRECOMPILED})
  endif()
endfunction()

# zg_embed(source HEADER FUNCTION FILES...): sets the variable `source` to a file
# of C++ with the texts of these files, of the function that the header declares.
function(zg_embed source header function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${source}.cpp)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${ARGN}" -DHEADER=${header}
            -DFUNCTION=${function} -DOUTPUT=${output}
            -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake VERBATIM)
  set(${source} ${output} PARENT_SCOPE)
endfunction()

# zg_proto(name FILES...): the messages of .proto files, each included by the path
# of its file, as "runtime/plan/plan.pb.h".
function(zg_proto name)
  foreach(file ${ARGN})
    file(RELATIVE_PATH source ${PROJECT_SOURCE_DIR}
         ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    string(REGEX REPLACE "proto$" "pb" stem
           ${CMAKE_CURRENT_BINARY_DIR}/${file})
    add_custom_command(
      OUTPUT ${stem}.cc ${stem}.h
      COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}
              --cpp_out=${PROJECT_BINARY_DIR} ${source}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file}
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND generated ${stem}.cc ${stem}.h)
  endforeach()
  add_library(${name} STATIC ${generated})
  target_link_libraries(${name} PUBLIC protobuf::libprotobuf)
endfunction()

# zg_precompile(owner HEADERS...): the compiler reads these once, for all targets
# that say PRECOMPILED owner; of most files it is half the work. Name headers of
# others only: a change of one compiles all targets anew, and the compiler does
# not warn about any. Each file still includes what it uses: the instrumented
# builds precompile nothing, and show what is missing.
function(zg_precompile owner)
  list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE headers)
  target_precompile_headers(${owner} PRIVATE ${headers})
endfunction()

# zg_mlir_library(name SOURCES... DEPENDS targets...): code over MLIR, which is
# built without exceptions and with RTTI.
function(zg_mlir_library name)
  zg_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC zg_mlir)
endfunction()

# zg_tablegen(target TD FILE:OPTIONS...): each file is made of TD by mlir-tblgen
# with these options, tables by llvm-tblgen.
function(zg_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  foreach(output ${ARGN})
    string(FIND "${output}" ":" colon)
    string(SUBSTRING "${output}" 0 ${colon} file)
    math(EXPR colon "${colon} + 1")
    string(SUBSTRING "${output}" ${colon} -1 options)
    separate_arguments(options)
    set(generator MLIR)
    if("-gen-searchable-tables" IN_LIST options)
      set(generator LLVM)
      set(LLVM_TABLEGEN_EXE ${LLVM_TBLGEN})
    endif()
    tablegen(${generator} ${file} ${options} EXTRA_INCLUDES
             ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  endforeach()
  add_public_tablegen_target(${target})
endfunction()

# zg_test(name SOURCES... DEPENDS targets... [LABELS ...] [PRECOMPILED owner]):
# a GoogleTest program that is one ctest entry.
function(zg_test name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "DEPENDS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  zg_compile_options(${name})
  target_compile_definitions(${name} PRIVATE
    ZEROGRAPH_MODELS="${PROJECT_SOURCE_DIR}/models"
    ZEROGRAPH_TEST_DATA="${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  if(ARG_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM ${ARG_PRECOMPILED})
    # Of strings that are put together GCC 12 then says what is not so.
    target_compile_options(${name} PRIVATE -Wno-array-bounds
                           -Wno-restrict -Wno-stringop-overflow)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# zg_generated_doc(NAME TD options): the build writes mlir-tblgen's documentation
# of TD to docs/FOLDER/NAME.md in the build folder.
function(zg_generated_doc name td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  mlir_tablegen(${name}.md ${ARGN} EXTRA_INCLUDES
                ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(page ${PROJECT_BINARY_DIR}/docs/${folder}/${name}.md)
  add_custom_command(OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_CURRENT_BINARY_DIR}/${name}.md
            ${page}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/${name}.md)
  string(MAKE_C_IDENTIFIER "${folder}" id)
  add_custom_target(doc_${id} ALL DEPENDS ${page})
endfunction()
