//===- Graph.h - what streams were given, recorded ------------------------===//
//
// While a stream records, its tasks go into a graph. Streams that await an
// event of it record too, and the first of them awaits the others before the
// end. A launch gives the tasks to streams again: those of the first to the one
// that it is launched on, those of the others to streams of the graph's own.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_GRAPH_H
#define ZEROGRAPH_TESTS_EMULATOR_GRAPH_H

#include "tests/emulator/Gpu.h"

namespace zerograph::emulator {

struct Gpu::Graph {
  struct Node {
    size_t branch;
    Task task;
  };
  /// A stream that records.
  struct Branch {
    Stream *stream;
    VectorClock clock;
    uint32_t tasks = 0; // without events that it has recorded
  };
  uint64_t number = 0;          // of all that were recorded
  std::vector<Branch> branches; // the first began to record
  std::vector<Node> nodes;      // in the order of the calls
  /// The times that a stream knows that awaits an event.
  std::map<Event *, VectorClock> recorded;

  Branch &of(Stream &stream);
  /// Appends a task of a stream. Empty, or what is wrong.
  std::string add(Stream &stream, Task task);
  /// A stream that awaits an event of the graph records too.
  void join(Stream &stream);
  /// The streams record no more. Empty, or what is wrong.
  std::string end();
};

struct Gpu::GraphExec {
  std::vector<Graph::Node> nodes;
  /// For all branches but the first.
  std::vector<std::unique_ptr<Stream>> streams;
  /// In place of the events that were recorded.
  std::map<Event *, Event> events;
  /// By the program; a launch of it goes on.
  bool destroyed = false;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_GRAPH_H
