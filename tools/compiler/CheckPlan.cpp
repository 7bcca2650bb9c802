//===- CheckPlan.cpp - whether a plan has what options asked for ----------===//

#include "tools/compiler/CheckPlan.h"

#include "options/Memory.h"
#include "passes/memory/Passes.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Memory.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <set>

namespace zerograph {
namespace {

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

/// Returns whether a state of this role, or any, lies in memory of the host.
bool keepsOnHost(const plan::Plan &plan, absl::string_view role = "") {
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

/// Adds a warning where there was nothing to offload.
void warnOfOffload(const CompileOptions &options, CompileResult &result) {
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
  if (options.offload_activations != "none" &&
      activationsOnHost(result.plan) == 0) {
    result.warnings.push_back(absl::StrCat(
        "--offload-activations ", options.offload_activations,
        " has no effect: nothing goes from one unit to another before the last "
        "that has more than a few bytes; --units says what is one"));
  }
}

/// Names payloads of an error, in decimal: how many bytes are missing, and how
/// many a rank needs of its device.
constexpr char kMissingBytes[] = "zerograph/missing-bytes";
constexpr char kDeviceBytes[] = "zerograph/device-bytes";

int64_t payloadOf(const absl::Status &status, const char *name) {
  int64_t bytes = 0;
  (void)absl::SimpleAtoi(
      std::string(status.GetPayload(name).value_or(absl::Cord())), &bytes);
  return bytes;
}

/// Returns how many bytes more than the limits a rank needs, of all memories.
int64_t bytesOver(const options::MemoryLimits &limits, mlir::ModuleOp module) {
  using mlir::zg::sched::arenaBytes;
  using enum mlir::zg::sched::Space;
  auto over = [](int64_t needed, int64_t limit) {
    return limit > 0 ? std::max<int64_t>(needed - limit, 0) : 0;
  };
  return over(arenaBytes(module, {device}), limits.device) +
         over(arenaBytes(module, {pinned, host}), limits.host);
}

} // namespace

absl::Status checkMemory(const CompileOptions &options, mlir::ModuleOp module,
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
  absl::Status status = absl::ResourceExhaustedError(said);
  status.SetPayload(kMissingBytes,
                    absl::Cord(absl::StrCat(bytesOver(limits, module))));
  status.SetPayload(kDeviceBytes,
                    absl::Cord(absl::StrCat(deviceBytes(module))));
  return status;
}

int64_t missingBytes(const absl::Status &status) {
  return payloadOf(status, kMissingBytes);
}

int64_t deviceBytes(mlir::ModuleOp module) {
  return mlir::zg::sched::arenaBytes(module, {mlir::zg::sched::Space::device});
}

int64_t deviceBytes(const absl::Status &status) {
  return payloadOf(status, kDeviceBytes);
}

absl::Status checkPlan(const CompileOptions &options, CompileResult &result) {
  ZG_RETURN_IF_ERROR(checkUnits(options, result.plan));
  if (!options.forward) {
    ZG_RETURN_IF_ERROR(checkGroups(options, result));
  }
  if (!options.lora.empty()) {
    result.notes.push_back(describeAdapters(result.plan));
  }
  if (int count = result.plan.unfused_size();
      count > 0 && options.attention != "products") {
    const plan::Unfused &first = result.plan.unfused(0);
    result.notes.push_back(absl::StrCat(
        "the scores of attention are stored at ",
        count == 1 ? "node" : absl::StrCat(count, " nodes, the first"), " '",
        first.node(), "', because ", first.reason(),
        "; docs/limits.md says what to do"));
  }
  warnOfOffload(options, result);
  return absl::OkStatus();
}

} // namespace zerograph
