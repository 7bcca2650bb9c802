//===- Executor.cpp - one rank's bound plan -------------------------------===//

#include "runtime/exec/Executor.h"

#include "runtime/plan/Describe.h"

#include <algorithm>
#include <map>
#include <system_error>

using namespace zerograph;

namespace {

/// The collectives of a program in the plan's order: step -> place from 0.
std::map<int, uint32_t> collectiveOrder(const plan::Program &program) {
  std::vector<std::pair<uint32_t, int>> order;
  for (int i = 0; i < program.steps_size(); ++i) {
    if (isCollective(program.steps(i))) {
      order.push_back({program.steps(i).sequence(), i});
    }
  }
  std::sort(order.begin(), order.end());
  std::map<int, uint32_t> places;
  for (size_t place = 0; place < order.size(); ++place) {
    places[order[place].second] = uint32_t(place);
  }
  return places;
}

/// What `step` must wait for, at most once a stream.
std::vector<Timepoint> waitsOf(const plan::Step &step,
                               const std::vector<Timepoint> &done) {
  std::vector<Timepoint> waits;
  for (uint32_t earlier : step.waits()) {
    Timepoint point = done[earlier];
    if (point.stream == unsigned(step.stream())) {
      continue; // in order anyway
    }
    auto same = std::find_if(waits.begin(), waits.end(), [&](Timepoint other) {
      return other.stream == point.stream;
    });
    if (same == waits.end()) {
      waits.push_back(point);
    } else {
      same->position = std::max(same->position, point.position);
    }
  }
  return waits;
}

} // namespace

absl::StatusOr<std::unique_ptr<Executor>>
Executor::create(const plan::Plan &plan, const KernelModule &module,
                 Collectives &collectives, std::unique_ptr<Device> device,
                 unsigned threads) {
  std::unique_ptr<Executor> executor(
      new Executor(plan, collectives, std::move(device)));
  ZG_RETURN_IF_ERROR(executor->allocate());
  for (const plan::Program &program : plan.programs()) {
    absl::Status status = executor->bindProgram(module, threads, program);
    if (!status.ok()) {
      return annotate(status, absl::StrCat("program \"", program.name(), "\""));
    }
  }
  executor->device->onFailure([&collectives](const absl::Status &status) {
    collectives.abort(status);
  });
  return executor;
}

absl::Status Executor::allocate() {
  memory_.rank = collectives.rank();
  for (const plan::Arena &arena : plan.arenas()) {
    if (arena.space() != plan::DEVICE) {
      return absl::UnimplementedError(absl::StrCat(
          "the plan has an arena in ", plan::Space_Name(arena.space()),
          "; this device has DEVICE memory only"));
    }
    ZG_ASSIGN_OR_RETURN(auto memory,
                        device->allocate(arena.bytes(), arena.alignment()));
    memory_.arenas.push_back(memory->data());
    arenas_.push_back(std::move(memory));
  }
  return absl::OkStatus();
}

std::byte *Executor::address(const plan::Access &access) const {
  return memory_.slice(plan, access.slice()) + access.offset() +
         memory_.rank * access.rank_stride();
}

absl::Status Executor::bindProgram(const KernelModule &module, unsigned threads,
                                   const plan::Program &program) {
  BoundProgram &bound = programs.emplace_back();
  std::map<int, uint32_t> order = collectiveOrder(program);
  std::vector<Timepoint> done; // when each step is
  for (int i = 0; i < program.steps_size(); ++i) {
    const plan::Step &step = program.steps(i);
    auto index = unsigned(step.stream());
    std::unique_ptr<Stream> &stream = streams[index];
    if (!stream) {
      bool compute = step.stream() == plan::COMPUTE;
      unsigned workers = compute ? std::max(1u, threads) : 1;
      try {
        stream = device->makeStream(
            index, absl::StrCat(memory_.rank, ":", nameOf(step.stream())),
            workers);
      } catch (const std::system_error &error) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "the system gives no ", workers, " threads for a rank's ",
            nameOf(step.stream()), " stream (", error.what(),
            "): use fewer --threads or ranks"));
      }
    }
    const CollectiveSite *site = nullptr;
    if (isCollective(step)) {
      std::string tensor =
          step.accesses_size() > 0
              ? plan.slices(int(step.accesses(0).slice())).name()
              : "nothing";
      site = &sites.emplace_back(CollectiveSite{
          program.name(), absl::StrCat(i, " '", step.name(), "'"), tensor,
          order[i]});
    }
    auto operation = bindStep(*stream, module, step, site);
    if (!operation.ok()) {
      return annotate(operation.status(),
                      absl::StrCat("step ", i, " '", step.name(), "'"));
    }
    StreamEntry entry;
    entry.operation = *std::move(operation);
    entry.waits = waitsOf(step, done);
    entry.step = uint32_t(i);
    bound.streams[index].push_back(std::move(entry));
    done.push_back({index, uint32_t(bound.streams[index].size())});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Operation>>
Executor::bindStep(Stream &stream, const KernelModule &module,
                   const plan::Step &step, const CollectiveSite *site) {
  std::vector<void *> buffers;
  for (const plan::Access &access : step.accesses()) {
    buffers.push_back(address(access));
  }
  switch (step.op_case()) {
  case plan::Step::kLaunch: {
    unsigned kernel = step.launch().kernel();
    return stream.launch(module, plan.kernels(int(kernel)), kernel, buffers);
  }
  case plan::Step::kMatmul: {
    uint64_t scratch = buffers.size() > 3 ? step.accesses(3).bytes() : 0;
    return stream.matmul(step.matmul(), buffers, scratch);
  }
  case plan::Step::kConvolution: {
    uint64_t scratch = buffers.size() > 3 ? step.accesses(3).bytes() : 0;
    return stream.convolution(step.convolution(), buffers, scratch);
  }
  case plan::Step::kCopy:
    return stream.copy(buffers[0], buffers[1], step.accesses(0).bytes());
  case plan::Step::kFill:
    return stream.fill(buffers[0], step.accesses(0).bytes());
  case plan::Step::kAllGather:
  case plan::Step::kReduceScatter:
  case plan::Step::kAllReduce:
    return bindCollective(stream, step, *site);
  default:
    return absl::UnimplementedError("this runtime does not know its operation");
  }
}

absl::StatusOr<std::unique_ptr<Operation>>
Executor::bindCollective(Stream &stream, const plan::Step &step,
                         const CollectiveSite &site) {
  Collectives *comm = &collectives;
  const CollectiveSite *where = &site;
  if (step.has_all_gather()) {
    std::vector<GatherSegment> segments;
    for (int i = 0; i + 1 < step.accesses_size(); i += 2) {
      segments.push_back({address(step.accesses(i)),
                          address(step.accesses(i + 1)),
                          step.accesses(i).bytes()});
    }
    return stream.call(
        [comm, where, segments] { return comm->allGather(*where, segments); });
  }
  if (step.has_reduce_scatter()) {
    const plan::ReduceScatter &op = step.reduce_scatter();
    ReduceScatterCall call;
    call.type = op.type();
    call.whole = address(step.accesses(0));
    call.shard = address(step.accesses(1));
    call.staging = address(step.accesses(2));
    call.shard_bytes = step.accesses(1).bytes();
    call.chunk_bytes = op.chunk_bytes();
    call.accumulate = op.accumulate();
    return stream.call(
        [comm, where, call] { return comm->reduceScatter(*where, call); });
  }
  std::vector<ReduceArray> arrays;
  for (int i = 0; i + 1 < step.accesses_size(); i += 2) {
    arrays.push_back({address(step.accesses(i)), address(step.accesses(i + 1)),
                      step.accesses(i).bytes()});
  }
  plan::ElementType type = step.all_reduce().type();
  return stream.call([comm, where, type, arrays] {
    return comm->allReduce(*where, type, arrays);
  });
}

void Executor::recordTimes() {
  for (BoundProgram &program : programs) {
    for (unsigned i = 0; i < kStreams; ++i) {
      program.times[i].resize(program.streams[i].size());
    }
  }
}

StepTimes Executor::times() const {
  StepTimes result;
  for (const BoundProgram &program : programs) {
    std::vector<EntryTime> &steps = result.emplace_back();
    for (unsigned i = 0; i < kStreams; ++i) {
      for (size_t entry = 0; entry < program.times[i].size(); ++entry) {
        uint32_t step = program.streams[i][entry].step;
        steps.resize(std::max<size_t>(steps.size(), step + 1));
        steps[step] = program.times[i][entry];
      }
    }
  }
  return result;
}

absl::Status Executor::run(unsigned index) {
  BoundProgram &program = programs[index];
  device->beginProgram();
  collectives.beginProgram();
  for (unsigned i = 0; i < kStreams; ++i) {
    if (!program.streams[i].empty()) {
      std::vector<EntryTime> &times = program.times[i];
      streams[i]->start(program.streams[i],
                        times.empty() ? nullptr : times.data());
    }
  }
  absl::Status result;
  for (unsigned i = 0; i < kStreams; ++i) {
    if (program.streams[i].empty()) {
      continue;
    }
    uint32_t step = 0;
    absl::Status status = streams[i]->finish(step);
    bool collateral = absl::IsCancelled(status);
    if (!status.ok() && (result.ok() || absl::IsCancelled(result))) {
      result = collateral || absl::IsAborted(status)
                   ? status
                   : annotate(status, describeStep(plan, index, step));
    }
  }
  return result;
}
