//===- LiteralsTest.cpp - no plan makes tensors of nothing ----------------===//
//
// A value that follows from constants and positions alone, such as a causal
// mask, costs a few instructions where it is read, and gigabytes of traffic as
// a tensor. So no kernel without operands may write more than some KiB. Zero
// fills are steps of their own, and random numbers read their seed.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/steps/Step.h"
#include "tools/compiler/Compile.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

namespace zerograph::testing {
namespace {

/// Folding may make nothing larger of constants either.
constexpr uint64_t kMostBytes = 64 << 10;

struct Case {
  const char *name, *model;
  int64_t batch, sequence;
  std::string target = "host:native", precision = "bf16";
  int64_t ranks = 1, stage = 0;
  bool offload = false;
};

void PrintTo(const Case &test, std::ostream *out) { *out << test.name; }

class Literals : public ::testing::TestWithParam<Case> {
protected:
  static plan::Plan compileWith(const char *recompute) {
    const Case &test = GetParam();
    CompileOptions options;
    options.model = absl::StrCat(ZEROGRAPH_MODELS, "/", test.model);
    options.dims = {{"batch", test.batch}, {"seq", test.sequence}};
    options.target = test.target;
    options.precision = test.precision;
    options.ranks = test.ranks;
    options.zero_stage = test.stage;
    options.recompute = recompute;
    options.offload_optimizer = test.offload ? "cpu" : "none";
    options.offload_param = test.offload && test.stage == 3 ? "cpu" : "none";
    auto compiled = compile(options);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled.ok() ? std::move(compiled->plan) : plan::Plan();
  }

  /// Returns the bytes that a launch writes which reads nothing; else 0.
  static uint64_t bytesOfNothing(const plan::Step &step) {
    uint64_t written = 0;
    for (int i = 0; i < step.accesses_size() && step.has_launch(); ++i) {
      if (effectOf(step, i).reads) {
        return 0;
      }
      written += step.accesses(i).bytes();
    }
    return written;
  }
};

TEST_P(Literals, AreMadeWhereTheyAreRead) {
  for (const char *recompute : {"none", "selective", "units"}) {
    plan::Plan plan = compileWith(recompute);
    for (const plan::Program &program : plan.programs()) {
      for (const plan::Step &step : program.steps()) {
        EXPECT_LE(bytesOfNothing(step), kMostBytes)
            << "--recompute " << recompute << ": " << program.name() << ", "
            << step.name() << " makes "
            << plan.slices(int(step.accesses(0).slice())).name();
      }
    }
  }
}

const char *const kNano = "gpt2-nano/model.onnx";
const char *const kSmall = "structure/gpt2-small.onnx";
const char *const kLlama = "structure/llama3-8b.onnx";

INSTANTIATE_TEST_SUITE_P(
    All, Literals,
    ::testing::Values(
        Case{"Nano", kNano, 8, 64, "host:native", "fp32"},
        Case{"NanoOffloaded", kNano, 8, 64, "host:native", "fp32", 2, 3,
             /*offload=*/true},
        Case{"NanoOnCuda", kNano, 8, 64, "cuda:sm_90", "bf16", 2, 2},
        Case{"NanoOffloadedOnCuda", kNano, 8, 64, "cuda:sm_90", "fp32", 2, 3,
             /*offload=*/true},
        Case{"Small", kSmall, 8, 1024},
        Case{"SmallOnCuda", kSmall, 8, 1024, "cuda:sm_90"},
        Case{"SmallOnCudaInF32", kSmall, 8, 1024, "cuda:sm_90", "fp32"},
        Case{"SmallOffloaded", kSmall, 8, 1024, "cuda:sm_90", "bf16", 8, 3,
             /*offload=*/true},
        Case{"Llama", kLlama, 1, 8192, "host:native", "bf16", 8, 3},
        Case{"LlamaOnCuda", kLlama, 1, 8192, "cuda:sm_90", "bf16", 8, 3}),
    [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace zerograph::testing
