//===- Gpu.cpp - NVIDIA's driver and a GPU, on the CPU --------------------===//

#include "tests/emulator/Graph.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

using namespace zerograph;
using namespace zerograph::emulator;

std::string Gpu::leftovers() const {
  std::lock_guard<std::mutex> lock(mutex);
  std::string text;
  auto add = [&](size_t count, const char *what) {
    if (count) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", what);
    }
  };
  add(memory.count(), "allocations");
  add(streams.size() - devices, "streams");
  add(events.size(), "events");
  add(modules.size(), "modules");
  add(graphs.size(), "graphs");
  add(size_t(
          std::count_if(executables.begin(), executables.end(),
                        [](const auto &graph) { return !graph->destroyed; })),
      "executable graphs");
  add(size_t(contexts), "contexts");
  return text;
}

std::map<std::string, uint64_t> Gpu::calls() const {
  std::lock_guard<std::mutex> lock(mutex);
  return call_counts;
}

void Gpu::failCall(const std::string &function, uint64_t number) {
  failing = function;
  failing_number = number;
}

bool Gpu::countCall(const std::string &function) {
  std::lock_guard<std::mutex> lock(mutex);
  return ++call_counts[function] == failing_number && function == failing;
}

int Gpu::complain(const std::string &what) {
  if (wrong.empty()) {
    wrong = what;
  }
  return 1;
}

bool Gpu::isReady(const Task &task) const {
  return (!task.awaits || task.awaits->done >= task.version) &&
         (!task.ready || task.ready());
}

bool Gpu::leadsItsQueue(const Stream &stream) const {
  return std::none_of(streams.begin(), streams.end(), [&](const auto &other) {
    return other->device == stream.device &&
           other->number % queues == stream.number % queues &&
           !other->tasks.empty() &&
           other->tasks.front().number < stream.tasks.front().number;
  });
}

bool Gpu::awaitsOthers() const {
  for (const auto &stream : streams) {
    if (!stream->tasks.empty() && stream->tasks.front().ready) {
      return true;
    }
  }
  return false;
}

/// The task knows what its stream does, and what it awaits or the host knew.
void Gpu::runTask(Stream &stream, Task &task) {
  stream.clock.merge(task.issued);
  if (task.awaits) {
    stream.clock.merge(task.awaits->clock);
    return;
  }
  if (task.records) {
    task.records->done = task.version;
    task.records->clock = stream.clock;
    return;
  }
  stream.clock.advance(stream.number);
  Touched touched;
  absl::Status status = task.run(touched);
  if (!status.ok()) {
    complain(std::string(status.message()));
  }
  for (const auto &[begin, lines] : touched) {
    auto memory = mapped.find(begin);
    if (memory != mapped.end() && memory->second.device != stream.device) {
      complain(absl::StrCat(task.name, " on GPU ", stream.device,
                            " touches memory of GPU ", memory->second.device));
    }
    std::string conflict =
        conflicts.touch(stream.number, stream.clock, task.name, begin, lines);
    if (!conflict.empty()) {
      complain(conflict);
    }
  }
}

void Gpu::stall(uint64_t tasks) {
  std::lock_guard<std::mutex> lock(mutex);
  tasks_left = tasks;
}

bool Gpu::stalled() const { return tasks_left == 0; }

bool Gpu::giveUp(const char *what) {
  changed.wait_for(mutex, std::chrono::seconds(20));
  complain(what);
  return false;
}

/// Awaits room for a call; what was launched of graphs has come by one call
/// each.
bool Gpu::awaitRoom(const Stream &stream) {
  auto full = [&] {
    auto calls = std::count_if(stream.tasks.begin(), stream.tasks.end(),
                               [](const Task &task) { return !task.of; });
    return queue_limit && size_t(calls) >= *queue_limit && wrong.empty();
  };
  while (full()) {
    if (advance()) {
      continue;
    }
    if (stalled()) {
      return giveUp("a call waits for room in the queue of a stream that does "
                    "not go on");
    }
    changed.wait_for(mutex, std::chrono::milliseconds(1));
  }
  return true;
}

bool Gpu::advance() {
  if (stalled()) {
    return false;
  }
  std::vector<Stream *> ready;
  auto look = [&](Stream &stream) {
    if (!stream.tasks.empty() && isReady(stream.tasks.front())) {
      ready.push_back(&stream);
    }
  };
  for (auto &stream : streams) {
    if (!stream->tasks.empty() && leadsItsQueue(*stream)) {
      look(*stream);
    }
  }
  for (auto &graph : executables) {
    for (auto &stream : graph->streams) {
      look(*stream);
    }
  }
  if (ready.empty()) {
    return false;
  }
  Stream &stream = *ready[random() % ready.size()];
  if (tasks_left) {
    --*tasks_left;
  }
  Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  if (wrong.empty()) {
    runTask(stream, task);
  }
  if (std::exchange(task.of, nullptr)) {
    dropEndedGraphs();
  }
  return true;
}

int Gpu::drain(Stream &stream) {
  while (!stream.tasks.empty()) {
    if (!advance()) {
      if (stalled()) {
        giveUp("a call waits for a stream that does not go on");
        return 1;
      }
      if (awaitsOthers()) {
        changed.wait_for(mutex, std::chrono::milliseconds(1));
        continue;
      }
      stream.tasks.clear();
      return complain("streams wait for events of each other");
    }
  }
  host.merge(stream.clock);
  return wrong.empty() ? 0 : 1;
}

char *Gpu::reach(uint64_t address, uint64_t bytes, bool write, Touched &touched,
                 const char *call) {
  const Memory::Allocation *found = memory.find(address);
  uint64_t offset = found ? address - found->begin : 0;
  if (!found || bytes > found->bytes - offset) {
    complain(absl::StrCat(call, ": ", bytes,
                          " bytes that are not of one allocation"));
    return nullptr;
  }
  auto [lines, added] = touched.try_emplace(found->begin, found->bytes);
  if (bytes > 0) {
    lines->second.touch(offset, bytes, write);
  }
  return found->alias + offset;
}

void Gpu::advanceSome() {
  for (uint32_t turns = random() % 3; turns > 0; --turns) {
    advance();
  }
}

absl::Status Gpu::launch(const Function &function, uint32_t grid,
                         uint32_t block,
                         const std::vector<uint64_t> &parameters,
                         Touched &touched) {
  std::vector<uint64_t> reached = parameters;
  std::map<char *, Buffer> buffers;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Memory::Allocation *found = memory.find(parameters[i]);
    if (!found) {
      continue; // a number; what it addresses is in no buffer
    }
    reached[i] += reinterpret_cast<uint64_t>(found->alias) - found->begin;
    auto [lines, added] = touched.try_emplace(found->begin, found->bytes);
    buffers[found->alias] = {absl::StrCat("memory of ", found->bytes, " bytes"),
                             found->alias,
                             found->bytes,
                             0,
                             true,
                             &lines->second};
  }
  std::vector<Buffer> all;
  for (auto &[begin, buffer] : buffers) {
    all.push_back(buffer);
  }
  for (Buffer &counter : function.module->kernels.counters()) {
    auto begin = reinterpret_cast<uint64_t>(counter.begin);
    counter.lines = &touched.try_emplace(begin, counter.bytes).first->second;
    all.push_back(counter);
  }
  ++launch_count;
  return function.module->kernels.launch(
      function.symbol, grid, block, reached, all, uint32_t(random()),
      counts_traffic ? &asked[function.symbol] : nullptr);
}
