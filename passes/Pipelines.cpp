//===- Pipelines.cpp - the phases from an imported model to a schedule ----===//

#include "passes/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/RewriteConfig.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"
#include "passes/memory/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/zero/Passes.h"

#include "llvm/ADT/StringExtras.h"

#include <functional>
#include <tuple>
#include <type_traits>

using namespace mlir;
using namespace mlir::zg;

namespace {

/// Tells whether a pass has the option that `get` gets.
template <typename Get>
consteval bool isTaken(Get) {
  auto anyOf = []<typename... Options>(std::tuple<Options...> *) {
    return (std::is_invocable_v<Get, Options &> || ...);
  };
  using Takers = std::tuple<
      nn::RaiseAttentionOptions, nn::SumLossOptions, nn::LowerPrecisionOptions,
      zero::LayoutOptions, zero::RecomputeOptions, zero::UpdatesOptions,
      zero::ClipNormOptions, zero::FuseStepOptions, zero::PrefetchOptions>;
  return anyOf(static_cast<Takers *>(nullptr));
}

using enum zerograph::options::Taker;
#define ZG_COMPILE_OPTION(type, field, value, name, placeholder, check,        \
                          commands, takers, ...)                               \
  static_assert(                                                               \
      (((takers)&kPasses) != 0) ==                                             \
          isTaken([](auto &pass) -> decltype(pass.field) { return {}; }),      \
      "--" name ": the column takers and the options of passes differ");
#include "options/Options.def"

/// Adds the passes of a phase, each with the user's options that it takes, so
/// that none is left with its defaults by mistake.
class PhaseBuilder {
public:
  PhaseBuilder(OpPassManager &passes, const TrainingOptions &options)
      : options(options), passes(passes) {}

  /// Adds a pass that has options; `adjust` sets those that are no user's.
  template <typename Options>
  void
  add(std::unique_ptr<Pass> (*create)(const Options &),
      const std::type_identity_t<std::function<void(Options &)>> &adjust = {}) {
    Options taken;
    zerograph::options::copy<kPasses>(options.user, taken);
    if (adjust) {
      adjust(taken);
    }
    passes.addPass(create(taken));
  }

  /// Creates a pass that has no options. A pass that has options is created by
  /// either of two functions; overload resolution prefers the other `add`,
  /// which needs no conversion.
  struct WithoutOptions {
    WithoutOptions(std::unique_ptr<Pass> (*create)()) : create(create) {}
    std::unique_ptr<Pass> (*create)();
  };
  void add(WithoutOptions pass) { passes.addPass(pass.create()); }

  /// For passes that all phases run.
  operator OpPassManager &() { return passes; }

  const TrainingOptions &options;

private:
  OpPassManager &passes;
};

/// Folds and removes what a phase left over.
void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass(rewriteConfig()));
  passes.addPass(createCSEPass());
  passes.addNestedPass<nn::ProgramOp>(nn::createSinkLiterals());
}

/// Makes sums the ones that every stage, rank and layout has, for which it
/// stands before sharding.
void addReassociations(OpPassManager &passes) {
  passes.addNestedPass<nn::ProgramOp>(nn::createSimplifyScatter());
  passes.addNestedPass<nn::ProgramOp>(nn::createShiftMoments());
}

void buildDifferentiate(PhaseBuilder phase) {
  const TrainingOptions &options = phase.options;
  addCleanup(phase);
  phase.add(nn::createSliceProducts);
  // Runs after the cleanup, which makes products of weights plain.
  phase.add(nn::createAddAdapters);
  // Runs after adapters, which decide what is trained.
  phase.add(nn::createRaiseAttention);
  addCleanup(phase);
  phase.add(nn::createTrackSamples);
  phase.add(nn::createSumLoss, [&](auto &sum) { sum.loss = options.loss; });
  // Runs after the cleanup, which would give the uses of a parameter one
  // rounding.
  phase.add(nn::createLowerPrecision);
  phase.add(nn::createDifferentiate, [&](auto &differentiate) {
    differentiate.loss = options.loss;
    differentiate.scaled = options.user.precision == "fp16";
  });
  phase.add(nn::createWidenGradients);
  // Runs before values are rounded, whose sums do not follow.
  phase.add(nn::createReuseSums);
  phase.add(nn::createNarrowSaved);
  addCleanup(phase);
  addReassociations(phase);
}

/// Adds what a plan has and a graph of gradients for ONNX has not.
void buildTiles(PhaseBuilder phase) {
  phase.add(nn::createMergeProducts);
  phase.add(nn::createTileRows);
  phase.add(nn::createTileHidden, [&](auto &tile) {
    tile.tileElements = phase.options.hidden_tile.value_or(tile.tileElements);
  });
  addCleanup(phase);
  // Runs after the cleanup, without which sums have other readers that go.
  phase.add(nn::createFuseBias);
  addCleanup(phase);
  OpPassManager &passes = phase;
  passes.addNestedPass<nn::ProgramOp>(nn::createMarkNarrowProducts());
}

void buildZero(PhaseBuilder phase) {
  const TrainingOptions &options = phase.options;
  auto skip = [&](auto &taken) {
    taken.skip_nonfinite = zerograph::options::skipsNonfinite(options.user);
  };
  // Must follow the cleanups of the phases above, which would share the views
  // again. Later ones may: by then it is decided what is gathered for whom.
  phase.add(zero::createLocalizeViews);
  phase.add(zero::createLayout, [&](auto &layout) {
    layout.groups = llvm::join(options.user.group, ";");
  });
  phase.add(zero::createRecompute);
  phase.add(zero::createGathers);
  phase.add(zero::createReductions);
  // Updates units in the order in which they are reduced.
  phase.add(zero::createUpdates, skip);
  phase.add(zero::createClipNorm, skip);
  phase.add(zero::createFuseStep);
  // Early in a fused step, so that no update waits for it.
  phase.add(zero::createNormalizeByTokenCount);
  // Comes after the programs of training, whose units it reads.
  phase.add(zero::createEvaluate);
  phase.add(zero::createOneRank);
  phase.add(zero::createFileStates);
  phase.add(zero::createOffload);
  // A sum that is carried to another program cannot lie among the gradients.
  phase.add(zero::createReduceInPlace);
  phase.add(zero::createVerifyZero);
}

void buildForward(OpPassManager &passes) {
  addCleanup(passes);
  nn::RaiseAttentionOptions forward;
  forward.trains = false;
  passes.addPass(nn::createRaiseAttention(forward));
  addCleanup(passes);
  passes.addPass(nn::createTrackSamples());
  addReassociations(passes);
  passes.addPass(nn::createFuseBias());
  addCleanup(passes);
  passes.addPass(zero::createForward());
  passes.addPass(zero::createVerifyZero());
}

void buildPrefetch(PhaseBuilder phase) {
  phase.add(zero::createPrefetch);
  phase.add(zero::createVerifyZero);
}

void buildDecompose(OpPassManager &passes, const TargetInfo &target) {
  passes.addNestedPass<nn::ProgramOp>(nn::createShareRows());
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
  passes.addNestedPass<nn::ProgramOp>(nn::createTransposeOnce(target));
  passes.addNestedPass<nn::ProgramOp>(nn::createFormAttention());
  passes.addNestedPass<nn::ProgramOp>(nn::createFormKernels());
  // Before CSE: kernels that read a buffer and its copy may then be equal.
  passes.addNestedPass<nn::ProgramOp>(nn::createElideCopies());
  // Equal views within a kernel, and equal kernels, are one.
  passes.addPass(createCSEPass());
  passes.addNestedPass<nn::ProgramOp>(nn::createStoreBesideColumns(target));
  passes.addNestedPass<nn::ProgramOp>(nn::createJoinColumns(target));
  // Runs after CSE, which would merge conversions that are to be made twice.
  passes.addNestedPass<nn::ProgramOp>(nn::createWidenProducts(target));
  passes.addNestedPass<nn::ProgramOp>(nn::createVerifyKernels());
  // After CSE, as what follows.
  passes.addNestedPass<nn::ProgramOp>(zero::createForgetRecalls());
  passes.addNestedPass<nn::ProgramOp>(zero::createHoistUpdates());
  // Last: what other passes see is dense.
  passes.addNestedPass<nn::ProgramOp>(nn::createPadRows(target));
}

void buildSchedule(OpPassManager &passes, const TargetInfo &target) {
  passes.addPass(sched::createLowerToSched(target));
  // Elides after both have placed awaits: those of one may follow from the
  // other's.
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
       [&target](OpPassManager &passes) { buildDecompose(passes, target); }},
      {"kernels", "Groups ops into kernels.",
       [&target](OpPassManager &passes) { buildKernels(passes, target); }},
      {"schedule", "Makes steps on streams, and what they await.",
       [&target](OpPassManager &passes) { buildSchedule(passes, target); }},
      {"memory", "Gives every buffer its place.", buildMemory},
  };
}

std::vector<Phase> mlir::zg::trainingPhases(const TrainingOptions &options,
                                            const TargetInfo &target) {
  std::vector<Phase> phases = {
      {"differentiate", "Adds the backward graph.",
       [=](OpPassManager &passes) {
         buildDifferentiate({passes, options});
         buildTiles({passes, options});
       }},
      {"zero", "Shards, and inserts optimizer and collectives.",
       [=](OpPassManager &passes) {
         buildZero({passes, options});
       }},
      {"prefetch", "Starts gathers early.",
       [=](OpPassManager &passes) {
         buildPrefetch({passes, options});
       }},
  };
  llvm::append_range(phases, loweringPhases(target));
  return phases;
}

std::vector<Phase> mlir::zg::forwardPhases(const TargetInfo &target) {
  std::vector<Phase> phases = {
      {"forward", "Puts the program on one rank.", buildForward}};
  llvm::append_range(phases, loweringPhases(target));
  return phases;
}

std::vector<Phase> mlir::zg::gradientPhases(const TrainingOptions &given) {
  // ONNX has products and a softmax, as the model has.
  TrainingOptions options = given;
  options.user.attention = "products";
  return {
      {"differentiate", "Adds the backward graph.",
       [=](OpPassManager &passes) {
         buildDifferentiate({passes, options});
       }},
      {"composites", "Rewrites composites to the core.",
       [](OpPassManager &passes) {
         passes.addNestedPass<nn::ProgramOp>(nn::createDecomposeComposites());
         addCleanup(passes);
       }},
  };
}

/// Gives each option of `text`, "NAME=VALUE NAME=VALUE", to those of `passes`
/// that have it.
template <typename Passes>
static LogicalResult
configure(Passes passes, StringRef text,
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
    for (Pass &pass : passes) {
      taken |= succeeded(pass.initializeOptions(option, keep));
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
      return configure(llvm::drop_begin(passes.getPasses(), before), options,
                       error);
    };
    registerPassPipeline("zg-" + phase.name,
                         phase.summary + " Options: those of its passes.", add,
                         [](auto) {});
  }
}
