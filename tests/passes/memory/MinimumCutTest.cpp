//===- MinimumCutTest.cpp - minimum cuts against all cuts -----------------===//

#include "passes/analysis/MinimumCut.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir::zg;

namespace {

using Set = unsigned; ///< of vertices, a bit for each

/// A graph of few vertices, whose edges go from lower to higher numbers.
struct Graph {
  std::vector<int64_t> costs;
  std::vector<Set> successors;
  Set sources = 0, sinks = 0;

  unsigned size() const { return unsigned(costs.size()); }
  int64_t costOf(Set set) const {
    int64_t cost = 0;
    for (unsigned v = 0; v < size(); ++v) {
      cost += set >> v & 1 ? costs[v] : 0;
    }
    return cost;
  }
  /// Returns the vertices outside `cut` from which a sink is reached without
  /// it.
  Set after(Set cut) const {
    Set found = 0;
    for (unsigned v = size(); v-- > 0;) {
      bool reaches = (sinks >> v & 1) || (successors[v] & found);
      found |= !(cut >> v & 1) && reaches ? Set(1) << v : 0;
    }
    return found;
  }
  bool isCut(Set cut) const { return (after(cut) & sources) == 0; }
};

Graph randomGraph(std::mt19937 &random) {
  Graph graph;
  unsigned size = 1 + random() % 9;
  for (unsigned v = 0; v < size; ++v) {
    graph.costs.push_back(random() % 6);
    Set later = ~Set(0) << (v + 1);
    graph.successors.push_back(Set(random() & random()) & later &
                               ((Set(1) << size) - 1));
    graph.sources |= Set(random() % 3 == 0) << v;
    graph.sinks |= Set(random() % 3 == 0) << v;
  }
  return graph;
}

/// Returns what the algorithm says comes after its cut.
Set verticesAfter(const Graph &graph) {
  MinimumCut cut;
  for (int64_t cost : graph.costs) {
    cut.add(cost);
  }
  for (unsigned v = 0; v < graph.size(); ++v) {
    for (unsigned to = 0; to < graph.size(); ++to) {
      if (graph.successors[v] >> to & 1) {
        cut.addEdge(v, to);
      }
    }
    if (graph.sources >> v & 1) {
      cut.addSource(v);
    }
    if (graph.sinks >> v & 1) {
      cut.addSink(v);
    }
  }
  Set after = 0;
  std::vector<bool> found = cut.verticesAfter();
  for (unsigned v = 0; v < graph.size(); ++v) {
    after |= Set(found[v]) << v;
  }
  return after;
}

/// No set of vertices that parts sources from sinks costs less, and of those
/// that cost the same none is nearer to the sinks.
TEST(MinimumCut, IsTheCheapestOfAllNearestToTheSinks) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    Graph graph = randomGraph(random);
    Set got = verticesAfter(graph), cut = 0;
    for (unsigned v = 0; v < graph.size(); ++v) {
      bool before = !(got >> v & 1);
      bool borders = (graph.sinks >> v & 1) || (graph.successors[v] & got);
      cut |= Set(before && borders) << v;
    }
    ASSERT_TRUE(graph.isCut(cut)) << round;
    for (Set other = 0; other < Set(1) << graph.size(); ++other) {
      if (!graph.isCut(other)) {
        continue;
      }
      ASSERT_LE(graph.costOf(cut), graph.costOf(other)) << round;
      if (graph.costOf(cut) == graph.costOf(other)) {
        ASSERT_EQ(got & ~graph.after(other), 0u) << round;
      }
    }
  }
}

} // namespace
