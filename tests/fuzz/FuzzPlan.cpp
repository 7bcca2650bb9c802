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

#include "google/protobuf/stubs/logging.h"

#include <cstdio>
#include <cstdlib>

using namespace zerograph;

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  plan::Plan plan;
  return fuzz::mutateMessage(plan, data, size, maxSize, seed);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *dataA, size_t sizeA,
                                            const uint8_t *dataB, size_t sizeB,
                                            uint8_t *out, size_t maxSize,
                                            unsigned seed) {
  plan::Plan a, b;
  return fuzz::crossMessages(a, b, dataA, sizeA, dataB, sizeB, out, maxSize,
                             seed);
}

static void require(bool good, const char *what) {
  if (!good) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  google::protobuf::LogSilencer silencer;
  // As the bytes of a file, header and all, it is refused with a reason.
  auto raw =
      parsePlan(absl::string_view(reinterpret_cast<const char *>(data), size));
  require(raw.ok() || !raw.status().message().empty(),
          "an error without a message");

  plan::Plan plan;
  if (!plan.ParseFromArray(data, static_cast<int>(size))) {
    return 0;
  }
  auto bytes = serializePlan(plan);
  require(bytes.ok(), "a message that was read could not be written");
  auto loaded = parsePlan(*bytes);
  require(loaded.ok(), "a plan that was written could not be read");

  absl::Status verified = verifyPlan(loaded->plan);
  require(verified.ok() || !verified.message().empty(),
          "an error without a message");
  auto report = inspectPlan(*loaded);
  require(report.ok() || !verified.ok(), "a plan that verifies and cannot be "
                                         "explained");
  if (report.ok()) {
    require(!inspectText(*report, /*steps=*/true).empty(), "an empty report");
    require(!report->dump().empty(), "an empty report");
  }
  return 0;
}
