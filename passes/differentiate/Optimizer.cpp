//===- Optimizer.cpp - optimizers as arithmetic on flat shards ------------===//

#include "passes/differentiate/Optimizer.h"

#include "passes/ir/nn/NNBuilder.h"

using namespace mlir;
using namespace mlir::zg::nn;
using zerograph::options::Hyperparameter;
using zerograph::options::kHyperparameters;
using zerograph::options::kOptimizers;
using zerograph::options::Scalar;

namespace {

/// The operands of a formula, all of one type and shape.
struct Operands {
  NNBuilder &b;
  const OptimizerOptions &options;
  Value parameter;
  Value gradient; // the mean one
  ValueRange states;
  function_ref<Value(Scalar)> scalar;
};

/// Adds the decay of the parameter to a gradient or direction.
Value withDecay(const Operands &on, Value gradient) {
  double decay = on.options.weight_decay;
  return decay == 0 ? gradient
                    : on.b.add(gradient, on.b.scale(on.parameter, decay));
}

/// Returns the parameter, decayed apart from the gradient.
Value decayed(const Operands &on) {
  return on.options.weight_decay == 0
             ? on.parameter
             : on.b.mul(on.parameter, on.scalar(Scalar::decay));
}

Update buildSgd(const Operands &on) {
  NNBuilder &b = on.b;
  Update update;
  Value gradient = withDecay(on, on.gradient);
  if (double momentum = on.options.momentum; momentum != 0) {
    Value buffer = b.add(b.scale(on.states[0], momentum), gradient);
    update.states.push_back(buffer);
    gradient = on.options.nesterov != 0
                   ? b.add(gradient, b.scale(buffer, momentum))
                   : buffer;
  }
  Value step = b.mul(gradient, on.scalar(Scalar::learning_rate));
  update.parameter = b.sub(on.parameter, step);
  return update;
}

/// Returns v = beta2 * v + ((1 - beta2) * g) * g.
Value secondMoment(const Operands &on, Value gradient) {
  NNBuilder &b = on.b;
  double beta2 = on.options.beta2;
  Value square = b.mul(b.scale(gradient, 1 - beta2), gradient);
  return b.add(b.scale(on.states[1], beta2), square);
}

/// Returns the step of Adam from a parameter by a gradient.
Update stepByMoments(const Operands &on, Value parameter, Value gradient) {
  NNBuilder &b = on.b;
  Value toward = b.sub(gradient, on.states[0]);
  toward = on.options.cycled_beta1
               ? b.mul(toward, on.scalar(Scalar::one_minus_beta1))
               : b.scale(toward, 1 - on.options.beta1);
  Value mean = b.add(on.states[0], toward);
  Value variance = secondMoment(on, gradient);
  Value deviation = b.div(b.unary(UnaryKind::sqrt, variance),
                          on.scalar(Scalar::bias_correction2_sqrt));
  Value direction = b.div(mean, b.shift(deviation, on.options.eps));
  Value step = b.mul(direction, on.scalar(Scalar::step_size));
  return {b.sub(parameter, step), {mean, variance}};
}

Update buildAdam(const Operands &on) {
  return stepByMoments(on, on.parameter, withDecay(on, on.gradient));
}

Update buildAdamW(const Operands &on) {
  return stepByMoments(on, decayed(on), on.gradient);
}

/// Returns a * x + (1 - a) * y.
Value mix(NNBuilder &b, double a, Value x, Value y) {
  return b.add(b.scale(x, a), b.scale(y, 1 - a));
}

Update buildLion(const Operands &on) {
  NNBuilder &b = on.b;
  Value parameter = decayed(on);
  Value mean = on.states[0];
  Value direction =
      b.unary(UnaryKind::sign, mix(b, on.options.beta1, mean, on.gradient));
  Value step = b.mul(direction, on.scalar(Scalar::learning_rate));
  return {b.sub(parameter, step),
          {mix(b, on.options.beta2, mean, on.gradient)}};
}

Update buildAdagrad(const Operands &on) {
  NNBuilder &b = on.b;
  Value gradient = withDecay(on, on.gradient);
  Value sum = b.add(on.states[0], b.mul(gradient, gradient));
  Value deviation = b.unary(UnaryKind::sqrt, sum);
  Value direction = b.div(gradient, b.shift(deviation, on.options.eps));
  Value step = b.mul(direction, on.scalar(Scalar::learning_rate));
  return {b.sub(on.parameter, step), {sum}};
}

/// As DeepSpeed's FusedLamb: the moments in the direction are not corrected,
/// the rate is.
Update buildLamb(const Operands &on) {
  NNBuilder &b = on.b;
  Value mean = mix(b, on.options.beta1, on.states[0], on.gradient);
  Value variance = secondMoment(on, on.gradient);
  Value deviation = b.unary(UnaryKind::sqrt, variance);
  Value direction = b.div(mean, b.shift(deviation, on.options.eps));
  return {/*parameter=*/{}, {mean, variance}, withDecay(on, direction)};
}

struct Formula {
  std::string_view name;
  Update (*build)(const Operands &on);
};

constexpr Formula kFormulas[] = {
    {"sgd", buildSgd},   {"adam", buildAdam},       {"adamw", buildAdamW},
    {"lion", buildLion}, {"adagrad", buildAdagrad}, {"lamb", buildLamb},
};

constexpr bool allHaveFormulas() {
  for (const auto &optimizer : kOptimizers) {
    if (zerograph::options::findRow(kFormulas, optimizer.name) == nullptr) {
      return false;
    }
  }
  return true;
}
static_assert(allHaveFormulas(), "an optimizer has no row in kFormulas");

} // namespace

std::string mlir::zg::nn::checkOptimizer(const OptimizerOptions &options) {
  std::string faults = zerograph::options::faultsText(*options.kind, options);
  auto add = [&](std::string fault) {
    if (!fault.empty()) {
      faults += (faults.empty() ? "" : "; ") + fault;
    }
  };
  add(zerograph::options::faultOf("clip_value", options.clip_value,
                                  zerograph::options::kNotNegative));
  if (options.cycled_beta1 && !options.kind->cycles()) {
    add("beta1 is cycled, which only " +
        zerograph::options::optimizersWhere(
            [](const auto &one) { return one.cycles(); }) +
        " can; this is " + std::string(options.kind->name));
  }
  return faults;
}

DictionaryAttr
mlir::zg::nn::describeOptimizer(MLIRContext *context,
                                const OptimizerOptions &options) {
  Builder b(context);
  NamedAttrList list;
  list.append("optimizer", b.getStringAttr(options.kind->name));
  for (const Hyperparameter &one : kHyperparameters) {
    if (options.kind->takes(one.number)) {
      list.append(one.name, b.getF64FloatAttr(options.*one.number));
    }
  }
  return list.getDictionary(context);
}

zerograph::options::Hyperparameters
mlir::zg::nn::hyperparametersOf(DictionaryAttr described) {
  zerograph::options::Hyperparameters values;
  for (const Hyperparameter &one : kHyperparameters) {
    if (auto value = described.getAs<FloatAttr>(one.name)) {
      values.*one.number = value.getValueAsDouble();
    }
  }
  return values;
}

std::string mlir::zg::nn::changeOptimizer(OptimizerOptions &options,
                                          DictionaryAttr numbers) {
  for (NamedAttribute attribute : numbers) {
    StringRef name = attribute.getName();
    const Hyperparameter *number =
        zerograph::options::findRow(kHyperparameters, name);
    auto value = dyn_cast<FloatAttr>(attribute.getValue());
    if (number == nullptr || !number->by_group ||
        !options.kind->takes(number->number)) {
      return std::string(options.kind->name) + " has no " + name.str();
    }
    if (!value) {
      return name.str() + " is no number, as 0.5 : f64";
    }
    options.*number->number = value.getValueAsDouble();
  }
  return checkOptimizer(options);
}

SmallVector<StringRef>
mlir::zg::nn::optimizerStates(const OptimizerOptions &options) {
  SmallVector<StringRef> names;
  for (const auto &state : options.kind->states) {
    if (!state.name.empty() &&
        (state.unless_zero == nullptr || options.*state.unless_zero != 0)) {
      names.push_back(state.name);
    }
  }
  return names;
}

Update mlir::zg::nn::buildUpdate(OpBuilder &builder, Location location,
                                 const OptimizerOptions &options,
                                 Value parameter, Value gradientSum,
                                 Value gradientScale, ValueRange states,
                                 function_ref<Value(Scalar)> scalar) {
  NNBuilder b(builder, location);
  auto everywhere = [&](Value number) {
    return b.broadcast(b.convert(number, elementOf(parameter)),
                       shapeOf(parameter));
  };
  Value gradient = b.mul(gradientSum, everywhere(gradientScale));
  if (double limit = options.clip_value; limit != 0) {
    gradient = b.binary(BinaryKind::max, gradient, b.splat(gradient, -limit));
    gradient = b.binary(BinaryKind::min, gradient, b.splat(gradient, limit));
  }
  return zerograph::options::findRow(kFormulas, options.kind->name)
      ->build({b, options, parameter, gradient, states,
               [&](Scalar one) { return everywhere(scalar(one)); }});
}
