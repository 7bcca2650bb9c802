//===- CudaModelsTest.cpp - every kernel of the models, on CUDA -----------===//
//
// The kernels of whole training steps, without any library: on the emulator
// they have the host's bits, and ptxas assembles them without spills.
//
//===----------------------------------------------------------------------===//

#include "codegen/host/HostTargetInfo.h"
#include "frontend/Import.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipelines.h"
#include "passes/Registration.h"
#include "passes/ir/sched/SchedDialect.h"
#include "passes/schedule/InPlace.h"
#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "tests/codegen/Ptxas.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// Model below models/, stage, ranks.
struct Case {
  std::string model;
  int64_t stage, ranks;
  std::map<std::string, int64_t> dims;
};

/// The schedule of a training step of a model, with generated products.
class Schedule {
public:
  explicit Schedule(const Case &wanted) {
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    zerograph::frontend::ImportOptions import;
    import.dims = wanted.dims;
    zerograph::frontend::ImportReport report;
    auto imported = zerograph::frontend::importModel(
        *context, std::string(ZEROGRAPH_MODELS) + "/" + wanted.model, import,
        &report);
    if (!imported.ok()) {
      ADD_FAILURE() << imported.status().ToString();
      return;
    }
    module = std::move(*imported);
    TrainingOptions options;
    options.loss = report.loss_output;
    options.user.zero_stage = wanted.stage;
    options.user.ranks = wanted.ranks;
    HostTargetInfo target(/*library=*/false);
    for (const Phase &phase : trainingPhases(options, target)) {
      PassManager passes(context.get());
      phase.build(passes);
      EXPECT_TRUE(succeeded(passes.run(*module))) << phase.name;
    }
  }

  std::vector<Operation *> kernels() {
    std::vector<Operation *> ops;
    if (module) {
      for (auto op : module->getOps<sched::KernelOp>()) {
        ops.push_back(op.kernel());
      }
    }
    return ops;
  }

private:
  DialectRegistry registry;
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

/// Floats of any size and sign, zeros, a few infinities and NaNs; small
/// integers, as indices are.
Bytes randomBytes(Type type, std::mt19937 &random) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  Bytes bytes(nn::tensorBytes(type));
  unsigned width = std::max(8u, element.getIntOrFloatBitWidth()) / 8;
  std::uniform_real_distribution<double> around(-3, 3);
  for (size_t i = 0; i < bytes.size(); i += width) {
    auto put = [&](auto value) { std::memcpy(&bytes[i], &value, width); };
    if (element.isInteger(1)) {
      put(uint8_t(random() % 2));
    } else if (isa<IntegerType>(element)) {
      put(int64_t(random() % 100));
    } else if (element.isF64()) {
      put(around(random));
    } else if (element.isF32()) {
      static constexpr float rare[] = {0.0f,  -0.0f,    1e-40f,
                                       1e30f, INFINITY, -INFINITY};
      put(random() % 100 ? float(around(random)) : rare[random() % 6]);
    } else {
      put(uint16_t(random()));
    }
  }
  return bytes;
}

std::vector<Bytes> runOnHost(const Library &library, const KernelInfo &info,
                             Operation *op, std::vector<Bytes> operands) {
  std::vector<Bytes> results;
  std::vector<void *> buffers;
  for (Type type : op->getResultTypes()) {
    results.emplace_back(nn::tensorBytes(type));
  }
  for (std::vector<Bytes> *all : {&operands, &results}) {
    for (Bytes &bytes : *all) {
      buffers.push_back(bytes.data());
    }
  }
  library.find(info.symbol)(buffers.data(), 0, info.extent);
  return results;
}

void expectSame(Operation *op, ArrayRef<Bytes> expected, ArrayRef<Bytes> got,
                const std::string &what) {
  for (size_t r = 0; r < expected.size(); ++r) {
    auto type = cast<RankedTensorType>(op->getResult(r).getType());
    EXPECT_TRUE(sameBits(type.getElementType(), expected[r], got[r]))
        << nn::nameOf(op->getLoc()) << ", result " << r << what;
  }
}

class CudaModels : public ::testing::TestWithParam<Case> {};

TEST_P(CudaModels, KernelsHaveTheHostsBits) {
  Schedule schedule(GetParam());
  std::vector<Operation *> ops = schedule.kernels();
  ASSERT_FALSE(ops.empty());
  KernelModuleBuilder builder(ops[0]->getContext(), *parseHostTarget("native"));
  std::vector<KernelInfo> infos;
  for (Operation *op : ops) {
    infos.push_back(*builder.add(op));
  }
  Library library(*builder.finish());
  CudaKernels cuda(ops);
  ASSERT_TRUE(cuda.ok());
  std::mt19937 random(1);
  for (auto [k, op] : llvm::enumerate(ops)) {
    std::vector<Bytes> operands;
    for (Type type : op->getOperandTypes()) {
      operands.push_back(randomBytes(type, random));
    }
    std::vector<Bytes> expected = runOnHost(library, infos[k], op, operands);
    expectSame(op, expected, cuda.run(k, operands, k), "");
    auto fused = dyn_cast<nn::KernelOp>(op);
    for (unsigned i = 0; fused && i < op->getNumOperands(); ++i) {
      for (unsigned r = 0; r < op->getNumResults(); ++r) {
        if (sched::canShareStorage(fused, i, r)) {
          expectSame(op, expected, cuda.run(k, operands, k, {{i, r}}),
                     ", in the place of operand " + std::to_string(i));
        }
      }
    }
  }
  for (const char *architecture : {"sm_80", "sm_90"}) {
    EXPECT_THAT(inexactLines(cuda.ptx(architecture)), ::testing::IsEmpty());
  }
}

class PtxasModels : public ::testing::TestWithParam<Case> {};

TEST_P(PtxasModels, AssembledWithoutSpills) {
  std::string ptxas = findPtxas();
  if (ptxas.empty()) {
    GTEST_SKIP() << kNoPtxas;
  }
  Schedule schedule(GetParam());
  CudaKernels cuda(schedule.kernels());
  ASSERT_TRUE(cuda.ok());
  for (const char *architecture : {"sm_80", "sm_90"}) {
    EXPECT_EQ(assemble(ptxas, architecture, cuda.ptx(architecture)), "");
  }
}

const Case kModels[] = {
    {"mlp-digits/model.onnx", 0, 1, {{"batch", 8}}},
    {"gpt2-nano/model.onnx", 3, 2, {{"batch", 2}, {"seq", 16}}},
    {"gpt2-nano-dropout/model.onnx", 1, 2, {{"batch", 2}, {"seq", 16}}},
    {"resnet-mini/model.onnx", 0, 1, {{"batch", 2}}},
};
/// Too large to be run here.
const Case kGpt2Small = {
    "structure/gpt2-small.onnx", 3, 8, {{"batch", 4}, {"seq", 1024}}};

std::string nameOf(const ::testing::TestParamInfo<Case> &info) {
  std::string name = info.param.model;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, CudaModels, ::testing::ValuesIn(kModels), nameOf);
INSTANTIATE_TEST_SUITE_P(All, PtxasModels, ::testing::ValuesIn(kModels),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Large, PtxasModels, ::testing::Values(kGpt2Small),
                         nameOf);

} // namespace
