//===- Members.cpp - what kernel forming needs to know of single ops ------===//

#include "passes/kernels/Members.h"

#include "passes/ir/zero/ZeroDialect.h"
#include "passes/kernels/Reading.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// An expression of constants with more ops than this is computed once and
/// stored: a tensor that would be large, only if it has many more.
constexpr unsigned kMaxFreeOps = 24, kMaxFreeOpsOfLarge = 256;

/// Returns whether a tensor costs more to read than costly ops to compute
/// again.
bool isLarge(Value value) {
  return nn::tensorBytes(value.getType()) > nn::kMaxConstantBytes;
}

/// A whole number that the runtime writes: the seed, the step, ...
bool isWholeScalar(BlockArgument argument) {
  auto func = dyn_cast<nn::ProgramOp>(argument.getOwner()->getParentOp());
  return func && func.getArgAttr(argument.getArgNumber(), nn::kScalarAttr) &&
         getElementTypeOrSelf(argument.getType()).isInteger();
}

} // namespace

bool kernels::isOutside(Operation *op) {
  return !isa<nn::NNDialect>(op->getDialect()) ||
         isa<nn::KernelOp, nn::ReturnOp>(op) || nn::isLibraryCall(op) ||
         nn::sharesBytes(op);
}

bool kernels::isFilled(OpOperand &use) {
  return isa<nn::ReturnOp, zero::WriteOp>(use.getOwner()) &&
         nn::isZeroBytes(use.get());
}

RowSpace kernels::rowSpaceOf(nn::KernelOp kernel) {
  RowSpace space;
  auto cover = [&](Value value) {
    if (elementsOf(value) > space.elements) {
      ArrayRef<int64_t> shape = shapeOf(value);
      space = {elementsOf(value), shape.empty() ? 0 : shape.back()};
    }
  };
  kernel.getBody().walk([&](nn::ReduceOp reduce) {
    space = {};
    cover(reduce.getOperand());
  });
  llvm::for_each(kernel.getResults(), cover);
  return space;
}

Source kernels::trace(Value value) {
  Source source{value, {}};
  for (Operation *op = value.getDefiningOp(); op && isPlainView(op);
       op = source.root.getDefiningOp()) {
    source.chain.push_back(op);
    source.root = op->getOperand(0);
  }
  std::reverse(source.chain.begin(), source.chain.end());
  return source;
}

bool kernels::isPadded(ArrayRef<Operation *> chain) {
  return llvm::any_of(chain, [](Operation *op) { return isa<nn::PadOp>(op); });
}

/// Relates views that begin with the first element of each row; another kind of
/// `dims` gives Other.
static Relation relateToFirst(ArrayRef<ViewDim> dims, int64_t elements) {
  Relation relation{Relation::First, elements};
  if (!dims.empty() && dims.front().stride > 1) {
    relation.columns = dims.front().stride;
    if (dims.front().size * relation.columns != elements) {
      return {};
    }
    dims = dims.drop_front();
  }
  if (!dims.empty()) {
    relation.kind = Relation::RowsFirst;
    if (dims.size() != 1 || dims.front().stride != 0 ||
        dims.front().size != relation.columns) {
      return {};
    }
  }
  return relation;
}

Relation kernels::relate(const Source &source) {
  FailureOr<View> view = identityView(source.root);
  for (Operation *op : source.chain) {
    view = applyViewOp(*view, op);
    if (failed(view)) {
      return {};
    }
  }
  View merged = mergeDims(*view);
  if (merged.padValue || merged.indirection || merged.offset != 0) {
    return {};
  }
  int64_t elements = elementsOf(source.root);
  SmallVector<ViewDim, 4> dims = merged.dims;
  if (!dims.empty() && dims.front().size == elements &&
      dims.front().stride == 1) {
    dims.erase(dims.begin());
  } else if (elements != 1) {
    return relateToFirst(dims, elements);
  }
  if (dims.empty()) {
    return {Relation::Same, 1};
  }
  if (dims.size() == 1 && dims.front().stride == 0) {
    return {Relation::Rows, dims.front().size};
  }
  return {};
}

std::optional<Reduction> kernels::classify(nn::ReduceOp op) {
  Reduction result;
  enum { Outer, Reduced, Inner } part = Outer;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    if (size == 1) {
      continue;
    }
    if (llvm::is_contained(op.getDims(), static_cast<int64_t>(dim))) {
      if (part == Inner) {
        return std::nullopt;
      }
      part = Reduced;
      result.reduced *= size;
    } else if (part == Outer) {
      result.outer *= size;
    } else {
      part = Inner;
      result.inner *= size;
    }
  }
  return result;
}

FreeValues::Info FreeValues::info(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op) {
    bool free = isWholeScalar(cast<BlockArgument>(value));
    return {free, free, 1};
  }
  auto it = known.find(value);
  if (it == known.end()) {
    // Operands may grow the map while this is computed.
    Info result = compute(op);
    it = known.try_emplace(value, result).first;
  }
  return it->second;
}

FreeValues::Info FreeValues::compute(Operation *op) {
  if (nn::isLiteral(op)) {
    auto constant = dyn_cast<nn::ConstantOp>(op);
    return {true, constant && constant.getValue().isSplat(), 1};
  }
  bool view = isPlainView(op);
  // Emitters compute through views, but not through padding.
  if ((!view && !isElementwise(op)) || isa<nn::PadOp>(op)) {
    return {};
  }
  Info result{true, true, 1};
  for (Value operand : op->getOperands()) {
    Info part = info(operand);
    result.free &= part.free;
    result.uniform &= part.uniform;
    result.size += part.size;
  }
  bool large = isLarge(op->getResult(0));
  result.free &= result.uniform || view || large || !isCostly(op) ||
                 isa<nn::RandomUniformOp>(op);
  // One number for all elements, computed once a kernel.
  result.size = result.uniform ? 1 : result.size;
  result.free &= result.size <= (large ? kMaxFreeOpsOfLarge : kMaxFreeOps);
  // A view that has no address formula needs a buffer to view.
  result.free = result.free && (!view || isReadable(op->getResult(0), {}));
  return result;
}
