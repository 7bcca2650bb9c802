//===- KernelInputs.cpp - where a kernel's operands come from -------------===//

#include "passes/kernels/Materialize.h"

#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

/// Settles where an operand comes from. With `certainOnly`, returns false
/// where there is a choice.
bool Materializer::resolveOperand(KernelSpec &spec, Value operand,
                                  bool certainOnly) {
  if (freeValues.contains(operand)) {
    return true;
  }
  Source source = trace(operand);
  Operation *root = source.root.getDefiningOp();
  if (spec.members.contains(root) || spec.inputs.recomputed.contains(root) ||
      spec.inputs.leaves.contains(source.root) || (root && isLiteral(root))) {
    return true;
  }
  if (!isStored(source.root)) {
    // A free root is under padding, and needs a buffer.
    bool choice = !freeValues.contains(source.root);
    if (choice && certainOnly) {
      return false;
    }
    if (choice && tryRecompute(spec, source)) {
      return true;
    }
    demand(source.root);
  }
  spec.inputs.leaves.insert(source.root);
  return true;
}

/// The table and the indices of a gather come from buffers.
void Materializer::readIndices(KernelSpec &spec, nn::GatherOp gather) {
  Value table = trace(gather.getTable()).root;
  if (!isa_and_present<nn::ConstantOp>(table.getDefiningOp())) {
    spec.inputs.leaves.insert(table);
    demand(table);
  }
  Value indices = stripReshapes(gather.getIndices());
  Operation *source = indices.getDefiningOp();
  if (!source || !isLiteral(source)) {
    spec.inputs.leaves.insert(indices);
    demand(indices);
  }
}

/// Reads the table that rows are brought into: it comes from a buffer, which
/// the result may take.
void Materializer::readTable(KernelSpec &spec, nn::ScatterOp scatter) {
  Value table = stripReshapes(scatter.getInto());
  spec.inputs.leaves.insert(table);
  demand(table);
}

void Materializer::resolve(KernelSpec &spec, ArrayRef<Operand> operands) {
  for (const Operand &operand : operands) {
    resolveOperand(spec, operand.value, /*certainOnly=*/true);
  }
  // From the beginning of the block, since later values follow from earlier
  // ones.
  SmallVector<std::pair<Operation *, Value>> sorted;
  for (const Operand &operand : operands) {
    sorted.push_back(
        {trace(operand.value).root.getDefiningOp(), operand.value});
  }
  llvm::stable_sort(sorted, [](const auto &a, const auto &b) {
    Operation *first = a.first, *second = b.first;
    return first && second ? first->isBeforeInBlock(second) : !first && second;
  });
  for (const auto &[root, value] : sorted) {
    resolveOperand(spec, value, /*certainOnly=*/false);
  }
}

/// Returns where to cut a chain of views that has no formula: at the value with
/// the fewest elements from which the rest has one, so that nothing is repeated
/// before it is copied. Every operand reads a cut in place of what it is made
/// of, and `readable` ones must stay so.
Value Materializer::cutOf(const KernelSpec &spec, const Operand &operand,
                          ArrayRef<Operand> readable) const {
  Value cut = operand.value;
  Source source = trace(operand.value);
  for (Operation *op : llvm::reverse(source.chain)) {
    Value view = op->getResult(0);
    if (elementsOf(view) >= elementsOf(cut)) {
      continue;
    }
    Inputs inputs = spec.inputs;
    inputs.leaves.insert(view);
    auto isRead = [&](const Operand &other) {
      return isReadable(other.value, inputs, spec.shapeAt(other.level));
    };
    if (isRead(operand) && llvm::all_of(readable, isRead)) {
      cut = view;
    }
  }
  return cut;
}

/// Rows that do not fit the other members' shape get a kernel of their own.
void Materializer::splitGather(KernelSpec &spec, nn::GatherOp gather) {
  Value rows = gather.getResult();
  spec.members.remove(gather);
  llvm::erase(spec.results, rows);
  spec.inputs.leaves.insert(rows);
  stored.insert(rows);
  demandCopy(rows);
}

/// Copies first what cannot be read through its views.
void Materializer::splitUnreadable(KernelSpec &spec,
                                   ArrayRef<Operand> operands) {
  auto isRead = [&](const Operand &operand) {
    return isReadable(operand.value, spec.inputs, spec.shapeAt(operand.level));
  };
  SmallVector<Operand> readable, unreadable;
  for (const Operand &operand : operands) {
    Value value = operand.value;
    auto gather = value.getDefiningOp<nn::GatherOp>();
    if (!gather && spec.members.contains(trace(value).root.getDefiningOp())) {
      continue;
    }
    bool reads = isRead(operand);
    if (!reads && gather) {
      splitGather(spec, gather);
    } else {
      (reads ? readable : unreadable).push_back(operand);
    }
  }
  while (!unreadable.empty()) {
    Value cut = cutOf(spec, unreadable.front(), readable);
    bool added = spec.inputs.leaves.insert(cut);
    demand(cut);
    // It may have helped others; and a whole operand, which can always be cut,
    // may be in the way of one.
    SmallVector<Operand> all = std::move(readable);
    llvm::append_range(all, ArrayRef(unreadable).drop_front(added ? 0 : 1));
    readable.clear();
    unreadable.clear();
    for (const Operand &operand : all) {
      (isRead(operand) ? readable : unreadable).push_back(operand);
    }
  }
}

void Materializer::specifyCopy(Value value, KernelSpec &spec) {
  if (auto gather = value.getDefiningOp<nn::GatherOp>()) {
    readIndices(spec, gather);
    if (!isReadable(value, spec.inputs)) {
      spec.inputs.leaves.insert(gather.getTable());
      demand(gather.getTable());
    }
    return;
  }
  resolveOperand(spec, value, /*certainOnly=*/false);
  if (isReadable(value, spec.inputs)) {
    return;
  }
  // Cut the chain where its first part can still be read.
  Source source = trace(value);
  Value cut = source.root;
  for (Operation *op : llvm::reverse(ArrayRef(source.chain).drop_back())) {
    if (isReadable(op->getResult(0), spec.inputs)) {
      cut = op->getResult(0);
      break;
    }
  }
  auto restIsReadableFrom = [&](Value leaf) {
    Inputs inputs = spec.inputs;
    inputs.leaves.insert(leaf);
    return isReadable(value, inputs);
  };
  if (!restIsReadableFrom(cut)) {
    // As much as can be read at once; what is before is cut in turn.
    for (Operation *op : ArrayRef(source.chain).drop_back()) {
      if (restIsReadableFrom(op->getResult(0))) {
        cut = op->getResult(0);
        break;
      }
    }
  }
  spec.inputs.leaves.insert(cut);
  demand(cut);
}
