//===- Plan.cpp - what each kernel reads, computes and stores -------------===//

#include "passes/kernels/Plan.h"

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"
#include <set>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// A value that needs more ops or buffers than this is not computed again.
constexpr unsigned kMaxRecomputedOps = 16;
constexpr unsigned kMaxRecomputedLeaves = 8;

int64_t bytesOf(Value value) { return nn::tensorBytes(value.getType()); }

Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>()) {
    value = reshape.getOperand();
  }
  return value;
}

/// What neither is in a kernel nor can move into one.
bool isOutside(Operation *op) {
  return !isa<nn::NNDialect>(op->getDialect()) ||
         isa<nn::MatmulOp, nn::KernelOp>(op);
}

bool haveOneUse(ArrayRef<Operation *> ops) {
  return llvm::all_of(ops, [](Operation *op) { return op->hasOneUse(); });
}

/// Whether the value lies in a gathered buffer that is gone, in the original
/// order, when the kernel runs. To read it there would keep the buffer.
bool isReleasedBefore(Value value, const KernelPlan &plan) {
  auto view = value.getDefiningOp<zero::ViewOp>();
  Operation *place = plan.members.empty() ? plan.results.front().getDefiningOp()
                                          : plan.members.back();
  return view && llvm::any_of(view.getFlat().getUsers(), [&](Operation *user) {
           return isa<zero::ReleaseOp>(user) && user->isBeforeInBlock(place);
         });
}

/// The numbers of elements, counted from the end, behind which a view's
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

/// Whether each boundary divides the next.
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

const KernelPlan *Planner::planOf(const Group *group) const {
  auto it = groupPlans.find(group);
  return it == groupPlans.end() ? nullptr : it->second.get();
}

const KernelPlan *Planner::copyOf(Value value) const {
  auto it = copyPlans.find(value);
  return it == copyPlans.end() ? nullptr : it->second.get();
}

bool Planner::isStored(Value root) const {
  Operation *op = root.getDefiningOp();
  return !op || isOutside(op) || stored.contains(root);
}

void Planner::demand(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !isOutside(op) && stored.insert(value) && !grouping.groupOf(op)) {
    demandCopy(value);
  }
}

void Planner::demandCopy(Value value) {
  auto plan = std::make_unique<KernelPlan>();
  plan->shape.assign(shapeOf(value).begin(), shapeOf(value).end());
  plan->results = {value};
  planCopy(value, *plan);
  copyPlans[value] = std::move(plan);
}

//===----------------------------------------------------------------------===//
// Computing again
//===----------------------------------------------------------------------===//

bool Planner::collect(const KernelPlan &plan, Operation *op, bool exclusive,
                      Attempt &attempt) {
  bool single = elementsOf(op->getResult(0)) == 1;
  if (!isElementwise(op) || (isCostly(op) && !single && !exclusive) ||
      attempt.ops.size() >= kMaxRecomputedOps) {
    return false;
  }
  attempt.ops.insert(op);
  for (Value operand : op->getOperands()) {
    if (freeValues.contains(operand)) {
      continue;
    }
    Source source = trace(operand);
    Operation *root = source.root.getDefiningOp();
    if (attempt.ops.contains(root) || attempt.leaves.contains(source.root) ||
        plan.inputs.recomputed.contains(root)) {
      continue;
    }
    if (isReleasedBefore(source.root, plan)) {
      return false;
    }
    if (isStored(source.root) || expected.contains(source.root)) {
      attempt.leaves.insert(source.root);
      continue;
    }
    Attempt deeper = attempt;
    if (!isPadded(source.chain) &&
        collect(plan, root,
                exclusive && root->hasOneUse() && haveOneUse(source.chain),
                deeper) &&
        deeper.newBytes - attempt.newBytes < bytesOf(source.root)) {
      attempt = std::move(deeper);
    } else {
      attempt.leaves.insert(source.root);
      attempt.newBytes += bytesOf(source.root);
    }
  }
  return true;
}

bool Planner::tryRecompute(KernelPlan &plan, const Source &source) {
  Operation *root = source.root.getDefiningOp();
  if (!isElementwise(root) || isPadded(source.chain)) {
    return false;
  }
  ArrayRef<Operation *> chain = source.chain;
  Value end = chain.empty() ? source.root : chain.back()->getResult(0);
  // A copy is made once, however many read it.
  bool exclusive =
      root->hasOneUse() &&
      haveOneUse(plan.group || chain.empty() ? chain : chain.drop_back());
  Attempt attempt;
  if (!collect(plan, root, exclusive, attempt) ||
      attempt.leaves.size() > kMaxRecomputedLeaves) {
    return false;
  }
  if (attempt.newBytes >= bytesOf(source.root)) {
    return false;
  }
  if (plan.group && plan.form == Form::Rows) {
    // One large buffer may be read instead of another, but not several.
    int64_t large = 0;
    for (Value leaf : attempt.leaves) {
      if (!plan.inputs.leaves.contains(leaf) &&
          elementsOf(leaf) >= elementsOf(source.root)) {
        large += bytesOf(leaf);
      }
    }
    if (large > bytesOf(source.root)) {
      return false;
    }
  }
  Inputs inputs = plan.inputs;
  inputs.leaves.insert(attempt.leaves.begin(), attempt.leaves.end());
  inputs.recomputed.insert(attempt.ops.begin(), attempt.ops.end());
  if (!isReadable(end, inputs)) {
    return false;
  }
  plan.inputs = std::move(inputs);
  for (Value leaf : attempt.leaves) {
    demand(leaf);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Settles where an operand comes from. With `certainOnly`, returns false
/// where there is a choice.
bool Planner::resolveOperand(KernelPlan &plan, Value operand,
                             bool certainOnly) {
  if (freeValues.contains(operand)) {
    return true;
  }
  Source source = trace(operand);
  Operation *root = source.root.getDefiningOp();
  if (plan.members.contains(root) || plan.inputs.recomputed.contains(root) ||
      plan.inputs.leaves.contains(source.root) ||
      isa_and_present<nn::ConstantOp, nn::IotaOp>(root)) {
    return true;
  }
  if (!isStored(source.root)) {
    // A free root is under padding, and needs a buffer.
    bool choice = !freeValues.contains(source.root);
    if (choice && certainOnly) {
      return false;
    }
    if (choice && tryRecompute(plan, source)) {
      return true;
    }
    demand(source.root);
  }
  plan.inputs.leaves.insert(source.root);
  return true;
}

/// The table and the indices of a gather come from buffers.
void Planner::readIndices(KernelPlan &plan, nn::GatherOp gather) {
  Value table = trace(gather.getTable()).root;
  if (!isa_and_present<nn::ConstantOp>(table.getDefiningOp())) {
    plan.inputs.leaves.insert(table);
    demand(table);
  }
  Value indices = stripReshapes(gather.getIndices());
  if (!isa_and_present<nn::ConstantOp, nn::IotaOp>(indices.getDefiningOp())) {
    plan.inputs.leaves.insert(indices);
    demand(indices);
  }
}

void Planner::resolve(KernelPlan &plan, ArrayRef<Operand> operands) {
  for (const Operand &operand : operands) {
    resolveOperand(plan, operand.value, /*certainOnly=*/true);
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
    resolveOperand(plan, operand.value, /*certainOnly=*/false);
  }
}

/// What cannot be read through its views is copied first.
void Planner::splitUnreadable(KernelPlan &plan, ArrayRef<Operand> operands) {
  for (const Operand &operand : operands) {
    Value value = operand.value;
    if (plan.members.contains(trace(value).root.getDefiningOp()) &&
        !value.getDefiningOp<nn::GatherOp>()) {
      continue;
    }
    if (isReadable(value, plan.inputs, plan.shapeAt(operand.level))) {
      continue;
    }
    // Rows that do not fit the other members' shape get a kernel of their own.
    if (auto gather = value.getDefiningOp<nn::GatherOp>()) {
      plan.members.remove(gather);
      llvm::erase(plan.results, value);
      plan.inputs.leaves.insert(value);
      stored.insert(value);
      demandCopy(value);
      continue;
    }
    plan.inputs.leaves.insert(value);
    demand(value);
  }
}

void Planner::planCopy(Value value, KernelPlan &plan) {
  if (auto gather = value.getDefiningOp<nn::GatherOp>()) {
    readIndices(plan, gather);
    if (!isReadable(value, plan.inputs)) {
      plan.inputs.leaves.insert(gather.getTable());
      demand(gather.getTable());
    }
    return;
  }
  resolveOperand(plan, value, /*certainOnly=*/false);
  if (isReadable(value, plan.inputs)) {
    return;
  }
  // Cut the chain where its first part can still be read.
  Source source = trace(value);
  Value cut = source.root;
  for (Operation *op : llvm::reverse(ArrayRef(source.chain).drop_back())) {
    if (isReadable(op->getResult(0), plan.inputs)) {
      cut = op->getResult(0);
      break;
    }
  }
  plan.inputs.leaves.insert(cut);
  demand(cut);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The members of a rows kernel run over one shape, whatever shapes their ops
/// had: the coarsest one that has a dimension wherever the strides of some
/// leaf change, so that every leaf has an address formula in it.
void Planner::chooseShape(KernelPlan &plan, ArrayRef<Operand> operands) {
  const Space &space = plan.group->space;
  std::optional<ArrayRef<int64_t>> common;
  bool same = true;
  int64_t last = 1;
  for (Operation *member : plan.members) {
    Value value = isa<nn::ReduceOp>(member) ? member->getOperand(0)
                                            : member->getResult(0);
    if (!isa<nn::ReduceOp>(member) &&
        plan.group->levels.lookup(member) == Level::Row) {
      continue;
    }
    ArrayRef<int64_t> shape = shapeOf(value);
    same &= !shape.empty() && (!common || *common == shape);
    common = shape;
    last = shape.empty() ? 1 : shape.back();
  }
  if (common && same &&
      (space.columns == 0 || common->back() == space.columns)) {
    plan.shape.assign(common->begin(), common->end());
  } else {
    std::set<int64_t> boundaries{space.elements};
    if (space.columns != 0) {
      boundaries.insert(space.columns);
    }
    boundaries.erase(1);
    for (const Operand &operand : operands) {
      std::set<int64_t> more;
      int64_t factor = operand.level == Level::Row ? space.columns : 1;
      isReadable(operand.value, plan.inputs, std::nullopt,
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
      plan.shape.push_back(1);
    }
    for (int64_t boundary : boundaries) {
      plan.shape.push_back(boundary / previous);
      previous = boundary;
    }
    if (plan.shape.empty() || (plan.shape.size() == 1 && space.columns != 0)) {
      plan.shape.push_back(1); // A single row, or number.
    }
    std::reverse(plan.shape.begin(), plan.shape.end());
  }
  plan.rowShape = plan.shape;
  plan.rowShape.back() = 1;
}

void Planner::planGroup(const Group &group) {
  auto owned = std::make_unique<KernelPlan>();
  KernelPlan &plan = *owned;
  plan.form = group.form;
  plan.group = &group;
  SmallVector<Operation *> needed;
  for (Operation *member : group.members) {
    if (stored.contains(member->getResult(0))) {
      plan.results.push_back(member->getResult(0));
      needed.push_back(member);
    }
  }
  if (needed.empty()) {
    return;
  }
  llvm::SetVector<Operation *> reached;
  while (!needed.empty()) {
    Operation *op = needed.pop_back_val();
    if (!reached.insert(op) || group.form != Form::Rows) {
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
    plan.members.insert(member);
    Level level =
        isa<nn::ReduceOp>(member) ? Level::Full : group.levels.lookup(member);
    if (auto gather = dyn_cast<nn::GatherOp>(member)) {
      // First, since nothing else could be done where the shape did not fit.
      readIndices(plan, gather);
      operands.insert(operands.begin(), {gather.getResult(), level});
      continue;
    }
    for (Value operand : member->getOperands()) {
      operands.push_back({operand, level});
    }
  }
  resolve(plan, operands);
  if (group.form == Form::Rows) {
    // Members' values are no leaves and set no shape.
    llvm::erase_if(operands, [&](const Operand &operand) {
      Operation *root = trace(operand.value).root.getDefiningOp();
      return plan.members.contains(root) &&
             !operand.value.getDefiningOp<nn::GatherOp>() &&
             !freeValues.contains(operand.value);
    });
    chooseShape(plan, operands);
    splitUnreadable(plan, operands);
  } else if (group.form == Form::Columns) {
    const Reduction &r = group.reduction;
    plan.shape = {r.reduced, r.inner};
    if (r.outer != 1) {
      plan.shape.insert(plan.shape.begin(), r.outer);
    }
    splitUnreadable(plan, operands);
  } else {
    for (const Operand &operand : operands) {
      if (!isReadable(operand.value, plan.inputs)) {
        plan.inputs.leaves.insert(operand.value);
        demand(operand.value);
      }
    }
  }
  if (!plan.results.empty()) {
    groupPlans[&group] = std::move(owned);
  }
}

void Planner::run() {
  // The first round finds out what will be stored, on which it is worth
  // relying in the second.
  planBlock();
  expected = std::move(stored);
  stored.clear();
  groupPlans.clear();
  copyPlans.clear();
  planBlock();
}

void Planner::planBlock() {
  SmallVector<Value> outside;
  for (Operation &op : block) {
    if (isOutside(&op)) {
      for (Value operand : op.getOperands()) {
        if (isa<RankedTensorType>(operand.getType())) {
          outside.push_back(stripReshapes(operand));
        }
      }
    }
  }
  // What is certain comes first: choices depend on it.
  for (Value value : outside) {
    if (grouping.groupOf(value.getDefiningOp())) {
      stored.insert(value);
    }
  }
  for (Value value : outside) {
    demand(value);
  }
  for (const Group *group : llvm::reverse(grouping.getOrder())) {
    planGroup(*group);
  }
}
