//===- Pipelines.cpp - the phases from an imported model to a schedule ----===//

#include "passes/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/kernels/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/schedule/Passes.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

/// Folds and removes what a phase left over.
void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void buildDifferentiate(OpPassManager &passes, const TrainingOptions &options) {
  addCleanup(passes);
  nn::DifferentiateOptions differentiate;
  differentiate.loss = options.loss;
  passes.addPass(nn::createDifferentiate(differentiate));
  addCleanup(passes);
}

void buildDecompose(OpPassManager &passes) {
  passes.addNestedPass<func::FuncOp>(nn::createDecompose());
  addCleanup(passes);
}

void buildZero(OpPassManager &passes, const TrainingOptions &options) {
  // Must follow the last CSE: that would share the views again.
  passes.addPass(zero::createLocalizeViews());
  passes.addPass(zero::createShard(options.shard));
  passes.addPass(zero::createExpandAllReduce());
  passes.addPass(zero::createVerifyZero());
}

void buildPrefetch(OpPassManager &passes, const TrainingOptions &options) {
  zero::PrefetchOptions prefetch;
  prefetch.distance = options.prefetchDistance;
  passes.addPass(zero::createPrefetch(prefetch));
  passes.addPass(zero::createVerifyZero());
}

void buildKernels(OpPassManager &passes) {
  // Before kernels: a transposition that a product takes over needs none.
  passes.addNestedPass<func::FuncOp>(nn::createSimplifyMatmul());
  addCleanup(passes);
  passes.addNestedPass<func::FuncOp>(nn::createFormKernels());
  // Equal views within a kernel, and equal kernels, are one.
  passes.addPass(createCSEPass());
  passes.addNestedPass<func::FuncOp>(nn::createVerifyKernels());
}

void buildSchedule(OpPassManager &passes, const TargetInfo &target) {
  passes.addPass(sched::createLowerToSched(target));
  passes.addPass(sched::createVerifySched({/*ordered=*/false}));
  // Correct first, then the same with fewer waits.
  passes.addPass(sched::createPlaceEvents());
  passes.addPass(sched::createThrottle());
  passes.addPass(sched::createElideWaits());
  passes.addPass(sched::createVerifySched());
}

void buildMemory(OpPassManager &passes) {
  passes.addPass(sched::createPackBuffers());
  // Only the awaits that the packed program needs.
  passes.addPass(sched::createPlaceEvents());
  passes.addPass(sched::createElideWaits());
  passes.addPass(sched::createVerifySched());
}

} // namespace

std::vector<Phase> mlir::zg::trainingPhases(const TrainingOptions &options,
                                            const TargetInfo &target) {
  return {
      {"differentiate",
       [=](OpPassManager &passes) { buildDifferentiate(passes, options); }},
      {"decompose", buildDecompose},
      {"zero", [=](OpPassManager &passes) { buildZero(passes, options); }},
      {"prefetch",
       [=](OpPassManager &passes) { buildPrefetch(passes, options); }},
      {"kernels", buildKernels},
      {"schedule",
       [&target](OpPassManager &passes) { buildSchedule(passes, target); }},
      {"memory", buildMemory},
  };
}
