//===- Machine.cpp - what a plan runs on ----------------------------------===//

#include "runtime/exec/Machine.h"

#include "runtime/backend/Backend.h"
#include "runtime/comm/Peers.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/SameStates.h"
#include "runtime/plan/Verify.h"

#include <algorithm>
#include <set>
#include <sys/resource.h>
#include <thread>

using namespace zerograph;

absl::StatusOr<Machine> Machine::open(const plan::Plan &plan,
                                      const LoadOptions &options,
                                      unsigned number) {
  ZG_RETURN_IF_ERROR(verifyPlan(plan));
  return openVerified(plan, options, number);
}

absl::StatusOr<Machine> Machine::openVerified(const plan::Plan &plan,
                                              const LoadOptions &options,
                                              unsigned number) {
  if (plan.devices_size() > 2 ||
      (plan.devices_size() == 2 &&
       plan.devices(1).device() != hostBackend().name())) {
    return absl::UnimplementedError(absl::StrCat(
        "the plan runs on ", plan.devices_size(), " devices of a rank, the ",
        "second of them ", plan.devices(1).device(),
        "; a device, and the host to help it, can be opened"));
  }
  Machine machine;
  ZG_ASSIGN_OR_RETURN(machine.driver,
                      backendOf(plan).open(plan.devices(0), number));
  // Room is checked before libraries take time and memory; for all ranks later.
  ZG_RETURN_IF_ERROR(machine.checkRoom(plan, LocalTopology()));
  ZG_ASSIGN_OR_RETURN(machine.in_use_before, machine.driver->memoryInUse());
  ZG_ASSIGN_OR_RETURN(machine.module, machine.driver->load(plan, options));
  ZG_ASSIGN_OR_RETURN(machine.in_use_loaded, machine.driver->memoryInUse());
  if (plan.devices_size() > 1) {
    ZG_ASSIGN_OR_RETURN(machine.helper, hostBackend().open(plan.devices(1), 0));
    ZG_ASSIGN_OR_RETURN(machine.helper_module, machine.helper->load(plan, {}));
  }
  return machine;
}

std::vector<const Module *> OpenedCode::byDevice() const {
  std::vector<const Module *> modules = {module.get()};
  if (helper) {
    modules.push_back(helper.get());
  }
  return modules;
}

absl::Status Machine::add(const plan::Plan &first, const plan::Plan &plan) {
  ZG_RETURN_IF_ERROR(verifyPlan(plan));
  ZG_RETURN_IF_ERROR(needSameStates(first, plan));
  ZG_RETURN_IF_ERROR(checkRoom(plan));
  OpenedCode code;
  ZG_ASSIGN_OR_RETURN(code.module, driver->load(plan, {}));
  if (plan.devices_size() > 1) {
    ZG_ASSIGN_OR_RETURN(code.helper, helper->load(plan, {}));
  }
  added.push_back(std::move(code));
  return absl::OkStatus();
}

absl::StatusOr<RankDevices>
Machine::createDevices(const DeviceOptions &options) const {
  RankDevices devices;
  ZG_ASSIGN_OR_RETURN(auto device, driver->createDevice(options));
  devices.push_back({std::move(device), module.get()});
  if (helper) {
    ZG_ASSIGN_OR_RETURN(auto host, helper->createDevice(options));
    devices.push_back({std::move(host), helper_module.get()});
  }
  return devices;
}

absl::StatusOr<LocalTopology> Machine::neighbours(ControlPlane &control) const {
  ZG_ASSIGN_OR_RETURN(std::string device, driver->accelerator());
  std::string here = machineName(), own = absl::StrCat(here, " ", device, "\n");
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      control.exchange("finding neighbours", own + describeThisProcess()));
  LocalTopology found{0, 0, 0};
  std::set<std::string> machines;
  for (const std::string &text : texts) {
    std::string machine = text.substr(0, text.find(' '));
    machines.insert(machine);
    found.on_machine += machine == here;
    found.on_device += text.substr(0, text.find('\n') + 1) == own;
  }
  found.machines = unsigned(machines.size());
  auto self = texts.begin() + control.rank();
  found.first_here = std::find(texts.begin(), self, *self) == self;
  return found;
}

/// Returns whether a collective may add up on a stream of its own, beside those
/// of the plan; see runtime/comm/nccl/FoldStream.h.
static bool foldsBeside(const plan::Plan &plan) {
  bool found = false;
  forEachStep(plan, [&](int, int, const plan::Step &step) {
    found |= step.has_reduce_scatter() && !step.reduce_scatter().any_order();
  });
  return found;
}

absl::Status Machine::checkRoom(const plan::Plan &plan,
                                const LocalTopology &neighbours,
                                uint64_t besides) const {
  MemoryNeed need;
  need.pinned = besides * neighbours.on_machine;
  for (const plan::Arena &arena : plan.arenas()) {
    if (arena.space() == plan::DEVICE) {
      need.device += arena.bytes() * neighbours.on_device;
    } else if (arena.space() != plan::NVME) {
      need.pinned += arena.bytes() * neighbours.on_machine;
    }
  }
  ZG_RETURN_IF_ERROR(driver->checkMemory(need));
  if (plan.devices_size() == 1) {
    return absl::OkStatus();
  }
  auto streams = std::count_if(
      plan.streams().begin(), plan.streams().end(),
      [](const plan::Stream &stream) { return stream.device() == 0; });
  streams += foldsBeside(plan);
  return driver->checkStreams(unsigned(streams) * neighbours.on_device);
}

unsigned zerograph::threadsOf(unsigned asked, unsigned ranks) {
  return asked != 0 ? asked
                    : std::max(1u, std::thread::hardware_concurrency() /
                                       std::max(1u, ranks));
}

uint64_t zerograph::peakResidentBytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return uint64_t(usage.ru_maxrss) * 1024;
}
