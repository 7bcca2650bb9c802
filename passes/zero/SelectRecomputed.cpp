//===- SelectRecomputed.cpp - the cheap ops that are worth repeating ------===//

#include "passes/zero/SelectRecomputed.h"

#include "passes/analysis/MinimumCut.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::zg;

bool mlir::zg::zero::isCheap(Operation *op) {
  return (nn::isElementwise(op) && !isa<nn::RandomUniformOp>(op)) ||
         nn::isPlainView(op) || isa<nn::ReduceOp, nn::LayerNormOp>(op);
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
  llvm::MapVector<Operation *, unsigned> vertices;
  SmallVector<Operation *> open;
  auto vertexOf = [&](Operation *op) {
    auto [it, isNew] = vertices.try_emplace(op, 0);
    if (isNew) {
      it->second = graph.add(bytesOfResults(op));
      open.push_back(op);
    }
    return it->second;
  };
  for (Value value : needed) {
    graph.addSink(vertexOf(value.getDefiningOp()));
  }
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    unsigned vertex = vertexOf(op);
    if (!isCheap(op) || !mayRepeat(op->getResult(0))) {
      graph.addSource(vertex);
      continue;
    }
    for (Value operand : op->getOperands()) {
      if (!isThere(operand)) {
        graph.addEdge(vertexOf(operand.getDefiningOp()), vertex);
      }
    }
  }
  std::vector<bool> after = graph.verticesAfter();
  DenseSet<Operation *> selected;
  for (auto [op, vertex] : vertices) {
    if (after[vertex]) {
      selected.insert(op);
    }
  }
  return selected;
}
