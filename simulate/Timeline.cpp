//===- Timeline.cpp - when each step of a program runs --------------------===//

#include "simulate/Timeline.h"

#include <algorithm>
#include <limits>

namespace zerograph::simulate {
namespace {

/// A step that runs.
struct Running {
  int step;
  double left; ///< of 1
};

class Simulation {
public:
  Simulation(const plan::Plan &plan, const plan::Program &program,
             const std::vector<Work> &works)
      : program(program), works(works) {
    int steps = program.steps_size();
    timeline.steps.resize(size_t(steps));
    timeline.after.assign(size_t(steps), -1);
    waits.resize(size_t(steps));
    released.resize(size_t(steps));
    std::vector<int> last(size_t(plan.streams_size()), -1);
    for (int i = 0; i < steps; ++i) {
      const plan::Step &step = program.steps(i);
      int &before = last[step.stream()];
      if (before >= 0) {
        order(before, i);
      }
      before = i;
      for (uint32_t earlier : step.waits()) {
        order(int(earlier), i);
      }
    }
  }

  Timeline run() {
    for (int i = 0; i < program.steps_size(); ++i) {
      if (waits[size_t(i)] == 0) {
        running.push_back({i, 1});
      }
    }
    while (!running.empty()) {
      advance();
    }
    timeline.seconds = now;
    return std::move(timeline);
  }

private:
  void order(int before, int after) {
    released[size_t(before)].push_back(after);
    ++waits[size_t(after)];
  }

  /// Returns how much of each resource the running steps ask for together; more
  /// than 1 is more than there is.
  std::array<double, kResources> demandOfRunning() const {
    std::array<double, kResources> demand = {};
    for (const Running &one : running) {
      const Work &work = works[size_t(one.step)];
      for (size_t r = 0; r < kResources; ++r) {
        demand[r] += work.seconds > 0 ? work.busy[r] / work.seconds : 0;
      }
    }
    return demand;
  }

  /// Goes on until the first of the running steps ends.
  void advance() {
    std::array<double, kResources> demand = demandOfRunning();
    std::vector<double> rates;
    double next = std::numeric_limits<double>::infinity();
    for (const Running &one : running) {
      const Work &work = works[size_t(one.step)];
      double slower = 1;
      for (size_t r = 0; r < kResources; ++r) {
        slower = work.busy[r] > 0 ? std::max(slower, demand[r]) : slower;
      }
      double seconds = work.seconds * slower;
      rates.push_back(seconds > 0 ? 1 / seconds : 0);
      next = std::min(next, one.left * seconds);
    }
    now += next;
    std::vector<Running> still;
    std::vector<int> ended;
    for (size_t i = 0; i < running.size(); ++i) {
      Running one = running[i];
      one.left -= next * rates[i];
      if (rates[i] == 0 || one.left <= 1e-12) {
        ended.push_back(one.step);
      } else {
        still.push_back(one);
      }
    }
    running = std::move(still);
    for (int step : ended) {
      end(step);
    }
  }

  void end(int step) {
    timeline.steps[size_t(step)].end = now;
    for (int next : released[size_t(step)]) {
      if (--waits[size_t(next)] == 0) {
        timeline.steps[size_t(next)].begin = now;
        timeline.after[size_t(next)] = step;
        running.push_back({next, 1});
      }
    }
  }

  const plan::Program &program;
  const std::vector<Work> &works;
  std::vector<int> waits;                 // that have not ended
  std::vector<std::vector<int>> released; // by the end of each
  std::vector<Running> running;
  double now = 0;
  Timeline timeline;
};

} // namespace

Timeline simulate(const plan::Plan &plan, const plan::Program &program,
                  const std::vector<Work> &works) {
  return Simulation(plan, program, works).run();
}

} // namespace zerograph::simulate
