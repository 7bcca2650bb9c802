//===- GraphCalls.h - the driver's calls about graphs ---------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_GRAPHCALLS_H
#define ZEROGRAPH_TESTS_EMULATOR_GRAPHCALLS_H

#include "tests/emulator/Calls.h"

#include <algorithm>

namespace zerograph::emulator {

/// Each has the parameters of the driver's function of that name.
struct GraphCalls : Calls {
  static int beginCapture(CUstream stream, int mode) {
    Lock lock(gpu->mutex);
    Gpu::Stream *queue = stream ? streamOf(stream) : nullptr;
    if (needContext() || !queue || queue->records ||
        mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
      return gpu->complain("a stream cannot begin to record a graph");
    }
    ++recording;
    auto owned = std::make_unique<Gpu::Graph>();
    Gpu::Graph *graph = owned.get();
    graph->number = ++gpu->recording_count;
    gpu->graphs[graph] = std::move(owned);
    graph->join(*queue);
    return 0;
  }
  static int endCapture(CUstream stream, CUgraph *graph) {
    Lock lock(gpu->mutex);
    Gpu::Stream *queue = stream ? streamOf(stream) : nullptr;
    Gpu::Graph *ended = queue ? queue->records : nullptr;
    if (needContext() || !ended || ended->branches.front().stream != queue) {
      return gpu->complain("a stream ends a graph that it did not begin");
    }
    --recording;
    std::string error = ended->end();
    *graph = handle<CUgraph_st>(ended);
    return error.empty() ? 0 : gpu->complain(error);
  }
  /// Leaves of a graph what a driver leaves whose end has failed.
  static void abandonCapture(CUstream stream) {
    CUgraph graph = nullptr;
    endCapture(stream, &graph);
    destroyGraph(graph);
  }
  static auto executableOf(CUgraphExec executable) {
    return std::find_if(gpu->executables.begin(), gpu->executables.end(),
                        [&](const auto &owned) {
                          return owned.get() ==
                                     handle<Gpu::GraphExec>(executable) &&
                                 !owned->destroyed;
                        });
  }
  static int instantiate(CUgraphExec *executable, CUgraph graph,
                         unsigned long long) {
    Lock lock(gpu->mutex);
    auto found = gpu->graphs.find(handle<Gpu::Graph>(graph));
    if (needNoRecording() || found == gpu->graphs.end()) {
      return kError;
    }
    auto owned = std::make_shared<Gpu::GraphExec>();
    owned->nodes = found->second->nodes;
    for (size_t i = 1; i < found->second->branches.size(); ++i) {
      owned->streams.push_back(std::make_unique<Gpu::Stream>());
      owned->streams.back()->number = ++gpu->stream_count;
      owned->streams.back()->device = current_device;
    }
    *executable = handle<CUgraphExec_st>(owned.get());
    gpu->executables.push_back(std::move(owned));
    return 0;
  }
  static int withGraph(CUgraphExec executable, CUstream stream, bool launch) {
    Lock lock(gpu->mutex);
    auto found = executableOf(executable);
    Gpu::Stream *queue = streamOf(stream);
    if (needContext() || !queue || queue->records ||
        found == gpu->executables.end()) {
      return gpu->complain("there is no such graph, or stream to launch it on");
    }
    if (launch) {
      gpu->launchGraph(*found, *queue);
      gpu->advanceSome();
    }
    return gpu->wrong.empty() ? 0 : kError;
  }
  static int uploadGraph(CUgraphExec executable, CUstream stream) {
    return withGraph(executable, stream, false);
  }
  static int launchGraph(CUgraphExec executable, CUstream stream) {
    return withGraph(executable, stream, true);
  }
  static int destroyGraph(CUgraph graph) {
    Lock lock(gpu->mutex);
    return gpu->graphs.erase(handle<Gpu::Graph>(graph)) > 0 ? 0 : kError;
  }
  static int destroyExecutable(CUgraphExec executable) {
    Lock lock(gpu->mutex);
    auto found = executableOf(executable);
    if (needContext() || found == gpu->executables.end()) {
      return kError;
    }
    // Launches of it go on.
    (*found)->destroyed = true;
    (*found)->nodes.clear();
    gpu->dropEndedGraphs();
    return 0;
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_GRAPHCALLS_H
