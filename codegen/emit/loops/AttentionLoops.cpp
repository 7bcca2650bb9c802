//===- AttentionLoops.cpp - how scores and probabilities are computed -----===//

#include "codegen/emit/loops/AttentionLoops.h"

#include "passes/ir/nn/NNBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

LogicalResult AttentionOperand::find(Value value) {
  ArrayRef<int64_t> shape = nn::shapeOf(value);
  graph.emplace(
      Domain{ShapedType::getNumElements(shape.drop_back()), shape.back()},
      /*reducesColumns=*/true);
  FailureOr<Node *> found = graph->add(value, Extent::Full);
  if (failed(found)) {
    return failure();
  }
  node = *found;
  return graph->resolve();
}

Node *AttentionOperand::stored() const {
  if (node->kind != Node::Kind::Op || !isa<nn::ConvertOp>(node->op)) {
    return nullptr;
  }
  Node *narrow = node->operands[0];
  return nn::isHalf(narrow->element) ? narrow : nullptr;
}

Type AttentionLoops::storedElement() const {
  SmallVector<const AttentionOperand *> operands = {&q, &k, &v};
  if (isGradient()) {
    operands.push_back(&dout);
  }
  Type found;
  for (const AttentionOperand *operand : operands) {
    Node *node = operand->stored();
    if (!node || (found && node->element != found)) {
      return {};
    }
    found = node->element;
  }
  return found;
}

/// Returns the one attention of a kernel, or its gradient.
static Operation *ownOp(nn::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    if (isa<nn::AttentionOp, nn::AttentionGradOp>(op)) {
      return &op;
    }
  }
  return nullptr;
}

LogicalResult AttentionLoops::find(nn::KernelOp kernel) {
  Operation *op = ownOp(kernel);
  if (!op) {
    return kernel.emitError("'")
           << nn::nameOf(kernel.getLoc())
           << "': a kernel of the form 'attention' has an nn.attention";
  }
  stored = storedResultsOf(kernel, op);
  forward = dyn_cast<nn::AttentionOp>(op);
  auto backward = dyn_cast<nn::AttentionGradOp>(op);
  shape = nn::AttentionShape::of(op->getOperand(0).getType(),
                                 op->getOperand(1).getType(),
                                 op->getOperand(2).getType());
  element = nn::elementOf(op->getOperand(0));
  if (failed(q.find(op->getOperand(0))) || failed(k.find(op->getOperand(1))) ||
      failed(v.find(op->getOperand(2)))) {
    return failure();
  }
  if (backward && (failed(dout.find(backward.getDout())) ||
                   failed(max.find(backward.getMax())) ||
                   failed(inverse.find(backward.getInverse())) ||
                   failed(delta.find(backward.getDelta())))) {
    return failure();
  }
  auto [extras, first] = nn::scoreInputsOf(op);
  Block &region = op->getRegion(0).front();
  scores.emplace(Domain{shape.batch * shape.heads * shape.keys, shape.queries},
                 /*reducesColumns=*/true);
  for (auto [number, argument] : llvm::enumerate(region.getArguments())) {
    if (number < first) {
      scores->give(argument);
    } else {
      scores->bind(argument, extras[number - first]);
    }
  }
  SmallVector<Node *> roots;
  auto add = [&](Value value) {
    FailureOr<Node *> node = scores->add(value, Extent::Full);
    roots.push_back(succeeded(node) ? *node : nullptr);
    return succeeded(node);
  };
  OperandRange yields = region.getTerminator()->getOperands();
  unsigned beforeFactor = nn::scoreYieldsOf(op);
  bool weighs = yields.size() > beforeFactor;
  bool hasBias = beforeFactor > 2;
  if (!add(region.getArgument(0)) || !add(yields[0]) ||
      (backward && (!add(region.getArgument(1)) || !add(yields[1]))) ||
      (hasBias && !add(yields[2])) || (weighs && !add(yields[beforeFactor])) ||
      failed(scores->resolve())) {
    return failure();
  }
  score = roots[0];
  x = roots[1];
  if (backward) {
    gradient = roots[2];
    ofScore = roots[3];
    ofBias = hasBias ? roots[4] : nullptr;
  }
  factor = weighs ? roots.back() : nullptr;
  window = ScoreWindow::of(x, shape.keys, shape.queries);
  return success();
}

int64_t AttentionLoops::queryBlocks() const {
  return llvm::divideCeil(shape.queries, kBlock);
}

int64_t AttentionLoops::keyBlocks() const {
  return llvm::divideCeil(shape.keys, kBlock);
}

int64_t AttentionLoops::seenScores() const {
  int64_t seen = 0;
  for (int64_t query = 0; query < shape.queries; query += kBlock) {
    int64_t lo = 0, hi = keyBlocks();
    if (window.ahead) {
      int64_t last =
          llvm::divideFloorSigned(query + kBlock - 1 + *window.ahead, kBlock);
      hi = std::clamp(last + 1, int64_t(0), hi);
    }
    if (window.behind) {
      lo =
          std::max(lo, llvm::divideFloorSigned(query - *window.behind, kBlock));
    }
    int64_t keys = std::min(hi * kBlock, shape.keys) - lo * kBlock;
    seen +=
        std::max(keys, int64_t(0)) * std::min(kBlock, shape.queries - query);
  }
  return seen * shape.batch * shape.heads;
}

/// Returns how many blocks of queries all heads have.
static int64_t allQueryBlocks(const AttentionLoops &loops) {
  return loops.shape.batch * loops.shape.heads * loops.queryBlocks();
}

/// Returns how many blocks of keys they have, in a kernel of the gradient.
static int64_t allKeyBlocks(const AttentionLoops &loops) {
  return loops.allKeyHeads() * loops.keyBlocks();
}

bool AttentionLoops::holdsHeads() const {
  // A thread's stack, which has 2 MiB where nothing limits it, holds them, in
  // rows of whole vectors.
  constexpr int64_t kMostBytes = 512 << 10, kLanes = 16;
  int64_t numbers = shape.group() * queryBlocks() * kBlock *
                    int64_t(llvm::alignTo(shape.size, kLanes));
  return numbers * (element.getIntOrFloatBitWidth() / 8) <= kMostBytes;
}

int64_t AttentionLoops::timesScored(bool wholeHeads) const {
  if (!isGradient()) {
    return 1;
  }
  constexpr int64_t kEnoughHeads = 8;
  bool once = wholeHeads && holdsHeads() && allKeyHeads() >= kEnoughHeads;
  return (once ? 1 : 2) + (ofBias ? 1 : 0);
}

int64_t AttentionLoops::items() const {
  int64_t items = allQueryBlocks(*this);
  if (isGradient()) {
    items += allKeyBlocks(*this);
  }
  if (ofBias) {
    items += shape.heads * queryBlocks() * keyBlocks();
  }
  return items;
}

std::pair<Value, Value> AttentionLoops::placeOf(Lanes &l, Value item,
                                                int64_t blocks) {
  auto [head, block] = l.divide(item, blocks);
  return {head, l.mul(block, l.index(kBlock))};
}

void AttentionLoops::forItem(
    Body &body, Value item, llvm::function_ref<void(Value, Value)> queries,
    llvm::function_ref<void(Value, Value)> keys,
    llvm::function_ref<void(Value, Value, Value)> bias) const {
  Lanes &l = body.lanes;
  Value first = l.index(allQueryBlocks(*this)); // of keys
  body.when(l.compare(arith::CmpIPredicate::slt, item, first), [&] {
    auto [head, query] = placeOf(l, item, queryBlocks());
    queries(head, query);
  });
  Value end = l.add(first, l.index(allKeyBlocks(*this)));
  Value isOfKeys = l.compare(arith::CmpIPredicate::sge, item, first);
  if (ofBias) {
    isOfKeys =
        l.logicalAnd(isOfKeys, l.compare(arith::CmpIPredicate::slt, item, end));
  }
  body.when(isOfKeys, [&] {
    auto [head, key] = placeOf(l, l.sub(item, first), keyBlocks());
    keys(head, key);
  });
  if (ofBias) {
    body.when(l.compare(arith::CmpIPredicate::sge, item, end),
              [&] { forBiasBlock(l, l.sub(item, end), bias); });
  }
}

void AttentionLoops::forBiasBlock(
    Lanes &l, Value number,
    llvm::function_ref<void(Value, Value, Value)> bias) const {
  auto [block, key] = placeOf(l, number, keyBlocks());
  auto [head, query] = placeOf(l, block, queryBlocks());
  bias(head, query, key);
}

/// Returns a node's value on the columns of a chunk as a vector.
static Value vectorOf(Body &body, Node *node, Chunk &chunk) {
  body.prepare(node);
  return body.lanes.splat(body.vector(node, chunk));
}

Value AttentionLoops::emitScores(Body &body, Chunk &chunk, Value value) const {
  chunk.values[score] = value;
  return vectorOf(body, x, chunk);
}

Value AttentionLoops::emitWeighed(Body &body, Chunk &chunk, Value value) const {
  return factor ? body.lanes.mul(value, vectorOf(body, factor, chunk)) : value;
}

Value AttentionLoops::emitGradient(Body &body, Chunk &chunk, Value value,
                                   bool isOfBias) const {
  chunk.values[gradient] = value;
  return vectorOf(body, isOfBias ? ofBias : ofScore, chunk);
}

/// Returns whether `a` is at most `b`, and what is required besides holds.
static Value atMost(Lanes &l, Value a, Value b, Value besides) {
  Value holds = l.compare(arith::CmpIPredicate::sle, a, b);
  return besides ? l.logicalAnd(besides, holds) : holds;
}

Value AttentionLoops::sees(Lanes &l, Value query, Value key,
                           llvm::function_ref<Value()> all) const {
  Value result;
  if (window.ahead) {
    Value last = l.add(query, l.index(kBlock - 1 + *window.ahead));
    result = atMost(l, key, last, result);
  }
  if (window.behind) {
    Value last = l.add(key, l.index(kBlock - 1 + *window.behind));
    result = atMost(l, query, last, result);
  }
  return result ? l.logicalOr(result, all()) : result;
}

std::pair<Value, Value> AttentionLoops::blocksOf(Lanes &l, Value first,
                                                 std::optional<int64_t> before,
                                                 std::optional<int64_t> after,
                                                 int64_t blocks) {
  auto blockOf = [&](int64_t distance) {
    Value place = l.add(first, l.index(distance));
    return l.b.create<arith::ShRSIOp>(place, l.index(llvm::Log2_64(kBlock)));
  };
  Value lo = before ? l.max(blockOf(-*before), l.index(0)) : l.index(0);
  Value hi = after ? l.min(l.add(blockOf(kBlock - 1 + *after), l.index(1)),
                           l.index(blocks))
                   : l.index(blocks);
  return {lo, hi};
}

std::pair<Value, Value> AttentionLoops::keyBlocksOf(Lanes &l,
                                                    Value query) const {
  return blocksOf(l, query, window.behind, window.ahead, keyBlocks());
}

std::pair<Value, Value> AttentionLoops::queryBlocksOf(Lanes &l,
                                                      Value key) const {
  return blocksOf(l, key, window.ahead, window.behind, queryBlocks());
}

Value AttentionLoops::leavesAll(Lanes &l, Value query, Value key,
                                int64_t queries, int64_t keys) const {
  Value result;
  if (window.ahead) {
    Value first = l.add(key, l.index(keys - 1 - *window.ahead));
    result = atMost(l, first, query, result);
  }
  if (window.behind) {
    Value first = l.add(query, l.index(queries - 1 - *window.behind));
    result = atMost(l, first, key, result);
  }
  return result;
}

void AttentionLoops::assumeLeft(Lanes &l, Chunk &chunk) const {
  for (auto [condition, holds] : window.known) {
    chunk.values[condition] =
        l.integer(l.vectorOf(l.b.getI1Type()), holds ? 1 : 0);
  }
}

bool AttentionLoops::mayMaskAll() const {
  int64_t ahead = window.ahead.value_or(shape.keys);
  int64_t behind = window.behind.value_or(shape.queries);
  if (window.isWhole()) {
    return false;
  }
  bool leavesNone = ahead < 0 || ahead + behind < 0 ||
                    shape.queries - 1 - behind >= shape.keys;
  auto isKnown = [&](const Node &node) {
    return llvm::any_of(window.known,
                        [&](auto &known) { return known.first == &node; });
  };
  // A condition that the window does not follow may mask any key.
  return leavesNone || llvm::any_of(scores->getNodes(), [&](const Node &node) {
           bool compares = node.kind == Node::Kind::Op &&
                           isa<nn::CompareOp>(node.op) && !isKnown(node);
           return compares || node.kind == Node::Kind::Load;
         });
}

OperandRows AttentionLoops::queriesFrom(Lanes &l, Value head,
                                        Value first) const {
  return rowsFrom(l, first, shape.queries, head, shape.heads);
}

OperandRows AttentionLoops::keysFrom(Lanes &l, Value head, Value first) const {
  Value keyHead = l.b.create<arith::DivUIOp>(head, l.index(shape.group()));
  return rowsFrom(l, first, shape.keys, keyHead, shape.keyHeads);
}

OperandRows AttentionLoops::biasFrom(Lanes &l, Value head,
                                     Value firstKey) const {
  return rowsFrom(l, firstKey, shape.keys, head, 1);
}

SmallVector<Value> AttentionLoops::added(Lanes &l, ValueRange left,
                                         ValueRange right) {
  SmallVector<Value> sums;
  for (auto [one, other] : llvm::zip_equal(left, right)) {
    sums.push_back(l.add(one, other));
  }
  return sums;
}

SmallVector<Value> AttentionLoops::addSamples(
    Body &body, Value head, ValueRange zeros,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> add) const {
  Lanes &l = body.lanes;
  Value all = l.index(shape.batch);
  return body.loop(
      l.index(0), all, nn::kRowBlock, zeros, [&](Value lo, ValueRange total) {
        Value hi = l.min(l.add(lo, l.index(nn::kRowBlock)), all);
        SmallVector<Value> block =
            body.loop(lo, hi, 1, zeros, [&](Value sample, ValueRange carried) {
              return add(l.add(l.mul(sample, l.index(shape.heads)), head),
                         carried);
            });
        return added(l, total, block);
      });
}

OperandRows AttentionLoops::rowsFrom(Lanes &l, Value first, int64_t each,
                                     Value number, int64_t heads) const {
  auto [sample, ofSample] = l.divide(number, heads);
  Value row = l.add(l.mul(sample, l.index(each)), first);
  return {l.add(l.mul(row, l.index(heads)), ofSample), heads,
          l.min(l.index(kBlock), l.sub(l.index(each), first))};
}

Value AttentionLoops::isMasked(Lanes &l, Value least) const {
  // A NaN hides the others, so it counts as masked.
  return l.compare(arith::CmpFPredicate::ULT, least,
                   l.real(element, kMasked / 2));
}

Value AttentionLoops::zeroIfEqual(Lanes &l, Value tested, double number,
                                  Value otherwise) {
  Value equal = l.compare(arith::CmpFPredicate::OEQ, tested,
                          l.real(tested.getType(), number));
  return l.select(equal, l.zero(otherwise.getType()), otherwise);
}

Value AttentionLoops::foldChains(Lanes &l,
                                 llvm::function_ref<Value(int64_t)> chain) {
  static_assert(nn::kRowChains == 64);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < 16; ++i) {
    parts.push_back(l.add(l.add(chain(i), chain(i + 16)),
                          l.add(chain(i + 32), chain(i + 48))));
  }
  for (int64_t half = 8; half >= 1; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      parts[i] = l.add(parts[i], parts[i + half]);
    }
  }
  return parts[0];
}
