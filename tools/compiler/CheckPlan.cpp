//===- CheckPlan.cpp - whether a plan has what options asked for ----------===//

#include "tools/compiler/CheckPlan.h"

#include "runtime/base/Status.h"
#include "tools/compiler/MemoryNeeds.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

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

} // namespace

absl::Status checkPlan(const CompileOptions &options, CompileResult &result) {
  ZG_RETURN_IF_ERROR(checkUnits(options, result.plan));
  if (!options.forward) {
    ZG_RETURN_IF_ERROR(checkGroups(options, result));
  }
  if (!options.lora.empty()) {
    result.notes.push_back(describeAdapters(result.plan));
  }
  warnOfOffload(options, result);
  return absl::OkStatus();
}

} // namespace zerograph
