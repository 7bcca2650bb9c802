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

/// Returns what it costs to keep so many bytes: of cuts that keep about as
/// many, the one that has fewest written for it alone is chosen.
static int64_t costOf(int64_t bytes, bool isWrittenAnyway) {
  constexpr int64_t kPerByte = 1024;
  return bytes * kPerByte + (isWrittenAnyway ? 0 : bytes);
}

/// Returns whether the op is a function of each element of one operand, the
/// others being smaller: who reads that in its place reads no more.
static bool hasOneLargeOperand(Operation *op) {
  int64_t elements = nn::elementsOf(op->getResult(0));
  llvm::SmallDenseSet<Value, 4> large;
  for (Value operand : op->getOperands()) {
    Value value = nn::stripReshapes(operand);
    Operation *made = value.getDefiningOp();
    bool isMade = made && (isa<nn::BroadcastOp>(made) || nn::isLiteral(made));
    if (nn::elementsOf(value) >= elements && !isMade) {
      large.insert(value);
    }
  }
  return zero::isFunctionOfElements(op) && large.size() == 1;
}

/// Returns what it costs to keep all results that something reads: an op is
/// computed again for all of them. What a library reads is in memory anyway.
static int64_t costOfResults(Operation *op, bool sparesWrites) {
  int64_t cost = 0;
  for (Value result : op->getResults()) {
    bool isWritten = !sparesWrites || !hasOneLargeOperand(op) ||
                     llvm::any_of(result.getUsers(), nn::isLibraryCall);
    cost += result.use_empty()
                ? 0
                : costOf(nn::tensorBytes(result.getType()), isWritten);
  }
  return cost;
}

DenseSet<Operation *>
mlir::zg::zero::selectRecomputed(ArrayRef<Value> needed, bool sparesWrites,
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
      it->second = graph.add(repeats ? costOfResults(op, sparesWrites)
                                     : costOf(nn::tensorBytes(value.getType()),
                                              /*isWrittenAnyway=*/true));
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
