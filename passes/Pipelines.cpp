//===- Pipelines.cpp - the phases from an imported model to a schedule ----===//

#include "passes/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/zero/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zg;

namespace {

/// A pass's options, of what the user decides.
template <typename PassOptions>
PassOptions take(const TrainingOptions &options) {
  PassOptions result;
  zerograph::options::copy(options.user, result);
  return result;
}

/// Folds and removes what a phase left over.
void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addNestedPass<nn::ProgramOp>(nn::createSinkLiterals());
}

/// Makes sums the ones that every stage, rank and layout has, for which it
/// stands before sharding.
void addReassociations(OpPassManager &passes) {
  passes.addNestedPass<nn::ProgramOp>(nn::createSimplifyScatter());
  passes.addNestedPass<nn::ProgramOp>(nn::createShiftMoments());
}

void buildDifferentiate(OpPassManager &passes, const TrainingOptions &options) {
  addCleanup(passes);
  // Runs after the cleanup, which makes products of weights plain.
  passes.addPass(nn::createAddAdapters());
  passes.addPass(nn::createTrackSamples());
  auto sum = take<nn::SumLossOptions>(options);
  sum.loss = options.loss;
  passes.addPass(nn::createSumLoss(sum));
  // Runs after the cleanup, which would give the uses of a parameter one
  // rounding.
  passes.addPass(
      nn::createLowerPrecision(take<nn::LowerPrecisionOptions>(options)));
  nn::DifferentiateOptions differentiate;
  differentiate.loss = options.loss;
  differentiate.scaled = options.user.precision == "fp16";
  passes.addPass(nn::createDifferentiate(differentiate));
  passes.addPass(nn::createWidenGradients());
  passes.addPass(nn::createNarrowSaved());
  addCleanup(passes);
  addReassociations(passes);
}

void buildZero(OpPassManager &passes, const TrainingOptions &options) {
  // Must follow the cleanups of the phases above, which would share the views
  // again. Later ones may: by then it is decided what is gathered for whom.
  passes.addPass(zero::createLocalizeViews());
  auto layout = take<zero::LayoutOptions>(options);
  layout.groups = llvm::join(options.user.group, ";");
  passes.addPass(zero::createLayout(layout));
  passes.addPass(zero::createRecompute(take<zero::RecomputeOptions>(options)));
  passes.addPass(zero::createGathers());
  passes.addPass(zero::createReductions());
  // Updates units in the order in which they are reduced.
  auto updates = take<zero::UpdatesOptions>(options);
  auto clip = take<zero::ClipNormOptions>(options);
  updates.skip_nonfinite = clip.skip_nonfinite =
      zerograph::options::skipsNonfinite(options.user);
  passes.addPass(zero::createUpdates(updates));
  passes.addPass(zero::createClipNorm(clip));
  passes.addPass(zero::createFuseStep(take<zero::FuseStepOptions>(options)));
  // Early in a fused step, so that no update waits for it.
  passes.addPass(zero::createMeanByCount());
  // Comes after the programs of training, whose units it reads.
  passes.addPass(zero::createEvaluate());
  passes.addPass(zero::createOneRank());
  passes.addPass(zero::createFileStates());
  passes.addPass(zero::createOffload());
  // A sum that is carried to another program cannot lie among the gradients.
  passes.addPass(zero::createReduceInPlace());
  passes.addPass(zero::createVerifyZero());
}

void buildForward(OpPassManager &passes) {
  addCleanup(passes);
  passes.addPass(nn::createTrackSamples());
  addReassociations(passes);
  passes.addPass(zero::createForward());
  passes.addPass(zero::createVerifyZero());
}

void buildPrefetch(OpPassManager &passes, const TrainingOptions &options) {
  passes.addPass(zero::createPrefetch(take<zero::PrefetchOptions>(options)));
  passes.addPass(zero::createVerifyZero());
}

void buildDecompose(OpPassManager &passes, const TargetInfo &target) {
  passes.addNestedPass<nn::ProgramOp>(nn::createDecompose(target));
  addCleanup(passes);
  // Random numbers ask for scalars, which only now are there.
  passes.addPass(zero::createBindScalars());
  passes.addPass(zero::createVerifyZero());
}

void buildKernels(OpPassManager &passes, const TargetInfo &target) {
  passes.addNestedPass<nn::ProgramOp>(nn::createWidenHalf(target));
  passes.addNestedPass<nn::ProgramOp>(nn::createSplitLongRows());
  // Before kernels: a transposition that a product takes over needs none.
  passes.addNestedPass<nn::ProgramOp>(nn::createSimplifyMatmul());
  addCleanup(passes);
  passes.addPass(zero::createSplitSides());
  passes.addNestedPass<nn::ProgramOp>(nn::createFormKernels());
  // Before CSE: kernels that read a buffer and its copy may then be equal.
  passes.addNestedPass<nn::ProgramOp>(nn::createElideCopies());
  // Equal views within a kernel, and equal kernels, are one.
  passes.addPass(createCSEPass());
  // Runs after CSE, which would merge conversions that are to be made twice.
  passes.addNestedPass<nn::ProgramOp>(nn::createWidenProducts(target));
  passes.addNestedPass<nn::ProgramOp>(nn::createVerifyKernels());
  // Again, after CSE, as what follows.
  passes.addPass(zero::createSplitSides());
  passes.addNestedPass<nn::ProgramOp>(zero::createForgetRecalls());
  passes.addNestedPass<nn::ProgramOp>(zero::createEarlyUpdates());
}

void buildSchedule(OpPassManager &passes, const TargetInfo &target) {
  passes.addPass(sched::createLowerToSched(target));
  // Correct first, then the same with fewer waits.
  passes.addPass(sched::createPlaceEvents());
  passes.addPass(sched::createThrottle());
  passes.addPass(sched::createElideWaits());
}

void buildMemory(OpPassManager &passes) {
  passes.addPass(sched::createPackBuffers());
  // Only the awaits that the packed program needs.
  passes.addPass(sched::createPlaceEvents());
  passes.addPass(sched::createElideWaits());
}

} // namespace

/// From programs of the zero dialect on.
static std::vector<Phase> loweringPhases(const TargetInfo &target) {
  return {
      {"decompose",
       "Rewrites to the core what the device does not compute whole.",
       {},
       [&target](OpPassManager &passes) { buildDecompose(passes, target); }},
      {"kernels",
       "Groups ops into kernels.",
       {},
       [&target](OpPassManager &passes) { buildKernels(passes, target); }},
      {"schedule",
       "Makes steps on streams, and what they await.",
       {"sched-throttle"},
       [&target](OpPassManager &passes) { buildSchedule(passes, target); }},
      {"memory", "Gives every buffer its place.", {}, buildMemory},
  };
}

std::vector<Phase> mlir::zg::trainingPhases(const TrainingOptions &options,
                                            const TargetInfo &target) {
  std::vector<Phase> phases = {
      {"differentiate",
       "Adds the backward graph.",
       {"nn-sum-loss", "nn-lower-precision", "nn-differentiate"},
       [=](OpPassManager &passes) { buildDifferentiate(passes, options); }},
      {"zero",
       "Shards, and inserts optimizer and collectives.",
       {"zero-layout", "zero-recompute", "zero-updates", "zero-clip-norm",
        "zero-fuse-step"},
       [=](OpPassManager &passes) { buildZero(passes, options); }},
      {"prefetch",
       "Starts gathers early.",
       {"zero-prefetch"},
       [=](OpPassManager &passes) { buildPrefetch(passes, options); }},
  };
  llvm::append_range(phases, loweringPhases(target));
  return phases;
}

std::vector<Phase> mlir::zg::forwardPhases(const TargetInfo &target) {
  std::vector<Phase> phases = {
      {"forward", "Puts the program on one rank.", {}, buildForward}};
  llvm::append_range(phases, loweringPhases(target));
  return phases;
}

std::vector<Phase> mlir::zg::gradientPhases(const TrainingOptions &options) {
  return {
      {"differentiate",
       "Adds the backward graph.",
       {},
       [=](OpPassManager &passes) { buildDifferentiate(passes, options); }},
      {"composites",
       "Rewrites composites to the core.",
       {},
       [](OpPassManager &passes) {
         passes.addNestedPass<nn::ProgramOp>(nn::createDecomposeComposites());
         addCleanup(passes);
       }},
  };
}

/// Gives each option of `text`, "NAME=VALUE NAME=VALUE", to those of `passes`
/// that have it.
static LogicalResult
configure(MutableArrayRef<Pass *> passes, StringRef text,
          function_ref<LogicalResult(const Twine &)> error) {
  SmallVector<StringRef> options;
  text.split(options, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef option : options) {
    std::string message;
    auto keep = [&](const Twine &problem) {
      message = problem.str();
      return failure();
    };
    bool taken = false; // by one pass, or by several that share it
    for (Pass *pass : passes) {
      taken |= succeeded(pass->initializeOptions(option, keep));
    }
    if (!taken) {
      return error(message);
    }
  }
  return success();
}

void mlir::zg::registerPhases(const TargetInfo &target) {
  std::vector<Phase> phases = trainingPhases({}, target);
  phases.push_back(forwardPhases(target).front());
  for (const Phase &phase : phases) {
    auto add = [phase](OpPassManager &passes, StringRef options,
                       llvm::function_ref<LogicalResult(const Twine &)> error) {
      size_t before = passes.size();
      phase.build(passes);
      if (!options.empty() && phase.configured.empty()) {
        return error("zg-" + phase.name + " has no options");
      }
      SmallVector<Pass *> configured;
      for (Pass &pass : llvm::drop_begin(passes.getPasses(), before)) {
        if (llvm::is_contained(phase.configured, pass.getArgument())) {
          configured.push_back(&pass);
        }
      }
      return configure(configured, options, error);
    };
    std::string options =
        phase.configured.empty()
            ? ""
            : " Options: those of " + llvm::join(phase.configured, ", ") + ".";
    registerPassPipeline("zg-" + phase.name, phase.summary + options, add,
                         [](auto) {});
  }
}
