//===- AttentionCandidate.cpp - a softmax that could be attention ---------===//

#include "passes/differentiate/AttentionCandidate.h"

#include "mlir/IR/Matchers.h"
#include "passes/differentiate/HeadViews.h"
#include "passes/differentiate/rules/Rule.h"
#include "passes/ir/nn/Attention.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns the number that every element of `value` is, if it is a constant.
std::optional<double> splatNumber(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isPlainView(op)) {
      break;
    }
    if (isa<PadOp>(op)) {
      return std::nullopt;
    }
    value = op->getOperand(0);
  }
  SplatElementsAttr splat;
  if (!matchPattern(value, m_Constant(&splat)) || !isFloat(value)) {
    return std::nullopt;
  }
  return splat.getSplatValue<APFloat>().convertToDouble();
}

/// Takes factors that are constants off a value, down through its views:
/// returns the value without them and multiplies `factor` by each.
Value withoutFactors(OpBuilder &builder, Value value, double &factor) {
  Operation *op = value.getDefiningOp();
  if (auto binary = dyn_cast_or_null<BinaryOp>(op)) {
    bool multiplies = binary.getKind() == BinaryKind::mul;
    if (!multiplies && binary.getKind() != BinaryKind::div) {
      return value;
    }
    std::optional<double> left = splatNumber(binary.getLhs());
    std::optional<double> right = splatNumber(binary.getRhs());
    if (right) {
      factor = multiplies ? factor * *right : factor / *right;
      return withoutFactors(builder, binary.getLhs(), factor);
    }
    if (left && multiplies) {
      factor *= *left;
      return withoutFactors(builder, binary.getRhs(), factor);
    }
    return value;
  }
  if (op && isPlainView(op) && !isa<PadOp>(op)) {
    Value source = withoutFactors(builder, op->getOperand(0), factor);
    if (source != op->getOperand(0)) {
      IRMapping mapping;
      mapping.map(op->getOperand(0), source);
      return builder.clone(*op, mapping)->getResult(0);
    }
  }
  return value;
}

} // namespace

/// Follows the probabilities to the product that they weigh values in.
bool AttentionCandidate::findValues(std::string &reason) {
  Value y = softmax.getResult();
  for (Operation *user : y.getUsers()) {
    if (auto select = dyn_cast<SelectOp>(user);
        select && givesZeroForNaN(select)) {
      zeroMasked = true;
      if (!llvm::all_of(y.getUsers(), [&](Operation *other) {
            return other == select ||
                   other == select.getCondition().getDefiningOp();
          })) {
        reason = "something else reads its probabilities";
      }
      y = select.getResult();
      break;
    }
  }
  while (true) {
    for (OpOperand &use : y.getUses()) {
      auto matmul = dyn_cast<MatmulOp>(use.getOwner());
      if (matmul && use.getOperandNumber() == 0 && !matmul.getTransposeA()) {
        values = matmul;
      }
    }
    if (!y.hasOneUse()) {
      reason = "something else reads its probabilities";
      return values != nullptr;
    }
    if (values) {
      return true;
    }
    Operation *user = *y.getUsers().begin();
    auto reshape = dyn_cast<ReshapeOp>(user);
    auto drop = dyn_cast<DropoutOp>(user);
    if (drop && !dropout && drop.getMask().use_empty()) {
      dropout = drop;
      y = drop.getResult();
    } else if (reshape && shapeOf(reshape).size() >= 2 &&
               shapeOf(reshape).take_back(2) == shapeOf(y).take_back(2)) {
      y = reshape.getResult();
    } else {
      return false;
    }
  }
}

/// Finds the products that the scores are made of.
void AttentionCandidate::findScores(Value value) {
  SetVector<Operation *> seen;
  if (Operation *op = value.getDefiningOp()) {
    seen.insert(op);
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    Operation *op = seen[i];
    if (isa<MatmulOp>(op)) {
      if (ShapedType::getNumElements(shapeOf(op->getResult(0))) ==
          ShapedType::getNumElements(shapeOf(softmax))) {
        products.insert(op);
      }
    } else if (isElementwise(op) || isPlainView(op)) {
      for (Value operand : op->getOperands()) {
        if (Operation *source = operand.getDefiningOp()) {
          seen.insert(source);
        }
      }
    }
  }
}

/// Returns the samples and heads: those that a bias is repeated for, else those
/// that the softmax has. A softmax that has them merged may be of scores that
/// have not, as for a mask to be added.
SmallVector<int64_t, 4> AttentionCandidate::leading() {
  if (bias) {
    return leadingOf(shapeOf(bias.repeated()));
  }
  ArrayRef<int64_t> shape = shapeOf(softmax);
  for (Operation *member : members) {
    Value value = member->getResult(0);
    if (shape.size() == 3 && shapeOf(value).size() > 3 &&
        shapeOf(value).take_back(2) == shape.take_back(2) &&
        dependsOnScores(value)) {
      shape = shapeOf(value);
    }
  }
  return leadingOf(shape);
}

bool AttentionCandidate::dependsOnScores(Value value) {
  auto [known, isNew] = depends.try_emplace(value, false);
  Operation *op = value.getDefiningOp();
  if (!isNew || !op) {
    return known->second;
  }
  bool result =
      op == scores || ((isElementwise(op) || isPlainView(op)) &&
                       llvm::any_of(op->getOperands(), [&](Value operand) {
                         return dependsOnScores(operand);
                       }));
  return depends[value] = result;
}

/// Collects what is computed of the scores in the region. What does not depend
/// on them is computed there too if it is cheap: masks need no memory then.
void AttentionCandidate::collect(Value value) {
  Operation *op = value.getDefiningOp();
  if (op == scores || (op && members.contains(op))) {
    return;
  }
  if (trained.contains(value) && isFloat(value) && !dependsOnScores(value)) {
    collectTrained(value);
    return;
  }
  bool isMember =
      op && (isLiteral(op) || isPlainView(op) || dependsOnScores(value) ||
             (isElementwise(op) && !isCostly(op)));
  if (!isMember) {
    extras.insert(value);
    return;
  }
  members.insert(op);
  for (Value operand : op->getOperands()) {
    collect(operand);
  }
}

/// Collects a trained value that does not depend on the scores. What is cheap
/// to compute of one such value and others, masks, is computed in the region.
void AttentionCandidate::collectTrained(Value value) {
  Operation *op = value.getDefiningOp();
  bool splits = op && isa<ReshapeOp>(op) && !isForAll(value);
  bool isCheap = op && isElementwise(op) && !isCostly(op);
  if (isCheap && isForAll(value)) {
    isCheap = llvm::count_if(op->getOperands(), [&](Value operand) {
                return trained.contains(operand);
              }) == 1;
  }
  if (!splits && !isCheap) {
    bias.take(value, softmax);
    return;
  }
  members.insert(op);
  for (Value operand : op->getOperands()) {
    collect(operand);
  }
}

bool AttentionCandidate::checkSizes(std::string &reason) {
  Type element = elementOf(softmax);
  if (!(element.isF32() || element.isF64()) || elementOf(scores) != element ||
      elementOf(scores.getLhs()) != element || elementOf(values) != element ||
      elementOf(values.getRhs()) != element) {
    reason = "it does not compute in one type, f32 or f64";
    return false;
  }
  bool ta = scores.getTransposeA(), tb = values.getTransposeB();
  int64_t size = shapeOf(scores.getLhs()).take_back(2)[ta ? 0 : 1];
  int64_t valueSize = shapeOf(values.getRhs()).take_back(2)[tb ? 0 : 1];
  if (std::max(size, valueSize) > kMaxHeadSize) {
    reason = "its heads have " + std::to_string(std::max(size, valueSize)) +
             " elements, more than " + std::to_string(kMaxHeadSize);
    return false;
  }
  return true;
}

/// Finds where samples are: random numbers of a dropout follow from the place
/// of an element among those of its sample.
bool AttentionCandidate::findSamples(std::string &reason) {
  Samples all = analysis.of(dropout.getOperand());
  if (all.isAt(0) && all.outer == 1 &&
      shapeOf(dropout.getResult()) == shapeOf(softmax)) {
    samples = {0, analysis.count()};
  } else if (all.kind != Samples::None) {
    reason = "its probabilities are dropped out, and samples are not in front";
    return false;
  }
  return true;
}

bool AttentionCandidate::match(std::string &reason) {
  if (shapeOf(softmax).size() < 3) {
    return false; // a matrix: its rows may be samples
  }
  findScores(softmax.getOperand());
  if (products.empty() || !findValues(reason)) {
    return false;
  }
  if (!reason.empty()) {
    return true;
  }
  if (products.size() > 1) {
    reason = "its scores are a sum of several products";
    return true;
  }
  scores = cast<MatmulOp>(products.front());
  if (shapeOf(scores).take_back(2) != shapeOf(softmax).take_back(2)) {
    reason = "its scores are moved before the softmax";
    return true;
  }
  if (!checkSizes(reason) || (dropout && !findSamples(reason))) {
    return true;
  }
  collect(softmax.getOperand());
  for (Operation *member : members) {
    if (isPlainView(member) && !isa<ReshapeOp>(member) &&
        dependsOnScores(member->getResult(0))) {
      reason = "its scores are moved before the softmax";
    }
  }
  bias.checkBlocks();
  if (!bias.problem().empty()) {
    reason = bias.problem();
  }
  return true;
}

/// Returns matrices as [batch, rows, heads, columns].
Value AttentionCandidate::headed(NNBuilder &b, Value matrices,
                                 bool transposed) {
  SmallVector<int64_t, 4> shape = leading();
  llvm::append_range(shape, shapeOf(matrices).take_back(2));
  return b.transpose(b.reshape(matrices, shape),
                     transposed ? ArrayRef<int64_t>{0, 3, 1, 2}
                                : ArrayRef<int64_t>{0, 2, 1, 3});
}

void AttentionCandidate::writeScores(NNBuilder &b, AttentionOp attention,
                                     double factor) {
  OpBuilder::InsertionGuard guard(b.builder);
  Block &block = attention.getScores().emplaceBlock();
  SmallVector<int64_t, 4> queriesByKeys = leading();
  llvm::append_range(queriesByKeys, shapeOf(softmax).take_back(2));
  SmallVector<int64_t, 4> keysByQueries = queriesByKeys;
  std::swap(keysByQueries[2], keysByQueries[3]);
  auto type = RankedTensorType::get(keysByQueries, elementOf(softmax));
  // Locations of arguments would stand at the head of every dump.
  Location nowhere = b.builder.getUnknownLoc();
  Value score = block.addArgument(type, nowhere);
  ScoreRegion region(b, members, queriesByKeys);
  for (Value extra : extras) {
    region.setExtra(extra, block.addArgument(extra.getType(), nowhere));
  }
  b.builder.setInsertionPointToStart(&block);
  if (bias) {
    region.setShaped(bias.repeated(),
                     bias.repeat(b, region.extra(extraBias), keysByQueries));
  }
  Value own = b.transpose(score, {0, 1, 3, 2});
  region.setShaped(scores, factor == 1 ? own : b.scale(own, factor));
  auto turned = [&](Value value) {
    return b.transpose(b.reshape(value, queriesByKeys), {0, 1, 3, 2});
  };
  SmallVector<Value> yields = {turned(region.shaped(softmax.getOperand()))};
  if (dropout) {
    yields.push_back(turned(keptFactor(b, region)));
  }
  b.builder.create<YieldOp>(b.location, yields);
}

Value AttentionCandidate::keptFactor(NNBuilder &b, const ScoreRegion &region) {
  RandomScalars inside = {region.extra(random.seed), region.extra(random.step),
                          region.extra(random.sampleBase)};
  Value kept = keptElements(b, dropout, samples, inside);
  double ratio = dropout.getRatio().convertToDouble();
  return b.keepIf(kept, b.splat(softmax.getResult(), 1 / (1 - ratio)));
}

void AttentionCandidate::replace() {
  OpBuilder builder(values);
  NNBuilder b(builder, softmax.getLoc());
  double factor = 1;
  Value lhs = withoutFactors(builder, scores.getLhs(), factor);
  Value rhs = withoutFactors(builder, scores.getRhs(), factor);
  Value q = headed(b, lhs, scores.getTransposeA());
  Value k = headed(b, rhs, !scores.getTransposeB());
  Value v = headed(b, values.getRhs(), values.getTransposeB());
  Value groupedK = withoutRepeatedHeads(b, k);
  Value groupedV = withoutRepeatedHeads(b, v);
  if (shapeOf(groupedK)[2] == shapeOf(groupedV)[2]) {
    k = groupedK;
    v = groupedV;
  }
  q = straightened(b, q);
  k = straightened(b, k);
  v = straightened(b, v);
  if (bias) {
    extraBias = bias.turned(b);
    extras.insert(extraBias);
  }
  if (dropout) {
    random = randomScalars(b);
    for (Value scalar : {random.seed, random.step, random.sampleBase}) {
      extras.insert(scalar);
    }
  }
  AttentionShape shape =
      AttentionShape::of(q.getType(), k.getType(), v.getType());
  Type element = elementOf(q);
  auto out = RankedTensorType::get(
      {shape.batch, shape.queries, shape.heads, shape.valueSize}, element);
  auto rows =
      RankedTensorType::get({shape.batch, shape.heads, shape.queries}, element);
  auto attention =
      builder.create<AttentionOp>(b.location, TypeRange{out, rows, rows}, q, k,
                                  v, extras.getArrayRef(), zeroMasked);
  writeScores(b, attention, factor);
  Value heads = b.transpose(attention.getOut(), {0, 2, 1, 3});
  values.replaceAllUsesWith(b.reshape(heads, shapeOf(values)));
}
