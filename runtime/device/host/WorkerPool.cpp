//===- WorkerPool.cpp - the threads that share one operation --------------===//

#include "runtime/device/host/WorkerPool.h"

#include <algorithm>

using namespace zerograph;

WorkRange zerograph::shareOf(uint64_t extent, uint64_t grain, unsigned worker,
                             unsigned workers) {
  if (grain == 0) {
    grain = 1;
  }
  uint64_t grains = extent / grain + (extent % grain != 0);
  uint64_t each = grains / workers;
  uint64_t more = grains % workers; // the first `more` workers take one more
  uint64_t first = each * worker + std::min<uint64_t>(worker, more);
  uint64_t last = first + each + (worker < more ? 1 : 0);
  auto at = [&](uint64_t position) {
    return position >= grains ? extent : position * grain;
  };
  return {at(first), at(last)};
}

WorkerPool::WorkerPool(unsigned workers) {
  try {
    for (unsigned worker = 1; worker < workers; ++worker) {
      threads.emplace_back([this, worker] { work(worker); });
    }
  } catch (...) {
    end(); // those that began, before their vector goes
    throw;
  }
}

WorkerPool::~WorkerPool() { end(); }

void WorkerPool::end() {
  stop = true;
  round.fetch_add(1, std::memory_order_release);
  round.notify_all();
  for (std::thread &thread : threads) {
    thread.join();
  }
}

void WorkerPool::begin(Task newTask, const void *newContext) {
  task = newTask;
  context = newContext;
  busy.store(uint32_t(threads.size()), std::memory_order_relaxed);
  round.fetch_add(1, std::memory_order_release);
  round.notify_all();
}

void WorkerPool::finish() {
  while (uint32_t left = busy.load(std::memory_order_acquire)) {
    busy.wait(left, std::memory_order_acquire);
  }
}

void WorkerPool::work(unsigned worker) {
  for (uint32_t seen = 0;;) {
    round.wait(seen, std::memory_order_acquire);
    seen = round.load(std::memory_order_acquire);
    if (stop) {
      return;
    }
    task(context, worker);
    if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      busy.notify_all();
    }
  }
}
