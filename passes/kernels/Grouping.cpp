//===- Grouping.cpp - which ops become one kernel -------------------------===//

#include "passes/kernels/Grouping.h"

#include "passes/kernels/Reading.h"

#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

unsigned Grouping::find(unsigned id) const {
  while (nodes[id].mergedInto != id) {
    id = nodes[id].mergedInto;
  }
  return id;
}

bool Grouping::reaches(unsigned from, unsigned to) const {
  from = find(from);
  SmallVector<unsigned> stack{from};
  llvm::SmallSetVector<unsigned, 8> seen;
  while (!stack.empty()) {
    for (unsigned next : nodes[stack.pop_back_val()].reads) {
      next = find(next);
      if (next == to) {
        return true;
      }
      // Closes what a closed group reads.
      if (nodes[next].open && seen.insert(next)) {
        stack.push_back(next);
      }
    }
  }
  return false;
}

unsigned Grouping::create(Operation *op, KernelForm form, Space space,
                          Level level) {
  unsigned id = nodes.size();
  Node &node = nodes.emplace_back();
  node.mergedInto = id;
  node.last = number;
  node.group.form = form;
  node.group.space = space;
  node.group.members.push_back(op);
  node.group.levels[op] = level;
  home[op] = id;
  return id;
}

void Grouping::close(unsigned id) {
  id = find(id);
  if (!nodes[id].open) {
    return;
  }
  nodes[id].open = false;
  for (unsigned read : nodes[id].reads) {
    close(read);
  }
}

void Grouping::closeSources(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto it = home.find(trace(operand).root.getDefiningOp());
    if (it != home.end()) {
      close(it->second);
    }
  }
}

/// A group of single numbers a row becomes the row part of a larger space.
void Grouping::liftToRows(Group &group, int64_t columns) {
  group.space = {group.space.elements * columns, columns};
  group.contiguousMultiple *= columns;
  for (Operation *member : group.members) {
    group.levels[member] = Level::Row;
  }
}

void Grouping::merge(unsigned into, unsigned other) {
  Node &a = nodes[into], &b = nodes[other];
  a.group.space.columns =
      std::max(a.group.space.columns, b.group.space.columns);
  a.group.contiguousMultiple =
      std::gcd(a.group.contiguousMultiple, b.group.contiguousMultiple);
  for (Operation *member : b.group.members) {
    a.group.members.push_back(member);
    a.group.levels[member] = b.group.levels[member];
  }
  a.group.sources.insert(b.group.sources.begin(), b.group.sources.end());
  a.group.sources.remove_if(
      [&](Value v) { return a.group.contains(v.getDefiningOp()); });
  a.reads.insert(b.reads.begin(), b.reads.end());
  a.last = std::max(a.last, b.last);
  b.mergedInto = into;
}

/// Returns whether a member of level `reader` may read one of level `read` in
/// this way, other than element by element.
static bool fitsRows(Relation::Kind kind, Level read, Level reader) {
  switch (kind) {
  case Relation::Rows:
    return read == Level::Row && reader == Level::Full;
  case Relation::First:
    return read == Level::Full && reader == Level::Row;
  case Relation::RowsFirst:
    return read == Level::Full && reader == Level::Full;
  case Relation::Same:
  case Relation::Other:
    return false;
  }
  llvm_unreachable("all relations are listed");
}

/// Joins the group `own`, which `op` is in and whose operands it reads at
/// `slot`, with `other`, if all `uses` of `other` allow it.
bool Grouping::tryJoin(unsigned own, Operation *op, Level slot, unsigned other,
                       ArrayRef<Use> uses) {
  Group &a = nodes[other].group, &b = nodes[own].group;
  if (a.form != KernelForm::rows ||
      a.members.size() + b.members.size() > limits.members) {
    return false;
  }
  llvm::SetVector<Value> sources = a.sources;
  sources.insert(b.sources.begin(), b.sources.end());
  if (sources.size() > limits.operands) {
    return false;
  }
  // A space that no reduction has cut may turn out to be the rows of the other
  // one.
  enum Lift { None, Other, Own };
  for (Lift lift : {None, Other, Own}) {
    Space sa = a.space, sb = b.space;
    if (lift == Other && sa.columns == 0 && sb.columns != 0) {
      sa = {sa.elements * sb.columns, sb.columns};
    } else if (lift == Own && sb.columns == 0 && sa.columns != 0) {
      sb = {sb.elements * sa.columns, sa.columns};
    } else if (lift != None) {
      continue;
    }
    if (sa.elements != sb.elements ||
        (sa.columns != 0 && sb.columns != 0 && sa.columns != sb.columns)) {
      continue;
    }
    int64_t columns = std::max(sa.columns, sb.columns);
    for (const Use &use : uses) {
      if (columns == 0 && use.relation.kind == Relation::RowsFirst) {
        columns = use.relation.columns;
      }
    }
    // A buffer that is read in shorter pieces would have to be copied: the
    // result is stored instead, once.
    if (columns != 0 &&
        ((lift != Other && a.contiguousMultiple % columns != 0) ||
         (lift != Own && b.contiguousMultiple % columns != 0))) {
      continue;
    }
    Level reader = lift == Own ? Level::Row : slot;
    bool fits = llvm::all_of(uses, [&](const Use &use) {
      Level read = lift == Other ? Level::Row
                                 : a.levels.lookup(use.root.getDefiningOp());
      if (use.relation.kind == Relation::Same) {
        return read == reader;
      }
      return use.relation.columns == columns &&
             fitsRows(use.relation.kind, read, reader);
    });
    if (!fits) {
      continue;
    }
    if (lift == Other) {
      liftToRows(a, columns);
    } else if (lift == Own) {
      liftToRows(b, columns);
    }
    b.space.columns = columns;
    merge(own, other);
    return true;
  }
  return false;
}

int64_t Grouping::evenRunOfOperands(Operation *op, Space space) {
  int64_t even = space.elements;
  for (Value operand : op->getOperands()) {
    Inputs inputs;
    if (!freeValues.contains(operand)) {
      inputs.leaves.insert(trace(operand).root);
    }
    even = std::gcd(even, evenRunOf(operand, inputs));
  }
  return even;
}

void Grouping::addMember(Operation *op, Space space, Level slot, Level level,
                         bool operandsStored) {
  unsigned own = create(op, KernelForm::rows, space, level);
  nodes[own].group.contiguousMultiple =
      operandsStored ? space.elements : evenRunOfOperands(op, space);
  SmallVector<Use> uses;
  llvm::SmallSetVector<unsigned, 4> groups;
  for (Value operand : op->getOperands()) {
    if (freeValues.contains(operand)) {
      continue;
    }
    Source source = trace(operand);
    nodes[own].group.sources.insert(source.root);
    auto it = home.find(source.root.getDefiningOp());
    unsigned group = it == home.end() ? own : find(it->second);
    if (group != own && nodes[group].open) {
      Relation relation = operandsStored ? Relation() : relate(source);
      uses.push_back({source.root, group, relation});
      groups.insert(group);
    }
  }
  // Decided before anything is joined, since joining changes what is reached.
  SmallVector<unsigned> joinable;
  for (unsigned group : groups) {
    bool reached = llvm::any_of(groups, [&](unsigned other) {
      return other != group && reaches(other, group);
    });
    if (!reached) {
      joinable.push_back(group);
    }
  }
  for (unsigned group : groups) {
    SmallVector<Use> ofGroup;
    llvm::copy_if(uses, std::back_inserter(ofGroup),
                  [&](const Use &use) { return use.group == group; });
    Level current = slot == level ? nodes[own].group.levels[op] : slot;
    if (!llvm::is_contained(joinable, group) ||
        !tryJoin(own, op, current, group, ofGroup)) {
      nodes[own].reads.insert(group);
    }
  }
}

/// Returns whether a group of column reductions reads another group, or what
/// that one reads.
bool Grouping::readsMuchOf(const Node &node, unsigned other) const {
  return llvm::any_of(node.reads,
                      [&](unsigned read) { return find(read) == other; }) ||
         llvm::any_of(node.group.sources, [&](Value source) {
           return nodes[other].group.sources.contains(source);
         });
}

void Grouping::addColumnReduction(nn::ReduceOp op, const Reduction &reduction) {
  Value root = trace(op.getOperand()).root;
  auto it = home.find(root.getDefiningOp());
  std::optional<unsigned> read;
  if (it != home.end() && nodes[find(it->second)].open) {
    read = find(it->second);
  }
  Space space{elementsOf(op.getOperand()), reduction.inner};
  // Reductions of one space that read the same group, or the same buffer, read
  // much in common.
  for (unsigned id = 0; id < nodes.size(); ++id) {
    Node &node = nodes[id];
    Group &group = node.group;
    if (find(id) == id && node.open && group.form == KernelForm::columns &&
        group.reduction == reduction &&
        group.members.size() < limits.columnResults &&
        (group.sources.contains(root) || (read && readsMuchOf(node, *read))) &&
        !(read && reaches(*read, id))) {
      group.members.push_back(op);
      group.levels[op] = Level::Full;
      group.sources.insert(root);
      home[op] = id;
      node.last = number;
      if (read) {
        node.reads.insert(*read);
      }
      return;
    }
  }
  unsigned own = create(op, KernelForm::columns, space, Level::Full);
  nodes[own].group.reduction = reduction;
  nodes[own].group.sources.insert(root);
  if (read) {
    nodes[own].reads.insert(*read);
  }
}

void Grouping::addAlone(Operation *op, KernelForm form) {
  closeSources(op);
  unsigned own =
      create(op, form, {elementsOf(op->getResult(0)), 0}, Level::Full);
  nodes[own].open = false;
}

LogicalResult Grouping::visit(Operation *op) {
  if (isPlainView(op) || isLiteral(op)) {
    return success();
  }
  if (isElementwise(op)) {
    if (!freeValues.contains(op->getResult(0))) {
      addMember(op, {elementsOf(op->getResult(0)), 0}, Level::Full, Level::Full,
                /*operandsStored=*/false);
    }
    return success();
  }
  if (isa<nn::GatherOp>(op)) {
    addMember(op, {elementsOf(op->getResult(0)), 0}, Level::Full, Level::Full,
              /*operandsStored=*/true);
    return success();
  }
  if (auto reduce = dyn_cast<nn::ReduceOp>(op)) {
    std::optional<Reduction> reduction = classify(reduce);
    if (!reduction) {
      return op->emitError("'")
             << nn::nameOf(op->getLoc())
             << "': a reduction of separate groups of dimensions, which "
                "nn-decompose would have split";
    }
    if (reduction->isRow()) {
      Space space{elementsOf(reduce.getOperand()), reduction->reduced};
      addMember(op, space, Level::Full, Level::Row, /*operandsStored=*/false);
    } else {
      addColumnReduction(reduce, *reduction);
    }
    return success();
  }
  if (std::optional<KernelForm> form = nn::ownForm(op)) {
    addAlone(op, *form);
    return success();
  }
  if (!isOutside(op)) {
    return op->emitError("'")
           << nn::nameOf(op->getLoc()) << "': " << op->getName()
           << " has no place in a kernel; run nn-decompose before, for a "
              "target that does not keep it";
  }
  closeSources(op);
  return success();
}

void Grouping::place(unsigned id) {
  id = find(id);
  Node &node = nodes[id];
  if (node.placed) {
    return;
  }
  node.placed = true;
  node.group.position = node.last;
  for (unsigned read : node.reads) {
    place(read);
    node.group.position =
        std::max(node.group.position, nodes[find(read)].group.position);
  }
  order.push_back(&node.group);
}

LogicalResult Grouping::run() {
  bool failures = false;
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (Operation &op : block) {
    numbers[&op] = number;
    failures |= failed(visit(&op));
    ++number;
  }
  if (failures) {
    return failure();
  }
  for (unsigned id = 0; id < nodes.size(); ++id) {
    llvm::sort(nodes[id].group.members, [&](Operation *a, Operation *b) {
      return numbers[a] < numbers[b];
    });
    place(id);
  }
  // Groups at one position keep the order in which they were placed: those
  // that are read come first.
  llvm::stable_sort(order, [](const Group *a, const Group *b) {
    return a->position < b->position;
  });
  return success();
}

const Group *Grouping::groupOf(Operation *op) const {
  auto it = op ? home.find(op) : home.end();
  return it == home.end() ? nullptr : &nodes[find(it->second)].group;
}
