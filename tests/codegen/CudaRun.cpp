//===- CudaRun.cpp - compiles and runs kernels for CUDA in tests ----------===//

#include "tests/codegen/CudaRun.h"

#include "codegen/cuda/Ptx.h"
#include "passes/ir/nn/Queries.h"
#include "tests/support/Says.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Regex.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
namespace emulator = zerograph::emulator;

CudaKernels::CudaKernels(ArrayRef<Operation *> ops, bool tensorCores,
                         bool fastMath)
    : ops(ops.begin(), ops.end()) {
  CudaModuleBuilder builder(ops.front()->getContext(), tensorCores, fastMath);
  for (Operation *op : ops) {
    FailureOr<CudaKernelInfo> added = builder.add(op);
    if (failed(added)) {
      ADD_FAILURE() << "no code for CUDA";
      return;
    }
    infos.push_back(*added);
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = builder.finish(context);
  if (!module) {
    ADD_FAILURE() << "no module for CUDA";
    return;
  }
  for (const char *architecture : {"sm_80", "sm_90"}) {
    std::string error;
    std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
    FailureOr<std::string> ptx =
        cuda::toPtx(*copy, CudaTarget{architecture}, error);
    if (failed(ptx)) {
      ADD_FAILURE() << error;
      return;
    }
    texts[architecture] = *ptx;
  }
  auto compiled = emulator::Kernels::compile(texts[kEmulatedAs.str()]);
  if (!compiled.ok()) {
    ADD_FAILURE() << compiled.status().ToString();
    return;
  }
  kernels = std::make_unique<emulator::Kernels>(std::move(*compiled));
}

/// An i1 lies in a byte.
static uint32_t elementBytes(Type type) {
  Type element = cast<RankedTensorType>(type).getElementType();
  return std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

absl::Status CudaKernels::launch(const emulator::Kernels &compiled,
                                 size_t kernel, Run &run, uint32_t seed) {
  Operation *op = ops[kernel];
  const CudaKernelInfo &info = infos[kernel];
  const std::optional<InPlace> &inPlace = run.inPlace;
  for (Type type : op->getResultTypes()) {
    run.results.emplace_back(nn::tensorBytes(type), char(0xA5));
  }
  std::vector<emulator::Buffer> buffers;
  for (auto [i, operand] : llvm::enumerate(run.operands)) {
    buffers.push_back({"operand " + std::to_string(i), operand.data(),
                       operand.size(),
                       elementBytes(op->getOperand(i).getType()),
                       inPlace && inPlace->operand == i});
  }
  for (auto [i, result] : llvm::enumerate(run.results)) {
    bool there = inPlace && inPlace->result == i;
    Bytes &bytes = there ? run.operands[inPlace->operand] : result;
    buffers.push_back({"result " + std::to_string(i), bytes.data(),
                       bytes.size(), elementBytes(op->getResult(i).getType())});
  }
  noted.assign(buffers.size(), {});
  for (auto [buffer, touched] : llvm::zip_equal(buffers, noted)) {
    buffer.touched = &touched;
  }
  Bytes scratch(size_t(info.scratchBytes), char(0xA5));
  if (!scratch.empty()) {
    buffers.push_back({"scratch", scratch.data(), scratch.size()});
  }
  absl::Status status;
  for (const CudaLaunch &launch : info.launches) {
    status.Update(compiled.launch(launch.symbol, uint32_t(launch.grid),
                                  uint32_t(launch.block), buffers, seed));
  }
  return status;
}

std::vector<Bytes> CudaKernels::run(size_t kernel, ArrayRef<Bytes> arguments,
                                    uint32_t seed,
                                    std::optional<InPlace> inPlace) {
  Run run{{arguments.begin(), arguments.end()}, {}, inPlace};
  absl::Status status = launch(*kernels, kernel, run, seed);
  EXPECT_TRUE(status.ok()) << status.ToString();
  if (inPlace) {
    run.results[inPlace->result] = run.operands[inPlace->operand];
  }
  return run.results;
}

size_t CudaKernels::expectNeeded(StringRef instruction, size_t kernel,
                                 ArrayRef<Bytes> arguments) {
  const std::string &text = ptx(kEmulatedAs);
  size_t removed = 0;
  for (size_t at = text.find(instruction); at != std::string::npos;
       at = text.find(instruction, at + 1), ++removed) {
    std::string without = text;
    without.erase(at, text.find(';', at) + 1 - at);
    for (uint32_t seed : {1, 2, 3}) {
      // Each time anew: a launch that fails leaves counters as they are.
      auto compiled = emulator::Kernels::compile(without);
      if (!compiled.ok()) {
        ADD_FAILURE() << compiled.status().ToString();
        continue;
      }
      Run run{{arguments.begin(), arguments.end()}, {}};
      zerograph::expectSays(launch(*compiled, kernel, run, seed),
                            "nothing puts the two in order");
    }
  }
  return removed;
}

std::vector<std::string> zg::testing::inexactLines(StringRef ptx) {
  // Sums and products say how they round, so that nothing contracts them; what
  // only approximates, flushes denormals, adds floats in any order or is
  // another's function is not here.
  static const char *const patterns[] = {
      "^[[:space:]]*(add|sub|mul|fma)\\.f(32|64)",
      "\\.ftz",
      "\\.approx",
      "\\.full\\.",
      "(^|[[:space:]])mad\\.(rn\\.)?f",
      "^[[:space:]]*(ex2|lg2|sin|cos|tanh|rsqrt)\\.",
      "(^|[[:space:]])(call|\\.extern)([[:space:].]|$)",
      "__nv_",
      "(^|[[:space:]])(atom|red)\\..*\\.b?f",
  };
  std::vector<std::string> found;
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  for (StringRef line : lines) {
    for (const char *pattern : patterns) {
      if (llvm::Regex(pattern).match(line)) {
        found.push_back(line.trim().str());
        break;
      }
    }
  }
  return found;
}

template <typename Float>
static bool sameFloats(ArrayRef<char> one, ArrayRef<char> other) {
  for (size_t i = 0; i + sizeof(Float) <= one.size(); i += sizeof(Float)) {
    Float x, y;
    std::memcpy(&x, one.data() + i, sizeof(Float));
    std::memcpy(&y, other.data() + i, sizeof(Float));
    bool bothNaN = std::isnan(x) && std::isnan(y);
    if (!bothNaN && std::memcmp(&x, &y, sizeof(Float)) != 0) {
      return false;
    }
  }
  return true;
}

bool zg::testing::sameBits(Type element, ArrayRef<char> one,
                           ArrayRef<char> other) {
  if (one.size() != other.size()) {
    return false;
  }
  if (element.isF32()) {
    return sameFloats<float>(one, other);
  }
  if (element.isF64()) {
    return sameFloats<double>(one, other);
  }
  return one == other;
}
