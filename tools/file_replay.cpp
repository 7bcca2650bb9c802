//===- file_replay.cpp - what a plan reads and writes, without compute ----===//
//
// Runs the programs of a step as the plan orders them, with every step left out
// that is no copy from the rank's file or to it: how fast the disk takes what
// training would ask of it. `tools/nvme` runs it next to fio.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/TrainingPrograms.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/plan/Traffic.h"
#include "runtime/plan/Validate.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>

using namespace zerograph;

namespace {

struct Options {
  std::string plan;
  FileOptions files;
  unsigned steps = 3;
};

/// Makes every step but copies of files do nothing, in its place: others still
/// wait for it.
void keepFileCopies(plan::Plan &plan) {
  for (plan::Program &program : *plan.mutable_programs()) {
    for (plan::Step &step : *program.mutable_steps()) {
      std::optional<TransferKind> way = transferKindOf(plan, step);
      if (way == TransferKind::FileToHost || way == TransferKind::HostToFile) {
        continue;
      }
      uint32_t slice = step.accesses_size() > 0 ? step.accesses(0).slice() : 0;
      step.clear_accesses();
      for (plan::Mode mode : {plan::READ, plan::WRITE}) {
        plan::Access &nothing = *step.add_accesses();
        nothing.set_slice(slice);
        nothing.set_mode(mode);
      }
      step.mutable_copy();
    }
  }
}

absl::Status runStep(Executor &executor, const TrainingPrograms &programs) {
  for (uint64_t i = 0; i < programs.micro_batches; ++i) {
    ZG_RETURN_IF_ERROR(executor.run(programs.micro, 0));
  }
  return programs.update ? executor.run(*programs.update, 0) : absl::OkStatus();
}

absl::Status replay(const Options &options) {
  ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, readPlan(options.plan));
  ZG_RETURN_IF_ERROR(validatePlan(loaded.plan));
  ZG_ASSIGN_OR_RETURN(auto programs, TrainingPrograms::of(loaded.plan));
  keepFileCopies(loaded.plan);
  HostTransfers crossing = hostTransfersOf(loaded.plan);
  if ((crossing.read + crossing.written).is(0)) {
    return absl::InvalidArgumentError(
        "the plan reads and writes no file; compile it with "
        "--offload-optimizer nvme");
  }
  ZG_ASSIGN_OR_RETURN(FileSupport support, probeFolder(options.files.folder));
  // The steps of an accelerator are left out, so the host stands for it.
  RankDevices devices;
  for (int i = 0; i < loaded.plan.devices_size(); ++i) {
    DeviceOptions device;
    device.threads = 1;
    device.files = options.files;
    devices.push_back({makeHostDevice(device), nullptr});
  }
  auto alone = makeLocalGroup(LocalGroupOptions());
  ZG_ASSIGN_OR_RETURN(auto executor, Executor::create(loaded.plan, *alone[0],
                                                      std::move(devices)));
  // The first step makes the file's bytes: a disk reads faster what was never
  // written.
  ZG_RETURN_IF_ERROR(runStep(*executor, programs));
  HostTraffic before = executor->crossed();
  auto begin = std::chrono::steady_clock::now();
  for (unsigned step = 0; step < options.steps; ++step) {
    ZG_RETURN_IF_ERROR(runStep(*executor, programs));
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  HostTraffic after = executor->crossed();
  std::printf("{\"file_system\": \"%s\", \"direct\": %s, \"io_uring\": %s, "
              "\"steps\": %u, \"read\": %llu, \"written\": %llu, "
              "\"seconds\": %.6f}\n",
              support.filesystem.c_str(), support.direct ? "true" : "false",
              support.uring ? "true" : "false", options.steps,
              static_cast<unsigned long long>(after.read - before.read),
              static_cast<unsigned long long>(after.written - before.written),
              time.count());
  return executor->close();
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Reads and writes a rank's file as the steps of a plan do, "
               "without their compute; prints bytes and seconds as JSON");
  app.add_option("PLAN", options.plan)->required();
  app.add_option("--nvme-path", options.files.folder)->required();
  app.add_option("--nvme-block-size", options.files.block_bytes);
  app.add_option("--nvme-queue-depth", options.files.depth)
      ->check(CLI::Range(1, 1024));
  app.add_option("--steps", options.steps, "Steps that are timed")
      ->check(CLI::Range(1, 1000000));
  CLI11_PARSE(app, argc, argv);
  absl::Status status = replay(options);
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
    return 1;
  }
  return 0;
}
