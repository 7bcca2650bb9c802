//===- RunLog.h - what a run logged ---------------------------------------===//

#ifndef ZEROGRAPH_REPORT_RUNLOG_H
#define ZEROGRAPH_REPORT_RUNLOG_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <nlohmann/json.hpp>

namespace zerograph::report {

/// Parses what `train --log` wrote into columns: {"step": [0, 1, ...], "loss":
/// [4.6, null, ...], ...}, all that the page draws, each as long as there are
/// lines; null where a line has no number. An error names the line; a log
/// without lines is one too.
absl::StatusOr<nlohmann::ordered_json> parseLog(absl::string_view text);

} // namespace zerograph::report

#endif // ZEROGRAPH_REPORT_RUNLOG_H
