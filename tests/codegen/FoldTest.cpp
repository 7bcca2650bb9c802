//===- FoldTest.cpp - the kernels that add contributions up ---------------===//

#include "codegen/cuda/CudaModule.h"
#include "codegen/cuda/Ptx.h"
#include "mlir/IR/Builders.h"
#include "runtime/device/cuda/FoldKernel.h"
#include "tests/emulator/Kernels.h"
#include "tests/support/Says.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace mlir::zg;
using zerograph::expectSays;
namespace emulator = zerograph::emulator;
namespace plan = zerograph::plan;

namespace {

constexpr uint64_t kContributions = 3, kStride = 64, kElements = 48;

/// Returns both kernels of a type, as PTX.
std::string foldText(Type wire, plan::ElementType type) {
  CudaModuleBuilder builder(wire.getContext());
  for (uint64_t width : zerograph::foldWidths(type)) {
    builder.addFold(wire, int64_t(width), zerograph::foldSymbol(type, width));
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = builder.finish(context);
  std::string error;
  return *cuda::toPtx(*module, CudaTarget{"sm_80"}, error);
}

/// Returns numbers of several sizes: the order of sums of f32 and f64 matters.
std::vector<char> contributions(uint64_t bytes) {
  std::vector<char> values(kContributions * kStride * bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    // The exponent is that of a number near 1 or a few thousand, or less.
    bool high = i % bytes == bytes - 1;
    values[i] = high ? char(0x3e + i / bytes % 7 % 4) : char(i * 37 % 61);
  }
  return values;
}

/// Returns the sums of f32 in the order that FoldKernel.h states.
std::vector<char> inOrder() {
  std::vector<char> given = contributions(sizeof(float));
  std::vector<float> sums(kElements);
  for (uint64_t c = 0; c < kContributions; ++c) {
    for (uint64_t i = 0; i < kElements; ++i) {
      float value = 0;
      std::memcpy(&value, &given[(c * kStride + i) * sizeof(float)],
                  sizeof(float));
      sums[i] += value;
    }
  }
  const char *begin = reinterpret_cast<const char *>(sums.data());
  return {begin, begin + sums.size() * sizeof(float)};
}

/// Adds contributions up by threads of `width` elements.
std::vector<char> fold(const emulator::Kernels &kernels, plan::ElementType type,
                       uint64_t width, bool accumulate) {
  uint64_t wire = zerograph::elementSize(type);
  uint64_t added = std::max<uint64_t>(wire, 4);
  std::vector<char> given = contributions(wire);
  std::vector<char> sum(kElements * added);
  for (size_t i = 0; i < kElements; ++i) {
    double one = 1;
    float single = 1;
    std::memcpy(&sum[i * added],
                added == 8 ? static_cast<const void *>(&one) : &single, added);
  }
  auto address = [](std::vector<char> &bytes) {
    return reinterpret_cast<uint64_t>(bytes.data());
  };
  uint64_t threads = kElements / width;
  uint64_t grid = (threads + zerograph::kFoldBlock - 1) / zerograph::kFoldBlock;
  absl::Status status = kernels.launch(
      zerograph::foldSymbol(type, width), uint32_t(grid), zerograph::kFoldBlock,
      {address(sum), address(given), kStride, kContributions, kElements,
       accumulate},
      {{"sum", sum.data(), sum.size(), uint32_t(added)},
       {"contributions", given.data(), given.size(), uint32_t(wire),
        /*mayWrite=*/false}},
      /*seed=*/1);
  EXPECT_TRUE(status.ok()) << status;
  return sum;
}

TEST(Fold, EitherWidthHasTheSameBits) {
  MLIRContext context;
  Builder b(&context);
  const std::pair<Type, plan::ElementType> kTypes[] = {
      {b.getF32Type(), plan::F32},
      {b.getF64Type(), plan::F64},
      {b.getBF16Type(), plan::BF16},
      {b.getF16Type(), plan::F16}};
  for (auto [wire, type] : kTypes) {
    std::string text = foldText(wire, type);
    auto kernels = emulator::Kernels::compile(text);
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    // A thread of the second reads, and writes, 16 bytes at once.
    expectSays(text, type == plan::F64   ? "ld.global.v2.f64"
                     : type == plan::F32 ? "ld.global.v4.f32"
                                         : "ld.global.v4.");
    for (bool accumulate : {false, true}) {
      std::vector<char> one = fold(*kernels, type, 1, accumulate);
      EXPECT_EQ(fold(*kernels, type, zerograph::foldWidth(type), accumulate),
                one);
    }
    EXPECT_NE(fold(*kernels, type, 1, true), fold(*kernels, type, 1, false));
    if (type == plan::F32) {
      EXPECT_EQ(fold(*kernels, type, 1, false), inOrder());
    }
  }
}

} // namespace
