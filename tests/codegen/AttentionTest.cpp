//===- AttentionTest.cpp - kernels of attention ---------------------------===//
//
// Attention and its gradient, whole, have the bits of the core ops that they
// decompose to, on the host and on CUDA's emulator, and are near what plain
// loops compute.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/host/LibraryCall.h"
#include "tests/codegen/CudaRun.h"
#include "tests/codegen/DifferentiatedAttention.h"
#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// Returns the elements as they lie in memory, also those of 16 bits, and back.
Bytes bytesOf(const Tensor &tensor) {
  if (!nn::isHalf(tensor.element)) {
    return toBytes(tensor);
  }
  Bytes bytes;
  for (double value : tensor.values) {
    APFloat number(value);
    bool loses = false;
    number.convert(cast<FloatType>(tensor.element).getFloatSemantics(),
                   APFloat::rmNearestTiesToEven, &loses);
    uint64_t bits = number.bitcastToAPInt().getZExtValue();
    bytes.push_back(char(bits & 0xFF));
    bytes.push_back(char(bits >> 8));
  }
  return bytes;
}

Tensor tensorOf(const Bytes &bytes, RankedTensorType type) {
  if (!nn::isHalf(type.getElementType())) {
    return fromBytes(bytes, type);
  }
  Tensor tensor = filled(type, 0);
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    unsigned bits = uint8_t(bytes[2 * i]) | uint8_t(bytes[2 * i + 1]) << 8;
    tensor.values[i] = APFloat(semantics, APInt(16, bits)).convertToDouble();
  }
  return tensor;
}

using Run =
    llvm::function_ref<std::vector<Bytes>(Operation *, ArrayRef<Bytes>)>;

/// Runs a program of kernels, products and reshapes, one after the other.
std::vector<Bytes> runProgram(nn::ProgramOp program, ArrayRef<Tensor> arguments,
                              Run runKernel) {
  llvm::DenseMap<Value, Bytes> values;
  Block &body = program.getBody().front();
  for (auto [argument, tensor] : llvm::zip(body.getArguments(), arguments)) {
    values[argument] = bytesOf(tensor);
  }
  for (Operation &op : body.without_terminator()) {
    std::vector<Bytes> operands;
    for (Value operand : op.getOperands()) {
      operands.push_back(values.lookup(operand));
    }
    if (isa<nn::ReshapeOp>(op)) {
      values[op.getResult(0)] = operands[0];
      continue;
    }
    std::vector<Bytes> results = runKernel(&op, operands);
    for (auto [value, bytes] : llvm::zip(op.getResults(), results)) {
      values[value] = bytes;
    }
  }
  std::vector<Bytes> results;
  for (Value value : body.getTerminator()->getOperands()) {
    results.push_back(values.lookup(value));
  }
  return results;
}

/// Runs a kernel on the host, in calls and in one, which give the same bits;
/// `multiplied`: checks that attention multiplies elements of this type.
std::vector<Bytes> runOnHost(Operation *op, ArrayRef<Bytes> operands,
                             const HostTarget &target, Type multiplied = {}) {
  KernelModuleBuilder builder(op->getContext(), target);
  FailureOr<KernelInfo> info = builder.add(op);
  if (failed(info)) {
    ADD_FAILURE() << "no code for a kernel";
    return {};
  }
  auto form = dyn_cast<nn::KernelOp>(op);
  if (form && form.getForm() == nn::KernelForm::attention) {
    EXPECT_EQ(info->multiplied, multiplied);
  }
  Library library(*builder.finish());
  auto kernel = library.find(info->symbol);
  auto run = [&](ArrayRef<int64_t> cuts) {
    std::vector<Bytes> buffers(operands.begin(), operands.end());
    for (Type type : op->getResultTypes()) {
      buffers.emplace_back(nn::tensorBytes(type), char(0xA5));
    }
    std::vector<void *> pointers;
    for (Bytes &buffer : buffers) {
      pointers.push_back(buffer.data());
    }
    for (size_t i = 1; i < cuts.size(); ++i) {
      kernel(pointers.data(), cuts[i - 1], cuts[i]);
    }
    buffers.erase(buffers.begin(), buffers.begin() + operands.size());
    return buffers;
  };
  // The second call begins within a head, and may end with whole ones.
  int64_t extent = info->extent, grain = info->grain;
  int64_t first = std::min(extent, grain), middle = extent / 2 / grain * grain;
  std::vector<Bytes> buffers = run({0, extent});
  EXPECT_EQ(run({0, first, std::max(first, middle), extent}), buffers);
  return buffers;
}

std::vector<Bytes> onHost(Operation *op, ArrayRef<Bytes> operands) {
  return runOnHost(op, operands, *parseHostTarget("native"));
}

/// Returns this machine's target, if it multiplies bf16 by `products`.
std::optional<HostTarget> targetOf(Bf16Products products) {
  bool amx = products == Bf16Products::amx;
  if (amx && !zerograph::hasAmx()) {
    return std::nullopt;
  }
  HostTarget target = *parseHostTarget("native");
  multiplyBf16(target, amx);
  return target.bf16 == products ? std::optional(target) : std::nullopt;
}

std::vector<Bytes> onCuda(Operation *op, ArrayRef<Bytes> operands) {
  CudaKernels kernels(op);
  return kernels.ok() ? kernels.run(0, operands) : std::vector<Bytes>();
}

std::vector<Bytes> onTensorCores(Operation *op, ArrayRef<Bytes> operands) {
  CudaKernels kernels(op, /*tensorCores=*/true);
  if (!kernels.ok()) {
    return {};
  }
  auto kernel = dyn_cast<nn::KernelOp>(op);
  if (kernel && kernel.getForm() == nn::KernelForm::attention) {
    EXPECT_NE(kernels.ptx("sm_80").find("mma.sync"), std::string::npos)
        << "attention multiplies without tensor cores";
  }
  return kernels.run(0, operands);
}

/// Runs what tensor cores leave to others.
std::vector<Bytes> withoutTensorCores(Operation *op, ArrayRef<Bytes> operands) {
  CudaKernels kernels(op, /*tensorCores=*/true);
  if (!kernels.ok()) {
    return {};
  }
  EXPECT_EQ(kernels.ptx("sm_80").find("mma.sync"), std::string::npos);
  return kernels.run(0, operands);
}

std::vector<Tensor> randomArguments(nn::ProgramOp program) {
  std::vector<Tensor> arguments;
  for (auto [number, type] : llvm::enumerate(program.getArgumentTypes())) {
    bool isMask = cast<RankedTensorType>(type).getElementType().isInteger(1);
    arguments.push_back(
        randomTensor(type, unsigned(11 + number), isMask ? 0 : -2, 2));
  }
  return arguments;
}

void expectNear(const std::vector<Bytes> &found,
                const std::vector<Tensor> &expected, TypeRange types,
                double tolerance) {
  for (auto [number, type] : llvm::enumerate(types)) {
    Tensor tensor = tensorOf(found[number], cast<RankedTensorType>(type));
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      double number_expected = expected[number].values[i];
      ASSERT_NEAR(tensor.values[i], number_expected,
                  tolerance * (1 + std::abs(number_expected)))
          << "result " << number << ", element " << i;
    }
  }
}

/// Compares the length of what differs with that of all of a result.
void expectSmallDifference(const std::vector<Bytes> &found,
                           const std::vector<Tensor> &expected, TypeRange types,
                           double tolerance) {
  for (auto [number, type] : llvm::enumerate(types)) {
    Tensor tensor = tensorOf(found[number], cast<RankedTensorType>(type));
    double difference = 0, all = 1e-6;
    for (auto [one, other] :
         llvm::zip_equal(tensor.values, expected[number].values)) {
      difference += (one - other) * (one - other);
      all += other * other;
    }
    EXPECT_LE(std::sqrt(difference / all), tolerance) << "result " << number;
  }
}

class Attention : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(Attention, HasTheBitsOfCoreOps) {
  Differentiated reference(GetParam()), whole(GetParam()), core(GetParam());
  std::vector<Tensor> arguments = randomArguments(reference.function());
  bool isHalf = GetParam().element == "bf16";
  formKernels(whole, /*whole=*/true);
  std::vector<Bytes> host = runProgram(whole.function(), arguments, onHost);
  expectNear(host, evaluate(reference.function(), arguments),
             whole.function().getResultTypes(), isHalf ? 3e-2 : 2e-5);
  if (GetParam().element != "f64") {
    std::vector<Bytes> cuda = runProgram(whole.function(), arguments, onCuda);
    EXPECT_TRUE(host == cuda) << "the emulator has other bits";
  }
  if (!isHalf) {
    formKernels(core, /*whole=*/false);
    EXPECT_TRUE(host == runProgram(core.function(), arguments, onHost))
        << "core ops have other bits";
  }
}

/// Returns whether a kernel puts tensors side by side, which takes selects.
bool joins(nn::KernelOp kernel) {
  return kernel.getForm() == nn::KernelForm::rows &&
         !kernel.getBody().getOps<nn::SelectOp>().empty();
}

// Gradients that lie side by side are written there: no kernel puts them.
TEST(PackedGradients, HaveTheBitsOfCoreOpsAndNoKernelOfTheirOwn) {
  struct {
    AttentionCase attention;
    unsigned packed;
    bool alone = true;
    Pack pack = packRows;
  } cases[] = {
      {{"all", 2, 70, 70, 2, 2, 16, 32, Scores::Causal}, 3},
      {{"keys", 2, 130, 66, 4, 2, 16, 16, Scores::Scaled}, 2},
      {{"grouped", 1, 66, 66, 6, 2, 16, 8, Scores::Window}, 3},
      {{"bias", 3, 20, 20, 2, 2, 16, 16, Scores::Bias}, 3},
      {{"narrow", 1, 66, 66, 1, 1, 13, 19, Scores::Causal}, 3, false},
      {{"half", 2, 70, 70, 2, 2, 16, 32, Scores::Causal, "bf16"}, 3},
      {{"heads", 2, 66, 66, 3, 3, 12, 12, Scores::Causal}, 3, true, packHeads},
      {{"permuted", 3, 66, 66, 2, 2, 20, 20, Scores::Scaled},
       3,
       true,
       packPermuted},
      {{"sequence", 3, 70, 70, 2, 2, 16, 16, Scores::Padding},
       3,
       true,
       packSequence},
      {{"half_sequence", 3, 70, 70, 2, 2, 24, 24, Scores::Causal, "bf16"},
       3,
       true,
       packSequence},
      {{"odd_heads", 2, 66, 66, 2, 2, 7, 7, Scores::Causal},
       3,
       false,
       packHeads},
  };
  for (const auto &[attention, packed, alone, pack] : cases) {
    SCOPED_TRACE(attention.name);
    Differentiated reference(attention, packed, pack),
        whole(attention, packed, pack), core(attention, packed, pack);
    std::vector<Tensor> arguments = randomArguments(reference.function());
    formKernels(whole, /*whole=*/true);
    EXPECT_EQ(llvm::none_of(whole.function().getOps<nn::KernelOp>(), joins),
              alone);
    std::vector<Bytes> host = runProgram(whole.function(), arguments, onHost);
    EXPECT_TRUE(host == runProgram(whole.function(), arguments, onCuda));
    if (attention.element == "bf16") {
      std::vector<Bytes> tensor =
          runProgram(whole.function(), arguments, onTensorCores);
      expectSmallDifference(tensor, evaluate(reference.function(), arguments),
                            whole.function().getResultTypes(), 1e-2);
    } else {
      formKernels(core, /*whole=*/false);
      EXPECT_TRUE(host == runProgram(core.function(), arguments, onHost));
    }
  }
}

/// Compares attention in 16 bits, as `run` computes it, with plain loops.
void expectNearPlainLoops(const AttentionCase &attention, Run run) {
  Differentiated reference(attention), whole(attention);
  std::vector<Tensor> arguments = randomArguments(reference.function());
  formKernels(whole, /*whole=*/true);
  std::vector<Bytes> found = runProgram(whole.function(), arguments, run);
  std::vector<Tensor> expected = evaluate(reference.function(), arguments);
  TypeRange types = whole.function().getResultTypes();
  // Sums of more numbers are larger.
  expectNear(found, expected, types, attention.size > 128 ? 2e-1 : 1e-1);
  expectSmallDifference(found, expected, types, 1e-2);
}

class TensorAttention : public ::testing::TestWithParam<AttentionCase> {};

TEST_P(TensorAttention, IsNearPlainLoops) {
  expectNearPlainLoops(GetParam(), onTensorCores);
}

constexpr Bf16Products kBf16Products[] = {Bf16Products::avx512,
                                          Bf16Products::amx};

std::string nameOf(Bf16Products products) {
  return products == Bf16Products::amx ? "Amx" : "Avx512";
}

class Bf16Attention
    : public ::testing::TestWithParam<std::tuple<AttentionCase, Bf16Products>> {
};

TEST_P(Bf16Attention, IsNearPlainLoops) {
  auto [attention, products] = GetParam();
  std::optional<HostTarget> target = targetOf(products);
  if (!target) {
    GTEST_SKIP() << "this processor has no " << nameOf(products) << "-BF16";
  }
  expectNearPlainLoops(attention, [&](Operation *op, ArrayRef<Bytes> operands) {
    return runOnHost(op, operands, *target,
                     BFloat16Type::get(op->getContext()));
  });
}

class Bf16Alone : public ::testing::TestWithParam<Bf16Products> {};

// Elements of other types are multiplied in f32, with the bits of others.
TEST_P(Bf16Alone, HasOtherBits) {
  std::optional<HostTarget> target = targetOf(GetParam());
  if (!target) {
    GTEST_SKIP() << "this processor has no " << nameOf(GetParam()) << "-BF16";
  }
  for (const char *element : {"f32", "f16", "f64", "bf16"}) {
    bool isBf16 = element == std::string("bf16");
    Differentiated program(AttentionCase{"other", 1, 66, 66, 1, 1, 16, 16,
                                         Scores::Causal, element});
    std::vector<Tensor> arguments = randomArguments(program.function());
    formKernels(program, /*whole=*/true);
    auto run = [&](Operation *op, ArrayRef<Bytes> operands) {
      return runOnHost(op, operands, *target,
                       isBf16 ? BFloat16Type::get(op->getContext()) : Type());
    };
    EXPECT_EQ(runProgram(program.function(), arguments, onHost) ==
                  runProgram(program.function(), arguments, run),
              !isBf16)
        << element;
  }
}

// AMX adds up in another order than AVX512-BF16.
TEST(AttentionForms, AmxHasBitsOfItsOwn) {
  std::optional<HostTarget> amx = targetOf(Bf16Products::amx);
  if (!amx) {
    GTEST_SKIP() << "this processor has no AMX-BF16";
  }
  Differentiated program(
      AttentionCase{"other", 1, 66, 66, 1, 1, 16, 16, Scores::Causal, "bf16"});
  std::vector<Tensor> arguments = randomArguments(program.function());
  formKernels(program, /*whole=*/true);
  auto run = [&](const HostTarget &target) {
    return runProgram(program.function(), arguments,
                      [&](Operation *op, ArrayRef<Bytes> operands) {
                        return runOnHost(op, operands, target,
                                         BFloat16Type::get(op->getContext()));
                      });
  };
  EXPECT_FALSE(run(*amx) == run(*targetOf(Bf16Products::avx512)));
}

// Attention that tensor cores do not compute has the host's bits.
TEST(AttentionForms, TensorCoresComputeSixteenBits) {
  Differentiated program(
      AttentionCase{"f32", 1, 66, 66, 1, 1, 16, 16, Scores::Causal});
  std::vector<Tensor> arguments = randomArguments(program.function());
  formKernels(program, /*whole=*/true);
  EXPECT_TRUE(runProgram(program.function(), arguments, onHost) ==
              runProgram(program.function(), arguments, withoutTensorCores));
}

// Two blocks of threads share a block of queries, each with half the values;
// of the gradient, two each make parts of queries', keys' and values'.
TEST(AttentionForms, LargeHeadsRepeatScores) {
  struct {
    int64_t size, valueSize, forward, backward;
  } cases[] = {{256, 256, 256, 6 * 256},
               {100, 256, 100, 2 * 100},
               {256, 100, 0, 2 * (256 + 100) + 256},
               {100, 100, 0, 0}};
  for (const auto &[size, valueSize, forward, backward] : cases) {
    Differentiated program(AttentionCase{"large", 1, 64, 64, 2, 1, size,
                                         valueSize, Scores::Scaled, "bf16"});
    formKernels(program, /*whole=*/true);
    SmallVector<int64_t> repeated;
    for (auto kernel : program.function().getOps<nn::KernelOp>()) {
      if (kernel.getForm() == nn::KernelForm::attention) {
        CudaModuleBuilder builder(kernel.getContext(), /*tensorCores=*/true);
        repeated.push_back(builder.add(kernel)->repeated);
      }
    }
    const int64_t kScores = 2 * 64 * 64;
    EXPECT_EQ(repeated,
              (SmallVector<int64_t>{kScores * forward, kScores * backward}));
  }
}

// Sizes that fill blocks and that do not; heads that fill vectors and that do
// not.
const AttentionCase kCases[] = {
    {"small", 2, 3, 5, 2, 2, 4, 4, Scores::Scaled},
    {"odd", 1, 70, 67, 2, 2, 13, 19, Scores::Scaled},
    {"causal", 1, 130, 130, 1, 1, 32, 32, Scores::Causal},
    {"causal_f64", 1, 66, 66, 1, 1, 8, 8, Scores::Causal, "f64"},
    {"grouped", 2, 65, 65, 6, 2, 16, 16, Scores::Causal},
    {"infinite", 1, 129, 129, 1, 1, 8, 8, Scores::Infinite, "f32", true},
    {"window", 1, 200, 200, 1, 1, 20, 20, Scores::Window},
    {"padding", 2, 130, 130, 1, 1, 16, 16, Scores::Padding},
    {"window_more_queries", 1, 200, 100, 1, 1, 8, 8, Scores::Window},
    {"causal_more_keys", 1, 70, 200, 1, 1, 8, 8, Scores::Causal},
    {"added", 1, 130, 130, 1, 1, 8, 8, Scores::Added},
    {"excluded", 1, 130, 200, 1, 1, 16, 16, Scores::Excluded},
    {"late", 1, 200, 200, 1, 1, 8, 8, Scores::Late, "f32", true},
    {"window_many_keys", 1, 64, 1100, 1, 1, 4, 4, Scores::Window},
    {"one", 1, 1, 1, 1, 1, 1, 1, Scores::Scaled},
    {"one_row", 1, 1, 3, 1, 1, 13, 11, Scores::Scaled},
    {"bias", 2, 20, 70, 2, 2, 16, 80, Scores::Bias},
    {"bias_of_many", 130, 5, 6, 2, 1, 4, 4, Scores::Bias},
    {"bias_of_one", 1, 66, 3, 2, 2, 8, 8, Scores::Bias},
    {"bias_weighed", 3, 130, 70, 2, 1, 16, 16, Scores::BiasOfWeighed},
    {"bias_padded", 2, 130, 130, 2, 2, 16, 16, Scores::BiasOfPadded},
    {"bias_f64", 2, 66, 5, 2, 2, 8, 8, Scores::BiasOfPadded, "f64"},
    {"capped", 1, 64, 128, 1, 1, 64, 64, Scores::Capped},
    {"weighed", 1, 70, 70, 2, 1, 12, 12, Scores::Weighed},
    {"large_heads", 1, 64, 64, 1, 1, 256, 96, Scores::Causal},
    {"many_keys", 1, 16, 4200, 1, 1, 4, 4, Scores::Scaled},
    {"apart", 1, 70, 70, 2, 2, 16, 32, Scores::Causal, "f32", false, 4},
    {"apart_aligned", 1, 70, 70, 2, 2, 24, 16, Scores::Causal, "f32", false, 8},
    {"padding_grouped", 2, 130, 130, 4, 2, 16, 16, Scores::Padding, "f32",
     true},
    {"half", 1, 130, 130, 2, 1, 24, 18, Scores::Causal, "bf16"},
    {"forty_queries", 1, 40, 70, 2, 2, 16, 16, Scores::Scaled},
    // The gradients of the queries of a head are too large to hold.
    {"heads_not_held", 1, 130, 66, 8, 1, 128, 16, Scores::Causal},
    {"many_heads", 2, 130, 130, 4, 4, 16, 24, Scores::Causal},
    {"many_heads_grouped", 4, 70, 130, 4, 2, 16, 16, Scores::Padding, "f32",
     true},
    {"many_heads_bias", 4, 70, 66, 2, 2, 16, 16, Scores::BiasOfWeighed},
};

/// Returns those of them that tensor cores compute, in bf16, and one in f16.
std::vector<AttentionCase> casesOfTensorCores() {
  std::vector<AttentionCase> cases;
  for (AttentionCase attention : kCases) {
    attention.element = "bf16";
    cases.push_back(attention);
  }
  cases.push_back(
      {"grouped_f16", 2, 65, 65, 6, 2, 16, 16, Scores::Causal, "f16"});
  cases.push_back(
      {"heads_of_128", 1, 130, 130, 2, 1, 128, 128, Scores::Causal, "bf16"});
  cases.push_back({"bias_of_heads_of_128", 2, 70, 66, 2, 1, 128, 128,
                   Scores::BiasOfWeighed, "bf16"});
  // Larger heads are computed in parts, of keys, of values or of both.
  cases.push_back(
      {"heads_of_256", 2, 130, 130, 4, 2, 256, 256, Scores::Causal, "bf16"});
  cases.push_back(
      {"heads_of_192", 1, 70, 130, 2, 1, 192, 128, Scores::Padding, "f16"});
  cases.push_back({"values_of_137", 1, 66, 70, 1, 1, 24, 137,
                   Scores::BiasOfWeighed, "bf16"});
  cases.push_back({"more_keys_of_128", 1, 70, 130, 2, 1, 128, 128,
                   Scores::Padding, "bf16"});
  cases.push_back({"bias_of_heads_of_200", 2, 70, 66, 2, 1, 200, 136,
                   Scores::BiasOfPadded, "bf16"});
  return cases;
}

std::vector<AttentionCase> casesOfBf16() {
  std::vector<AttentionCase> cases(std::begin(kCases), std::end(kCases));
  for (AttentionCase &attention : cases) {
    attention.element = "bf16";
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Bf16Attention,
                         ::testing::Combine(::testing::ValuesIn(casesOfBf16()),
                                            ::testing::ValuesIn(kBf16Products)),
                         [](const auto &info) {
                           return nameOf(std::get<1>(info.param)) +
                                  std::get<0>(info.param).name;
                         });
INSTANTIATE_TEST_SUITE_P(All, Bf16Alone, ::testing::ValuesIn(kBf16Products),
                         [](const auto &info) { return nameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(All, TensorAttention,
                         ::testing::ValuesIn(casesOfTensorCores()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(All, Attention, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return info.param.name; });

} // namespace
