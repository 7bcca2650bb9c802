//===- Graph.cpp - the op tree of a kernel --------------------------------===//

#include "codegen/emit/Graph.h"

#include "codegen/emit/Elementwise.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

namespace {

Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

void printKey(llvm::raw_ostream &os, const View &view) {
  os << view.base.getAsOpaquePointer() << "+" << view.offset;
  for (const ViewDim &dim : view.dims) {
    os << "," << dim.size << ":" << dim.stride << ":" << dim.lo << ":"
       << dim.hi;
  }
  os << "p" << view.padValue;
  if (view.indirection) {
    os << "[" << view.indirection->rows << ":" << view.indirection->rowStride
       << "@";
    printKey(os, *view.indirection->index);
    os << "]";
  }
}

/// Returns a key that only equal nodes share. Types are unique objects, so are
/// attributes.
std::string keyOf(const Node &node) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << static_cast<int>(node.kind) << static_cast<int>(node.extent)
     << node.element << "|";
  if (node.op) {
    os << node.op->getName() << node.op->getAttrDictionary();
  }
  for (Node *operand : node.operands) {
    os << "#" << operand->id;
  }
  os << "|" << node.value << "|";
  if (node.view.base) {
    printKey(os, node.view);
  }
  return key;
}

bool isPadded(ArrayRef<Operation *> chain) {
  return llvm::any_of(chain, [](Operation *op) { return isa<nn::PadOp>(op); });
}

} // namespace

Node *Graph::intern(Node node) {
  std::string key = keyOf(node);
  auto [it, inserted] = interned.try_emplace(key, nullptr);
  if (inserted) {
    node.id = nodes.size();
    it->second = &nodes.emplace_back(std::move(node));
  }
  return it->second;
}

FailureOr<Node *> Graph::add(Value value, Extent extent) {
  return build(value, {}, extent, /*padded=*/false);
}

FailureOr<Node *> Graph::build(Value value, const Chain &chain, Extent extent,
                               bool padded) {
  auto key = std::make_tuple(
      static_cast<const void *>(value.getAsOpaquePointer()),
      std::vector<Operation *>(chain.begin(), chain.end()), extent, padded);
  if (auto it = built.find(key); it != built.end()) {
    return it->second;
  }
  FailureOr<Node *> node = buildUncached(value, chain, extent, padded);
  if (succeeded(node)) {
    built[key] = *node;
  }
  return node;
}

/// `chain` leads from `value` to where it is used; `padded` says that the
/// user takes care of the chain's padding.
FailureOr<Node *> Graph::buildUncached(Value value, const Chain &chain,
                                       Extent extent, bool padded) {
  if (Value meant = bound.lookup(value)) {
    return build(meant, chain, extent, padded);
  }
  if (given.contains(value)) {
    return buildGiven(cast<BlockArgument>(value), chain);
  }
  Operation *op = value.getDefiningOp();
  if (op && nn::isView(op)) {
    Chain longer = chain;
    longer.insert(longer.begin(), op);
    return build(op->getOperand(0), longer, extent, padded);
  }
  if (!op || nn::isLiteral(op)) {
    return buildLeaf(value, chain, extent, padded);
  }
  if (!padded && isPadded(chain)) {
    // Compute everywhere, from leaves that read nothing outside, and choose.
    FailureOr<View> view = compose(value, chain);
    FailureOr<Node *> operand = build(value, chain, extent, /*padded=*/true);
    if (failed(view) || failed(operand)) {
      return failure();
    }
    Node node(Node::Kind::Pad);
    node.element = elementOf(value);
    node.operands = {*operand};
    node.value = view->padValue ? valueAttr(view->padValue) : TypedAttr();
    node.view = mergeDims(*view);
    node.extent = extent;
    return view->padValue ? intern(std::move(node)) : *operand;
  }
  if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
    return buildReduce(reduce, chain, extent);
  }
  if (!isElementwise(op)) {
    op->emitError("'") << nn::nameOf(op->getLoc()) << "': " << op->getName()
                       << " is no member of a kernel of this form";
    return failure();
  }
  Node node(Node::Kind::Op);
  node.op = op;
  node.element = elementOf(value);
  if (failed(checkElementType(op, node.element))) {
    return failure();
  }
  for (Value operand : op->getOperands()) {
    FailureOr<Node *> operandNode = build(operand, chain, extent, padded);
    if (failed(operandNode)) {
      return failure();
    }
    node.operands.push_back(*operandNode);
  }
  return intern(std::move(node));
}

FailureOr<View> Graph::compose(Value value, const Chain &chain) {
  FailureOr<View> view = identityView(value);
  for (Operation *op : chain) {
    view = applyViewOp(*view, op);
    if (failed(view)) {
      op->emitError("'") << nn::nameOf(op->getLoc())
                         << "': this chain of views has no single address "
                            "formula; kernel forming should have made '"
                         << op->getName() << "' a kernel of its own";
      return failure();
    }
  }
  return view;
}

FailureOr<Node *> Graph::buildLeaf(Value value, const Chain &chain,
                                   Extent extent, bool padded) {
  FailureOr<View> view = compose(value, chain);
  if (failed(view)) {
    return failure();
  }
  Node node(Node::Kind::Load);
  node.element = elementOf(value);
  Operation *user = *value.getUsers().begin();
  if (failed(checkElementType(user, node.element))) {
    return failure();
  }
  if (view->indirection) {
    Value index = view->indirection->index->base;
    Operation *op = index.getDefiningOp();
    if (op && !nn::isLiteral(op)) {
      op->emitError("'") << nn::nameOf(op->getLoc())
                         << "': the indices of a gather must be an operand of "
                            "its kernel, not a member";
      return failure();
    }
  }
  node.extent = extent;
  node.view = mergeDims(*view);
  if (node.view.padValue) {
    node.view.padValue =
        padded
            ? OpBuilder(value.getContext()).getZeroAttr(valueType(node.element))
            : valueAttr(node.view.padValue);
  }
  if (value.getDefiningOp<nn::IotaOp>()) {
    node.kind = Node::Kind::Iota;
  } else if (auto constant = value.getDefiningOp<nn::ConstantOp>()) {
    auto elements = cast<ElementsAttr>(constant.getValue());
    if (elements.isSplat() && !node.view.padValue) {
      node.kind = Node::Kind::Constant;
      node.value = valueAttr(elements.getSplatValue<TypedAttr>());
      node.view = {};
      node.extent = Extent::Full;
    }
  }
  return intern(std::move(node));
}

FailureOr<Node *> Graph::buildGiven(BlockArgument value, const Chain &chain) {
  FailureOr<View> view = compose(value, chain);
  if (failed(view)) {
    return failure();
  }
  if (!isWhole(*view)) {
    return chain.back()->emitError("'")
           << nn::nameOf(chain.back()->getLoc())
           << "': a kernel of attention has its scores in order";
  }
  Node node(Node::Kind::Given);
  node.element = elementOf(value);
  node.value = OpBuilder(value.getContext()).getIndexAttr(value.getArgNumber());
  return intern(std::move(node));
}

FailureOr<Node *> Graph::buildReduce(nn::ReduceOp op, const Chain &chain,
                                     Extent extent) {
  Node node(Node::Kind::Reduce);
  node.op = op;
  node.element = elementOf(op.getResult());
  if (failed(checkElementType(op, node.element))) {
    return failure();
  }
  FailureOr<View> view = compose(op.getResult(), chain);
  if (failed(view)) {
    return failure();
  }
  // Every row (or column) must read its own number.
  Access access = makeAccess(*view, domain, extent);
  ArrayRef<ViewDim> own = reducesColumns ? access.outer : access.inner;
  ArrayRef<ViewDim> other = reducesColumns ? access.inner : access.outer;
  int64_t count = reducesColumns ? domain.rows : domain.runs * domain.cols;
  bool aligned = !access.flat && access.offset == 0 && !view->indirection &&
                 (count == 1 ? own.empty()
                             : own.size() == 1 && own.front().stride == 1 &&
                                   !own.front().isBounded()) &&
                 llvm::all_of(other, [](const ViewDim &dim) {
                   return dim.stride == 0 && !dim.isBounded();
                 });
  int64_t elements =
      cast<RankedTensorType>(op.getOperand().getType()).getNumElements();
  if (!aligned || elements != domain.rows * domain.cols ||
      cast<RankedTensorType>(op.getType()).getNumElements() != count) {
    return op.emitError("'")
           << nn::nameOf(op.getLoc())
           << "': a reduction's result is used by its own row alone, and all "
              "reductions of a kernel reduce the same dimensions";
  }
  FailureOr<Node *> operand =
      build(op.getOperand(), {}, Extent::Full, /*padded=*/false);
  if (failed(operand)) {
    return failure();
  }
  node.operands = {*operand};
  return intern(std::move(node));
}

void Graph::chooseColumns() {
  // The places, counted in elements from the end, where some leaf's stride
  // changes.
  std::set<int64_t> boundaries;
  for (const Node &node : nodes) {
    int64_t inner = 1;
    for (const ViewDim &dim : llvm::reverse(node.view.dims)) {
      inner *= dim.size;
      boundaries.insert(inner);
    }
  }
  int64_t elements = domain.rows * domain.cols;
  domain.cols = elements;
  for (int64_t boundary : boundaries) {
    if (boundary > 1 && elements % boundary == 0) {
      domain.cols = boundary;
      break;
    }
  }
  domain.rows = elements / domain.cols;
}

static int64_t reachOf(const View &view) {
  int64_t reach = std::abs(view.offset);
  for (const ViewDim &dim : view.dims) {
    reach += std::abs(dim.stride) * dim.size;
  }
  if (view.indirection) {
    reach += view.indirection->rows * std::abs(view.indirection->rowStride);
    reach = std::max(reach, reachOf(*view.indirection->index));
  }
  return reach;
}

int64_t Graph::reach() const {
  int64_t reach = domain.rows * domain.cols;
  for (const Node &node : nodes) {
    reach = std::max(reach, reachOf(node.view));
  }
  return reach;
}

LogicalResult Graph::resolve() {
  for (Node &node : nodes) {
    for (Node *operand : node.operands) {
      node.level = std::max(node.level, operand->level);
      node.depth = std::max(node.depth, operand->depth);
      node.costly |= operand->costly && operand->level == Level::Column;
    }
    if (node.kind == Node::Kind::Given) {
      node.level = Level::Column;
    } else if (node.kind == Node::Kind::Op) {
      node.costly |= nn::isCostly(node.op);
    } else if (node.kind == Node::Kind::Reduce) {
      node.depth += 1;
      node.level = reducesColumns ? Level::Row : Level::Column;
      node.costly = false;
    }
    if (!node.view.base) {
      continue;
    }
    node.access = makeAccess(node.view, domain, node.extent);
    bool inRow = node.access.variesInRow();
    bool overRows = node.access.variesOverRows();
    if (node.view.indirection) {
      node.index =
          makeAccess(*node.view.indirection->index, domain, node.extent);
      inRow |= node.index->variesInRow();
      overRows |= node.index->variesOverRows();
      node.costly |= node.index->variesInRow();
    }
    Level own = inRow ? Level::Column : overRows ? Level::Row : Level::Kernel;
    node.level = std::max(node.level, own);
    if (node.access.flat || node.access.inner.size() > 1) {
      node.costly = true;
    }
  }
  return success();
}
