//===- AttentionCandidate.h - a softmax that could be attention -----------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_ATTENTIONCANDIDATE_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_ATTENTIONCANDIDATE_H

#include "passes/differentiate/ScoreRegion.h"
#include "passes/differentiate/TrainedBias.h"
#include "passes/ir/nn/RandomNumbers.h"
#include "passes/ir/nn/Samples.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::nn {

/// One softmax and what is around it.
class AttentionCandidate {
public:
  AttentionCandidate(SoftmaxOp softmax, const DenseSet<Value> &trained,
                     const SampleAnalysis &analysis)
      : softmax(softmax), trained(trained), analysis(analysis) {}

  /// Returns whether it multiplies scores of products: it could be attention.
  /// If it cannot become `nn.attention`, `reason` says why.
  bool match(std::string &reason);
  /// Makes it `nn.attention`, once it has matched without a reason against it.
  void replace();

private:
  bool findValues(std::string &reason);
  void findScores(Value value);
  bool dependsOnScores(Value value);
  void collect(Value value);
  void collectTrained(Value value);
  bool checkSizes(std::string &reason);
  bool findSamples(std::string &reason);

  SmallVector<int64_t, 4> leading();
  Value headed(NNBuilder &b, Value matrices, bool transposed);
  void writeScores(NNBuilder &b, AttentionOp attention, double factor);
  Value keptFactor(NNBuilder &b, const ScoreRegion &region);

  SoftmaxOp softmax;
  const DenseSet<Value> &trained;
  const SampleAnalysis &analysis;
  /// The products before and after the softmax.
  MatmulOp scores, values;
  /// Products of as many elements that the softmax is of.
  SetVector<Operation *> products;
  DropoutOp dropout;
  /// The samples of the probabilities, as a dropout has them.
  SmallVector<int64_t> samples;
  RandomScalars random;
  bool zeroMasked = false;
  DenseMap<Value, bool> depends;
  /// Ops that become part of the region, and what it reads from outside.
  SetVector<Operation *> members;
  SetVector<Value> extras;
  TrainedBias bias;
  /// The extra that the bias becomes.
  Value extraBias;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_ATTENTIONCANDIDATE_H
