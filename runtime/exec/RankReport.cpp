//===- RankReport.cpp - what ranks tell rank 0 at the end -----------------===//

#include "runtime/exec/RankReport.h"

#include <cstdlib>

using namespace zerograph;

namespace {

constexpr int64_t kSameClock = 1'000'000'000; // nanoseconds

StepTime timeOf(const exec::RankReport::Step &told, int64_t shift) {
  StepTime time{told.begin() + shift, told.end() + shift, {}};
  if (told.work_begin() != 0) {
    time.work = {told.work_begin() + shift, told.work_end() + shift};
  }
  return time;
}

} // namespace

void zerograph::add(const TrafficCount &received, exec::Traffic &sum) {
  sum.set_gather(sum.gather() + received.gather);
  sum.set_reduce(sum.reduce() + received.reduce);
  sum.set_scalar(sum.scalar() + received.scalar);
}

void zerograph::add(const HostTraffic &crossed, exec::HostTransfers &sum) {
  sum.set_down(sum.down() + crossed.down);
  sum.set_up(sum.up() + crossed.up);
  sum.set_read(sum.read() + crossed.read);
  sum.set_written(sum.written() + crossed.written);
}

void zerograph::add(const StepTimes &times, exec::RankReport &report) {
  for (const std::vector<StepTime> &program : times) {
    exec::RankReport::Program &told = *report.add_programs();
    for (const StepTime &time : program) {
      exec::RankReport::Step &step = *told.add_steps();
      step.set_begin(time.begin);
      step.set_end(time.end);
      step.set_work_begin(time.work.begin);
      step.set_work_end(time.work.end);
    }
  }
}

std::vector<StepTimes>
zerograph::timesByOneClock(const std::vector<exec::RankReport> &ranks) {
  std::vector<StepTimes> all;
  for (const exec::RankReport &rank : ranks) {
    int64_t shift = ranks[0].ready() - rank.ready();
    shift = std::abs(shift) > kSameClock ? shift : 0;
    StepTimes &times = all.emplace_back();
    for (const exec::RankReport::Program &told : rank.programs()) {
      std::vector<StepTime> &program = times.emplace_back();
      for (const exec::RankReport::Step &step : told.steps()) {
        program.push_back(timeOf(step, shift));
      }
    }
  }
  return all;
}
