//===- CudaProgram.cpp - a program issued to queues -----------------------===//

#include "runtime/device/cuda/CudaProgram.h"

#include "runtime/device/cuda/CudaSegments.h"

#include <algorithm>
#include <atomic>

using namespace zerograph;

namespace {

/// The number of steps, about, that streams are given beyond what they have
/// finished: the driver lets who gives more wait for room, and that without a
/// deadline.
constexpr uint64_t kMostAhead = 256;
/// The time that collectives that were told to end may take for it.
constexpr CudaWatch::Clock::duration kGrace = std::chrono::seconds(10);
/// Releases whatever awaits a count: more than any stream counts, and still
/// positive, since CU_STREAM_WAIT_VALUE_GEQ asks for int32(counter - value) >=
/// 0.
constexpr uint32_t kCancelled = INT32_MAX;
/// The driver may tell of it when a later one is issued.
constexpr const char *kThisOrEarlier = "this step or an earlier one";

CudaWatch::Clock::duration durationOf(std::chrono::duration<double> seconds) {
  return std::chrono::duration_cast<CudaWatch::Clock::duration>(seconds);
}

} // namespace

absl::Status CudaProgram::await(const Entry &entry) const {
  for (CUevent event : entry.waits) {
    ZG_CUDA(api, cuStreamWaitEvent, entry.stream, event, 0);
  }
  for (const Count &count : entry.awaits) {
    ZG_CUDA(api, cuStreamWaitValue32, entry.stream, count.counter, count.value,
            CU_STREAM_WAIT_VALUE_GEQ);
  }
  return absl::OkStatus();
}

/// The count first: when the event has passed, nothing is left to be written.
absl::Status CudaProgram::signal(const Entry &entry) const {
  if (entry.publishes) {
    ZG_CUDA(api, cuStreamWriteValue32, entry.stream, entry.publishes->counter,
            entry.publishes->value, CU_STREAM_WRITE_VALUE_DEFAULT);
  }
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
  ZG_RETURN_IF_ERROR(signal(entry));
  return after ? passOn(place) : absl::OkStatus();
}

/// Whatever else the streams were given is done already.
absl::Status CudaProgram::passOn(size_t place) {
  CUstream stream = entries[place].stream;
  auto index = std::find(streams.begin(), streams.end(), stream);
  each.begin();
  ZG_CUDA(api, cuEventRecord, ends[size_t(index - streams.begin())], stream);
  each.recorded(stream);
  ZG_RETURN_IF_ERROR(each.await(durationOf(options.deadline)).status);
  return after(uint32_t(place));
}

void CudaProgram::cancel() {
  for (const Entry &entry : entries) {
    for (const Count &count : entry.awaits) {
      // Pinned memory has the same address for the processor.
      std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t *>(count.counter))
          .store(kCancelled, std::memory_order_release);
    }
  }
}

void CudaProgram::afterSteps(StepCallback callback) {
  if (options.graphs != Graphs::Off) {
    return;
  }
  after = std::move(callback);
  for (size_t i = 0; i < streams.size(); ++i) {
    CudaMark mark{ends[i], 0, 0, {}};
    for (const Entry &entry : entries) {
      if (entry.stream == streams[i]) {
        mark.operations.push_back(entry.operation.get());
      }
    }
    each.add(streams[i], std::move(mark));
  }
}

absl::Status CudaProgram::issueSegment(const Segment &segment, unsigned slot) {
  const Entry &first = entries[segment.places.front()];
  const Entry &last = entries[segment.places.back()];
  if (segment.graph) {
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
  if (segment.passed) {
    watch.recorded(last.stream);
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
    ZG_RETURN_IF_ERROR(
        annotate(whole[slot]->launch(streams.front()), kThisOrEarlier));
    ZG_CUDA(api, cuEventRecord, end, streams.front());
    watch.recorded(streams.front());
    return absl::OkStatus();
  }
  for (const Segment &segment : segments) {
    ZG_RETURN_IF_ERROR(catchUp(kMostAhead));
    failed_step = entries[segment.places.front()].number;
    ZG_RETURN_IF_ERROR(annotate(issueSegment(segment, slot), kThisOrEarlier));
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::catchUp(uint64_t most) {
  CudaUndone undone = watch.await(durationOf(options.deadline), most);
  if (undone.status.ok()) {
    return absl::OkStatus();
  }
  failed_step = undone.first;
  return undone.first == undone.last
             ? undone.status
             : annotate(undone.status,
                        absl::StrCat("this step or a later one, up to step ",
                                     undone.last));
}

void CudaProgram::start(unsigned slot) {
  failed_step = entries.empty() ? 0 : entries.front().number;
  result = context->enter();
  watch.begin();
  if (result.ok() && !entries.empty()) {
    result = issue(slot);
  }
  for (size_t i = 0; result.ok() && i < entries.size(); ++i) {
    entries[i].operation->enqueued();
  }
  if (!result.ok()) {
    failed(result, failed_step);
  }
}

absl::Status CudaProgram::finish(uint32_t &number) {
  if (result.ok()) {
    result = context->enter();
    result = result.ok() ? catchUp(0) : result;
    if (!result.ok()) {
      failed(result, failed_step);
    }
  }
  if (!result.ok()) {
    settle();
  } else if (timers) {
    result = timers->read(api, step_times);
  }
  number = failed_step;
  return result;
}

/// Awaits what was issued before a failure, which may use memory that is about
/// to be freed. It ends when the collectives are told to end, or with the
/// process. Marks say nothing of it: those that were not reached are as the run
/// before left them.
void CudaProgram::settle() {
  if (!context->enter().ok()) {
    return; // abandoned
  }
  rest.begin();
  for (size_t i = 0; i < streams.size(); ++i) {
    if (api.cuEventRecord(ends[i], streams[i]) != CUDA_SUCCESS) {
      return; // of a context that has failed nothing runs any more
    }
    rest.recorded(streams[i]);
  }
  auto grace = std::min(kGrace, durationOf(options.deadline));
  if (absl::IsDeadlineExceeded(rest.await(grace).status)) {
    context->abandon();
  }
}

namespace {

/// The most steps that a stream is given between marks: with fewer marks a run
/// could not be kept from filling the driver's queues.
constexpr uint64_t kMostUnmarked = 64;

} // namespace

absl::Status CudaProgram::add(CUstream stream, uint32_t number,
                              std::unique_ptr<Operation> operation,
                              const std::vector<uint32_t> &waits,
                              std::vector<Count> awaits,
                              std::optional<Count> publishes) {
  Entry entry;
  entry.stream = stream;
  entry.number = number;
  entry.awaits = std::move(awaits);
  entry.publishes = publishes;
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
                     !entry.waits.empty() || !entry.awaits.empty(),
                     entry.done != nullptr || entry.publishes});
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
    if (entry.isOrderedBetweenDevices()) {
      return absl::UnimplementedError(absl::StrCat(
          "--graph all records whole programs, and step ", entry.number,
          " is put in order with the host, which helps the GPU and cannot be "
          "recorded: give --graph compute"));
    }
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
    auto recorded = CudaGraph::record(context, streams.front(),
                                      [&] { return issueWhole(slot); });
    if (!recorded.ok()) {
      return annotate(recorded.status(),
                      "--graph all records the whole program, which --graph "
                      "compute does without");
    }
    whole[slot] = *std::move(recorded);
  }
  return absl::OkStatus();
}

/// Adds marks where somebody waits anyway, after graphs, after many steps, and
/// at the end of each stream.
absl::Status CudaProgram::addMarks() {
  for (CUstream stream : streams) {
    CudaMark mark;
    mark.given = 0;
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
      mark.given = 0;
      last = nullptr;
      return absl::OkStatus();
    };
    for (Segment &segment : segments) {
      if (entries[segment.places.front()].stream != stream) {
        continue;
      }
      mark.first = last ? mark.first : entries[segment.places.front()].number;
      last = &segment;
      mark.given += segment.graph ? 1 : segment.places.size();
      for (size_t place : segment.places) {
        mark.operations.push_back(entries[place].operation.get());
      }
      if (segment.graph || entries[segment.places.back()].done ||
          mark.given >= kMostUnmarked) {
        ZG_RETURN_IF_ERROR(close());
      }
    }
    if (last) {
      ZG_RETURN_IF_ERROR(close());
    }
  }
  return absl::OkStatus();
}
