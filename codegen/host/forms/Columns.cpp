//===- Columns.cpp - kernels that reduce the rows of each column ----------===//
//
// Rows are combined in order within blocks of kRowBlock, then the blocks'
// results in order: the bits depend on the shape alone, and the error of a
// long sum grows with the square root of its length rather than its length.
//
// Of a shape [O, R, C] each of the O runs of R rows has columns of its own.
// Work is handed out in chunks of sixteen columns, none of which crosses runs.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Elementwise.h"
#include "codegen/host/forms/Forms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

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
  void emitGroup(Body &body, Value run, Value col, int64_t chunks, Value mask);
  void emitRuns(HostBody &body);
  SmallVector<Value> neutrals(Lanes &l, int64_t chunks);
  void combineInto(Lanes &l, SmallVectorImpl<Value> &sums, ValueRange values,
                   int64_t chunks);
  SmallVector<Value> emitRows(Body &body, Value first, Value lo, Value hi,
                              Value col, int64_t chunks, Value mask,
                              ValueRange sums);

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
    // [runs, reduced, columns], dimensions of size 1 left out.
    Domain own;
    int64_t reduced = 1;
    bool fits = true;
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      if (size == 1) {
        continue;
      }
      if (llvm::is_contained(reduce.getDims(), static_cast<int64_t>(d))) {
        fits &= own.cols == 1;
        reduced *= size;
      } else if (reduced == 1) {
        own.runs *= size;
      } else {
        own.cols *= size;
      }
    }
    if (reduced == 1) {
      // Nothing to add up: what is kept are columns of one row.
      std::swap(own.runs, own.cols);
    }
    own.rows = own.runs * reduced;
    if (!fits ||
        (found && (own.rows != domain.rows || own.cols != domain.cols ||
                   own.runs != domain.runs))) {
      return reduce.emitError("'")
             << nn::nameOf(reduce.getLoc())
             << "': all reductions of a kernel of columns reduce the same "
                "neighbouring dimensions of one shape";
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
    int64_t columns = domain.runs * domain.cols;
    if (elementsOf(value) != columns) {
      return kernel.emitError("'")
             << nn::nameOf(kernel.getLoc()) << "': a kernel of " << columns
             << " columns has results of " << columns << " elements, not of "
             << elementsOf(value);
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
    if (domain.runs > 1 && node.extent == Extent::Column && node.view.base) {
      return kernel.emitError("'")
             << nn::nameOf(kernel.getLoc())
             << "': a kernel that reduces a dimension between others reads "
                "nothing behind the reduction";
    }
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

/// Combines rows [lo, hi) of the run that begins with row `first`, in order.
SmallVector<Value> ColumnsEmitter::emitRows(Body &body, Value first, Value lo,
                                            Value hi, Value col, int64_t chunks,
                                            Value mask, ValueRange sums) {
  Lanes &l = body.lanes;
  return body.loop(lo, hi, 1, sums, [&](Value row, ValueRange carried) {
    body.enterRow(first ? l.add(first, row) : row);
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

/// `run`: null if there is one.
void ColumnsEmitter::emitGroup(Body &body, Value run, Value col, int64_t chunks,
                               Value mask) {
  Lanes &l = body.lanes;
  SmallVector<Value> sums = neutrals(l, chunks);
  int64_t length = domain.rows / domain.runs;
  Value rows = l.index(length);
  Value first = run ? l.mul(run, rows) : Value();
  if (length <= kRowBlock) {
    sums = emitRows(body, first, l.index(0), rows, col, chunks, mask, sums);
  } else {
    sums = body.loop(
        l.index(0), rows, kRowBlock, sums, [&](Value lo, ValueRange carried) {
          Value hi = l.min(l.add(lo, l.index(kRowBlock)), rows);
          SmallVector<Value> block = emitRows(body, first, lo, hi, col, chunks,
                                              mask, neutrals(l, chunks));
          SmallVector<Value> total(carried);
          combineInto(l, total, block, chunks);
          return total;
        });
  }
  body.enterRow(l.index(0));
  Value place = run ? l.mul(run, l.index(domain.cols)) : Value();
  for (Node *node : results) {
    body.prepare(node);
  }
  for (int64_t u = 0; u < chunks; ++u) {
    Chunk chunk(l.add(col, l.index(u * kLanes)), mask);
    for (auto [i, node] : llvm::enumerate(reductions)) {
      chunk.values[node] = sums[i * chunks + u];
    }
    for (auto [number, node] : llvm::enumerate(results)) {
      body.store(body.resultPointer(number),
                 place ? l.add(place, chunk.col) : chunk.col,
                 l.splat(body.vector(node, chunk)), mask);
    }
  }
}

/// The work of several runs is counted in chunks; each run takes a whole
/// number of them, the last of which may be part of one.
void ColumnsEmitter::emitRuns(HostBody &body) {
  Lanes &l = body.lanes;
  Value perRun = l.index(llvm::divideCeil(domain.cols, kLanes));
  body.loop(body.begin, body.end, 1, {}, [&](Value at, ValueRange) {
    Value run = b.create<arith::DivUIOp>(at, perRun);
    Value col = l.mul(b.create<arith::RemUIOp>(at, perRun), l.index(kLanes));
    Value mask;
    if (domain.cols % kLanes != 0) {
      mask = l.maskBelow(l.sub(l.index(domain.cols), col));
    }
    emitGroup(body, run, col, 1, mask);
    return SmallVector<Value>();
  });
}

FailureOr<WorkRange> ColumnsEmitter::run() {
  if (failed(buildGraph())) {
    return failure();
  }
  HostBody body(b, kernel, *graph, name);
  Lanes &l = body.lanes;
  body.enterKernel();
  if (domain.runs > 1) {
    emitRuns(body);
    body.finish();
    int64_t perRun = llvm::divideCeil(domain.cols, kLanes);
    return WorkRange{domain.runs * perRun, 1};
  }
  // As many columns at a time as leave their sums in registers.
  int64_t chunks = std::max<int64_t>(1, 8 / reductions.size());
  Value step = l.index(chunks * kLanes);
  Value count = l.sub(body.end, body.begin);
  Value middle =
      l.add(body.begin, l.mul(b.create<arith::DivUIOp>(count, step), step));
  body.loop(body.begin, middle, chunks * kLanes, {},
            [&](Value col, ValueRange) {
              emitGroup(body, {}, col, chunks, {});
              return SmallVector<Value>();
            });
  body.loop(middle, body.end, kLanes, {}, [&](Value col, ValueRange) {
    emitGroup(body, {}, col, 1, l.maskBelow(l.sub(body.end, col)));
    return SmallVector<Value>();
  });
  body.finish();
  // Threads get whole steps where there are several for each.
  constexpr int64_t kStepsWorthKeeping = 4;
  return WorkRange{domain.cols,
                   domain.cols >= kStepsWorthKeeping * chunks * kLanes
                       ? chunks * kLanes
                       : kLanes};
}

} // namespace

FailureOr<WorkRange> host::emitColumns(ImplicitLocOpBuilder &b,
                                       nn::KernelOp kernel, StringRef name) {
  return ColumnsEmitter(b, kernel, name).run();
}
