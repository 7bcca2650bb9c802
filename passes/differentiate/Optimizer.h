//===- Optimizer.h - optimizers as arithmetic on flat shards --------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_OPTIMIZER_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_OPTIMIZER_H

#include "passes/ir/nn/NNDialect.h"

#include <optional>

namespace mlir::zg::nn {

/// The numbers that PyTorch's torch.optim.SGD, Adam, AdamW and Adagrad take,
/// without the single-purpose flags (dampening, lr_decay and
/// initial_accumulator_value are 0, amsgrad and maximize are off), Lion as its
/// authors published it, and LAMB as DeepSpeed has it.
struct OptimizerOptions {
  enum Kind { sgd, adam, adamw, lion, adagrad, lamb };
  Kind kind = sgd;
  /// The learning rate of the configuration. Not in the program: the runtime
  /// computes the scalars below from it each step, so a schedule may vary it.
  double lr = 0;
  double momentum = 0;   // sgd
  bool nesterov = false; // sgd
  double beta1 = 0;      // adam, adamw, lion, lamb
  double beta2 = 0;
  /// adam, adamw: beta1 is another one each step, which the runtime knows.
  bool cycled_beta1 = false;
  double eps = 0; // adam, adamw, adagrad, lamb
  double weight_decay = 0;
  /// Elements of the mean gradient are limited to [-clip_value, clip_value];
  /// 0: they are not.
  double clip_value = 0;
  /// lamb: limits of a parameter's norm divided by that of its direction.
  double lamb_min_coeff = 0;
  double lamb_max_coeff = 0;
};

// Per-step scalars. The runtime computes them in double and rounds once to
// f32 or f64; `lr` is the step's learning rate; `update` counts the updates
// made, from 1, not the steps of the run, of which random numbers are made.

/// 1 / (ranks * micro-batches), times a clipping factor where there is one.
inline constexpr llvm::StringLiteral kGradientScale = "gradient_scale";
/// lr. Read by sgd, lion and adagrad.
inline constexpr llvm::StringLiteral kLearningRate = "learning_rate";
/// lr / (1 - beta1^update). Read by adam, adamw and lamb.
inline constexpr llvm::StringLiteral kStepSize = "step_size";
/// sqrt(1 - beta2^update). Read by adam, adamw and lamb.
inline constexpr llvm::StringLiteral kBiasCorrection2Sqrt =
    "bias_correction2_sqrt";
/// 1 - lr * weight_decay. Read by adamw and lion with weight decay.
inline constexpr llvm::StringLiteral kDecay = "decay";

/// 1 - beta1. Read by adam and adamw where beta1 is cycled.
inline constexpr llvm::StringLiteral kOneMinusBeta1 = "one_minus_beta1";

// States, one element a parameter element.
inline constexpr llvm::StringLiteral kMomentumBuffer = "momentum_buffer";
inline constexpr llvm::StringLiteral kExpAvg = "exp_avg";
inline constexpr llvm::StringLiteral kExpAvgSq = "exp_avg_sq";
inline constexpr llvm::StringLiteral kSum = "sum";

/// The optimizer of this name; nothing where there is none.
std::optional<OptimizerOptions::Kind> optimizerKind(StringRef name);
/// All names, for messages.
std::string optimizerNames();

/// Empty, or what is wrong with the options and what they may be.
std::string checkOptimizer(const OptimizerOptions &options);

/// The options that matter, by name: `{optimizer = "sgd", lr = 0.1, ...}`.
DictionaryAttr describeOptimizer(MLIRContext *context,
                                 const OptimizerOptions &options);

/// Takes over numbers that `describeOptimizer` names; gives what is wrong with
/// one, or nothing.
std::string changeOptimizer(OptimizerOptions &options, DictionaryAttr numbers);

/// The states that an optimizer keeps, in the order of `buildUpdate`. They
/// begin as zeros; PyTorch's momentum buffer begins as the first gradient,
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
/// `optimizerStates` names them, all of the parameter's type. `scalar(name)`
/// gives the `tensor<1xf32>`, or f64's, of a scalar and is called once for each
/// that the update reads. With g = gradientSum * gradient_scale, limited to
/// clip_value:
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
                   Value gradientSum, ValueRange states,
                   function_ref<Value(StringRef)> scalar);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_OPTIMIZER_H
