//===- PlanColumns.h - steps and slices of a plan, for a page -------------===//
//
// A page of a large plan has 25,000 steps and as many slices, so each fact of
// them is one list of numbers:
//
//   {"strings": ["compute", ...],
//    "slices": {"name": [12, ...], "arena": [0, ...], "offset": ...},
//    "programs": [{"name": "step", "runs": 1,
//                  "steps": {"stream": [0, ...], "op": [3, ...], ...},
//                  "lives": {"slice": [7, ...], "first": ..., "last": ...}}],
//    "exchanges": [{"op": "all_gather", "name": "model.layers.0", ...}]}
//
// Numbers of a column of texts are places in "strings".
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_REPORT_PLANCOLUMNS_H
#define ZEROGRAPH_REPORT_PLANCOLUMNS_H

#include "report/MeasuredRun.h"
#include "simulate/Predict.h"

namespace zerograph::report {

/// Returns the columns of a valid plan. Steps have their times if they were
/// predicted and measured; either may be null.
nlohmann::ordered_json planColumns(const plan::Plan &plan,
                                   const simulate::Prediction *prediction,
                                   const MeasuredRun *measured);

} // namespace zerograph::report

#endif // ZEROGRAPH_REPORT_PLANCOLUMNS_H
