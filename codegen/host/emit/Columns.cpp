//===- Columns.cpp - kernels that reduce the rows of each column ----------===//
//
// Rows are combined in order within blocks of kRowBlock, then the blocks'
// results in order: the bits depend on the shape alone, and the error of a
// long sum grows with the square root of its length rather than its length.
//
//===----------------------------------------------------------------------===//

#include "codegen/host/emit/Elementwise.h"
#include "codegen/host/emit/Forms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

class ColumnsEmitter {
public:
  ColumnsEmitter(ImplicitLocOpBuilder &b, nn::KernelOp kernel, StringRef name)
      : b(b), kernel(kernel), name(name) {}

  FailureOr<WorkRange> run();

private:
  LogicalResult buildGraph();
  void emitGroup(Body &body, Value col, int64_t chunks, Value mask);
  SmallVector<Value> neutrals(Lanes &l, int64_t chunks);
  void combineInto(Lanes &l, SmallVectorImpl<Value> &sums, ValueRange values,
                   int64_t chunks);
  SmallVector<Value> emitRows(Body &body, Value lo, Value hi, Value col,
                              int64_t chunks, Value mask, ValueRange sums);

  ImplicitLocOpBuilder &b;
  nn::KernelOp kernel;
  StringRef name;
  Domain domain;
  std::optional<Graph> graph;
  SmallVector<Node *> reductions;
  SmallVector<Node *> results;
};

LogicalResult ColumnsEmitter::buildGraph() {
  bool found = false;
  for (auto reduce : kernel.getBody().front().getOps<nn::ReduceOp>()) {
    auto type = cast<RankedTensorType>(reduce.getOperand().getType());
    int64_t lastReduced = -1, firstKept = type.getRank();
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (type.getDimSize(d) == 1) {
        continue;
      }
      if (llvm::is_contained(reduce.getDims(), d)) {
        lastReduced = d;
      } else {
        firstKept = std::min(firstKept, d);
      }
    }
    int64_t cols = elementsOf(reduce.getResult());
    Domain own{type.getNumElements() / cols, cols};
    if (lastReduced > firstKept ||
        (found && (own.rows != domain.rows || own.cols != domain.cols))) {
      return reduce.emitError("'")
             << nn::nameOf(reduce.getLoc())
             << "': all reductions of a kernel of columns reduce the same "
                "leading dimensions";
    }
    domain = own;
    found = true;
  }
  if (!found) {
    return kernel.emitError("'") << nn::nameOf(kernel.getLoc())
                                 << "': a kernel of columns reduces something";
  }
  graph.emplace(domain, /*reducesColumns=*/false);
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  for (Value value : yield.getOperands()) {
    if (elementsOf(value) != domain.cols) {
      return kernel.emitError("'")
             << nn::nameOf(kernel.getLoc()) << "': a kernel of " << domain.cols
             << " columns has results of " << domain.cols
             << " elements, not of " << elementsOf(value);
    }
    FailureOr<Node *> node = graph->add(value, Extent::Column);
    if (failed(node)) {
      return failure();
    }
    results.push_back(*node);
  }
  if (failed(graph->resolve())) {
    return failure();
  }
  for (Node &node : graph->getNodes()) {
    if (node.kind == Node::Kind::Reduce) {
      if (node.depth > 1) {
        return kernel.emitError("'")
               << nn::nameOf(kernel.getLoc())
               << "': a reduction over rows cannot use another's result";
      }
      reductions.push_back(&node);
    }
  }
  return success();
}

SmallVector<Value> ColumnsEmitter::neutrals(Lanes &l, int64_t chunks) {
  SmallVector<Value> sums;
  for (Node *node : reductions) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    sums.append(chunks, emitNeutral(l, kind, node->element,
                                    l.vectorOf(valueType(node->element))));
  }
  return sums;
}

void ColumnsEmitter::combineInto(Lanes &l, SmallVectorImpl<Value> &sums,
                                 ValueRange values, int64_t chunks) {
  for (size_t i = 0; i < sums.size(); ++i) {
    Node *node = reductions[i / chunks];
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    sums[i] = emitCombine(l, kind, node->element, sums[i], values[i]);
  }
}

/// Combines rows [lo, hi) in order.
SmallVector<Value> ColumnsEmitter::emitRows(Body &body, Value lo, Value hi,
                                            Value col, int64_t chunks,
                                            Value mask, ValueRange sums) {
  Lanes &l = body.lanes;
  return body.loop(lo, hi, 1, sums, [&](Value row, ValueRange carried) {
    body.enterRow(row);
    for (Node *node : reductions) {
      body.prepare(node->operands[0]);
    }
    SmallVector<Value> next(carried), values(carried.size());
    for (int64_t u = 0; u < chunks; ++u) {
      Chunk chunk(l.add(col, l.index(u * kLanes)), mask);
      for (auto [i, node] : llvm::enumerate(reductions)) {
        values[i * chunks + u] = l.splat(body.vector(node->operands[0], chunk));
      }
    }
    combineInto(l, next, values, chunks);
    return next;
  });
}

void ColumnsEmitter::emitGroup(Body &body, Value col, int64_t chunks,
                               Value mask) {
  Lanes &l = body.lanes;
  SmallVector<Value> sums = neutrals(l, chunks);
  Value rows = l.index(domain.rows);
  if (domain.rows <= kRowBlock) {
    sums = emitRows(body, l.index(0), rows, col, chunks, mask, sums);
  } else {
    sums = body.loop(
        l.index(0), rows, kRowBlock, sums, [&](Value lo, ValueRange carried) {
          Value hi = l.min(l.add(lo, l.index(kRowBlock)), rows);
          SmallVector<Value> block =
              emitRows(body, lo, hi, col, chunks, mask, neutrals(l, chunks));
          SmallVector<Value> total(carried);
          combineInto(l, total, block, chunks);
          return total;
        });
  }
  body.enterRow(l.index(0));
  for (Node *node : results) {
    body.prepare(node);
  }
  for (int64_t u = 0; u < chunks; ++u) {
    Chunk chunk(l.add(col, l.index(u * kLanes)), mask);
    for (auto [i, node] : llvm::enumerate(reductions)) {
      chunk.values[node] = sums[i * chunks + u];
    }
    for (auto [number, node] : llvm::enumerate(results)) {
      body.store(body.resultPointer(number), chunk.col,
                 l.splat(body.vector(node, chunk)), mask);
    }
  }
}

FailureOr<WorkRange> ColumnsEmitter::run() {
  if (failed(buildGraph())) {
    return failure();
  }
  Body body(b, kernel, *graph, name);
  Lanes &l = body.lanes;
  body.enterKernel();
  // As many columns at a time as leave their sums in registers.
  int64_t chunks = std::max<int64_t>(1, 8 / reductions.size());
  Value step = l.index(chunks * kLanes);
  Value count = l.sub(body.end, body.begin);
  Value middle =
      l.add(body.begin, l.mul(b.create<arith::DivUIOp>(count, step), step));
  body.loop(body.begin, middle, chunks * kLanes, {},
            [&](Value col, ValueRange) {
              emitGroup(body, col, chunks, {});
              return SmallVector<Value>();
            });
  body.loop(middle, body.end, kLanes, {}, [&](Value col, ValueRange) {
    emitGroup(body, col, 1, l.maskBelow(l.sub(body.end, col)));
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{domain.cols, kLanes};
}

} // namespace

FailureOr<WorkRange> host::emitColumns(ImplicitLocOpBuilder &b,
                                       nn::KernelOp kernel, StringRef name) {
  return ColumnsEmitter(b, kernel, name).run();
}
