//===- Rows.cpp - kernels over independent rows ---------------------------===//
//
// A row is swept once for each generation of reductions: those that wait for
// nothing in the first sweep, those of their results in the second, and so
// on. Results as wide as the row are all stored in the last sweep, after every
// load of the same columns, so that they may overwrite operands.
//
// A reduction has kUnroll vectors of partial results: column c belongs to the
// chain c mod 64. A row of more than nn::kRowSegment columns is reduced segment
// by segment, each as a row of its own, and the segments' results are folded in
// order.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Elementwise.h"
#include "codegen/host/forms/Forms.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// Stack that kept values of a row may take together.
constexpr int64_t kScratchBytes = 48 * 1024;

struct Result {
  unsigned number;
  Node *node;
};

struct Sweep {
  SmallVector<Node *> reductions;
  SmallVector<Result> stores;
};

/// Where the reductions of a sweep stand.
struct RowState {
  /// kUnroll vectors a reduction: the chains of the current segment.
  SmallVector<Value> partial;
  /// A scalar a reduction: the segments before it.
  SmallVector<Value> total;
};

int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

class RowsEmitter {
public:
  RowsEmitter(ImplicitLocOpBuilder &b, nn::KernelOp kernel, StringRef name)
      : b(b), kernel(kernel), name(name) {}

  FailureOr<WorkRange> run();

private:
  LogicalResult findDomain();
  LogicalResult buildGraph();
  void planScratch(Body &body);
  void emitRow(Body &body, Value row);
  void emitSweep(Body &body, const Sweep &sweep);
  void prepare(Body &body, const Sweep &sweep);
  void emitChunk(Body &body, const Sweep &sweep, Value col, Value mask,
                 SmallVectorImpl<Value> &partial, int64_t lane);
  SmallVector<Value> neutrals(Lanes &l, const Sweep &sweep, bool vectors);
  SmallVector<Value> combineChains(Lanes &l, const Sweep &sweep,
                                   ArrayRef<Value> partial);
  void foldSegment(Lanes &l, const Sweep &sweep, RowState &state);
  void emitColumns(Body &body, const Sweep &sweep, Value lo, Value hi,
                   SmallVectorImpl<Value> &partial);
  void emitSegments(Body &body, const Sweep &sweep, int64_t cols,
                    RowState &state);
  void emitFlat(HostBody &body);
  int64_t unrollOf(const Sweep &sweep);

  ImplicitLocOpBuilder &b;
  nn::KernelOp kernel;
  StringRef name;
  Domain domain;
  bool hasReductions = false;
  std::optional<Graph> graph;
  SmallVector<Sweep> sweeps;
  SmallVector<Result> rowResults;
  /// Elements before the current row.
  Value rowStart;
};

/// With reductions the domain is theirs; without, the columns are chosen once
/// all accesses are known.
LogicalResult RowsEmitter::findDomain() {
  int64_t largest = 1, cols = 1;
  for (Value result : kernel.getResults()) {
    if (elementsOf(result) > largest) {
      largest = elementsOf(result);
      cols = cast<RankedTensorType>(result.getType()).getShape().back();
    }
  }
  domain = {largest / cols, cols};
  for (auto reduce : kernel.getBody().front().getOps<nn::ReduceOp>()) {
    auto type = cast<RankedTensorType>(reduce.getOperand().getType());
    bool reduced = false;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (type.getDimSize(d) == 1) {
        continue;
      }
      if (llvm::is_contained(reduce.getDims(), d)) {
        reduced = true;
      } else if (reduced) {
        return reduce.emitError("'")
               << nn::nameOf(reduce.getLoc())
               << "': a kernel of rows reduces its last dimensions alone";
      }
    }
    int64_t rows = elementsOf(reduce.getResult());
    Domain own{rows, elementsOf(reduce.getOperand()) / rows};
    if (hasReductions && (own.rows != domain.rows || own.cols != domain.cols)) {
      return reduce.emitError("'")
             << nn::nameOf(reduce.getLoc()) << "': reduces " << own.rows
             << " rows of " << own.cols << ", other reductions of its kernel "
             << domain.rows << " of " << domain.cols;
    }
    domain = own;
    hasReductions = true;
  }
  return success();
}

LogicalResult RowsEmitter::buildGraph() {
  graph.emplace(domain, /*reducesColumns=*/true);
  auto yield = cast<nn::YieldOp>(kernel.getBody().front().getTerminator());
  int64_t elements = domain.rows * domain.cols;
  bool choose = !hasReductions;
  SmallVector<Result> full;
  for (auto [number, value] : llvm::enumerate(yield.getOperands())) {
    Extent extent = Extent::Full;
    if (elementsOf(value) != elements) {
      if (elementsOf(value) != domain.rows) {
        return kernel.emitError("'")
               << nn::nameOf(kernel.getLoc()) << "': result " << number
               << " has " << elementsOf(value) << " elements; a kernel of "
               << domain.rows << " rows of " << domain.cols
               << " has results of " << elements << " or " << domain.rows;
      }
      extent = Extent::Row;
      choose = false;
    }
    FailureOr<Node *> node = graph->add(value, extent);
    if (failed(node)) {
      return failure();
    }
    (extent == Extent::Full ? full : rowResults)
        .push_back({static_cast<unsigned>(number), *node});
  }
  if (choose) {
    graph->chooseColumns();
    domain = graph->getDomain();
  }
  if (failed(graph->resolve())) {
    return failure();
  }
  unsigned last = 0;
  for (Node &node : graph->getNodes()) {
    if (node.kind == Node::Kind::Reduce) {
      last = std::max(last, node.depth - 1);
    }
  }
  for (const Result &result : full) {
    last = std::max(last, result.node->depth);
  }
  if (!full.empty() || hasReductions) {
    sweeps.resize(last + 1);
    sweeps.back().stores = full;
  }
  for (Node &node : graph->getNodes()) {
    if (node.kind == Node::Kind::Reduce) {
      sweeps[node.depth - 1].reductions.push_back(&node);
    }
  }
  return success();
}

/// Costly values that a later sweep needs again are kept on the stack by the
/// first sweep that computes them.
void RowsEmitter::planScratch(Body &body) {
  llvm::DenseSet<Node *> earlier;
  int64_t left = kScratchBytes;
  int64_t elements = (domain.cols + kLanes - 1) / kLanes * kLanes;
  for (const Sweep &sweep : sweeps) {
    llvm::DenseSet<Node *> visited;
    SmallVector<Node *> stack;
    for (Node *reduction : sweep.reductions) {
      stack.push_back(reduction->operands[0]);
    }
    for (const Result &result : sweep.stores) {
      stack.push_back(result.node);
    }
    while (!stack.empty()) {
      Node *node = stack.pop_back_val();
      if (node->level != Level::Column || !visited.insert(node).second) {
        continue;
      }
      if (earlier.contains(node) && node->costly) {
        Type storage = storageType(node->element);
        int64_t bytes = elements * storage.getIntOrFloatBitWidth() / 8;
        if (!body.scratch.count(node) && bytes <= left) {
          left -= bytes;
          body.scratch[node].pointer = b.create<LLVM::AllocaOp>(
              LLVM::LLVMPointerType::get(b.getContext()), storage,
              body.lanes.index(elements), /*alignment=*/64);
        }
        if (body.scratch.count(node)) {
          continue;
        }
      }
      llvm::append_range(stack, node->operands);
    }
    earlier.insert(visited.begin(), visited.end());
  }
}

void RowsEmitter::emitChunk(Body &body, const Sweep &sweep, Value col,
                            Value mask, SmallVectorImpl<Value> &partial,
                            int64_t lane) {
  Lanes &l = body.lanes;
  Chunk chunk(col, mask);
  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    Node *operand = node->operands[0];
    Value value = l.splat(body.vector(operand, chunk));
    if (mask) {
      value = l.select(mask, value,
                       emitNeutral(l, kind, node->element, value.getType()));
    }
    Value &accumulator = partial[i * kUnroll + lane];
    accumulator = emitCombine(l, kind, node->element, accumulator, value);
  }
  // All values before the first store: a result may lie on an operand.
  SmallVector<Value> values;
  for (const Result &result : sweep.stores) {
    values.push_back(body.vector(result.node, chunk));
  }
  for (auto [result, value] : llvm::zip(sweep.stores, values)) {
    Value offset = l.add(rowStart, col);
    body.store(body.resultPointer(result.number), offset, value, mask);
  }
}

SmallVector<Value> RowsEmitter::neutrals(Lanes &l, const Sweep &sweep,
                                         bool vectors) {
  SmallVector<Value> values;
  for (Node *node : sweep.reductions) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    Type type = valueType(node->element);
    values.append(vectors ? kUnroll : 1,
                  emitNeutral(l, kind, node->element,
                              vectors ? Type(l.vectorOf(type)) : type));
  }
  return values;
}

/// The chains of each reduction as one scalar.
SmallVector<Value> RowsEmitter::combineChains(Lanes &l, const Sweep &sweep,
                                              ArrayRef<Value> partial) {
  SmallVector<Value> results;
  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    auto combine = [&, node = node](Value x, Value y) {
      return emitCombine(l, kind, node->element, x, y);
    };
    ArrayRef<Value> own = partial.slice(i * kUnroll, kUnroll);
    Value sum = combine(combine(own[0], own[1]), combine(own[2], own[3]));
    results.push_back(l.horizontal(sum, combine));
  }
  return results;
}

/// Ends a segment: its chains go into the total.
void RowsEmitter::foldSegment(Lanes &l, const Sweep &sweep, RowState &state) {
  SmallVector<Value> segment = combineChains(l, sweep, state.partial);
  for (auto [i, node] : llvm::enumerate(sweep.reductions)) {
    auto kind = cast<nn::ReduceOp>(node->op).getKind();
    state.total[i] =
        emitCombine(l, kind, node->element, state.total[i], segment[i]);
  }
  state.partial = neutrals(l, sweep, /*vectors=*/true);
}

void RowsEmitter::prepare(Body &body, const Sweep &sweep) {
  for (Node *node : sweep.reductions) {
    body.prepare(node->operands[0]);
  }
  for (const Result &result : sweep.stores) {
    body.prepare(result.node);
  }
}

/// Long bodies are not unrolled as far: it would only cost compile time.
int64_t RowsEmitter::unrollOf(const Sweep &sweep) {
  return sweep.reductions.empty() && graph->getNodes().size() > 40 ? kUnroll / 2
                                                                   : kUnroll;
}

/// Columns [lo, hi), whole steps of the unrolled loop.
void RowsEmitter::emitColumns(Body &body, const Sweep &sweep, Value lo,
                              Value hi, SmallVectorImpl<Value> &partial) {
  Lanes &l = body.lanes;
  int64_t unroll = unrollOf(sweep);
  partial = body.loop(
      lo, hi, unroll * kLanes, partial, [&](Value first, ValueRange carried) {
        SmallVector<Value> inner(carried);
        for (int64_t u = 0; u < unroll; ++u) {
          emitChunk(body, sweep, l.add(first, l.index(u * kLanes)), {}, inner,
                    u);
        }
        return inner;
      });
}

/// Columns [0, cols) of a row of several segments. What the loop carries from
/// one segment to the next is not folded yet, so that the columns after `cols`
/// can still go into the last one; the first turn folds neutral elements, which
/// changes nothing.
void RowsEmitter::emitSegments(Body &body, const Sweep &sweep, int64_t cols,
                               RowState &state) {
  Lanes &l = body.lanes;
  SmallVector<Value> carried = state.partial;
  llvm::append_range(carried, state.total);
  auto split = [&](ArrayRef<Value> values) {
    size_t chains = state.partial.size();
    return RowState{SmallVector<Value>(values.take_front(chains)),
                    SmallVector<Value>(values.drop_front(chains))};
  };
  SmallVector<Value> ended =
      body.loop(l.index(0), l.index(cols), nn::kRowSegment, carried,
                [&](Value lo, ValueRange values) {
                  RowState inner = split(SmallVector<Value>(values));
                  foldSegment(l, sweep, inner);
                  Value hi =
                      l.min(l.add(lo, l.index(nn::kRowSegment)), l.index(cols));
                  emitColumns(body, sweep, lo, hi, inner.partial);
                  llvm::append_range(inner.partial, inner.total);
                  return inner.partial;
                });
  state = split(ended);
}

void RowsEmitter::emitSweep(Body &body, const Sweep &sweep) {
  Lanes &l = body.lanes;
  prepare(body, sweep);
  RowState state{neutrals(l, sweep, /*vectors=*/true),
                 neutrals(l, sweep, /*vectors=*/false)};
  int64_t step = unrollOf(sweep) * kLanes;
  int64_t col = domain.cols / step * step;
  bool segments = !sweep.reductions.empty() && domain.cols > nn::kRowSegment;
  if (segments) {
    emitSegments(body, sweep, col, state);
    if (col % nn::kRowSegment == 0 && col < domain.cols) {
      foldSegment(l, sweep, state);
    }
  } else if (col > 0) {
    emitColumns(body, sweep, l.index(0), l.index(col), state.partial);
  }
  for (int64_t u = 0; col < domain.cols; col += kLanes, ++u) {
    int64_t rest = domain.cols - col;
    emitChunk(body, sweep, l.index(col),
              rest < kLanes ? l.maskBelow(rest) : Value(), state.partial, u);
  }
  body.endSweep();
  if (segments) {
    foldSegment(l, sweep, state);
  } else {
    state.total = combineChains(l, sweep, state.partial);
  }
  for (auto [node, value] : llvm::zip(sweep.reductions, state.total)) {
    body.setReduced(node, value);
  }
}

void RowsEmitter::emitRow(Body &body, Value row) {
  Lanes &l = body.lanes;
  body.enterRow(row);
  rowStart = l.mul(row, l.index(domain.cols));
  for (const Sweep &sweep : sweeps) {
    emitSweep(body, sweep);
  }
  SmallVector<Value> values;
  for (const Result &result : rowResults) {
    values.push_back(body.scalar(result.node));
  }
  for (auto [result, value] : llvm::zip(rowResults, values)) {
    body.store(body.resultPointer(result.number), row, value, {});
  }
}

/// One row without reductions is cut anywhere: begin and end count columns.
void RowsEmitter::emitFlat(HostBody &body) {
  Lanes &l = body.lanes;
  const Sweep &sweep = sweeps.front();
  rowStart = l.index(0);
  body.enterRow(rowStart);
  prepare(body, sweep);
  int64_t unroll = unrollOf(sweep);
  Value step = l.index(unroll * kLanes);
  Value count = l.sub(body.end, body.begin);
  Value whole = l.mul(b.create<arith::DivUIOp>(count, step), step);
  Value middle = l.add(body.begin, whole);
  SmallVector<Value> none;
  body.loop(body.begin, middle, unroll * kLanes, {},
            [&](Value first, ValueRange) {
              for (int64_t u = 0; u < unroll; ++u) {
                emitChunk(body, sweep, l.add(first, l.index(u * kLanes)), {},
                          none, u);
              }
              return SmallVector<Value>();
            });
  body.loop(middle, body.end, kLanes, {}, [&](Value col, ValueRange) {
    emitChunk(body, sweep, col, l.maskBelow(l.sub(body.end, col)), none, 0);
    return SmallVector<Value>();
  });
}

FailureOr<WorkRange> RowsEmitter::run() {
  if (failed(findDomain()) || failed(buildGraph())) {
    return failure();
  }
  HostBody body(b, kernel, *graph, name);
  planScratch(body);
  body.enterKernel();
  WorkRange range;
  if (domain.rows == 1 && !hasReductions && rowResults.empty()) {
    emitFlat(body);
    range = {domain.cols, 4 * kLanes};
  } else {
    body.loop(body.begin, body.end, 1, {}, [&](Value row, ValueRange) {
      emitRow(body, row);
      return SmallVector<Value>();
    });
    range = {domain.rows, 1};
  }
  body.finish();
  return range;
}

} // namespace

FailureOr<WorkRange> host::emitRows(ImplicitLocOpBuilder &b,
                                    nn::KernelOp kernel, StringRef name) {
  return RowsEmitter(b, kernel, name).run();
}
