//===- Gpus.cpp - which GPU a rank has ------------------------------------===//

#include "runtime/exec/Gpus.h"

#include "runtime/comm/Peers.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Mesh.h"

#include "absl/strings/str_join.h"

#include <algorithm>

using namespace zerograph;

absl::StatusOr<unsigned> zerograph::gpusOfThreads(const plan::Plan &plan) {
  unsigned ranks = worldOf(plan);
  if (ranks == 1) {
    return 1;
  }
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> all, backendOf(plan).list());
  auto gpus = unsigned(all.size());
  if (gpus > 1 && gpus < ranks) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan is for ", ranks, " ranks, and this process sees ", gpus,
        " GPUs: ranks have a GPU each, or share one. Compile it for ", gpus,
        " ranks, or let it see one GPU (CUDA_VISIBLE_DEVICES=0)"));
  }
  return gpus > 1 ? ranks : 1;
}

absl::StatusOr<unsigned> zerograph::gpuOfProcess(const plan::Plan &plan,
                                                 ControlPlane &control) {
  if (!backendOf(plan).accelerates() || control.world() == 1) {
    return 0;
  }
  absl::StatusOr<std::vector<std::string>> gpus = backendOf(plan).list();
  // Ranks that see the same GPUs share them out, whatever else parts them.
  std::string seen =
      gpus.ok() ? absl::StrCat(machineName(), " ", absl::StrJoin(*gpus, " "))
                : "";
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> all,
                      control.exchange("finding the GPU of each rank", seen));
  auto self = all.begin() + control.rank();
  auto place = unsigned(std::count(all.begin(), self, seen));
  auto sharing = unsigned(std::count(all.begin(), all.end(), seen));
  absl::Status status = gpus.status();
  if (status.ok() && gpus->size() > 1 && gpus->size() < sharing) {
    status = absl::FailedPreconditionError(absl::StrCat(
        sharing, " ranks of this machine see the same ", gpus->size(),
        " GPUs: start as many as there are GPUs, or let each see one"));
  }
  ZG_RETURN_IF_ERROR(agree(control, "finding a GPU", status));
  return gpus->size() == 1 ? 0 : place;
}

absl::StatusOr<std::optional<GpuMemory>>
zerograph::gpuMemory(const Machine &machine, const plan::Plan &plan,
                     unsigned ranks, std::optional<uint64_t> open) {
  ZG_ASSIGN_OR_RETURN(std::optional<uint64_t> all,
                      machine.driver->memoryInUse());
  if (!all || !machine.in_use_before || !machine.in_use_loaded) {
    return std::nullopt;
  }
  GpuMemory memory;
  memory.before = *machine.in_use_before;
  // Another process may have given some back in between.
  auto grown = [](uint64_t from, uint64_t to) {
    return to - std::min(from, to);
  };
  memory.code = grown(*machine.in_use_before, *machine.in_use_loaded);
  memory.nccl =
      grown(*machine.in_use_loaded, open.value_or(*machine.in_use_loaded));
  memory.all = *all;
  memory.arenas = arenaBytes(plan, plan::DEVICE) * ranks;
  return memory;
}

namespace {

const char *graphsOf(const Session &session) {
  switch (session.options.trace.empty() ? session.options.graphs
                                        : Graphs::Off) {
  case Graphs::Off:
    return "off";
  case Graphs::Compute:
    return "compute";
  case Graphs::All:
    return "all";
  }
  return "";
}

} // namespace

absl::Status zerograph::logPlacement(const Session &session,
                                     const Machine &machine,
                                     const LocalTopology &neighbours) {
  unsigned ranks = worldOf(session.plan());
  const Backend &backend = backendOf(session.plan());
  bool on_gpus = backend.accelerates();
  if (!session.first() || (!on_gpus && neighbours.machines == 1)) {
    return absl::OkStatus();
  }
  std::vector<std::string> parts;
  if (ranks > 1) {
    parts.push_back(absl::StrCat(ranks, " ranks"));
  }
  if (neighbours.machines > 1) {
    absl::StrAppend(&parts[0], " on ", neighbours.machines, " machines");
  }
  if (on_gpus) {
    ZG_ASSIGN_OR_RETURN(std::string model, machine.driver->model());
    const char *many = neighbours.on_device > 1 ? "one GPU for " : "a GPU each";
    parts.push_back(absl::StrCat(
        ranks == 1 ? "a GPU" : many,
        neighbours.on_device > 1 ? absl::StrCat(neighbours.on_device) : "",
        ": ", model));
    if (ranks > 1 && neighbours.on_device == 1) {
      ZG_ASSIGN_OR_RETURN(parts.emplace_back(), backend.exchangeLibrary());
    }
    parts.push_back(absl::StrCat("graphs: ", graphsOf(session)));
  }
  session.say(absl::StrJoin(parts, ", "));
  return absl::OkStatus();
}

ExchangeOptions zerograph::exchangeOptions(const Session &session) {
  ExchangeOptions options;
  options.deadline =
      std::chrono::duration<double>(session.options.deadline_seconds);
  options.say = [&session](const std::string &text) { session.say(text); };
  return options;
}
