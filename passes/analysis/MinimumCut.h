//===- MinimumCut.h - the cheapest vertices that part a graph -------------===//

#ifndef ZEROGRAPH_PASSES_ANALYSIS_MINIMUMCUT_H
#define ZEROGRAPH_PASSES_ANALYSIS_MINIMUMCUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlir::zg {

/// A directed graph whose vertices cost something to cut. Finds the cheapest
/// set of vertices that lies on every path from a source to a sink, by the
/// maximum flow (Dinic, 1970).
class MinimumCut {
public:
  /// Adds a vertex and returns its number: 0, 1, 2, ... `cost` is 0 or more.
  unsigned add(int64_t cost);
  void addEdge(unsigned from, unsigned to);
  void addSource(unsigned vertex);
  void addSink(unsigned vertex);

  /// Says of each vertex whether it comes after the cut, so that a sink can be
  /// reached without passing it. The vertices of the cut do not. Of several
  /// cuts that cost the same, it is the one nearest to the sinks. Called once.
  std::vector<bool> verticesAfter();

private:
  /// A vertex is two nodes, with an edge of its cost between them.
  static unsigned entry(unsigned vertex) { return 2 + 2 * vertex; }
  static unsigned exit(unsigned vertex) { return 3 + 2 * vertex; }
  static constexpr unsigned kSource = 0, kSink = 1;

  /// Edges lie in pairs: each is followed by its reverse.
  struct Edge {
    unsigned to;
    int64_t left;
  };
  void connect(unsigned from, unsigned to, int64_t capacity);
  bool findLevels();
  int64_t push();

  std::vector<Edge> edges;
  std::vector<std::vector<unsigned>> out = {{}, {}}; ///< by node
  std::vector<int> levels;                           ///< by node; -1: not found
  std::vector<size_t> next; ///< by node, the edge to try next
};

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_ANALYSIS_MINIMUMCUT_H
