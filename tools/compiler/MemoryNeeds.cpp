//===- MemoryNeeds.cpp - what --memory and offload ask of a plan ----------===//

#include "tools/compiler/MemoryNeeds.h"

#include "mlir/Pass/PassManager.h"
#include "options/Memory.h"
#include "passes/memory/Passes.h"

#include "absl/strings/str_cat.h"

using namespace zerograph;

/// Returns whether a state of this role, or any, lies in memory of the host.
static bool keepsOnHost(const plan::Plan &plan, absl::string_view role = "") {
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      const plan::Slice &slice = plan.slices(int(state.slice()));
      if (plan.arenas(int(slice.arena())).space() != plan::DEVICE &&
          (role.empty() || state.role() == role)) {
        return true;
      }
    }
  }
  return false;
}

absl::Status zerograph::checkMemory(const CompileOptions &options,
                                    mlir::ModuleOp module,
                                    Diagnostics &diagnostics) {
  options::MemoryLimits limits =
      options::parseMemory(options.memory, options.ranks);
  mlir::PassManager passes(module.getContext());
  passes.enableVerifier(false);
  passes.addPass(
      mlir::zg::sched::createLimitMemory({limits.device, limits.host}));
  if (mlir::succeeded(passes.run(module))) {
    return absl::OkStatus();
  }
  std::string said(diagnostics.status("the plan is too large").message());
  if (limits.card) {
    absl::StrAppend(&said, "\n  ", limits.card->name, ": ",
                    options::sizeText(uint64_t(limits.device)), " of its ",
                    options::sizeText(uint64_t(limits.card->total_mib) << 20),
                    " are for the plan; CUDA, libraries",
                    options.ranks > 1 ? ", NCCL" : "", " and code need more");
  }
  return absl::ResourceExhaustedError(said);
}

void zerograph::warnOfOffload(const CompileOptions &options,
                              CompileResult &result) {
  if (options.offload_optimizer != "none" && !keepsOnHost(result.plan)) {
    result.warnings.push_back(absl::StrCat(
        "--offload-optimizer ", options.offload_optimizer, " has no effect: ",
        options.offload_ratio < 1
            ? absl::StrCat("no unit is within --offload-ratio ",
                           options.offload_ratio)
            : options.optimizer + " keeps nothing beside the parameters"));
  } else if (options.offload_param != "none" &&
             !keepsOnHost(result.plan, "param")) {
    result.warnings.push_back(absl::StrCat(
        "--offload-param ", options.offload_param,
        " has no effect: every rank keeps all units whole, which are smaller "
        "than --persistence-threshold"));
  }
}
