//===- PlanWriter.h - from the sched dialect to a plan --------------------===//

#ifndef ZEROGRAPH_CODEGEN_PLAN_PLANWRITER_H
#define ZEROGRAPH_CODEGEN_PLAN_PLANWRITER_H

#include "codegen/plan/DeviceCode.h"
#include "mlir/IR/BuiltinOps.h"
#include "runtime/plan/plan.pb.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace mlir::zg {

/// The facts that a plan states and the IR does not.
struct PlanInfo {
  /// File name of the model, without its folder.
  std::string model;
  /// The model's folder, as given: where parameters lie.
  std::string folder;
  /// Name of the output that is minimized, where the plan trains.
  std::string loss;
  /// Names of its metrics.
  std::vector<std::string> metrics;
  bool dump_gradients = false;
  /// The schedule of learning rates, where the plan trains.
  zerograph::plan::Schedule schedule;
  bool skip_nonfinite = false;
  /// As the options of these names.
  double clip_norm = 0, clip_value = 0;
  std::string recompute; ///< empty: none
  double recompute_ratio = 1;
  std::optional<zerograph::plan::LossScale> loss_scale;
  /// The plan is only to be looked at: it has no machine code.
  bool without_code = false;
  /// Parameter -> whether the importer chose to train it, and why.
  std::map<std::string, std::pair<bool, std::string>> decisions;
};

/// Writes the plan of a packed module (see `sched-pack`) for a device, whose
/// `code` is empty before and after; so is `helper`, that of the host which
/// helps it, where the module has anything for one to do. Errors are
/// diagnostics. The same module and devices give the same plan.
FailureOr<zerograph::plan::Plan> writePlan(ModuleOp module, DeviceCode &code,
                                           DeviceCode &helper,
                                           const PlanInfo &info);

} // namespace mlir::zg

#endif // ZEROGRAPH_CODEGEN_PLAN_PLANWRITER_H
