//===- MinimumCut.cpp - the cheapest vertices that part a graph -----------===//

#include "passes/analysis/MinimumCut.h"

#include <algorithm>
#include <cassert>
#include <limits>

using namespace mlir::zg;

/// More than all vertices cost together.
static constexpr int64_t kInfinite = std::numeric_limits<int64_t>::max() / 2;

unsigned MinimumCut::add(int64_t cost) {
  assert(cost >= 0 && cost < kInfinite);
  unsigned vertex = unsigned(out.size() / 2 - 1);
  out.resize(out.size() + 2);
  connect(entry(vertex), exit(vertex), cost);
  return vertex;
}

void MinimumCut::addEdge(unsigned from, unsigned to) {
  connect(exit(from), entry(to), kInfinite);
}

void MinimumCut::addSource(unsigned vertex) {
  connect(kSource, entry(vertex), kInfinite);
}

void MinimumCut::addSink(unsigned vertex) {
  connect(exit(vertex), kSink, kInfinite);
}

void MinimumCut::connect(unsigned from, unsigned to, int64_t capacity) {
  out[from].push_back(unsigned(edges.size()));
  edges.push_back({to, capacity});
  out[to].push_back(unsigned(edges.size()));
  edges.push_back({from, 0});
}

/// Numbers nodes by their distance from the source; false where no more can
/// flow to the sink.
bool MinimumCut::findLevels() {
  levels.assign(out.size(), -1);
  levels[kSource] = 0;
  std::vector<unsigned> queue = {kSource};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (unsigned number : out[queue[i]]) {
      const Edge &edge = edges[number];
      if (edge.left > 0 && levels[edge.to] < 0) {
        levels[edge.to] = levels[queue[i]] + 1;
        queue.push_back(edge.to);
      }
    }
  }
  return levels[kSink] >= 0;
}

/// Sends as much as it can from the source to the sink along one path; returns
/// how much.
int64_t MinimumCut::push() {
  std::vector<unsigned> path; // a long one would be too deep to recurse
  for (unsigned node = kSource; node != kSink;) {
    auto leads = [&](unsigned number) {
      return edges[number].left > 0 &&
             levels[edges[number].to] == levels[node] + 1;
    };
    size_t &i = next[node];
    while (i < out[node].size() && !leads(out[node][i])) {
      ++i;
    }
    if (i < out[node].size()) {
      path.push_back(out[node][i]);
      node = edges[path.back()].to;
    } else if (path.empty()) {
      return 0;
    } else {
      node = edges[path.back() ^ 1].to;
      path.pop_back();
      ++next[node];
    }
  }
  int64_t most = kInfinite;
  for (unsigned number : path) {
    most = std::min(most, edges[number].left);
  }
  for (unsigned number : path) {
    edges[number].left -= most;
    edges[number ^ 1].left += most;
  }
  return most;
}

std::vector<bool> MinimumCut::verticesAfter() {
  while (findLevels()) {
    next.assign(out.size(), 0);
    while (push() > 0) {
    }
  }
  // Nodes from which more could flow to the sink.
  std::vector<bool> after(out.size(), false);
  after[kSink] = true;
  std::vector<unsigned> queue = {kSink};
  for (size_t i = 0; i < queue.size(); ++i) {
    for (unsigned number : out[queue[i]]) {
      // The edge that comes in is the reverse of the one that goes out.
      unsigned from = edges[number].to;
      if (edges[number ^ 1].left > 0 && !after[from]) {
        after[from] = true;
        queue.push_back(from);
      }
    }
  }
  std::vector<bool> vertices(out.size() / 2 - 1);
  for (unsigned vertex = 0; vertex < vertices.size(); ++vertex) {
    vertices[vertex] = after[entry(vertex)];
  }
  return vertices;
}
