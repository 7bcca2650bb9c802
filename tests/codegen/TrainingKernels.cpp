//===- TrainingKernels.cpp - the kernels of training steps in tests -------===//

#include "tests/codegen/TrainingKernels.h"

#include "codegen/host/HostTargetInfo.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Registration.h"
#include "passes/ir/sched/SchedDialect.h"
#include "passes/schedule/InPlace.h"
#include "tests/codegen/CountedCost.h"
#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

TrainingKernels::TrainingKernels(
    const std::string &model, const zerograph::frontend::ImportOptions &import,
    TrainingOptions options) {
  registerDialects(registry);
  context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    wrong += diagnostic.getSeverity() == DiagnosticSeverity::Error
                 ? diagnostic.str() + "\n"
                 : "";
    return success();
  });
  zerograph::frontend::ImportReport report;
  auto imported =
      zerograph::frontend::importModel(*context, model, import, &report);
  if (!imported.ok()) {
    wrong = imported.status().ToString();
    return;
  }
  OwningOpRef<ModuleOp> made = std::move(*imported);
  options.loss = report.loss_output;
  HostTargetInfo target(/*library=*/false, /*convolution=*/false);
  for (const Phase &phase : trainingPhases(options, target)) {
    PassManager passes(context.get());
    phase.build(passes);
    if (failed(passes.run(*made))) {
      wrong = phase.name + ": " + wrong;
      return;
    }
  }
  module = std::move(made);
}

std::vector<Operation *> TrainingKernels::ops() {
  std::vector<Operation *> ops;
  if (module) {
    for (auto op : module->getOps<sched::KernelOp>()) {
      ops.push_back(op.kernel());
    }
  }
  return ops;
}

namespace {

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

} // namespace

void zg::testing::expectHostsBits(ArrayRef<Operation *> ops) {
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
    if (fused) {
      expectCostIsCounted(fused, cuda.touched());
    }
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
