//===- Optimizer.h - optimizers as arithmetic on flat shards --------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_OPTIMIZER_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_OPTIMIZER_H

#include "options/Optimizers.h"
#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// Chooses what updates parameters: one of PyTorch's torch.optim.SGD, Adam,
/// AdamW and Adagrad, without the single-purpose flags (dampening, lr_decay and
/// initial_accumulator_value are 0, amsgrad and maximize are off), Lion as its
/// authors published it, or LAMB as DeepSpeed has it; and its numbers.
struct OptimizerOptions : zerograph::options::Hyperparameters {
  const zerograph::options::Optimizer *kind =
      zerograph::options::findOptimizer("sgd");
  /// beta1 is another one each step, which the runtime knows.
  bool cycled_beta1 = false;
  /// Elements of the mean gradient are limited to [-clip_value, clip_value];
  /// 0: they are not.
  double clip_value = 0;
};

/// The scalar 1 / (ranks * micro-batches), times a clipping factor where there
/// is one.
inline constexpr llvm::StringLiteral kGradientScale = "gradient_scale";

/// Returns what is wrong with the options; empty: nothing.
std::string checkOptimizer(const OptimizerOptions &options);

/// Returns the numbers that the optimizer takes, and its name:
/// `{optimizer = "sgd", lr = 0.1, ...}`.
DictionaryAttr describeOptimizer(MLIRContext *context,
                                 const OptimizerOptions &options);

/// Returns the numbers of such a description.
zerograph::options::Hyperparameters hyperparametersOf(DictionaryAttr described);

/// Gives options the numbers of a group of parameters. Returns what is wrong
/// with them; empty: nothing.
std::string changeOptimizer(OptimizerOptions &options, DictionaryAttr numbers);

/// Returns the states that an optimizer keeps, in the order of `buildUpdate`.
/// They begin as zeros; PyTorch's momentum buffer begins as the first gradient,
/// which is the same: momentum * 0 + g.
SmallVector<StringRef> optimizerStates(const OptimizerOptions &options);

struct Update {
  /// The new one; of lamb null, see `direction`.
  Value parameter;
  SmallVector<Value> states;
  /// The direction of lamb. How far to go along it depends on the norms of a
  /// whole parameter, of which a shard may have a part: see zero/TrustRatio.h.
  Value direction = {};
};

/// Emits the update of one flat shard `tensor<NxT>`; `gradientSum` is the fold
/// over ranks and micro-batches before scaling, states are as
/// `optimizerStates` names them, all of the parameter's type. `gradientScale`
/// is a `tensor<1xf32>`, or f64's. `scalar` gives such a one for a scalar, and
/// is called once for each that the update reads. With g = gradientSum *
/// gradientScale, limited to clip_value:
///
///     sgd:    g = g + weight_decay * p                   if weight_decay != 0
///             buf = momentum * buf + g                   if momentum != 0
///             g = g + momentum * buf  (nesterov)  or  buf
///             p = p - learning_rate * g
///     adam:   g = g + weight_decay * p                   if weight_decay != 0
///     adamw:  p = p * decay                              if weight_decay != 0
///     both:   m = m + (1 - beta1) * (g - m)
///             v = beta2 * v + ((1 - beta2) * g) * g
///             p = p - step_size * (m / (sqrt(v) / bias_correction2_sqrt +
///             eps))
///     lion:   p = p * decay                              if weight_decay != 0
///             p = p - learning_rate * sign(beta1 * m + (1 - beta1) * g)
///             m = beta2 * m + (1 - beta2) * g
///     adagrad: g = g + weight_decay * p                  if weight_decay != 0
///             s = s + g * g
///             p = p - learning_rate * (g / (sqrt(s) + eps))
///     lamb:   m = beta1 * m + (1 - beta1) * g
///             v = beta2 * v + ((1 - beta2) * g) * g
///             u = m / (sqrt(v) + eps) + weight_decay * p
///
/// and then, of lamb, with the norms of each parameter and its direction u,
///
///     r = |p| / |u| within [lamb_min_coeff, lamb_max_coeff]; 1 where one is 0
///     p = p - ((step_size * bias_correction2_sqrt) * r) * u
///
/// The sign of 0 is 0 (DeepSpeed's Lion then adds the learning rate).
/// Every operation is one correctly rounded + - * / or sqrt in this order;
/// constants such as 1 - beta1 are computed in double and rounded once. So
/// updates on any device and for any shard agree to the bit.
Update buildUpdate(OpBuilder &builder, Location location,
                   const OptimizerOptions &options, Value parameter,
                   Value gradientSum, Value gradientScale, ValueRange states,
                   function_ref<Value(zerograph::options::Scalar)> scalar);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_OPTIMIZER_H
