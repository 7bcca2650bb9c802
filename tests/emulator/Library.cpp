//===- Library.cpp - the emulator as NVIDIA's libraries -------------------===//
//
// The library that a program finds that opens NVIDIA's driver, cuBLASLt, cuDNN
// or NCCL, with the folder of this file in LD_LIBRARY_PATH: one file with a
// name for each. At the end of the process it says on standard error what was
// wrong, and what was left.
//
//   ZEROGRAPH_EMULATOR_SEED  draws the schedules; 1 unless it is set
//   ZEROGRAPH_EMULATOR_GPUS  how many GPUs there are; 1 unless it is set
//   ZEROGRAPH_EMULATOR_MEMORY  bytes that each says to have
//   ZEROGRAPH_EMULATOR_SHARED  set: they say to be those of other processes too
//   ZEROGRAPH_EMULATOR_STALL  tasks after which no GPU goes on; the process
//                             then hangs when it exits, as a driver may
//   ZEROGRAPH_EMULATOR_FOLDER  where NCCL exchanges; /dev/shm unless it is set
//
//===----------------------------------------------------------------------===//

#include "tests/emulator/CublasLt.h"
#include "tests/emulator/Cudnn.h"
#include "tests/emulator/Nccl.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <type_traits>
#include <unistd.h>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

class Process {
public:
  Process()
      : gpu(number("ZEROGRAPH_EMULATOR_SEED"),
            number("ZEROGRAPH_EMULATOR_GPUS")),
        products(gpu), convolutions(gpu), nccl(gpu) {
    // The driver has 8 if nothing is said.
    constexpr char kQueues[] = "CUDA_DEVICE_MAX_CONNECTIONS";
    gpu.setQueues(std::getenv(kQueues) ? number(kQueues) : 8);
    if (std::getenv("ZEROGRAPH_EMULATOR_MEMORY")) {
      gpu.setMemory(number("ZEROGRAPH_EMULATOR_MEMORY"));
    }
    if (std::getenv("ZEROGRAPH_EMULATOR_STALL")) {
      gpu.stall(number("ZEROGRAPH_EMULATOR_STALL"));
    }
    if (std::getenv("ZEROGRAPH_EMULATOR_SHARED")) {
      gpu.share();
    }
    if (std::getenv("ZEROGRAPH_EMULATOR_TRAFFIC")) {
      gpu.countTraffic();
    }
  }
  ~Process() {
    if (gpu.stalled()) {
      std::fprintf(stderr, "emulated GPU: the driver waits for it at exit\n");
      pause();
    }
    if (!gpu.complaint().empty()) {
      std::fprintf(stderr, "emulated GPU: %s\n", gpu.complaint().c_str());
    }
    for (const std::string &left :
         {gpu.leftovers(), products.leftovers(), convolutions.leftovers(),
          nccl.leftovers()}) {
      if (!left.empty()) {
        std::fprintf(stderr, "emulated GPU: left behind: %s\n", left.c_str());
      }
    }
    if (products.products() > 0) {
      std::fprintf(stderr, "emulated GPU: %llu products by cuBLASLt\n",
                   static_cast<unsigned long long>(products.products()));
    }
    if (convolutions.convolutions() > 0) {
      std::fprintf(
          stderr, "emulated GPU: %llu convolutions by cuDNN\n",
          static_cast<unsigned long long>(convolutions.convolutions()));
    }
    if (nccl.launches() > 0) {
      std::fprintf(stderr, "emulated NCCL: %llu launches\n",
                   static_cast<unsigned long long>(nccl.launches()));
    }
    std::fprintf(stderr, "emulated GPU: %llu launches\n",
                 static_cast<unsigned long long>(gpu.launches()));
    if (const char *path = std::getenv("ZEROGRAPH_EMULATOR_TRAFFIC")) {
      writeTraffic(path);
    }
  }

private:
  /// Writes a line a kernel: its name, the instructions of its threads, then of
  /// loads, stores and shared memory each the requests, the least that they
  /// could cost, and what they cost (Traffic.h).
  void writeTraffic(const char *path) const {
    std::ofstream file(path);
    for (const auto &[kernel, traffic] : gpu.traffic()) {
      file << kernel << " " << traffic.instructions;
      for (const Traffic::Requests *requests :
           {&traffic.loads, &traffic.stores, &traffic.shared}) {
        file << " " << requests->count << " " << requests->least << " "
             << requests->cost;
      }
      file << "\n";
    }
  }
  static uint32_t number(const char *variable) {
    const char *text = std::getenv(variable);
    return text ? uint32_t(std::strtoul(text, nullptr, 10)) : 1;
  }
  Gpu gpu;
  CublasLt products;
  Cudnn convolutions;
  Nccl nccl;
};

Process process;

} // namespace

// A table's functions have their types and no names that can be exported: the
// loader asks a resolver for the function behind each name.
#define ZEROGRAPH_EXPORT(table, api, name, symbol)                             \
  extern "C" {                                                                 \
  __attribute__((used)) static decltype(table::name) resolve_##name() {        \
    return (*api())->name;                                                     \
  }                                                                            \
  std::remove_pointer_t<decltype(table::name)> exported_##name __asm__(symbol) \
      __attribute__((ifunc("resolve_" #name)));                                \
  }

#define ZEROGRAPH_EXPORT_CUDA(name, symbol, ...)                               \
  ZEROGRAPH_EXPORT(CudaApi, cudaApi, name, symbol)
ZEROGRAPH_CUDA_FUNCTIONS(ZEROGRAPH_EXPORT_CUDA)

#define ZEROGRAPH_EXPORT_CUBLASLT(name, ...)                                   \
  ZEROGRAPH_EXPORT(CublasLtApi, cublasLtApi, name, #name)
ZEROGRAPH_CUBLASLT_FUNCTIONS(ZEROGRAPH_EXPORT_CUBLASLT)

#define ZEROGRAPH_EXPORT_CUDNN(name, ...)                                      \
  ZEROGRAPH_EXPORT(CudnnApi, cudnnApi, name, #name)
ZEROGRAPH_CUDNN_FUNCTIONS(ZEROGRAPH_EXPORT_CUDNN)

#define ZEROGRAPH_EXPORT_NCCL(name, ...)                                       \
  ZEROGRAPH_EXPORT(NcclApi, ncclApi, name, #name)
ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_EXPORT_NCCL)
ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_EXPORT_NCCL)
