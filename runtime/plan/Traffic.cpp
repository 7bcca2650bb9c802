//===- Traffic.cpp - the bytes that a plan moves --------------------------===//

#include "runtime/plan/Traffic.h"

#include "runtime/plan/Describe.h"

namespace zerograph {

/// Adds what `runs` runs of the program move to `sum`.
static void add(const plan::Plan &plan, const plan::Program &program,
                Checked runs, Traffic &sum) {
  for (const plan::Step &step : program.steps()) {
    Traffic once = kindOf(step).traffic(plan, step);
    sum.gather = sum.gather + runs * once.gather;
    sum.reduce = sum.reduce + runs * once.reduce;
    sum.scalar = sum.scalar + runs * once.scalar;
  }
}

Traffic trafficOf(const plan::Plan &plan) {
  Traffic sum;
  for (const plan::Program &program : plan.programs()) {
    add(plan, program, runsPerStep(plan, program), sum);
  }
  return sum;
}

std::optional<TransferKind> transferKindOf(const plan::Plan &plan,
                                           const plan::Step &step) {
  if (!step.has_copy()) {
    return std::nullopt;
  }
  switch (plan.streams(int(step.stream())).kind()) {
  case plan::COPY_OUT:
    return TransferKind::DeviceToHost;
  case plan::COPY_IN:
    return TransferKind::HostToDevice;
  case plan::FILE_READ:
    return TransferKind::FileToHost;
  case plan::FILE_WRITE:
    return TransferKind::HostToFile;
  default:
    return std::nullopt;
  }
}

Checked &HostTransfers::of(TransferKind kind) {
  switch (kind) {
  case TransferKind::DeviceToHost:
    return down;
  case TransferKind::HostToDevice:
    return up;
  case TransferKind::FileToHost:
    return read;
  case TransferKind::HostToFile:
    break;
  }
  return written;
}

HostTransfers hostTransfersOf(const plan::Plan &plan) {
  HostTransfers sum;
  for (const plan::Program &program : plan.programs()) {
    Checked runs = runsPerStep(plan, program);
    for (const plan::Step &step : program.steps()) {
      if (std::optional<TransferKind> way = transferKindOf(plan, step)) {
        Checked &bytes = sum.of(*way);
        bytes = bytes + runs * step.accesses(0).bytes();
      }
    }
  }
  return sum;
}

Traffic evaluationTraffic(const plan::Plan &plan) {
  Traffic sum;
  for (const plan::Program &program : plan.programs()) {
    if (program.kind() == plan::EVALUATE) {
      add(plan, program, 1, sum);
    }
  }
  return sum;
}

bool reducesLast(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (program.kind() == plan::UPDATE && step.has_reduce_scatter()) {
        return true;
      }
    }
  }
  return false;
}

} // namespace zerograph
