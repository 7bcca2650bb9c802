//===- Report.h - one page that shows a plan ------------------------------===//

#ifndef ZEROGRAPH_REPORT_REPORT_H
#define ZEROGRAPH_REPORT_REPORT_H

#include "report/MeasuredRun.h"
#include "runtime/plan/PlanFile.h"
#include "simulate/Predict.h"

#include <optional>

namespace zerograph::report {

/// A plan, and how long its step takes on a machine where one was named.
struct PlanShown {
  std::string file; ///< its name
  LoadedPlan loaded;
  std::optional<simulate::Machine> machine;
  std::optional<simulate::Prediction> prediction;
};

struct PageContent {
  PlanShown plan;
  std::optional<MeasuredRun> measured;
  std::optional<nlohmann::ordered_json> log; ///< as parseLog returns it
  std::optional<PlanShown> against;          ///< to compare with
};

/// Returns a page of HTML, which has everything that it shows and fetches
/// nothing: the same bytes for the same content. An error if a plan is unsound.
absl::StatusOr<std::string> reportPage(const PageContent &content);

} // namespace zerograph::report

#endif // ZEROGRAPH_REPORT_REPORT_H
