//===- Graph.cpp - what streams were given, recorded ----------------------===//

#include "tests/emulator/Graph.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <utility>

using namespace zerograph;
using namespace zerograph::emulator;

Gpu::Graph::Branch &Gpu::Graph::of(Stream &stream) {
  return *std::find_if(
      branches.begin(), branches.end(),
      [&](const Branch &branch) { return branch.stream == &stream; });
}

void Gpu::Graph::join(Stream &stream) {
  stream.records = this;
  branches.push_back({&stream, {}});
}

std::string Gpu::Graph::add(Stream &stream, Task task) {
  Branch &branch = of(stream);
  if (task.records) {
    task.records->graph = this;
    recorded[task.records] = branch.clock;
  } else if (task.awaits) {
    if (!recorded.contains(task.awaits)) {
      return "a stream that records awaits an event from outside of the graph";
    }
    branch.clock.merge(recorded[task.awaits]);
  }
  size_t number = size_t(&branch - branches.data());
  if (!task.records) {
    branch.clock.advance(uint32_t(number));
    ++branch.tasks;
  }
  nodes.push_back({number, std::move(task)});
  return {};
}

std::string Gpu::Graph::end() {
  for (const Branch &branch : branches) {
    branch.stream->records = nullptr;
  }
  for (size_t i = 1; i < branches.size(); ++i) {
    if (branches.front().clock.at(uint32_t(i)) < branches[i].tasks) {
      return "a stream that records was not joined by the one that began";
    }
  }
  return {};
}

/// Launches what was recorded, on `stream` and the graph's own streams.
void Gpu::launchGraph(const std::shared_ptr<GraphExec> &graph, Stream &stream) {
  for (const Graph::Node &node : graph->nodes) {
    Task task = node.task;
    task.issued = host;
    task.of = graph;
    if (auto again = std::exchange(task.again, nullptr)) {
      again(task);
    }
    if (task.records) {
      task.records = &graph->events[task.records];
      task.version = ++task.records->recorded;
    } else if (task.awaits) {
      task.awaits = &graph->events[task.awaits];
      task.version = task.awaits->recorded;
    }
    Stream &on = node.branch == 0 ? stream : *graph->streams[node.branch - 1];
    on.tasks.push_back(std::move(task));
  }
}

void Gpu::dropEndedGraphs() {
  std::erase_if(executables, [](const std::shared_ptr<GraphExec> &graph) {
    return graph->destroyed && graph.use_count() == 1;
  });
}
