//===- SpareProcessors.cpp - processors that other programs leave us ------===//

#include "runtime/device/host/SpareProcessors.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <limits>
#include <sstream>
#include <unistd.h>

using namespace zerograph;

namespace {

double secondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

} // namespace

uint64_t zerograph::busyTicks(const std::string &stat, const cpu_set_t &set) {
  std::istringstream lines(stat);
  uint64_t busy = 0;
  for (std::string line; std::getline(lines, line);) {
    unsigned processor;
    unsigned long long user, nice, system, idle, wait, irq, soft;
    if (std::sscanf(line.c_str(), "cpu%u %llu %llu %llu %llu %llu %llu %llu",
                    &processor, &user, &nice, &system, &idle, &wait, &irq,
                    &soft) == 8 &&
        processor < CPU_SETSIZE && CPU_ISSET(processor, &set)) {
      busy += user + nice + system + irq + soft;
    }
  }
  return busy;
}

unsigned zerograph::spareProcessors(unsigned processors, double others) {
  constexpr double kNotCounted = 0.25;
  double taken = std::ceil(std::max(0.0, others - kNotCounted));
  return taken >= processors ? 1 : processors - unsigned(taken);
}

SpareProcessors::SpareProcessors() {
  spare = std::numeric_limits<unsigned>::max();
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    CPU_ZERO(&set); // nothing is known
  }
}

SpareProcessors::Usage SpareProcessors::now() const {
  std::ifstream file("/proc/stat");
  std::stringstream text;
  text << file.rdbuf();
  return {secondsOf(CLOCK_MONOTONIC),
          double(busyTicks(text.str(), set)) / double(sysconf(_SC_CLK_TCK)),
          secondsOf(CLOCK_PROCESS_CPUTIME_ID)};
}

unsigned SpareProcessors::count() {
  constexpr int64_t kEvery = 250; // milliseconds; a tick is 10
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  int64_t milliseconds = time.tv_sec * 1000 + time.tv_nsec / 1000000;
  if (milliseconds < next || CPU_COUNT(&set) == 0) {
    return spare;
  }
  Usage usage = now();
  double passed = usage.time - last.time;
  if (next > 0 && usage.busy > 0) {
    double others = (usage.busy - last.busy - (usage.own - last.own)) / passed;
    spare = spareProcessors(unsigned(CPU_COUNT(&set)), others);
  }
  next = milliseconds + kEvery;
  last = usage;
  return spare;
}
