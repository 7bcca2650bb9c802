//===- Compile.cpp - from a model file to a plan --------------------------===//

#include "tools/compiler/Compile.h"

#include "codegen/plan/PlanWriter.h"
#include "frontend/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "options/Lora.h"
#include "options/Memory.h"
#include "passes/Pipelines.h"
#include "passes/Registration.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNDialect.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Validate.h"
#include "runtime/plan/Verify.h"
#include "tools/compiler/Diagnostics.h"
#include "tools/compiler/DumpDirectory.h"
#include "tools/compiler/LossScale.h"
#include "tools/compiler/MemoryNeeds.h"
#include "tools/compiler/Schedule.h"
#include "tools/compiler/SmallerPlans.h"
#include "tools/compiler/Target.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

#include "llvm/Support/Path.h"

#include <chrono>

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

void takeReport(frontend::ImportReport &report, CompileResult &result) {
  result.warnings = std::move(report.warnings);
  result.notes = std::move(report.notes);
  for (frontend::ParameterDecision &decision : report.parameters) {
    result.decisions[decision.name] = {decision.trainable, decision.reason};
  }
  for (frontend::InlineWeight &weight : report.inline_weights) {
    result.extra_weights.push_back({weight.name, std::move(weight.bytes)});
  }
}

/// A pattern that grouped nothing is a slip.
absl::Status checkUnits(const CompileOptions &options, const plan::Plan &plan) {
  int64_t bytes;
  if (options.units.empty() || absl::SimpleAtoi(options.units, &bytes)) {
    return absl::OkStatus();
  }
  std::string reason = absl::StrCat("matches '", options.units, "'");
  for (const plan::Unit &unit : plan.units()) {
    if (unit.reason() == reason) {
      return absl::OkStatus();
    }
  }
  const plan::Unit &first = plan.units(0);
  return absl::InvalidArgumentError(absl::StrCat(
      "--units ", options.units,
      ": no parameter's name begins with a match of this pattern; the first is "
      "named '",
      first.parameters_size() > 0 ? first.parameters(0).name() : "", "'"));
}

/// So is a group that has nothing.
absl::Status checkGroups(const CompileOptions &options, CompileResult &result) {
  std::set<uint32_t> used;
  std::string first;
  for (const plan::Unit &unit : result.plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (parameter.trainable()) {
        used.insert(parameter.group());
        first = first.empty() ? parameter.name() : first;
      }
    }
  }
  for (size_t i = 0; i < options.group.size(); ++i) {
    if (!used.contains(uint32_t(i) + 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--group ", options.group[i],
          ": no trained parameter has a name that matches and is in no group "
          "before it; the first is named '",
          first, "'"));
    }
  }
  if (options.no_decay && !used.contains(uint32_t(options.group.size()) + 1)) {
    result.warnings.push_back(
        "--no-decay has no effect: every trained parameter has two dimensions "
        "or more, or is in a --group");
  }
  return absl::OkStatus();
}

/// How little of the model is trained.
std::string describeAdapters(const plan::Plan &plan) {
  uint64_t weights = 0, trained = 0, all = 0;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      weights += parameter.has_adapter();
      trained += parameter.trainable() ? parameter.elements() : 0;
      all += parameter.elements();
    }
  }
  return absl::StrCat("adapters of ", weights, " weights; trained are ",
                      trained, " of ", all, " parameters");
}

/// Adds the forward graph of an evaluation to `module`: the same file, imported
/// as it is evaluated, up to the output `loss`.
absl::Status addEvaluation(mlir::MLIRContext &context,
                           const CompileOptions &options,
                           frontend::ImportOptions import,
                           const std::string &loss, mlir::ModuleOp module) {
  import.evaluation = true;
  frontend::ImportReport report; // says nothing new
  auto imported =
      frontend::importModel(context, options.model, import, &report);
  if (!imported.ok()) {
    return annotate(imported.status(), "for its evaluation");
  }
  auto program = (*imported)->lookupSymbol<mlir::zg::nn::ProgramOp>(
      mlir::zg::nn::kForwardFunction);
  llvm::BitVector others(program.getNumResults());
  for (unsigned i = 0; i < program.getNumResults(); ++i) {
    auto name = program.getResultAttrOfType<mlir::StringAttr>(
        i, mlir::zg::nn::kOutputAttr);
    others[i] = !name || name.getValue() != loss;
  }
  program.front().getTerminator()->eraseOperands(others);
  program.eraseResults(others);
  program.setName(mlir::zg::nn::kEvaluateFunction);
  program->remove();
  module.push_back(program);
  return absl::OkStatus();
}

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

/// Where the user says nothing, a model of 16 bits is computed as it was
/// exported.
void takePrecision(const std::string &exported, CompileOptions &options,
                   CompileResult &result) {
  if (exported == "fp32" || !options.own_precision || options.forward) {
    return;
  }
  options.precision = exported;
  result.notes.push_back(absl::StrCat(
      "--precision ", exported,
      ", in which the model was exported; --precision fp32 computes in "
      "float32"));
}

absl::StatusOr<CompileResult> compileIn(mlir::MLIRContext &context,
                                        CompileOptions options) {
  CompileResult result;
  ZG_RETURN_IF_ERROR(checkDump(options));
  Stopwatch watch(result);
  // One diagnostic handler for everything below: what MLIR reports becomes
  // the status.
  Diagnostics diagnostics(context);

  frontend::ImportReport report;
  frontend::ImportOptions import;
  options::copy(options, import);
  import.dims = options.dims;
  import.inputs = options.inputs;
  for (const std::string &text : options.lora) {
    options::Lora lora = options::parseLora(text);
    if (!lora.error.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lora ", text, ": ", lora.error));
    }
    import.adapters.push_back({lora.rank, lora.pattern});
  }
  import.require_loss = !options.forward;
  import.replaced = options.replaced;
  ZG_ASSIGN_OR_RETURN(
      mlir::OwningOpRef<mlir::ModuleOp> module,
      frontend::importModel(context, options.model, import, &report));
  takeReport(report, result);
  takePrecision(report.precision, options, result);
  if (options.evaluate && !options.forward) {
    ZG_RETURN_IF_ERROR(
        addEvaluation(context, options, import, report.loss_output, *module));
  }
  ZG_ASSIGN_OR_RETURN(Target target,
                      openTarget(options, convolves(*module), &context));
  llvm::append_range(result.notes, target.notes);
  DumpDirectory dump(options.dump_ir);
  ZG_RETURN_IF_ERROR(dump.open());
  ZG_RETURN_IF_ERROR(dump.write("import", *module));
  watch.lap("import");

  std::vector<mlir::zg::Phase> phases =
      options.forward ? mlir::zg::forwardPhases(*target.info)
                      : mlir::zg::trainingPhases({report.loss_output, options},
                                                 *target.info);
  for (const mlir::zg::Phase &phase : phases) {
    mlir::PassManager passes(&context);
    // Once a phase: of a large model it takes longer than most passes.
    passes.enableVerifier(false);
    phase.build(passes);
    mlir::LogicalResult done = passes.run(*module);
    if (mlir::succeeded(done)) {
      done = mlir::verify(*module);
    }
    ZG_RETURN_IF_ERROR(dump.write(phase.name, *module));
    if (mlir::failed(done)) {
      return diagnostics.status("while running phase '" + phase.name + "'");
    }
    watch.lap(phase.name);
  }
  ZG_RETURN_IF_ERROR(checkMemory(options, *module, diagnostics));
  if (options.packs_only) {
    return result;
  }

  mlir::zg::PlanInfo planInfo;
  planInfo.model = llvm::sys::path::filename(options.model).str();
  planInfo.folder = llvm::sys::path::parent_path(options.model).str();
  if (planInfo.folder.empty()) {
    planInfo.folder = std::string("."); // empty means the plan's own
  }
  planInfo.dump_gradients = options.dump_gradients;
  planInfo.schedule = scheduleOf(options);
  if (!options.forward) {
    planInfo.clip_norm = options.clip_norm;
    planInfo.clip_value = options.clip_value;
    planInfo.skip_nonfinite = options::skipsNonfinite(options);
    planInfo.loss_scale = lossScaleOf(options);
  }
  planInfo.decisions = result.decisions;
  auto plan =
      mlir::zg::writePlan(*module, *target.code, *target.helper, planInfo);
  if (mlir::failed(plan)) {
    return diagnostics.status("while generating code");
  }
  result.plan = std::move(*plan);
  ZG_RETURN_IF_ERROR(checkUnits(options, result.plan));
  if (!options.forward) {
    ZG_RETURN_IF_ERROR(checkGroups(options, result));
  }
  if (!options.lora.empty()) {
    result.notes.push_back(describeAdapters(result.plan));
  }
  warnOfOffload(options, result);
  watch.lap("codegen");
  // Before anybody else does: a plan that is refused is of no use.
  ZG_RETURN_IF_ERROR(validatePlan(result.plan)); // numbers that are too large
  absl::Status sound = verifyPlan(result.plan);
  if (!sound.ok()) {
    return annotate(sound, "the compiled plan is refused");
  }
  watch.lap("verify");
  for (std::string &warning : diagnostics.takeWarnings()) {
    result.warnings.push_back(std::move(warning));
  }
  return result;
}

absl::StatusOr<CompileResult> compileOnce(const CompileOptions &options) {
  mlir::DialectRegistry registry;
  mlir::zg::registerDialects(registry);
  // One thread: a plan is a function of its input. Kernels are compiled by
  // several (codegen/host/Compile.cpp), none of which is MLIR's.
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  return compileIn(context, options);
}

/// Whether its buffers fit into `--memory`.
bool fits(const CompileOptions &given) {
  CompileOptions options = given;
  options.packs_only = true;
  options.dump_ir.clear();
  return compileOnce(options).ok();
}

} // namespace

absl::StatusOr<CompileResult> compile(const CompileOptions &options) {
  absl::StatusOr<CompileResult> result = compileOnce(options);
  if (options.memory.empty() || !absl::IsResourceExhausted(result.status())) {
    return result;
  }
  if (options.offload == "auto") {
    if (auto changed = offloadToFit(options, fits)) {
      ZG_ASSIGN_OR_RETURN(result, compileOnce(changed->options));
      result->notes.push_back(absl::StrCat("--offload auto: ", changed->change,
                                           ", for --memory ", options.memory));
      return result;
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      result.status().message(), "\n  ", adviseToFit(options, fits)));
}

} // namespace zerograph
