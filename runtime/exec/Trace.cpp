//===- Trace.cpp - when each step of a run was worked on ------------------===//

#include "runtime/exec/Trace.h"

#include "runtime/base/OutputPath.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <tuple>

using namespace zerograph;

namespace {

nlohmann::json named(const char *what, size_t rank, int thread,
                     const std::string &name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", rank},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

/// Returns an event that took time.
nlohmann::json lasting(const std::string &name, const std::string &category,
                       size_t rank, int thread, int64_t begin, int64_t end,
                       nlohmann::json args) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", category},
          {"pid", rank},
          {"tid", thread},
          {"ts", double(begin) / 1e3},
          {"dur", double(end - begin) / 1e3},
          {"args", std::move(args)}};
}

/// Adds the events of one step: its work, and where it waited for other ranks.
void addStep(nlohmann::json &events, size_t rank, int thread,
             const plan::Step &step, StepTime time, int64_t origin,
             nlohmann::json args) {
  std::string name = step.name(), op(opName(step));
  bool known = time.work.begin != 0;
  WorkTime work = known ? time.work : WorkTime{time.begin, time.end};
  auto wait = [&](const char *what, int64_t begin, int64_t end) {
    if (begin < end) {
      events.push_back(lasting(absl::StrCat("wait ", what, ": ", name), "wait",
                               rank, thread, begin - origin, end - origin,
                               args));
    }
  };
  if (isCollective(step) && !known) {
    args["waiting for other ranks"] = "included";
  }
  wait("for ranks to begin", time.begin, work.begin);
  events.push_back(lasting(name, op, rank, thread, work.begin - origin,
                           work.end - origin, args));
  wait("for ranks to end", work.end, time.end);
}

/// An end of an arrow from a step to one that waits for it.
nlohmann::json arrow(const char *end, size_t rank, int thread, int64_t at,
                     size_t number) {
  return {{"ph", end},    {"name", "await"}, {"cat", "await"},
          {"id", number}, {"bp", "e"}, // it ends in the event around it
          {"pid", rank},  {"tid", thread},   {"ts", double(at) / 1e3}};
}

/// The bytes of the device that slices hold: those that lie on the same bytes
/// count once.
class HeldBytes {
public:
  void add(const plan::Slice &slice) { ++held[rangeOf(slice)]; }
  void remove(const plan::Slice &slice) {
    auto range = held.find(rangeOf(slice));
    if (--range->second == 0) {
      held.erase(range);
    }
  }
  uint64_t count() const {
    uint64_t bytes = 0;
    std::pair<uint32_t, uint64_t> end = {0, 0}; // of the last: arena, offset
    for (const auto &[range, slices] : held) {
      auto [arena, offset, size] = range;
      uint64_t from =
          arena == end.first ? std::max(offset, end.second) : offset;
      uint64_t to = std::max(from, offset + size);
      bytes += to - from;
      end = {arena, to};
    }
    return bytes;
  }

private:
  using Range = std::tuple<uint32_t, uint64_t, uint64_t>;
  static Range rangeOf(const plan::Slice &slice) {
    return {slice.arena(), slice.offset(), slice.bytes()};
  }
  std::map<Range, int> held; // and how many slices hold it
};

/// Adds how many bytes of the device are in use at each moment of a program: a
/// slice's from the begin of the first step that touches it to the end of the
/// last, always where it is carried between programs.
void addMemory(nlohmann::json &events, size_t rank, const plan::Plan &plan,
               const plan::Program &program, const std::vector<StepTime> &times,
               int64_t origin) {
  struct Life {
    int64_t begin = INT64_MAX, end = INT64_MIN;
  };
  std::map<uint32_t, Life> lives; // by slice
  for (size_t i = 0; i < times.size(); ++i) {
    for (const plan::Access &access : program.steps(int(i)).accesses()) {
      Life &life = lives[access.slice()];
      life.begin = std::min(life.begin, times[i].begin);
      life.end = std::max(life.end, times[i].end);
    }
  }
  struct Changes {
    std::vector<const plan::Slice *> begin, end;
  };
  std::map<int64_t, Changes> changes; // by time
  HeldBytes held;
  for (int i = 0; i < plan.slices_size(); ++i) {
    const plan::Slice &slice = plan.slices(i);
    auto life = lives.find(uint32_t(i));
    if (plan.arenas(int(slice.arena())).space() != plan::DEVICE) {
      continue;
    }
    if (slice.carried()) {
      held.add(slice);
    } else if (life != lives.end()) {
      changes[life->second.begin].begin.push_back(&slice);
      changes[life->second.end].end.push_back(&slice);
    }
  }
  for (const auto &[time, change] : changes) {
    for (const plan::Slice *slice : change.begin) {
      held.add(*slice);
    }
    for (const plan::Slice *slice : change.end) {
      held.remove(*slice);
    }
    events.push_back({{"ph", "C"},
                      {"name", "memory of the device"},
                      {"pid", rank},
                      {"ts", double(time - origin) / 1e3},
                      {"args", {{"bytes", held.count()}}}});
  }
}

/// The threads of a stream in the file. Events of a thread may not overlap, so
/// a stream whose steps run side by side gets one more for each that runs
/// beside others.
class Lanes {
public:
  explicit Lanes(const plan::Plan &plan) : plan(plan) {}

  /// Returns the thread of a step. Steps of a stream come in order of their
  /// places in a program.
  int threadOf(const plan::Step &step, StepTime time) {
    std::vector<int64_t> &ends = ends_of[step.stream()];
    size_t lane = 0;
    while (lane < ends.size() && ends[lane] > time.begin) {
      ++lane;
    }
    ends.resize(std::max(ends.size(), lane + 1));
    ends[lane] = time.end;
    return int(lane) * plan.streams_size() + int(step.stream());
  }
  std::string nameOf(const plan::Step &step, int thread) const {
    int lane = thread / plan.streams_size();
    return absl::StrCat(streamName(plan, step),
                        lane > 0 ? absl::StrCat(", beside ", lane) : "");
  }

private:
  const plan::Plan &plan;
  std::map<uint32_t, std::vector<int64_t>> ends_of; // by stream
};

} // namespace

absl::StatusOr<std::unique_ptr<TraceFile>>
TraceFile::open(const std::string &path) {
  ZG_RETURN_IF_ERROR(checkParentFolder(path));
  std::unique_ptr<TraceFile> trace(new TraceFile);
  trace->path = path;
  trace->file = std::fopen(path.c_str(), "we");
  if (!trace->file) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot create: ", std::strerror(errno)));
  }
  return trace;
}

TraceFile::~TraceFile() {
  if (file) {
    std::fclose(file);
  }
}

absl::Status TraceFile::write(const plan::Plan &plan,
                              const std::vector<StepTimes> &ranks) {
  int64_t origin = INT64_MAX;
  for (const StepTimes &times : ranks) {
    for (const auto &program : times) {
      for (const StepTime &time : program) {
        origin = std::min(origin, time.begin);
      }
    }
  }
  nlohmann::json events = nlohmann::json::array();
  size_t arrows = 0;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(
        named("process_name", rank, 0, absl::StrCat("rank ", rank)));
    std::set<int> threads;
    for (int p = 0; p < plan.programs_size(); ++p) {
      const plan::Program &program = plan.programs(p);
      const std::vector<StepTime> &times = ranks[rank][size_t(p)];
      Lanes lanes(plan);
      std::vector<int> threadOf; // by step
      for (int i = 0; i < int(times.size()); ++i) {
        const plan::Step &step = program.steps(i);
        const StepTime &time = times[size_t(i)];
        int thread = lanes.threadOf(step, time);
        if (threads.insert(thread).second) {
          events.push_back(
              named("thread_name", rank, thread, lanes.nameOf(step, thread)));
        }
        addStep(events, rank, thread, step, time, origin,
                {{"program", program.name()}, {"step", i}});
        for (uint32_t before : step.waits()) {
          // Within the event, which its end is not.
          int64_t from = std::max(times[before].begin, times[before].end - 1);
          ++arrows;
          events.push_back(
              arrow("s", rank, threadOf[before], from - origin, arrows));
          events.push_back(
              arrow("f", rank, thread, time.begin - origin, arrows));
        }
        threadOf.push_back(thread);
      }
      addMemory(events, rank, plan, program, times, origin);
    }
  }
  std::string text = nlohmann::json{{"traceEvents", std::move(events)}}.dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size() ||
      std::fflush(file)) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}
