//===- Totals.cpp - the numbers that ranks add up -------------------------===//

#include "runtime/plan/Totals.h"

using namespace zerograph;

std::vector<KnownTotal> zerograph::totalsOf(const plan::Plan &plan) {
  std::vector<KnownTotal> totals;
  if (plan.has_loss()) {
    totals.push_back({&plan.loss(), "the loss"});
  }
  if (plan.has_stop()) {
    totals.push_back({&plan.stop(), "the sum of stop flags", plan::F32});
  }
  if (plan.has_loss_count()) {
    totals.push_back({&plan.loss_count(), "the count of losses", plan::F64});
  }
  if (plan.has_evaluation()) {
    totals.push_back({&plan.evaluation(), "the sum of evaluated losses",
                      plan::F64, /*evaluated=*/true});
  }
  if (plan.has_evaluation_count()) {
    totals.push_back({&plan.evaluation_count(), "the count of evaluated losses",
                      plan::F64, /*evaluated=*/true});
  }
  for (const plan::Total &metric : plan.metrics()) {
    totals.push_back({&metric, "the sum of a metric"});
  }
  for (const plan::Total &metric : plan.evaluation_metrics()) {
    totals.push_back({&metric, "the sum of an evaluated metric", plan::F64,
                      /*evaluated=*/true});
  }
  return totals;
}
