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

/// What rows are brought into comes from a buffer, which the result may take.
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
  SmallVector<Operand> sorted(operands);
  llvm::stable_sort(sorted, [](const Operand &a, const Operand &b) {
    Operation *first = trace(a.value).root.getDefiningOp();
    Operation *second = trace(b.value).root.getDefiningOp();
    return first && second ? first->isBeforeInBlock(second) : !first && second;
  });
  for (const Operand &operand : sorted) {
    resolveOperand(spec, operand.value, /*certainOnly=*/false);
  }
}

/// Where a chain of views is cut so that the kernel can read it: at the value
/// with the fewest elements from which the rest has a formula, so that what is
/// copied is not repeated first; among equals, at the last.
Value Materializer::cutOf(const KernelSpec &spec, Value value,
                          ArrayRef<int64_t> shape) const {
  Value cut = value;
  Source source = trace(value);
  for (Operation *op : llvm::reverse(source.chain)) {
    Value view = op->getResult(0);
    Inputs inputs = spec.inputs;
    inputs.leaves.insert(view);
    if (elementsOf(view) < elementsOf(cut) &&
        isReadable(value, inputs, shape)) {
      cut = view;
    }
  }
  return cut;
}

/// What cannot be read through its views is copied first.
void Materializer::splitUnreadable(KernelSpec &spec,
                                   ArrayRef<Operand> operands) {
  for (const Operand &operand : operands) {
    Value value = operand.value;
    if (spec.members.contains(trace(value).root.getDefiningOp()) &&
        !value.getDefiningOp<nn::GatherOp>()) {
      continue;
    }
    if (isReadable(value, spec.inputs, spec.shapeAt(operand.level))) {
      continue;
    }
    // Rows that do not fit the other members' shape get a kernel of their own.
    if (auto gather = value.getDefiningOp<nn::GatherOp>()) {
      spec.members.remove(gather);
      llvm::erase(spec.results, value);
      spec.inputs.leaves.insert(value);
      stored.insert(value);
      demandCopy(value);
      continue;
    }
    Value cut = cutOf(spec, value, spec.shapeAt(operand.level));
    spec.inputs.leaves.insert(cut);
    demand(cut);
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
