//===- FuzzPlan.cpp - bytes as a plan's message, verified and explained ---===//
//
// A plan's file has a hash over its message, which bytes made at random never
// match. The input is the message; what the header says is right.
//
//===----------------------------------------------------------------------===//

#include "report/Report.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "simulate/Predict.h"
#include "tests/fuzz/Mutate.h"
#include "tests/fuzz/Require.h"

#include "google/protobuf/stubs/logging.h"

#include <cmath>

using namespace zerograph;
using fuzz::require;
using fuzz::requireReason;

ZG_FUZZ_MESSAGES(plan::Plan)

/// A plan that is sound has a page.
static void requirePage(LoadedPlan loaded) {
  report::PageContent content;
  content.plan.loaded = std::move(loaded);
  requireReason(report::reportPage(content).status());
}

/// Steps take some time, or it is said why that cannot be told.
static void requirePrediction(const plan::Plan &plan) {
  for (const char *name : {"x86-server", "h100-sxm"}) {
    simulate::Machine machine = simulate::findMachine(name).value();
    simulate::Cluster cluster{1, worldOf(plan)};
    auto prediction = simulate::predict(plan, machine, cluster);
    requireReason(prediction.status());
    if (prediction.ok()) {
      require(std::isfinite(prediction->seconds) && prediction->seconds >= 0,
              "a step that takes no time of this world");
      require(!simulate::predictionJson(plan, *prediction).empty() &&
                  !simulate::predictionText(plan, *prediction).empty(),
              "no prediction");
    }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  google::protobuf::LogSilencer silencer;
  // As the bytes of a file, header and all, it is refused with a reason.
  auto raw =
      parsePlan(absl::string_view(reinterpret_cast<const char *>(data), size));
  requireReason(raw.status());

  plan::Plan plan;
  if (!plan.ParseFromArray(data, static_cast<int>(size))) {
    return 0;
  }
  auto bytes = serializePlan(plan);
  require(bytes.ok(), "a message that was read could not be written");
  auto loaded = parsePlan(*bytes);
  require(loaded.ok(), "a plan that was written could not be read");

  absl::Status verified = verifyPlan(loaded->plan);
  requireReason(verified);
  auto report = inspectPlan(*loaded);
  require(report.ok() || !verified.ok(), "a plan that verifies and cannot be "
                                         "explained");
  if (report.ok()) {
    require(inspectSummary(*loaded, /*exact=*/false).ok(), "no summary");
    for (const InspectSection &section : inspectSections()) {
      require(!section.text(*report, /*exact=*/false).empty(), section.name);
    }
    require(!report->dump().empty(), "an empty report");
  }
  if (verified.ok()) {
    requirePrediction(loaded->plan);
    requirePage(*std::move(loaded));
  }
  return 0;
}
