//===- Compile.cpp - from a model file to a plan --------------------------===//

#include "tools/compiler/Compile.h"

#include "codegen/plan/PlanWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "options/Memory.h"
#include "passes/Pipelines.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNDialect.h"
#include "runtime/base/Status.h"
#include "runtime/io/GraphHash.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Validate.h"
#include "runtime/plan/Verify.h"
#include "tools/compiler/CheckPlan.h"
#include "tools/compiler/CompilerContext.h"
#include "tools/compiler/Diagnostics.h"
#include "tools/compiler/DumpDirectory.h"
#include "tools/compiler/Import.h"
#include "tools/compiler/MemoryFitCandidates.h"
#include "tools/compiler/RunPhases.h"
#include "tools/compiler/Schedule.h"
#include "tools/compiler/Target.h"

#include "llvm/Support/Path.h"

#include <chrono>
#include <filesystem>

namespace zerograph {
namespace {

/// Measures phases in turn.
class Stopwatch {
public:
  explicit Stopwatch(CompileResult &result) : result(result) {}
  void lap(const std::string &phase) {
    auto now = std::chrono::steady_clock::now();
    result.seconds.emplace_back(
        phase, std::chrono::duration<double>(now - last).count());
    last = now;
  }

private:
  CompileResult &result;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

bool convolves(mlir::ModuleOp module) {
  return module
      .walk([](mlir::zg::nn::ConvolutionOp) {
        return mlir::WalkResult::interrupt();
      })
      .wasInterrupted();
}

/// Within a step nothing holds the sums over ranks that are dumped.
absl::Status checkDump(const CompileOptions &options) {
  bool last =
      options.reduce == "last" && options.accumulate > 1 && options.ranks > 1;
  return last && options.dump_gradients
             ? absl::InvalidArgumentError(
                   "--dump-gradients with --reduce last: ranks add their "
                   "gradients up only within the update; give --reduce each")
             : absl::OkStatus();
}

/// Returns when a file was last written; the earliest time if it is not there.
std::filesystem::file_time_type timeOf(const std::string &path) {
  std::error_code ignored; // reading the file says what is wrong
  return std::filesystem::last_write_time(path, ignored);
}

/// Returns what a plan says besides its steps.
mlir::zg::PlanInfo planInfoOf(const CompileOptions &options,
                              const std::string &loss,
                              const CompileResult &result) {
  mlir::zg::PlanInfo info;
  info.model = llvm::sys::path::filename(options.model).str();
  info.folder = llvm::sys::path::parent_path(options.model).str();
  if (info.folder.empty()) {
    info.folder = std::string("."); // empty means the plan's own
  }
  info.loss = loss;
  info.metrics = options.metrics;
  info.dump_gradients = options.dump_gradients;
  info.without_code = options.until == CompileOptions::Until::Costed;
  info.schedule = scheduleOf(options);
  if (!options.forward) {
    info.clip_norm = options.clip_norm;
    info.clip_value = options.clip_value;
    info.skip_nonfinite = options::skipsNonfinite(options);
    info.loss_scale = lossScaleOf(options);
    if (options.recompute != "none") {
      info.recompute = options.recompute;
      info.recompute_ratio = options.recompute_ratio;
    }
  }
  info.decisions = result.decisions;
  return info;
}

/// Lets the plan know its model again. `opened`: the time of the file when the
/// compiler began to read it.
absl::Status writeGraphHash(const std::string &model,
                            std::filesystem::file_time_type opened,
                            plan::Plan &plan) {
  ZG_ASSIGN_OR_RETURN(uint64_t hash, graphHash(model, plan));
  plan.set_graph_hash(hash);
  return timeOf(model) == opened
             ? absl::OkStatus()
             : absl::AbortedError(absl::StrCat(
                   model, " was written while it was compiled: compile again"));
}

/// Before anybody else does: a plan that is refused is of no use.
absl::Status provePlan(const plan::Plan &plan) {
  ZG_RETURN_IF_ERROR(validatePlan(plan)); // numbers that are too large
  return annotate(verifyPlan(plan), "the compiled plan is refused");
}

absl::StatusOr<CompileResult> compileIn(mlir::MLIRContext &context,
                                        CompileOptions options) {
  ZG_RETURN_IF_ERROR(checkDump(options));
  std::filesystem::file_time_type opened = timeOf(options.model);
  CompileResult result;
  Stopwatch watch(result);
  // One diagnostic handler for everything below: what MLIR reports becomes
  // the status.
  Diagnostics diagnostics(context);

  ZG_ASSIGN_OR_RETURN(ImportedModel model,
                      importForPlan(context, options, result));
  mlir::ModuleOp module = *model.module;
  ZG_ASSIGN_OR_RETURN(mlir::zg::Target target,
                      openTarget(options, convolves(module), &context));
  llvm::append_range(result.notes, target.notes);
  DumpDirectory dump(options.dump_ir);
  ZG_RETURN_IF_ERROR(dump.open());
  ZG_RETURN_IF_ERROR(dump.write("import", module));
  watch.lap("import");

  ZG_RETURN_IF_ERROR(runPhases(
      options.forward ? mlir::zg::forwardPhases(*target.info)
                      : mlir::zg::trainingPhases(
                            {model.loss_output, options, options.hidden_tile},
                            *target.info),
      module, dump, diagnostics, options.until != CompileOptions::Until::Costed,
      [&](const std::string &phase) { watch.lap(phase); }));
  ZG_RETURN_IF_ERROR(checkMemory(options, module, diagnostics));
  result.device_bytes = uint64_t(deviceBytes(module));
  if (options.until == CompileOptions::Until::Packed) {
    return result;
  }

  mlir::zg::PlanInfo info = planInfoOf(options, model.loss_output, result);
  auto plan = mlir::zg::writePlan(module, *target.code, *target.helper, info);
  if (mlir::failed(plan)) {
    return diagnostics.status("while generating code");
  }
  result.plan = std::move(*plan);
  ZG_RETURN_IF_ERROR(checkPlan(options, result));
  if (info.without_code) {
    watch.lap("codegen");
    return result;
  }
  ZG_RETURN_IF_ERROR(writeGraphHash(options.model, opened, result.plan));
  watch.lap("codegen");
  ZG_RETURN_IF_ERROR(provePlan(result.plan));
  watch.lap("verify");
  llvm::append_range(result.warnings, diagnostics.takeWarnings());
  llvm::append_range(result.notes, diagnostics.takeRemarks());
  return result;
}

absl::StatusOr<CompileResult> compileOnce(const CompileOptions &options) {
  CompilerContext context;
  return compileIn(context, options);
}

/// Says what `--recompute auto` has chosen; `none` is the error of the plan
/// that computes nothing again, if that does not fit.
std::string describeChoice(const CompileOptions &options,
                           const ChangedOptions &chosen,
                           const absl::Status &none, const plan::Plan &plan) {
  std::string text = absl::StrCat("for ", limitOf(options), ": ");
  if (none.ok()) {
    absl::StrAppend(&text, "--recompute none is enough");
  } else {
    int64_t limit = options::parseMemory(options.memory, options.ranks).device;
    uint64_t needed = arenaBytes(plan, plan::DEVICE);
    absl::StrAppend(&text, chosen.change, "; ", options::sizeText(needed),
                    " of the device instead of ",
                    options::sizeText(uint64_t(limit + missingBytes(none))));
  }
  if (options.offload_activations != chosen.options.offload_activations) {
    absl::StrAppend(&text, "; --offload-activations ",
                    options.offload_activations, " is not needed");
  }
  return text;
}

/// Compiles; with `--recompute auto`, the first that fits of all that can be
/// computed again. Where none does, the error is of the one that misses least.
absl::StatusOr<CompileResult> compileCheapest(const CompileOptions &options) {
  if (!choosesRecomputation(options)) {
    return compileOnce(options);
  }
  auto begin = std::chrono::steady_clock::now();
  absl::Status none, least;
  for (const ChangedOptions &candidate : recomputationCandidates(options)) {
    std::chrono::duration<double> tried =
        std::chrono::steady_clock::now() - begin;
    absl::StatusOr<CompileResult> result = compileOnce(candidate.options);
    if (result.ok()) {
      result->seconds.emplace(result->seconds.begin(), "recompute",
                              tried.count());
      result->notes.push_back(
          describeChoice(options, candidate, none, result->plan));
    }
    if (!absl::IsResourceExhausted(result.status())) {
      return result;
    }
    none = none.ok() ? result.status() : none;
    if (least.ok() || missingBytes(result.status()) < missingBytes(least)) {
      least = result.status();
    }
  }
  return least;
}

/// Returns whether the plan's buffers fit into `--memory`; no where there is no
/// such plan.
bool fits(const CompileOptions &options) {
  absl::StatusOr<Room> room = roomFor(options);
  return room.ok() && room->fits;
}

} // namespace

absl::StatusOr<Room> roomFor(const CompileOptions &given) {
  CompileOptions options = choosesRecomputation(given)
                               ? recomputationCandidates(given).back().options
                               : given;
  options.until = CompileOptions::Until::Packed;
  options.dump_ir.clear();
  auto limit =
      uint64_t(options::parseMemory(options.memory, options.ranks).device);
  absl::StatusOr<CompileResult> result = compileOnce(options);
  if (result.ok()) {
    return Room{result->device_bytes, limit, true};
  }
  if (!absl::IsResourceExhausted(result.status())) {
    return result.status();
  }
  return Room{uint64_t(deviceBytes(result.status())), limit, false};
}

absl::StatusOr<CompileResult> compile(const CompileOptions &given) {
  CompileOptions options = given;
  if (choosesRecomputation(given)) {
    ZG_ASSIGN_OR_RETURN(options, withBudget(given));
  }
  absl::StatusOr<CompileResult> result = compileCheapest(options);
  if (options.memory.empty() || !absl::IsResourceExhausted(result.status())) {
    return result;
  }
  if (options.offload == "auto") {
    if (auto changed = offloadToFit(options, fits)) {
      ZG_ASSIGN_OR_RETURN(result, compileCheapest(changed->options));
      result->notes.push_back(absl::StrCat("--offload auto: ", changed->change,
                                           ", for ", limitOf(options)));
      return result;
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      result.status().message(), "\n  ", adviseToFit(options, fits)));
}

} // namespace zerograph
