//===- HostProgram.cpp - a program split among threads --------------------===//

#include "runtime/device/host/HostProgram.h"

#include "runtime/base/Cause.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// The positions to wait for on stream `index`: at most one of each other
/// stream, whose entries are in order.
std::vector<StreamPosition>
positionsOf(const std::vector<uint32_t> &waits, unsigned index,
            const std::vector<StreamPosition> &done) {
  std::vector<StreamPosition> positions;
  for (uint32_t earlier : waits) {
    StreamPosition point = done[earlier];
    if (point.stream == index) {
      continue; // in order anyway
    }
    auto same = std::find_if(
        positions.begin(), positions.end(),
        [&](StreamPosition other) { return other.stream == point.stream; });
    if (same == positions.end()) {
      positions.push_back(point);
    } else {
      same->position = std::max(same->position, point.position);
    }
  }
  return positions;
}

bool conflict(const std::vector<Touch> &some, const std::vector<Touch> &more) {
  for (const Touch &a : some) {
    for (const Touch &b : more) {
      if ((a.writes || b.writes) && a.begin < b.end && b.begin < a.end) {
        return true;
      }
    }
  }
  return false;
}

/// Returns whether a step touches enough: with less it is done sooner than
/// another thread has begun with it.
bool isWorthAThread(const std::vector<Touch> &touches) {
  constexpr int64_t kLeastBytes = 16 << 10;
  int64_t bytes = 0;
  for (const Touch &touch : touches) {
    bytes += touch.end - touch.begin;
  }
  return bytes >= kLeastBytes;
}

/// Returns whether the entry's parts leave some of `threads` without work.
bool leavesIdle(const StreamEntry &entry, unsigned threads) {
  uint32_t parts = 0;
  for (const StreamStep &step : entry.steps) {
    if (!step.shared) {
      return false;
    }
    parts += step.shared->parts();
  }
  return parts < threads;
}

} // namespace

void HostProgram::add(HostStream &stream, unsigned index, StreamEntry entry,
                      std::vector<Touch> touches,
                      const std::vector<uint32_t> &waits) {
  auto part = std::find_if(parts.begin(), parts.end(), [&](const Part &other) {
    return other.index == index;
  });
  if (part == parts.end()) {
    part = parts.insert(part, {&stream, index, {}, {}});
  }
  StreamStep &step = entry.steps.front();
  step.place = uint32_t(done.size());
  bool awaits = !waits.empty() || !entry.awaits.empty();
  StreamEntry *last = part->entries.empty() ? nullptr : &part->entries.back();
  if (last && !last->publishes && !awaits && step.shared &&
      leavesIdle(*last, stream.workers().size()) && isWorthAThread(touches) &&
      isWorthAThread(part->touches) && !conflict(part->touches, touches)) {
    last->steps.push_back(std::move(step));
    last->publishes = entry.publishes;
    part->touches.insert(part->touches.end(), touches.begin(), touches.end());
  } else {
    entry.waits = positionsOf(waits, index, done);
    part->entries.push_back(std::move(entry));
    part->touches = std::move(touches);
  }
  done.push_back({index, uint32_t(part->entries.size())});
}

void HostProgram::start(unsigned slot) {
  for (Part &part : parts) {
    part.stream->start(part.entries, slot,
                       step_times.empty() ? nullptr : step_times.data(),
                       after ? &after : nullptr);
  }
}

absl::Status HostProgram::finish(uint32_t &failed) {
  absl::Status result;
  for (Part &part : parts) {
    uint32_t step = 0;
    absl::Status status = part.stream->finish(step);
    if (isNearerToCause(status, result)) {
      result = status;
      failed = step;
    }
  }
  return result;
}
