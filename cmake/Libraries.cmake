# The libraries that the programs are made of.

# In a build folder of its own: tools/package.sh. What is left to load then are
# the C and C++ libraries, oneDNN and OpenMP, protobuf, Abseil and yaml-cpp:
# Debian's archives of these cannot become a part of libzerograph.so.
option(ZEROGRAPH_STATIC
       "Link MLIR, LLVM and what they need as archives" OFF)

# Found by hand: Debian's CMake file for oneDNN asks for OpenCL's headers, which
# only a recommended package brings and nothing here includes.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
add_library(DNNL::dnnl SHARED IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${DNNL_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
find_package(OpenMP REQUIRED)
find_package(Threads REQUIRED)
# C alone: the C++ bindings are gone from MPI.
find_package(MPI REQUIRED COMPONENTS C)
find_package(GTest REQUIRED)

set(suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
if(ZEROGRAPH_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a .so)
endif()
# HINTS: one MLIR can be installed beside others. 19.1 because its config file
# accepts nothing shorter.
find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
find_package(ZLIB REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)
find_library(ZSTD_LIBRARY zstd REQUIRED)
find_library(LLD_ELF_LIBRARY lldELF HINTS ${LLVM_LIBRARY_DIR} REQUIRED)
find_library(LLD_COMMON_LIBRARY lldCommon HINTS ${LLVM_LIBRARY_DIR} REQUIRED)
# Where it is not installed, threads read and write what is kept in files.
find_library(ZEROGRAPH_LIBURING uring)
find_path(ZEROGRAPH_LIBURING_HEADER liburing.h)
mark_as_advanced(ZEROGRAPH_LIBURING ZEROGRAPH_LIBURING_HEADER DNNL_LIBRARY
                 DNNL_INCLUDE_DIR XXHASH_LIBRARY ZSTD_LIBRARY LLD_ELF_LIBRARY
                 LLD_COMMON_LIBRARY)

set(CMAKE_FIND_LIBRARY_SUFFIXES ${suffixes})
set(ZEROGRAPH_DEPS ${PROJECT_SOURCE_DIR}/build/deps CACHE PATH
    "Where tools/setup.sh put the ONNX C++ library")
find_package(ONNX REQUIRED CONFIG HINTS ${ZEROGRAPH_DEPS}/onnx)
find_package(Protobuf REQUIRED)
find_package(absl REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)

# Code over MLIR links the shared library alone, or the archives alone: with
# both, every dialect would be registered twice.
add_library(zg_mlir INTERFACE)
# What links kernels.
add_library(zg_lld INTERFACE)
target_link_libraries(zg_lld INTERFACE ${LLD_ELF_LIBRARY} ${LLD_COMMON_LIBRARY}
                      ZLIB::ZLIB ${ZSTD_LIBRARY} zg_mlir)
if(NOT ZEROGRAPH_STATIC)
  target_link_libraries(zg_mlir INTERFACE MLIR LLVM)
  return()
endif()

# lld takes archives in any order, and of each what is needed.
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
target_link_libraries(zg_mlir INTERFACE ${archives} ZLIB::ZLIB ${ZSTD_LIBRARY})

# Functions with the same code become one: nothing here compares their addresses.
add_link_options(-Wl,--gc-sections -Wl,--icf=all -Wl,--exclude-libs,ALL)
# The older kind of path, for what the libraries beside the program load too.
add_link_options(-Wl,--disable-new-dtags)
