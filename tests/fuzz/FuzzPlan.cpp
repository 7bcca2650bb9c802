//===- FuzzPlan.cpp - bytes as a plan's message, verified and explained ---===//
//
// A plan's file has a hash over its message, which bytes made at random never
// match. The input is the message; what the header says is right.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Inspect.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Verify.h"
#include "tests/fuzz/Mutate.h"
#include "tests/fuzz/Require.h"

#include "google/protobuf/stubs/logging.h"

using namespace zerograph;
using fuzz::require;
using fuzz::requireReason;

ZG_FUZZ_MESSAGES(plan::Plan)

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
  return 0;
}
