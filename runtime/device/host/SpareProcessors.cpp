//===- SpareProcessors.cpp - what others use of our processors ------------===//

#include "runtime/device/host/SpareProcessors.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace zerograph;

namespace {

double secondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

std::string textOf(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

cpu_set_t ownProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    CPU_ZERO(&set); // nothing is known
  }
  return set;
}

/// Threads of this process that run or wait to.
unsigned ownRunnable() {
  unsigned count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/task", error), end;
       !error && entry != end; entry.increment(error)) {
    std::string text = textOf(entry->path().string() + "/stat");
    size_t name = text.rfind(") "); // the name may have any letters
    count += name != std::string::npos && text.compare(name + 2, 1, "R") == 0;
  }
  return count;
}

} // namespace

ProcessorStat zerograph::readProcessorStat(const std::string &stat,
                                           const cpu_set_t &set) {
  std::istringstream lines(stat);
  ProcessorStat result;
  for (std::string line; std::getline(lines, line);) {
    unsigned processor;
    unsigned long long user, nice, system, idle, wait, irq, soft;
    std::sscanf(line.c_str(), "procs_running %u", &result.runnable);
    // The line of all processors has a blank where others have their number.
    if (line.rfind("cpu ", 0) == 0 ||
        std::sscanf(line.c_str(), "cpu%u %llu %llu %llu %llu %llu %llu %llu",
                    &processor, &user, &nice, &system, &idle, &wait, &irq,
                    &soft) != 8) {
      continue;
    }
    ++result.all;
    if (processor < CPU_SETSIZE && CPU_ISSET(processor, &set)) {
      result.busy += user + nice + system + irq + soft;
    }
  }
  return result;
}

SpareProcessors::SpareProcessors(const RanksHere &here)
    : here(here), set(ownProcessors()),
      follower(unsigned(CPU_COUNT(&set)),
               here.threads * here.ranks * here.processes),
      count(here.threads) {}

SpareProcessors::Usage SpareProcessors::look() const {
  ProcessorStat stat = readProcessorStat(textOf("/proc/stat"), set);
  Usage usage;
  usage.time = secondsOf(CLOCK_MONOTONIC);
  usage.busy = double(stat.busy) / double(sysconf(_SC_CLK_TCK));
  usage.own = secondsOf(CLOCK_PROCESS_CPUTIME_ID);
  // Counts as many of the machine's runnable threads as we have of its
  // processors.
  usage.runnable =
      double(stat.runnable) * CPU_COUNT(&set) / std::max(1u, stat.all);
  usage.own_runnable = ownRunnable();
  return usage;
}

unsigned SpareProcessors::threads() {
  constexpr int64_t kEvery = 250; // milliseconds; a tick is 10
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  int64_t milliseconds = time.tv_sec * 1000 + time.tv_nsec / 1000000;
  if (milliseconds < next || CPU_COUNT(&set) == 0) {
    return count;
  }
  Usage usage = look();
  double passed = usage.time - last.time;
  if (next > 0 && usage.busy > 0 && passed > 0) {
    double own = here.processes * (usage.own - last.own) / passed;
    // A pool may be asleep while it is looked at, and was not just before.
    double ours = std::max(own, double(here.processes) * usage.own_runnable);
    follower.next({std::max(0.0, (usage.busy - last.busy) / passed - own),
                   std::max(0.0, usage.runnable - ours)});
    count = follower.perRank(here.ranks * here.processes);
  }
  next = milliseconds + kEvery;
  last = usage;
  return count;
}

double zerograph::toleratedLoad(unsigned processors) {
  return std::max(0.25, processors / 32.0);
}

double zerograph::fairShare(unsigned processors, unsigned threads,
                            const Load &load) {
  if (load.others <= toleratedLoad(processors)) {
    return processors;
  }
  // A process that used so much time was runnable for as long, at least: a
  // sample of the runnable may have missed it.
  double runnable = std::max(load.runnable, load.others);
  double floor = double(processors) * threads / (threads + runnable);
  return std::min<double>(processors,
                          std::max(floor, processors - load.others));
}

ShareFollower::ShareFollower(unsigned processors, unsigned threads)
    : processors(std::max(1u, processors)), threads(std::max(1u, threads)),
      most(std::min(this->processors, this->threads)), now(most) {}

/// `now`, unless the share is outside of a band around it: it is wider below,
/// so that what asked for less does not at once ask for more.
unsigned ShareFollower::wanted(double share) const {
  double band = toleratedLoad(processors);
  unsigned whole = std::clamp(unsigned(share), 1u, most);
  if (whole < now && share < now - 2 * band) {
    return whole;
  }
  bool clear = share >= now + band || share >= most;
  return whole > now && clear ? whole : now;
}

unsigned ShareFollower::next(const Load &load) {
  constexpr int kInARow = 3;
  unsigned asked = wanted(fairShare(processors, threads, load));
  if (asked > now) {
    nearest = higher > 0 ? std::min(nearest, asked) : asked;
    ++higher;
    lower = 0;
  } else if (asked < now) {
    nearest = lower > 0 ? std::max(nearest, asked) : asked;
    ++lower;
    higher = 0;
  } else {
    higher = lower = 0;
  }
  if (std::max(higher, lower) >= kInARow) {
    now = nearest;
    higher = lower = 0;
  }
  return now;
}

unsigned ShareFollower::perRank(unsigned ranks) const {
  ranks = std::max(1u, ranks);
  return std::max(1u, (now == most ? threads : now) / ranks);
}
