#include "passes/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/Rules.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/sched/SchedDialect.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/kernels/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/zero/Passes.h"

void mlir::zg::registerDialects(DialectRegistry &registry) {
  registry.insert<nn::NNDialect, sched::SchedDialect, zero::ZeroDialect>();
  nn::registerGradientRules(registry);
}

void mlir::zg::registerPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
  nn::registerDifferentiatePasses();
  nn::registerKernelsPasses();
  sched::registerMemoryPasses();
  sched::registerSchedulePasses();
  zero::registerZeroPasses();
}
