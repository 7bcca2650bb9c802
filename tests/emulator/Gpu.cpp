//===- Gpu.cpp - NVIDIA's driver and a GPU, on the CPU --------------------===//

#include "tests/emulator/Gpu.h"

#include "absl/strings/str_cat.h"

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
  add(streams.size(), "streams");
  add(events.size(), "events");
  add(modules.size(), "modules");
  add(size_t(contexts), "contexts");
  return text;
}

int Gpu::complain(const std::string &what) {
  if (wrong.empty()) {
    wrong = what;
  }
  return 1;
}

bool Gpu::isReady(const Task &task) const {
  return task.run || task.event->done >= task.version;
}

bool Gpu::advance() {
  std::vector<Stream *> ready;
  for (auto &[stream, owned] : streams) {
    if (!stream->tasks.empty() && isReady(stream->tasks.front())) {
      ready.push_back(stream);
    }
  }
  if (ready.empty()) {
    return false;
  }
  Stream &stream = *ready[random() % ready.size()];
  Task task = std::move(stream.tasks.front());
  stream.tasks.pop_front();
  if (task.run && wrong.empty()) {
    absl::Status status = task.run();
    if (!status.ok()) {
      complain(std::string(status.message()));
    }
  }
  return true;
}

void Gpu::advanceSome() {
  for (uint32_t turns = random() % 3; turns > 0; --turns) {
    advance();
  }
}

absl::Status Gpu::launch(const Function &function, uint32_t grid,
                         uint32_t block,
                         const std::vector<uint64_t> &parameters) {
  std::vector<bool> pointers =
      *function.module->kernels.parameters(function.symbol);
  std::vector<uint64_t> reached = parameters;
  std::map<char *, Buffer> buffers;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!pointers[i]) {
      continue;
    }
    const Memory::Allocation *found = memory.find(parameters[i]);
    if (!found) {
      return absl::InternalError(absl::StrCat(
          function.symbol, " is launched with memory that is not there"));
    }
    reached[i] += reinterpret_cast<uint64_t>(found->alias) - found->begin;
    buffers[found->alias] = {absl::StrCat("memory of ", found->bytes, " bytes"),
                             found->alias, found->bytes, 0};
  }
  std::vector<Buffer> all;
  for (auto &[begin, buffer] : buffers) {
    all.push_back(buffer);
  }
  ++launch_count;
  return function.module->kernels.launch(function.symbol, grid, block, reached,
                                         all, uint32_t(random()));
}
