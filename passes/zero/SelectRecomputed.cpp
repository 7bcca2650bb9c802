//===- SelectRecomputed.cpp - the cheap ops that are worth repeating ------===//

#include "passes/zero/SelectRecomputed.h"

#include "passes/analysis/MinimumCut.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::zg;

static bool isCheap(Operation *op) {
  return (nn::isElementwise(op) && !isa<nn::RandomUniformOp>(op)) ||
         nn::isPlainView(op) || isa<nn::ReduceOp, nn::LayerNormOp>(op);
}

DenseSet<Operation *>
mlir::zg::zero::selectRecomputed(ArrayRef<Value> needed,
                                 function_ref<bool(Value)> isThere) {
  // What is kept cuts what backward needs from what cannot be made again.
  MinimumCut graph;
  llvm::MapVector<Value, unsigned> vertices;
  SmallVector<Value> open;
  auto vertexOf = [&](Value value) {
    auto [it, isNew] = vertices.try_emplace(value, 0);
    if (isNew) {
      it->second =
          graph.add(isThere(value) ? 0 : nn::tensorBytes(value.getType()));
      open.push_back(value);
    }
    return it->second;
  };
  for (Value value : needed) {
    graph.addSink(vertexOf(value));
  }
  while (!open.empty()) {
    Value value = open.pop_back_val();
    unsigned vertex = vertexOf(value);
    Operation *op = value.getDefiningOp();
    if (!op || isThere(value) || !isCheap(op)) {
      graph.addSource(vertex);
      continue;
    }
    for (Value operand : op->getOperands()) {
      graph.addEdge(vertexOf(operand), vertex);
    }
  }
  std::vector<bool> after = graph.verticesAfter();
  DenseSet<Operation *> selected;
  for (auto [value, vertex] : vertices) {
    if (after[vertex]) {
      selected.insert(value.getDefiningOp());
    }
  }
  return selected;
}
