//===- CudaProgram.cpp - a program issued to queues -----------------------===//

#include "runtime/device/cuda/CudaProgram.h"

#include "runtime/device/cuda/CudaSegments.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// What collectives that were told to end may take for it.
constexpr auto kGrace = std::chrono::seconds(10);

} // namespace

//===----------------------------------------------------------------------===//
// Binding
//===----------------------------------------------------------------------===//

absl::Status CudaProgram::add(CUstream stream, uint32_t number,
                              std::unique_ptr<Operation> operation,
                              const std::vector<uint32_t> &waits) {
  Entry entry;
  entry.stream = stream;
  entry.number = number;
  entry.operation = std::move(operation);
  for (uint32_t place : waits) {
    Entry &earlier = entries[place];
    if (earlier.stream == stream) {
      continue; // in order anyway
    }
    if (!earlier.done) {
      ZG_ASSIGN_OR_RETURN(earlier.done, events.make());
    }
    entry.waits.push_back(earlier.done);
  }
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    streams.push_back(stream);
  }
  entries.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status CudaProgram::seal() {
  for (CUstream stream : streams) {
    ZG_ASSIGN_OR_RETURN(CUevent end, events.make());
    ends.push_back(end);
    rest.add(stream, {end, 0, 0, {}});
  }
  if (entries.empty()) {
    return absl::OkStatus();
  }
  if (options.graphs == Graphs::All) {
    return recordWhole();
  }
  cut();
  if (options.graphs == Graphs::Compute) {
    ZG_RETURN_IF_ERROR(recordSegments());
  }
  return addMarks();
}

void CudaProgram::cut() {
  std::vector<SegmentStep> steps;
  for (const Entry &entry : entries) {
    auto stream = std::find(streams.begin(), streams.end(), entry.stream);
    bool replays = options.graphs == Graphs::Compute &&
                   entry.operation->replay() == Replay::Always;
    steps.push_back({unsigned(stream - streams.begin()), replays,
                     !entry.waits.empty(), entry.done != nullptr});
  }
  for (std::vector<size_t> &places : cutSegments(steps)) {
    segments.emplace_back().places = std::move(places);
  }
}

absl::Status CudaProgram::recordSegments() {
  for (Segment &segment : segments) {
    if (segment.places.size() < 2) {
      continue; // a launch is no dearer than a graph of one
    }
    CUstream stream = entries[segment.places.front()].stream;
    auto enqueue = [&] {
      for (size_t place : segment.places) {
        ZG_RETURN_IF_ERROR(entries[place].operation->issue({stream, 0}));
      }
      return absl::OkStatus();
    };
    ZG_ASSIGN_OR_RETURN(segment.graph,
                        CudaGraph::record(context, stream, enqueue));
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::recordWhole() {
  ZG_ASSIGN_OR_RETURN(fork, events.make());
  ZG_ASSIGN_OR_RETURN(end, events.make());
  for (size_t i = 1; i < streams.size(); ++i) {
    ZG_ASSIGN_OR_RETURN(joins.emplace_back(), events.make());
  }
  CudaMark mark{end, entries.front().number, entries.back().number, {}};
  for (const Entry &entry : entries) {
    if (entry.operation->replay() == Replay::Never) {
      return absl::UnimplementedError(absl::StrCat(
          "--graph all records whole programs, and step ", entry.number,
          " exchanges with ranks of this process, which cannot be recorded: "
          "start a process a rank, or give --graph compute"));
    }
    mark.operations.push_back(entry.operation.get());
  }
  watch.add(streams.front(), std::move(mark));
  for (unsigned slot = 0; slot < std::size(whole); ++slot) {
    ZG_ASSIGN_OR_RETURN(whole[slot],
                        CudaGraph::record(context, streams.front(),
                                          [&] { return issueWhole(slot); }));
  }
  return absl::OkStatus();
}

/// Where somebody waits anyway, after graphs, and at the end of each stream.
absl::Status CudaProgram::addMarks() {
  for (CUstream stream : streams) {
    CudaMark mark;
    Segment *last = nullptr;
    auto close = [&]() -> absl::Status {
      Entry &entry = entries[last->places.back()];
      last->passed = entry.done;
      if (!last->passed) {
        ZG_ASSIGN_OR_RETURN(last->passed, events.make());
      }
      mark.event = last->passed;
      mark.last = entry.number;
      watch.add(stream, std::move(mark));
      mark = {};
      last = nullptr;
      return absl::OkStatus();
    };
    for (Segment &segment : segments) {
      if (entries[segment.places.front()].stream != stream) {
        continue;
      }
      mark.first = last ? mark.first : entries[segment.places.front()].number;
      last = &segment;
      for (size_t place : segment.places) {
        mark.operations.push_back(entries[place].operation.get());
      }
      if (segment.graph || entries[segment.places.back()].done) {
        ZG_RETURN_IF_ERROR(close());
      }
    }
    if (last) {
      ZG_RETURN_IF_ERROR(close());
    }
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

absl::Status CudaProgram::await(const Entry &entry) const {
  for (CUevent event : entry.waits) {
    ZG_CUDA(api, cuStreamWaitEvent, entry.stream, event, 0);
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::signal(const Entry &entry) const {
  if (entry.done) {
    ZG_CUDA(api, cuEventRecord, entry.done, entry.stream);
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::issueStep(size_t place, unsigned slot) {
  const Entry &entry = entries[place];
  ZG_RETURN_IF_ERROR(await(entry));
  if (timers) {
    ZG_RETURN_IF_ERROR(timers->begin(api, place, entry.stream));
  }
  ZG_RETURN_IF_ERROR(entry.operation->issue({entry.stream, slot}));
  if (timers) {
    ZG_RETURN_IF_ERROR(timers->end(api, place, entry.stream));
  }
  return signal(entry);
}

absl::Status CudaProgram::issueSegment(const Segment &segment, unsigned slot) {
  const Entry &first = entries[segment.places.front()];
  const Entry &last = entries[segment.places.back()];
  if (segment.graph && !timers) {
    ZG_RETURN_IF_ERROR(await(first));
    ZG_RETURN_IF_ERROR(segment.graph->launch(first.stream));
    ZG_RETURN_IF_ERROR(signal(last));
  } else {
    for (size_t place : segment.places) {
      failed_step = entries[place].number;
      ZG_RETURN_IF_ERROR(issueStep(place, slot));
    }
  }
  if (segment.passed && segment.passed != last.done) {
    ZG_CUDA(api, cuEventRecord, segment.passed, last.stream);
  }
  return absl::OkStatus();
}

/// The other streams begin after the origin has, and it ends after them.
absl::Status CudaProgram::issueWhole(unsigned slot) {
  CUstream origin = streams.front();
  ZG_CUDA(api, cuEventRecord, fork, origin);
  for (size_t i = 1; i < streams.size(); ++i) {
    ZG_CUDA(api, cuStreamWaitEvent, streams[i], fork, 0);
  }
  for (size_t place = 0; place < entries.size(); ++place) {
    failed_step = entries[place].number;
    ZG_RETURN_IF_ERROR(issueStep(place, slot));
  }
  for (size_t i = 1; i < streams.size(); ++i) {
    ZG_CUDA(api, cuEventRecord, joins[i - 1], streams[i]);
    ZG_CUDA(api, cuStreamWaitEvent, origin, joins[i - 1], 0);
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::issue(unsigned slot) {
  if (timed && !timers) {
    timers = std::make_unique<CudaTimers>();
    ZG_RETURN_IF_ERROR(timers->create(events, entries.size()));
  }
  if (timers) {
    ZG_RETURN_IF_ERROR(timers->start(api, streams.front()));
  }
  if (options.graphs == Graphs::All) {
    ZG_RETURN_IF_ERROR(timers ? issueWhole(slot)
                              : whole[slot]->launch(streams.front()));
    ZG_CUDA(api, cuEventRecord, end, streams.front());
    return absl::OkStatus();
  }
  for (const Segment &segment : segments) {
    failed_step = entries[segment.places.front()].number;
    ZG_RETURN_IF_ERROR(issueSegment(segment, slot));
  }
  return absl::OkStatus();
}

void CudaProgram::start(unsigned slot) {
  failed_step = entries.empty() ? 0 : entries.front().number;
  result = context->enter();
  if (result.ok() && !entries.empty()) {
    // The driver may tell here what an earlier step has done.
    result = annotate(issue(slot), "this step or an earlier one");
  }
  for (size_t i = 0; result.ok() && i < entries.size(); ++i) {
    entries[i].operation->enqueued();
  }
  if (!result.ok()) {
    failed(result, failed_step);
  }
}

absl::Status CudaProgram::finish(uint32_t &number) {
  bool issued = result.ok();
  CudaUndone undone{context->enter()};
  if (issued && undone.status.ok()) {
    undone = watch.await(std::chrono::duration_cast<CudaWatch::Clock::duration>(
        options.deadline));
  }
  if (issued && !undone.status.ok()) {
    result =
        undone.first == undone.last
            ? undone.status
            : annotate(undone.status,
                       absl::StrCat("this step or a later one, up to step ",
                                    undone.last));
    failed_step = undone.first;
    failed(result, failed_step);
  }
  if (!result.ok()) {
    settle();
  } else if (timers) {
    result = timers->read(api, step_times);
  }
  number = failed_step;
  return result;
}

/// What was issued before a failure may use memory that is about to be freed.
/// It ends when the collectives are told to end, or with the process. Marks say
/// nothing of it: those that were not reached are as the run before left them.
void CudaProgram::settle() {
  for (size_t i = 0; i < streams.size(); ++i) {
    if (api.cuEventRecord(ends[i], streams[i]) != CUDA_SUCCESS) {
      return; // of a context that has failed nothing runs any more
    }
  }
  if (absl::IsDeadlineExceeded(rest.await(kGrace).status)) {
    context->abandon();
  }
}
