//===- Materialize.cpp - what each kernel reads, computes and stores ------===//

#include "passes/kernels/Materialize.h"

#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

const KernelSpec *Materializer::specOf(const Group *group) const {
  auto it = groupSpecs.find(group);
  return it == groupSpecs.end() ? nullptr : it->second.get();
}

const KernelSpec *Materializer::copySpecOf(Value value) const {
  auto it = copySpecs.find(value);
  return it == copySpecs.end() ? nullptr : it->second.get();
}

bool Materializer::isStored(Value root) const {
  Operation *op = root.getDefiningOp();
  return !op || isOutside(op) || stored.contains(root);
}

void Materializer::demand(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !isOutside(op) && stored.insert(value) && !grouping.groupOf(op)) {
    demandCopy(value);
  }
}

void Materializer::demandCopy(Value value) {
  auto spec = std::make_unique<KernelSpec>();
  spec->shape.assign(shapeOf(value).begin(), shapeOf(value).end());
  spec->results = {value};
  specifyCopy(value, *spec);
  copySpecs[value] = std::move(spec);
}

void Materializer::specifyGroup(const Group &group) {
  auto owned = std::make_unique<KernelSpec>();
  KernelSpec &spec = *owned;
  spec.form = group.form;
  spec.group = &group;
  SmallVector<Operation *> needed;
  for (Operation *member : group.members) {
    if (stored.contains(member->getResult(0))) {
      spec.results.push_back(member->getResult(0));
      needed.push_back(member);
    }
  }
  if (needed.empty()) {
    return;
  }
  llvm::SetVector<Operation *> reached;
  while (!needed.empty()) {
    Operation *op = needed.pop_back_val();
    if (!reached.insert(op) || group.form != KernelForm::rows) {
      continue;
    }
    for (Value operand : op->getOperands()) {
      Operation *root = trace(operand).root.getDefiningOp();
      if (group.contains(root) && !freeValues.contains(operand)) {
        needed.push_back(root);
      }
    }
  }
  SmallVector<Operand> operands;
  for (Operation *member : group.members) {
    if (!reached.contains(member)) {
      continue;
    }
    spec.members.insert(member);
    Level level =
        isa<nn::ReduceOp>(member) ? Level::Full : group.levels.lookup(member);
    if (auto gather = dyn_cast<nn::GatherOp>(member)) {
      // First, since nothing else could be done where the shape did not fit.
      readIndices(spec, gather);
      operands.insert(operands.begin(), {gather.getResult(), level});
      continue;
    }
    OperandRange reads = member->getOperands();
    if (auto scatter = dyn_cast<nn::ScatterOp>(member);
        scatter && scatter.getInto()) {
      readTable(spec, scatter);
      reads = reads.drop_back();
    }
    for (Value operand : reads) {
      operands.push_back({operand, level});
    }
  }
  resolve(spec, operands);
  if (group.form == KernelForm::rows) {
    // Members' values are no leaves and set no shape.
    llvm::erase_if(operands, [&](const Operand &operand) {
      Operation *root = trace(operand.value).root.getDefiningOp();
      return spec.members.contains(root) &&
             !operand.value.getDefiningOp<nn::GatherOp>() &&
             !freeValues.contains(operand.value);
    });
    chooseShape(spec, operands);
    splitUnreadable(spec, operands);
  } else if (group.form == KernelForm::columns) {
    const Reduction &r = group.reduction;
    spec.shape = {r.reduced, r.inner};
    if (r.outer != 1) {
      spec.shape.insert(spec.shape.begin(), r.outer);
    }
    splitUnreadable(spec, operands);
  } else {
    for (const Operand &operand : operands) {
      if (!isReadable(operand.value, spec.inputs)) {
        spec.inputs.leaves.insert(operand.value);
        demand(operand.value);
      }
    }
  }
  if (!spec.results.empty()) {
    groupSpecs[&group] = std::move(owned);
  }
}

void Materializer::run() {
  // The first round finds out what will be stored, on which it is worth
  // relying in the second.
  specifyBlock();
  expected = std::move(stored);
  stored.clear();
  groupSpecs.clear();
  copySpecs.clear();
  specifyBlock();
}

void Materializer::specifyBlock() {
  SmallVector<Value> outside;
  for (Operation &op : block) {
    if (isOutside(&op)) {
      for (OpOperand &operand : op.getOpOperands()) {
        if (isa<RankedTensorType>(operand.get().getType()) &&
            !isFilled(operand)) {
          outside.push_back(stripReshapes(operand.get()));
        }
      }
    }
  }
  // Choices depend on what is certain, which comes first.
  for (Value value : outside) {
    if (grouping.groupOf(value.getDefiningOp())) {
      stored.insert(value);
    }
  }
  for (Value value : outside) {
    demand(value);
  }
  for (const Group *group : llvm::reverse(grouping.getOrder())) {
    specifyGroup(*group);
  }
}
