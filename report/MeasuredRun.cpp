//===- MeasuredRun.cpp - when steps ran, as a trace says ------------------===//

#include "report/MeasuredRun.h"

#include "runtime/base/Status.h"

#include "absl/strings/str_cat.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace zerograph::report {
namespace {

using nlohmann::json;

/// Reads the events of one trace into the steps of a plan.
class TraceReader {
public:
  explicit TraceReader(const plan::Plan &plan)
      : plan(plan), run(size_t(plan.programs_size())) {}

  /// Takes an event; throws what nlohmann::json throws where it has no such
  /// fields.
  absl::Status add(const json &event) {
    if (event.at("ph") != "X" || event.at("pid") != 0) {
      return absl::OkStatus(); // names, arrows, counters, other ranks
    }
    std::string name = event.at("name");
    const json &args = event.at("args");
    int program = programOf(args.at("program").get<std::string>());
    const json &number = args.at("step");
    if (!number.is_number_integer()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", name, "\" has the step ", number.dump(),
          ", which is no whole number: it is no trace that train --trace "
          "wrote"));
    }
    auto step = number.get<int64_t>();
    bool waits = event.at("cat") == "wait";
    if (program < 0 || step < 0 ||
        step >= plan.programs(program).steps_size() ||
        (!waits && plan.programs(program).steps(int(step)).name() != name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "it is a trace of another plan: this one has no step ", step, " \"",
          name, "\" in its program ", args.at("program").get<std::string>()));
    }
    std::vector<MeasuredStep> &steps = run[size_t(program)];
    steps.resize(size_t(plan.programs(program).steps_size()));
    MeasuredStep &measured = steps[size_t(step)];
    double begin = event.at("ts").get<double>() * 1e-6;
    double seconds = event.at("dur").get<double>() * 1e-6;
    constexpr double kYear = 3e7;
    if (!(std::abs(begin) < kYear && seconds >= 0 && seconds < kYear)) {
      return absl::InvalidArgumentError(
          absl::StrCat("step ", step, " \"", name, "\" begins at ", begin,
                       " s and lasts ", seconds, " s, which no step does"));
    }
    if (waits) {
      measured.waited += seconds;
    } else {
      measured.begin = begin;
      measured.end = begin + seconds;
      measured.known = true;
    }
    return absl::OkStatus();
  }

  /// Returns the run, if each program has all of its steps or none.
  absl::StatusOr<MeasuredRun> take() {
    bool some = false;
    for (int p = 0; p < plan.programs_size(); ++p) {
      some = some || !run[size_t(p)].empty();
      for (size_t step = 0; step < run[size_t(p)].size(); ++step) {
        if (!run[size_t(p)][step].known) {
          return absl::InvalidArgumentError(absl::StrCat(
              "it lacks step ", step, " of program ", plan.programs(p).name(),
              ": it was cut short, or is one of another plan"));
        }
      }
    }
    return some ? absl::StatusOr<MeasuredRun>(std::move(run))
                : absl::InvalidArgumentError("it has no step of rank 0");
  }

private:
  int programOf(const std::string &name) const {
    for (int p = 0; p < plan.programs_size(); ++p) {
      if (plan.programs(p).name() == name) {
        return p;
      }
    }
    return -1;
  }

  const plan::Plan &plan;
  MeasuredRun run;
};

} // namespace

absl::StatusOr<MeasuredRun> parseTrace(const plan::Plan &plan,
                                       absl::string_view text) {
  TraceReader reader(plan);
  try {
    json trace = json::parse(text.begin(), text.end());
    for (const json &event : trace.at("traceEvents")) {
      ZG_RETURN_IF_ERROR(reader.add(event));
    }
  } catch (const json::exception &) {
    return absl::InvalidArgumentError(
        "it is no trace that train --trace wrote");
  }
  return reader.take();
}

} // namespace zerograph::report
