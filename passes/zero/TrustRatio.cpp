//===- TrustRatio.cpp - LAMB's norms of whole parameters ------------------===//

#include "passes/zero/TrustRatio.h"

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Numerics.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

namespace {

/// Parameters begin, and shards end, at multiples of nn::kSquareBlock elements;
/// so each block of as many is of one parameter, whose number is its owner.
class TrustRatio {
public:
  TrustRatio(Program &program, const UnitStates &states, const UnitParts &parts,
             const nn::OptimizerOptions &options, Location location)
      : program(program), states(states), parts(parts), options(options),
        builder(program.terminator()), b(builder, location),
        count(states[parts.unit].getPlacements().size()) {
    for (auto [segment, value] :
         llvm::zip_equal(parts.segments, parts.parameters)) {
      if (count > 1) {
        owners.push_back(ownersOf(segment, blocksOf(value)));
      }
    }
  }

  SmallVector<Value> step(Value rate) {
    Value own = b.concat({limbsOf(parts.parameters), limbsOf(parts.directions)},
                         /*dim=*/0);
    Value norms = b.unary(nn::UnaryKind::sqrt, squares(own));
    Value rates = ratios(norms);
    rates = b.mul(b.broadcast(rate, {count}),
                  b.convert(rates, nn::elementOf(rate)));
    SmallVector<Value> made;
    for (auto [i, parameter] : llvm::enumerate(parts.parameters)) {
      Value change = b.mul(spread(rates, i), parts.directions[i]);
      made.push_back(b.sub(parameter, change));
    }
    return made;
  }

private:
  static int64_t blocksOf(Value flat) {
    return nn::shapeOf(flat)[0] / nn::kSquareBlock;
  }

  /// Returns a `tensor<Bxi64>`: for each block, how many parameters after the
  /// first have begun up to it.
  Value ownersOf(int64_t segment, int64_t blocks) {
    Type whole = builder.getI64Type();
    SmallVector<int64_t> begins;
    for (PlacementAttr place :
         llvm::drop_begin(states[parts.unit].getPlacements())) {
      begins.push_back(place.getOffset() / nn::kSquareBlock);
    }
    int64_t others = begins.size();
    auto type = RankedTensorType::get({1, others}, whole);
    Value first = builder.create<nn::ConstantOp>(
        b.location, type, DenseElementsAttr::get(type, ArrayRef(begins)));
    SmallVector<int64_t> shape = {blocks, others};
    Value begun = b.compare(nn::CompareKind::ge,
                            b.broadcast(numbersOf(segment, blocks), shape),
                            b.broadcast(first, shape));
    return b.reshape(b.sumRows(b.convert(begun, whole)), {blocks});
  }

  /// Returns a `tensor<Bx1xi64>`: the numbers of the blocks in the whole
  /// buffer.
  Value numbersOf(int64_t segment, int64_t blocks) {
    Type whole = builder.getI64Type();
    Value numbers = b.iota(RankedTensorType::get({blocks, 1}, whole), 0);
    if (segment < 0 || states.ranks(parts.unit) == 1) {
      return numbers; // the part is everything
    }
    int64_t before = 0;
    for (int64_t i = 0; i < segment; ++i) {
      before += states[parts.unit].getSegments()[i];
    }
    numbers = b.shift(numbers, double(before / nn::kSquareBlock));
    Value rank =
        program.scalar(nn::kRankScalar, RankedTensorType::get({1}, whole));
    Value skipped = b.reshape(b.scale(rank, double(blocks)), {1, 1});
    return b.add(numbers, b.broadcast(skipped, {blocks, 1}));
  }

  /// Returns a `tensor<Px33xf64>`: for each parameter, the sum of squares of
  /// what this rank has of it, as limbs.
  Value limbsOf(ValueRange values) {
    auto type =
        RankedTensorType::get({count, nn::kLimbs + 1}, builder.getF64Type());
    if (count == 1) {
      Value limbs = builder.create<nn::SumSquaresOp>(
          b.location, type.clone({nn::kLimbs + 1}), values);
      return b.reshape(limbs, type.getShape());
    }
    Value sum;
    for (auto [owner, value] : llvm::zip_equal(owners, values)) {
      Value blocks = builder.create<nn::BlockSquaresOp>(
          b.location, type.clone({blocksOf(value), nn::kLimbs + 1}), value);
      Value limbs = builder.create<nn::ScatterOp>(
          b.location, type, nn::ScatterKind::sum, owner, blocks,
          /*into=*/Value());
      sum = sum ? b.add(sum, limbs) : limbs;
    }
    return sum;
  }

  /// Returns the sums of squares over all ranks: of the parameters, then of
  /// their directions.
  Value squares(Value limbs) {
    if (states.shardsUpdate(parts.unit)) {
      auto flat = RankedTensorType::get({2 * count * (nn::kLimbs + 1)},
                                        builder.getF64Type());
      Value sum = builder.create<AllReduceOp>(
          b.location, flat, b.reshape(limbs, flat.getShape()),
          /*accumulator=*/Value(), states.axes(parts.unit),
          "norms of the parameters of " + states.name(parts.unit).str() +
              ", and of their steps");
      limbs = b.reshape(sum, {2 * count, nn::kLimbs + 1});
    }
    return builder.create<nn::LimbValueOp>(
        b.location, RankedTensorType::get({2 * count}, builder.getF64Type()),
        limbs);
  }

  /// Returns a `tensor<Pxf64>`: each parameter's ratio of norms.
  Value ratios(Value norms) {
    Value parameter = b.slice(norms, {0}, {1}, {count});
    Value direction = b.slice(norms, {count}, {1}, {count});
    Value ratio = b.div(parameter, direction);
    ratio = b.binary(nn::BinaryKind::max, ratio,
                     b.splat(ratio, options.lamb_min_coeff));
    ratio = b.binary(nn::BinaryKind::min, ratio,
                     b.splat(ratio, options.lamb_max_coeff));
    Value one = b.splat(ratio, 1), zero = b.splat(ratio, 0);
    for (Value norm : {parameter, direction}) {
      ratio = b.select(b.compare(nn::CompareKind::eq, norm, zero), one, ratio);
    }
    return ratio;
  }

  /// Gives each element of a part the number of its parameter.
  Value spread(Value numbers, size_t part) {
    ArrayRef<int64_t> shape = nn::shapeOf(parts.parameters[part]);
    if (count == 1) {
      return b.broadcast(numbers, shape);
    }
    int64_t blocks = blocksOf(parts.parameters[part]);
    Value ofBlocks = b.gather(numbers, owners[part]);
    Value rows = b.broadcast(b.reshape(ofBlocks, {blocks, 1}),
                             {blocks, nn::kSquareBlock});
    return b.reshape(rows, shape);
  }

  Program &program;
  const UnitStates &states;
  const UnitParts &parts;
  const nn::OptimizerOptions &options;
  OpBuilder builder;
  nn::NNBuilder b;
  int64_t count;
  SmallVector<Value> owners; ///< by part, if there are several parameters
};

} // namespace

SmallVector<Value> zero::stepByTrustRatio(Program &program,
                                          const UnitStates &states,
                                          const UnitParts &parts,
                                          const nn::OptimizerOptions &options,
                                          Value rate, Location location) {
  return TrustRatio(program, states, parts, options, location).step(rate);
}
