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
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    events.push_back(
        named("process_name", rank, 0, absl::StrCat("rank ", rank)));
    std::set<int> threads;
    for (int p = 0; p < plan.programs_size(); ++p) {
      const plan::Program &program = plan.programs(p);
      const std::vector<StepTime> &times = ranks[rank][size_t(p)];
      Lanes lanes(plan);
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
      }
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
