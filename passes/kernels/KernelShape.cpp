//===- KernelShape.cpp - the shape that a rows kernel runs over -----------===//

#include "passes/kernels/Materialize.h"

#include "passes/ir/nn/NNDialect.h"
#include <set>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// Adds the numbers of elements, counted from the end, after which a view's
/// strides change.
void addBoundaries(const View &view, std::set<int64_t> &boundaries) {
  View merged = mergeDims(view);
  int64_t inner = 1;
  for (const ViewDim &dim : llvm::reverse(merged.dims)) {
    inner *= dim.size;
    if (inner != 1) {
      boundaries.insert(inner);
    }
  }
}

/// Returns whether each boundary divides the next.
bool isChain(const std::set<int64_t> &boundaries) {
  int64_t previous = 1;
  for (int64_t boundary : boundaries) {
    if (boundary % previous != 0) {
      return false;
    }
    previous = boundary;
  }
  return true;
}

} // namespace

/// The members of a rows kernel run over one shape, whatever shapes their ops
/// had: the coarsest one that has a dimension wherever the strides of some
/// leaf change, so that every leaf has an address formula in it.
void Materializer::chooseShape(KernelSpec &spec, ArrayRef<Operand> operands) {
  const Space &space = spec.group->space;
  std::optional<ArrayRef<int64_t>> common;
  bool same = true;
  int64_t last = 1;
  for (Operation *member : spec.members) {
    Value value = isa<nn::ReduceOp>(member) ? member->getOperand(0)
                                            : member->getResult(0);
    if (!isa<nn::ReduceOp>(member) &&
        spec.group->levels.lookup(member) == Level::Row) {
      continue;
    }
    ArrayRef<int64_t> shape = shapeOf(value);
    same &= !shape.empty() && (!common || *common == shape);
    common = shape;
    last = shape.empty() ? 1 : shape.back();
  }
  if (common && same &&
      (space.columns == 0 || common->back() == space.columns)) {
    spec.shape.assign(common->begin(), common->end());
  } else {
    std::set<int64_t> boundaries{space.elements};
    if (space.columns != 0) {
      boundaries.insert(space.columns);
    }
    boundaries.erase(1);
    for (const Operand &operand : operands) {
      std::set<int64_t> more;
      int64_t factor = operand.level == Level::Row ? space.columns : 1;
      isReadable(operand.value, spec.inputs, std::nullopt,
                 [&](const View &view) {
                   std::set<int64_t> found;
                   addBoundaries(view, found);
                   if (view.indirection) {
                     addBoundaries(*view.indirection->index, found);
                   }
                   for (int64_t boundary : found) {
                     more.insert(boundary * factor);
                   }
                 });
      more.insert(boundaries.begin(), boundaries.end());
      if (isChain(more) && !more.empty() && *more.begin() >= space.columns) {
        boundaries = std::move(more);
      }
    }
    if (boundaries.size() == 1 && space.columns == 0 && last != 1) {
      boundaries.insert(last);
    }
    int64_t previous = 1;
    if (space.columns == 1) {
      spec.shape.push_back(1);
    }
    for (int64_t boundary : boundaries) {
      spec.shape.push_back(boundary / previous);
      previous = boundary;
    }
    if (spec.shape.empty() || (spec.shape.size() == 1 && space.columns != 0)) {
      spec.shape.push_back(1); // A single row, or number.
    }
    std::reverse(spec.shape.begin(), spec.shape.end());
  }
  spec.rowShape = spec.shape;
  spec.rowShape.back() = 1;
}
