//===- CudaProgramFinalize.cpp - a program before it runs -----------------===//

#include "runtime/device/cuda/CudaProgram.h"
#include "runtime/device/cuda/CudaSegments.h"

#include <algorithm>

using namespace zerograph;

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
