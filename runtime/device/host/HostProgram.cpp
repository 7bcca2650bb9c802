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

} // namespace

void HostProgram::add(HostStream &stream, unsigned index, StreamEntry entry,
                      const std::vector<uint32_t> &waits) {
  auto part = std::find_if(parts.begin(), parts.end(), [&](const Part &other) {
    return other.index == index;
  });
  if (part == parts.end()) {
    part = parts.insert(part, {&stream, index, {}});
  }
  entry.waits = positionsOf(waits, index, done);
  entry.place = uint32_t(done.size());
  part->entries.push_back(std::move(entry));
  done.push_back({index, uint32_t(part->entries.size())});
}

void HostProgram::start(unsigned slot) {
  for (Part &part : parts) {
    part.stream->start(part.entries, slot,
                       step_times.empty() ? nullptr : step_times.data());
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
