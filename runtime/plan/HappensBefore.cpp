//===- HappensBefore.cpp - the order that a program guarantees ------------===//

#include "runtime/plan/HappensBefore.h"

#include "runtime/plan/steps/Step.h"

#include <algorithm>

namespace zerograph {
namespace {

void join(Clock &into, const Clock &from) {
  for (int i = 0; i < kMaxStreams; ++i) {
    into[i] = std::max(into[i], from[i]);
  }
}

} // namespace

HappensBefore::HappensBefore(const plan::Program &program) {
  size_t count = program.steps_size();
  clocks.resize(count);
  streams.resize(count);
  positions.resize(count);
  // Issue order extends all the orders below, so one walk is enough.
  std::array<Clock, kMaxStreams> latest{};
  Clock collectives{};
  for (size_t i = 0; i < count; ++i) {
    const plan::Step &step = program.steps(i);
    uint8_t stream = static_cast<uint8_t>(step.stream());
    Clock clock = latest[stream];
    for (uint32_t wait : step.waits()) {
      join(clock, clocks[wait]);
    }
    if (isCollective(step)) {
      join(clock, collectives);
    }
    positions[i] = ++clock[stream];
    streams[i] = stream;
    clocks[i] = clock;
    latest[stream] = clock;
    if (isCollective(step)) {
      collectives = clock;
    }
  }
}

} // namespace zerograph
