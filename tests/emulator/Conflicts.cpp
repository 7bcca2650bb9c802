//===- Conflicts.cpp - what streams touch without an order ----------------===//

#include "tests/emulator/Conflicts.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace zerograph::emulator;

uint32_t VectorClock::advance(uint32_t stream) {
  times.resize(std::max<size_t>(times.size(), stream + 1));
  return ++times[stream];
}

void VectorClock::merge(const VectorClock &other) {
  times.resize(std::max(times.size(), other.times.size()));
  for (size_t i = 0; i < other.times.size(); ++i) {
    times[i] = std::max(times[i], other.times[i]);
  }
}

void Lines::touch(uint64_t offset, uint64_t bytes, bool write) {
  std::vector<bool> &lines = write ? written : read;
  for (uint64_t line = offset / kLine; line * kLine < offset + bytes; ++line) {
    lines[line] = true;
  }
}

std::string Conflicts::nameOf(uint32_t stream, uint32_t time) const {
  auto found = names.find({stream, time});
  return absl::StrCat(found == names.end() ? "a task" : found->second,
                      " of stream ", stream);
}

std::string Conflicts::touch(uint32_t stream, const VectorClock &clock,
                             const std::string &name, uint64_t begin,
                             const Lines &lines) {
  uint32_t now = clock.at(stream);
  names[{stream, now}] = name;
  std::vector<Line> &all = allocations[begin];
  all.resize(std::max(all.size(), lines.read.size()));
  std::string found;
  auto clash = [&](uint64_t line, uint32_t other, uint32_t time,
                   const char *did, const char *does) {
    if (time > clock.at(other) && found.empty()) {
      found =
          absl::StrCat(nameOf(stream, now), " ", does, " byte ", line * kLine,
                       " of an allocation that ", nameOf(other, time), " has ",
                       did, ", and nothing puts the two in order");
    }
  };
  for (uint64_t i = 0; i < lines.read.size(); ++i) {
    bool reads = lines.read[i], writes = lines.written[i];
    if (!reads && !writes) {
      continue;
    }
    Line &line = all[i];
    clash(i, line.writer, line.written, "written", writes ? "writes" : "reads");
    for (uint32_t other = 0; writes && other < line.reads.size(); ++other) {
      clash(i, other, line.reads[other], "read", "writes");
    }
    if (writes) {
      line.writer = stream;
      line.written = now;
    }
    if (reads) {
      line.reads.resize(std::max<size_t>(line.reads.size(), stream + 1));
      line.reads[stream] = now;
    }
  }
  return found;
}
