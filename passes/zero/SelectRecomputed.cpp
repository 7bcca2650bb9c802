//===- SelectRecomputed.cpp - the cheap ops that are worth repeating ------===//

#include "passes/zero/SelectRecomputed.h"

#include "passes/analysis/MinimumCut.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mlir::zg;

bool mlir::zg::zero::isFunctionOfElements(Operation *op) {
  return (nn::isElementwise(op) && !isa<nn::RandomUniformOp>(op)) ||
         nn::isPlainView(op);
}

bool mlir::zg::zero::isCheap(Operation *op) {
  return isFunctionOfElements(op) || isa<nn::ReduceOp, nn::LayerNormOp>(op);
}

/// Returns the bytes of all results that something reads: an op is computed
/// again for all of them.
static int64_t bytesOfResults(Operation *op) {
  int64_t bytes = 0;
  for (Value result : op->getResults()) {
    bytes += result.use_empty() ? 0 : nn::tensorBytes(result.getType());
  }
  return bytes;
}

DenseSet<Operation *>
mlir::zg::zero::selectRecomputed(ArrayRef<Value> needed,
                                 function_ref<bool(Value)> isThere,
                                 function_ref<bool(Value)> mayRepeat) {
  // The cut is what is kept. It parts what backward needs from what cannot be
  // made again.
  MinimumCut graph;
  DenseMap<void *, unsigned> vertices;
  SmallVector<std::pair<Operation *, unsigned>> repeatable;
  // An op is computed again for all of its results, but each is kept alone.
  auto vertexOf = [&](Value value) {
    Operation *op = value.getDefiningOp();
    bool repeats = mayRepeat(op->getResult(0));
    auto [it, isNew] = vertices.try_emplace(
        repeats ? (void *)op : value.getAsOpaquePointer(), 0);
    if (isNew) {
      it->second = graph.add(repeats ? bytesOfResults(op)
                                     : nn::tensorBytes(value.getType()));
      if (repeats) {
        repeatable.push_back({op, it->second});
      } else {
        graph.addSource(it->second);
      }
    }
    return it->second;
  };
  for (Value value : needed) {
    graph.addSink(vertexOf(value));
  }
  for (size_t i = 0; i < repeatable.size(); ++i) {
    auto [op, vertex] = repeatable[i];
    for (Value operand : op->getOperands()) {
      if (!isThere(operand)) {
        graph.addEdge(vertexOf(operand), vertex);
      }
    }
  }
  std::vector<bool> after = graph.verticesAfter();
  DenseSet<Operation *> selected;
  for (auto [op, vertex] : repeatable) {
    if (after[vertex]) {
      selected.insert(op);
    }
  }
  return selected;
}
