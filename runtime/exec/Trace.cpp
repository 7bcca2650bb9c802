//===- Trace.cpp - when each step of a run was worked on ------------------===//

#include "runtime/exec/Trace.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
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

/// Something that took time on a step's stream.
nlohmann::json lasting(const std::string &name, const std::string &category,
                       size_t rank, const plan::Step &step, int64_t begin,
                       int64_t end, nlohmann::json args) {
  return {{"ph", "X"},
          {"name", name},
          {"cat", category},
          {"pid", rank},
          {"tid", int(step.stream())},
          {"ts", double(begin) / 1e3},
          {"dur", double(end - begin) / 1e3},
          {"args", std::move(args)}};
}

/// The events of one step: its work, and where it waited for other ranks.
void addStep(nlohmann::json &events, size_t rank, const plan::Step &step,
             StepTime time, int64_t origin, nlohmann::json args) {
  std::string name = step.name(), op(opName(step));
  bool known = time.work.begin != 0;
  WorkTime work = known ? time.work : WorkTime{time.begin, time.end};
  auto wait = [&](const char *what, int64_t begin, int64_t end) {
    if (begin < end) {
      events.push_back(lasting(absl::StrCat("wait ", what, ": ", name), "wait",
                               rank, step, begin - origin, end - origin, args));
    }
  };
  if (isCollective(step) && !known) {
    args["waiting for other ranks"] = "included";
  }
  wait("for ranks to begin", time.begin, work.begin);
  events.push_back(lasting(name, op, rank, step, work.begin - origin,
                           work.end - origin, args));
  wait("for ranks to end", work.end, time.end);
}

} // namespace

absl::StatusOr<std::unique_ptr<TraceFile>>
TraceFile::open(const std::string &path) {
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
    std::set<uint32_t> streams;
    for (int p = 0; p < plan.programs_size(); ++p) {
      const plan::Program &program = plan.programs(p);
      for (int i = 0; i < program.steps_size(); ++i) {
        const plan::Step &step = program.steps(i);
        const StepTime &time = ranks[rank][p][i];
        if (streams.insert(step.stream()).second) {
          events.push_back(named("thread_name", rank, step.stream(),
                                 streamName(plan, step)));
        }
        addStep(events, rank, step, time, origin,
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
