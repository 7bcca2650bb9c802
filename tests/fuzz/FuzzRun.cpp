//===- FuzzRun.cpp - bytes as what a run wrote ----------------------------===//

#include "report/PlanColumns.h"
#include "report/RunLog.h"
#include "tests/fuzz/Require.h"

using namespace zerograph;

/// Returns a plan of one program "step", whose steps are "a" and "b".
static plan::Plan smallPlan() {
  plan::Plan plan;
  plan.add_devices()->set_device("host");
  plan.add_streams()->set_name("compute");
  plan::Program &program = *plan.add_programs();
  program.set_name("step");
  program.set_kind(plan::STEP);
  for (const char *name : {"a", "b"}) {
    plan::Step &step = *program.add_steps();
    step.set_name(name);
    step.mutable_fill();
  }
  return plan;
}

/// Checks that a trace has a time for each step or none, and a log as many
/// numbers of each key.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const plan::Plan plan = smallPlan();
  std::string text(reinterpret_cast<const char *>(data), size);
  if (auto run = report::parseTrace(plan, text); run.ok()) {
    fuzz::require((*run)[0].empty() || (*run)[0].size() == 2, "steps");
    fuzz::require(!report::planColumns(plan, nullptr, &*run).dump().empty(),
                  "columns");
  } else {
    fuzz::requireReason(run.status());
  }
  auto log = report::parseLog(text);
  if (!log.ok()) {
    fuzz::requireReason(log.status());
    return 0;
  }
  for (const auto &column : *log) {
    fuzz::require(column.size() == (*log)["step"].size(), "lines of a column");
  }
  return 0;
}
