//===- Samples.h - which dimension of a value holds the samples -----------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_SAMPLES_H
#define ZEROGRAPH_PASSES_IR_NN_SAMPLES_H

#include "passes/ir/nn/NNDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::zg::nn {

/// The facts that are known of the samples in a value.
struct Samples {
  enum Kind {
    None,  ///< It depends on no per-sample input.
    At,    ///< They are a factor of dimension `dim`.
    Mixed, ///< It depends on samples, but not by one dimension.
  };
  Kind kind = None;
  int64_t dim = 0;
  /// The factor of that dimension before theirs: 1 where samples lead, S in a
  /// dimension of S x samples.
  int64_t outer = 1;
  /// An op through which a sample's part of the value depends on other samples
  /// too; null: it depends on its own alone.
  Operation *mixer = nullptr;

  static Samples at(int64_t dim, int64_t outer = 1) {
    return {At, dim, outer, nullptr};
  }
  static Samples mixedBy(Operation *op) { return {Mixed, 0, 1, op}; }
  /// The same place, where it is a part of a value that `op` mixes.
  Samples alsoMixedBy(Operation *op) const {
    return {kind, dim, outer, mixer ? mixer : op};
  }
  bool isAt(int64_t other) const { return kind == At && dim == other; }
};

/// Follows the samples through a forward program of nn ops. A micro-batch of
/// one sample cannot be mixed.
class SampleAnalysis {
public:
  /// Analyzes a whole program; its attributes say which inputs have samples.
  explicit SampleAnalysis(ProgramOp forward);
  /// Analyzes the ops that `body` has so far; `inputs` have samples in front,
  /// as many each, or several rows of each.
  SampleAnalysis(Block &body, ValueRange inputs);

  /// Returns the samples of a value of the program.
  Samples of(Value value) const { return known.lookup(value); }
  /// The op by which what `value` is computed from mixes samples other than by
  /// adding them up, as a mean loss does; null: there is none.
  Operation *mixerBehind(Value value) const;
  /// Samples in a micro-batch.
  int64_t count() const { return samples; }

private:
  void follow(Block &body, ValueRange inputs);
  Samples compute(Operation *op) const;
  Samples join(Operation *op, ArrayRef<Samples> parts) const;
  Samples joinOperands(Operation *op) const;
  Samples throughRows(Operation *op) const;
  Samples through(ReshapeOp op) const;
  Samples through(TransposeOp op) const;
  Samples through(SliceOp op) const;
  Samples through(AttentionOp op) const;
  Samples through(PadOp op) const;
  Samples through(ConcatOp op) const;
  Samples through(ReduceOp op) const;
  Samples through(CumsumOp op) const;
  Samples through(PoolOp op) const;
  Samples through(MatmulOp op) const;
  Samples through(ConvolutionOp op) const;
  Samples through(GatherOp op) const;
  Samples through(ScatterOp op) const;

  int64_t samples = 1;
  DenseMap<Value, Samples> known;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_SAMPLES_H
