//===- Cost.cpp - what the steps of a plan cost ---------------------------===//

#include "runtime/plan/Cost.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"

#include <algorithm>

namespace zerograph {

void Cost::add(const Cost &other, Checked times) {
  auto grow = [&](Checked &sum, Checked more) { sum = sum + times * more; };
  for (size_t i = 0; i < memory.size(); ++i) {
    grow(memory[i].read, other.memory[i].read);
    grow(memory[i].written, other.memory[i].written);
  }
  for (const auto &[type, counts] : other.operations) {
    OperationCounts &sums = operations[type];
    grow(sums.multiplyAdds, counts.multiplyAdds);
    grow(sums.simple, counts.simple);
    grow(sums.special, counts.special);
  }
  grow(launches, other.launches);
}

MovedBytes Cost::moved() const {
  MovedBytes sum;
  for (size_t i = 0; i < memory.size(); ++i) {
    if (i != plan::NVME) {
      sum.read = sum.read + memory[i].read;
      sum.written = sum.written + memory[i].written;
    }
  }
  return sum;
}

OperationCounts Cost::computed() const {
  OperationCounts sum;
  for (const auto &[type, counts] : operations) {
    sum.multiplyAdds = sum.multiplyAdds + counts.multiplyAdds;
    sum.simple = sum.simple + counts.simple;
    sum.special = sum.special + counts.special;
  }
  return sum;
}

bool statesCosts(const plan::Plan &plan) {
  return std::all_of(
      plan.kernels().begin(), plan.kernels().end(),
      [](const plan::Kernel &kernel) { return kernel.elements() != 0; });
}

Cost costOf(const plan::Plan &plan, const plan::Step &step) {
  return kindOf(step).cost(plan, step);
}

Cost costOf(const plan::Plan &plan) {
  Cost sum;
  for (const plan::Program &program : plan.programs()) {
    uint64_t runs = runsPerStep(plan, program);
    for (const plan::Step &step : program.steps()) {
      sum.add(costOf(plan, step), runs);
    }
  }
  return sum;
}

std::array<Checked, 2> readInProduct(uint64_t batch, uint64_t a, uint64_t b,
                                     uint64_t c) {
  auto parts = [&](uint64_t bytes) {
    uint64_t matrix = bytes / batch;
    return matrix / kCachedOperand + (matrix % kCachedOperand != 0);
  };
  uint64_t smaller = std::min(a, b), larger = std::max(a, b);
  Checked first = Checked(larger) * parts(smaller) + smaller;
  Checked second = Checked(smaller) * parts(c) + larger;
  bool cutsResult = second.saturated() < first.saturated();
  uint64_t again =
      std::max<uint64_t>(cutsResult ? parts(c) : parts(smaller), 1);
  bool ofA = (a == smaller) == cutsResult;
  return {Checked(a) * (ofA ? again : 1), Checked(b) * (ofA ? 1 : again)};
}

} // namespace zerograph
