//===- FormAttention.cpp - kernels of attention ---------------------------===//

#include "passes/kernels/Passes.h"
#include "passes/kernels/Reading.h"

#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/Attention.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/PackedGradients.h"
#include "passes/kernels/Members.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_FORMATTENTION
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

/// Moves what a region reads in a way that has no address formula out of it:
/// it becomes an extra.
class Hoisting {
public:
  explicit Hoisting(Operation *op) : op(op), outside(op) {
    nn::ScoreInputs inputs = nn::scoreInputsOf(op);
    Block &block = op->getRegion(0).front();
    map.map(block.getArguments().drop_front(inputs.given), inputs.extras);
  }

  void run() {
    Block &block = op->getRegion(0).front();
    for (Operation &member : llvm::make_early_inc_range(block)) {
      if (!nn::isView(&member) || isReadable(member.getResult(0), Inputs())) {
        continue;
      }
      Value hoisted = hoist(member.getResult(0));
      op->insertOperands(op->getNumOperands(), hoisted);
      Value argument =
          block.addArgument(hoisted.getType(), outside.getUnknownLoc());
      member.getResult(0).replaceAllUsesWith(argument);
      member.erase();
    }
    dropUnread();
  }

private:
  /// Drops members and extras that only hoisted ops read.
  void dropUnread() {
    Block &block = op->getRegion(0).front();
    for (Operation *member = block.getTerminator()->getPrevNode(); member;) {
      Operation *before = member->getPrevNode();
      if (member->use_empty()) {
        member->erase();
      }
      member = before;
    }
    nn::ScoreInputs inputs = nn::scoreInputsOf(op);
    unsigned before = op->getNumOperands() - inputs.extras.size();
    for (unsigned i = inputs.extras.size(); i-- > 0;) {
      if (block.getArgument(inputs.given + i).use_empty()) {
        block.eraseArgument(inputs.given + i);
        op->eraseOperand(before + i);
      }
    }
  }

  Value hoist(Value value) {
    if (Value known = map.lookupOrNull(value)) {
      return known;
    }
    for (Value operand : value.getDefiningOp()->getOperands()) {
      hoist(operand);
    }
    outside.clone(*value.getDefiningOp(), map);
    return map.lookup(value);
  }

  Operation *op;
  OpBuilder outside;
  IRMapping map;
};

/// Has what each packed gradient is a part of.
using PackedBy = DenseMap<Value, nn::PackedGradients>;

/// Writes the kernel of one op.
class Forming {
public:
  Forming(Operation *op, const PackedBy &packedBy)
      : op(op), packedBy(packedBy), outside(op), body(new Block),
        inside(op->getContext()) {
    inside.setInsertionPointToStart(body.get());
  }

  void run() {
    Type score = nn::elementOf(isa<nn::AttentionOp>(op) ? op->getResult(1)
                                                        : op->getOperand(3));
    unsigned extras =
        op->getNumOperands() - nn::scoreInputsOf(op).extras.size();
    for (OpOperand &operand : op->getOpOperands()) {
      nn::NNBuilder b(inside, operand.get().getLoc());
      // The region has views of its extras: through more there might be no
      // formula.
      mapped.push_back(operand.getOperandNumber() < extras
                           ? b.convert(read(operand.get()), score)
                           : argument(operand.get()));
    }
    Operation *own = inside.clone(*op);
    own->setOperands(mapped);
    nn::NNBuilder b(inside, op->getLoc());
    SmallVector<Value> made;
    for (OpResult result : own->getResults()) {
      Type element = nn::elementOf(result);
      result.setType(cast<RankedTensorType>(result.getType()).clone(score));
      made.push_back(b.convert(result, element));
    }
    // The kernel stands for `results`, and yields `yields` for them.
    SmallVector<Value> results, yields;
    for (OpResult result : op->getResults()) {
      auto found = packedBy.find(result);
      if (found == packedBy.end()) {
        results.push_back(result);
        yields.push_back(made[result.getResultNumber()]);
      } else if (Value whole = found->second.whole;
                 !llvm::is_contained(results, whole)) {
        results.push_back(whole);
        yields.push_back(pack(found->second, made));
      }
    }
    inside.create<nn::YieldOp>(op->getLoc(), yields);
    auto kernel = outside.create<nn::KernelOp>(
        op->getLoc(), TypeRange(ValueRange(results)), nn::KernelForm::attention,
        buffers);
    kernel.getBody().push_back(body.release());
    for (auto [result, buffer] :
         llvm::zip_equal(results, kernel.getResults())) {
      result.replaceAllUsesWith(buffer);
    }
    eraseFrom(op);
  }

private:
  /// Makes the whole of what the kernel has `made`, result by result.
  Value pack(const nn::PackedGradients &packed, ArrayRef<Value> made) {
    IRMapping map;
    for (const nn::PackedPlace &place : packed.places) {
      map.map(place.gradient, made[place.gradient.getResultNumber()]);
    }
    return remake(packed.whole, map);
  }
  Value remake(Value value, IRMapping &map) {
    if (Value known = map.lookupOrNull(value)) {
      return known;
    }
    for (Value operand : value.getDefiningOp()->getOperands()) {
      remake(operand, map);
    }
    inside.clone(*value.getDefiningOp(), map);
    return map.lookup(value);
  }

  /// Erases an op and what is made of its results, which nothing else reads.
  static void eraseFrom(Operation *op) {
    while (!op->use_empty()) {
      eraseFrom(*op->user_begin());
    }
    op->erase();
  }

  /// Reads a value of the program through as many of its views as there is an
  /// address formula for.
  Value read(Value value) {
    Source source = trace(value);
    ArrayRef<Operation *> views = source.chain;
    auto isReadableFrom = [&](Value leaf) {
      Inputs inputs;
      inputs.leaves.insert(leaf);
      return isReadable(value, inputs);
    };
    while (!views.empty() && !isReadableFrom(views.front()->getOperand(0))) {
      views = views.drop_front();
    }
    Value inner =
        argument(views.empty() ? value : views.front()->getOperand(0));
    for (Operation *view : views) {
      Operation *clone = inside.clone(*view);
      clone->setOperand(0, inner);
      inner = clone->getResult(0);
    }
    return inner;
  }

  Value argument(Value source) {
    Value &known = arguments[source];
    if (known) {
      return known;
    }
    Operation *literal = source.getDefiningOp();
    if (literal && nn::isLiteral(literal)) {
      return known = inside.clone(*literal)->getResult(0);
    }
    buffers.push_back(source);
    return known = body->addArgument(source.getType(), source.getLoc());
  }

  Operation *op;
  const PackedBy &packedBy;
  OpBuilder outside;
  std::unique_ptr<Block> body;
  OpBuilder inside;
  SmallVector<Value> buffers, mapped;
  DenseMap<Value, Value> arguments;
};

struct FormAttentionPass : nn::impl::FormAttentionBase<FormAttentionPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    PackedBy packedBy;
    for (Operation &op : getOperation().getBody().front()) {
      if (isa<nn::AttentionOp, nn::AttentionGradOp>(op)) {
        ops.push_back(&op);
      } else if (auto concat = dyn_cast<nn::ConcatOp>(op)) {
        nn::PackedGradients packed = nn::packedGradients(concat);
        for (const nn::PackedPlace &place : packed.places) {
          packedBy[place.gradient] = packed;
        }
      }
    }
    for (Operation *op : ops) {
      Hoisting(op).run();
      Forming(op, packedBy).run();
    }
  }
};

} // namespace
