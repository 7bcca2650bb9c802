//===- Cost.cpp - what a launch of a kernel costs -------------------------===//

#include "codegen/emit/Cost.h"

#include "codegen/emit/Lanes.h"
#include "codegen/emit/loops/AttentionLoops.h"
#include "codegen/emit/loops/ColumnFolds.h"
#include "codegen/emit/loops/RowSweeps.h"
#include "codegen/emit/loops/ScanLoops.h"
#include "codegen/emit/loops/ScatterLoops.h"
#include "passes/ir/nn/Numerics.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

namespace {

/// Returns how many elements a view without an indirection reads, each counted
/// once. Exact where no two dimensions overlap, and where they do as those of a
/// sliding window without gaps; else at least so many as it reads.
int64_t distinctElements(const View &view) {
  std::vector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (const ViewDim &dim : view.dims) {
    if (dim.hi <= dim.lo) {
      return 0;
    }
    if (dim.stride != 0 && dim.hi - dim.lo > 1) {
      dims.emplace_back(std::abs(dim.stride), dim.hi - dim.lo);
    }
  }
  llvm::sort(dims);
  int64_t count = 1, span = 1; // of the dimensions so far
  for (auto [stride, size] : dims) {
    int64_t wider = span + (size - 1) * stride;
    bool apart = stride >= span;
    count = apart ? count * size : std::min(count * size, wider);
    span = wider;
  }
  return count;
}

/// Returns how many elements of the base a leaf's view reads.
int64_t elementsRead(const View &view) {
  int64_t elements = distinctElements(view);
  if (view.indirection) {
    elements *= distinctElements(*view.indirection->index);
    elements = std::min(elements, view.numElements());
  }
  return std::min(elements,
                  cast<RankedTensorType>(view.base.getType()).getNumElements());
}

/// Returns a key that only views of the same elements of a base share.
std::string placesOf(const View &view) {
  std::vector<std::array<int64_t, 3>> dims;
  for (const ViewDim &dim : view.dims) {
    if (dim.stride != 0 && dim.size > 1) {
      dims.push_back({dim.stride, dim.lo, dim.hi});
    }
  }
  llvm::sort(dims);
  std::string key = std::to_string(view.offset);
  for (const auto &[stride, lo, hi] : dims) {
    key += "," + std::to_string(stride) + ":" + std::to_string(lo) + ":" +
           std::to_string(hi);
  }
  if (view.indirection) {
    View index = *view.indirection->index;
    key += "@" + std::to_string(view.indirection->rows) + ":" +
           std::to_string(view.indirection->rowStride) + ":" +
           std::to_string(size_t(index.base.getAsOpaquePointer())) +
           placesOf(index);
  }
  return key;
}

/// Counts for the nodes of a graph how many sweeps compute them, and how many
/// elements each time.
class Counter {
public:
  Counter(nn::KernelOp kernel, Graph &graph)
      : kernel(kernel), graph(graph), visits(graph.getNodes().size()) {
    cost.operands.resize(kernel->getNumOperands() + kernel->getNumResults());
    const Domain &domain = graph.getDomain();
    cost.elements = domain.rows * domain.cols;
  }

  /// One sweep computes the nodes: what changes with the column `elements`
  /// times. Reductions are computed by `reduce`.
  void sweep(ArrayRef<Node *> roots, int64_t elements);
  /// Every element of the domain is added to something of this type.
  void reduce(Type element) { countOf(element).simple += cost.elements; }
  void write(unsigned result, int64_t rows = 1, int64_t stride = 0);

  /// Sums up, once all sweeps were counted.
  KernelCost take();

  KernelCost cost;

private:
  struct Visit {
    int64_t sweeps = 0, elements = 0;
  };
  struct Leaf {
    int64_t bytes = 0, sweeps = 0;
  };
  OperationCount &countOf(Type element);
  void count(const Node *node, int64_t times);
  void addLeaf(const View &view, int64_t sweeps);
  void addWidth(const Node &node);

  nn::KernelOp kernel;
  Graph &graph;
  std::vector<Visit> visits;
  /// Maps each operand's number to its views, by the places that they read.
  std::map<unsigned, std::map<std::string, Leaf>> leaves;
};

void Counter::sweep(ArrayRef<Node *> roots, int64_t elements) {
  SmallVector<Node *> stack(roots);
  std::set<unsigned> seen;
  while (!stack.empty()) {
    Node *node = stack.pop_back_val();
    if (node->kind == Node::Kind::Reduce || !seen.insert(node->id).second) {
      continue;
    }
    Visit &visit = visits[node->id];
    bool varies = node->level == Level::Column;
    visit.sweeps = varies ? visit.sweeps + 1 : 1;
    int64_t once = varies                      ? elements
                   : node->level == Level::Row ? graph.getDomain().rows
                                               : 1;
    visit.elements = std::max(visit.elements, once);
    llvm::append_range(stack, node->operands);
  }
}

OperationCount &Counter::countOf(Type element) {
  Type type = valueType(element);
  return !isa<FloatType>(type)               ? cost.integers
         : type.getIntOrFloatBitWidth() > 32 ? cost.f64
                                             : cost.f32;
}

/// Adds `times` computations of an op, in the widest type that it touches.
void Counter::count(const Node *node, int64_t times) {
  OperationCount *in = &countOf(node->element);
  for (Node *operand : node->operands) {
    OperationCount *other = &countOf(operand->element);
    bool wider = other == &cost.f64 || in == &cost.integers;
    in = wider ? other : in;
  }
  (nn::isCostly(node->op) ? in->special : in->simple) += times;
}

void Counter::addLeaf(const View &view, int64_t sweeps) {
  auto argument = dyn_cast<BlockArgument>(view.base);
  if (!argument) {
    return; // in the code
  }
  int64_t size = nn::elementBytes(
      cast<RankedTensorType>(argument.getType()).getElementType());
  Leaf &leaf = leaves[argument.getArgNumber()][placesOf(view)];
  leaf.bytes = elementsRead(view) * size;
  leaf.sweeps = std::max(leaf.sweeps, sweeps);
}

void Counter::addWidth(const Node &node) {
  auto argument = dyn_cast<BlockArgument>(node.view.base);
  bool chosen = node.index && node.index->variesInRow();
  bool repeated = !chosen && llvm::all_of(node.access.inner, [](auto &dim) {
    return dim.stride == 0;
  });
  if (!argument || node.level != Level::Column || repeated) {
    return;
  }
  int64_t bytes = nn::elementBytes(node.element), width = bytes;
  if (node.access.isContiguous() && !chosen) {
    width *= alignedElements(node, kWidestAccess / bytes);
  }
  int64_t &least = cost.operands[argument.getArgNumber()].width;
  least = least == 0 ? width : std::min(least, width);
}

/// Writes every element of a result once, side by side in `rows` rows that
/// begin `stride` elements apart; 0: one element a row.
void Counter::write(unsigned number, int64_t rows, int64_t stride) {
  Type type = kernel->getResult(number).getType();
  OperandCost &written = cost.operands[kernel->getNumOperands() + number];
  written.moved = nn::tensorBytes(nn::denseType(type));
  if (stride > 0) {
    int64_t bytes =
        nn::elementBytes(cast<RankedTensorType>(type).getElementType());
    written.width = bytes * std::gcd(kWidestAccess / bytes,
                                     rows == 1 ? int64_t(0) : stride);
  }
}

KernelCost Counter::take() {
  const Domain &domain = graph.getDomain();
  bool keeps = domain.cols <= nn::kRowSegment;
  for (const Node &node : graph.getNodes()) {
    const Visit &visit = visits[node.id];
    if (visit.sweeps == 0) {
      continue;
    }
    if (node.kind == Node::Kind::Op) {
      count(&node, visit.elements * (keeps ? 1 : visit.sweeps));
    } else if (node.kind == Node::Kind::Load) {
      addLeaf(node.view, visit.sweeps);
      addWidth(node);
      if (node.view.indirection) {
        addLeaf(*node.view.indirection->index, visit.sweeps);
      }
    }
  }
  int64_t all = 0; // read in a sweep
  for (const auto &[operand, views] : leaves) {
    for (const auto &[places, leaf] : views) {
      all += leaf.bytes;
    }
  }
  bool cached = all / domain.rows <= kCachedRow;
  for (const auto &[operand, views] : leaves) {
    int64_t sum = 0, most = 1;
    for (const auto &[places, leaf] : views) {
      int64_t sweeps = cached ? 1 : leaf.sweeps;
      sum += leaf.bytes * sweeps;
      most = std::max(most, sweeps);
    }
    int64_t whole =
        nn::tensorBytes(nn::denseType(kernel->getOperand(operand).getType()));
    cost.operands[operand].moved = std::min(sum, whole * most);
  }
  return std::move(cost);
}

FailureOr<KernelCost> costOfRows(nn::KernelOp kernel) {
  RowSweeps sweeps;
  if (failed(sweeps.find(kernel))) {
    return failure();
  }
  Counter counter(kernel, *sweeps.graph);
  for (const Sweep &sweep : sweeps.sweeps) {
    counter.sweep(sweep.computed(), counter.cost.elements);
    for (Node *reduction : sweep.reductions) {
      counter.reduce(reduction->element);
    }
    for (const RowResult &result : sweep.stores) {
      counter.write(result.number, sweeps.domain.rows, result.stride);
    }
  }
  for (const RowResult &result : sweeps.rowResults) {
    counter.sweep(result.node, counter.cost.elements);
    counter.write(result.number);
  }
  return counter.take();
}

FailureOr<KernelCost> costOfColumns(nn::KernelOp kernel) {
  ColumnFolds folds;
  if (failed(folds.find(kernel))) {
    return failure();
  }
  Counter counter(kernel, *folds.graph);
  SmallVector<Node *> roots;
  for (Node *reduction : folds.reductions) {
    roots.push_back(reduction->operands[0]);
    counter.reduce(reduction->element);
  }
  for (const RowResult &result : folds.stored) {
    roots.push_back(result.node);
    counter.write(result.number, folds.domain.rows, result.stride);
  }
  counter.sweep(roots, counter.cost.elements);
  for (const RowResult &result : folds.results) {
    counter.sweep(result.node, folds.columns());
    counter.write(result.number, folds.domain.runs, folds.domain.cols);
  }
  return counter.take();
}

FailureOr<KernelCost> costOfScan(nn::KernelOp kernel) {
  ScanLoops scan;
  if (failed(scan.find(kernel))) {
    return failure();
  }
  Counter counter(kernel, *scan.graph);
  counter.sweep(scan.operand, counter.cost.elements);
  counter.reduce(scan.operand->element);
  counter.write(0, scan.outer * scan.length, scan.inner);
  return counter.take();
}

FailureOr<KernelCost> costOfScatter(nn::KernelOp kernel) {
  ScatterLoops scatter;
  if (failed(scatter.find(kernel))) {
    return failure();
  }
  Counter counter(kernel, *scatter.graph);
  counter.sweep({scatter.index, scatter.update}, counter.cost.elements);
  bool combines = scatter.scatter.getCombine().has_value();
  if (combines) {
    counter.reduce(scatter.update->element);
  }
  counter.write(0, scatter.tableRows, scatter.cols);
  KernelCost cost = counter.take();
  // First the whole table is set, then rows of it are updated.
  OperandCost &result = cost.operands.back();
  int64_t whole = result.moved;
  result.moved += cost.elements * (combines ? 2 : 1) *
                  nn::elementBytes(scatter.update->element);
  if (scatter.table) {
    OperandCost &table = cost.operands[scatter.table.getArgNumber()];
    table.moved += whole;
    table.movedApart = whole;
    result.movedApart = whole;
  }
  return cost;
}

/// Adds what another graph of the kernel reads.
void addReads(nn::KernelOp kernel, AttentionOperand &operand,
              KernelCost &cost) {
  if (!operand.node) {
    return;
  }
  Counter counter(kernel, *operand.graph);
  counter.sweep(operand.node, counter.cost.elements);
  KernelCost own = counter.take();
  for (auto [number, read] : llvm::enumerate(own.operands)) {
    OperandCost &sum = cost.operands[number];
    if (read.moved > 0) {
      sum.width = sum.moved > 0 ? std::min(sum.width, read.width) : read.width;
      sum.moved += read.moved;
    }
  }
}

FailureOr<KernelCost> costOfAttention(nn::KernelOp kernel, bool wholeHeads) {
  AttentionLoops loops;
  if (failed(loops.find(kernel))) {
    return failure();
  }
  const nn::AttentionShape &shape = loops.shape;
  Counter counter(kernel, *loops.scores);
  counter.cost.elements = loops.seenScores();
  int64_t elements = counter.cost.elements;
  bool isGradient = loops.isGradient();
  SmallVector<Node *> roots = {loops.x};
  if (isGradient) {
    roots.push_back(loops.ofScore);
  }
  if (loops.ofBias) {
    roots.push_back(loops.ofBias);
  }
  if (loops.factor) {
    roots.push_back(loops.factor);
  }
  int64_t times = loops.timesScored(wholeHeads);
  counter.sweep(roots, elements * times);
  for (unsigned i = 0; i < kernel.getNumResults(); ++i) {
    counter.write(i);
  }
  KernelCost cost = counter.take();
  for (AttentionOperand *operand : {&loops.q, &loops.k, &loops.v, &loops.dout,
                                    &loops.max, &loops.inverse, &loops.delta}) {
    addReads(kernel, *operand, cost);
  }
  for (auto [number, operand] : llvm::enumerate(kernel.getOperands())) {
    int64_t &moved = cost.operands[number].moved;
    moved = std::min(moved, nn::tensorBytes(operand.getType()));
  }
  OperationCount &count = loops.element.isF64() ? cost.f64 : cost.f32;
  // A maximum, a difference and a sum; each time two differences and products.
  count.simple += elements * (isGradient ? 4 * times : 3);
  count.special += elements * times;
  count.multiplyAdds += elements * times * (shape.size + shape.valueSize);
  if (isGradient) {
    count.multiplyAdds += elements * (2 * shape.size + shape.valueSize);
  }
  return cost;
}

} // namespace

FailureOr<KernelCost> emit::costOf(nn::KernelOp kernel, bool wholeHeads) {
  switch (kernel.getForm()) {
  case nn::KernelForm::rows:
    return costOfRows(kernel);
  case nn::KernelForm::columns:
    return costOfColumns(kernel);
  case nn::KernelForm::scan:
    return costOfScan(kernel);
  case nn::KernelForm::scatter:
    return costOfScatter(kernel);
  case nn::KernelForm::attention:
    return costOfAttention(kernel, wholeHeads);
  }
  llvm_unreachable("every form has a case");
}
