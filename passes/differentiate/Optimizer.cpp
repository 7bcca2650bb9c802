//===- Optimizer.cpp - optimizers as arithmetic on flat shards ------------===//

#include "passes/differentiate/Optimizer.h"

#include "options/Optimizers.h"
#include "passes/ir/nn/NNBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

using Scalars = function_ref<Value(StringRef)>;

Value addDecayToGradient(NNBuilder &b, const OptimizerOptions &options,
                         Value gradient, Value parameter) {
  if (options.weight_decay == 0) {
    return gradient;
  }
  return b.add(gradient, b.scale(parameter, options.weight_decay));
}

Update buildSgd(NNBuilder &b, const OptimizerOptions &options, Value parameter,
                Value gradient, ValueRange states, Scalars scalar) {
  Update update;
  gradient = addDecayToGradient(b, options, gradient, parameter);
  if (options.momentum != 0) {
    Value buffer = b.add(b.scale(states[0], options.momentum), gradient);
    update.states.push_back(buffer);
    gradient = options.nesterov
                   ? b.add(gradient, b.scale(buffer, options.momentum))
                   : buffer;
  }
  Value step = b.mul(gradient, scalar(kLearningRate));
  update.parameter = b.sub(parameter, step);
  return update;
}

Update buildAdam(NNBuilder &b, const OptimizerOptions &options, Value parameter,
                 Value gradient, ValueRange states, Scalars scalar) {
  if (options.kind == OptimizerOptions::adam) {
    gradient = addDecayToGradient(b, options, gradient, parameter);
  } else if (options.weight_decay != 0) {
    parameter = b.mul(parameter, scalar(kDecay));
  }
  Value toward = b.sub(gradient, states[0]);
  toward = options.cycled_beta1 ? b.mul(toward, scalar(kOneMinusBeta1))
                                : b.scale(toward, 1 - options.beta1);
  Value mean = b.add(states[0], toward);
  Value square = b.mul(b.scale(gradient, 1 - options.beta2), gradient);
  Value variance = b.add(b.scale(states[1], options.beta2), square);
  Value deviation =
      b.div(b.unary(UnaryKind::sqrt, variance), scalar(kBiasCorrection2Sqrt));
  Value direction = b.div(mean, b.shift(deviation, options.eps));
  Value step = b.mul(direction, scalar(kStepSize));
  return {b.sub(parameter, step), {mean, variance}};
}

/// a * x + (1 - a) * y.
Value mix(NNBuilder &b, double a, Value x, Value y) {
  return b.add(b.scale(x, a), b.scale(y, 1 - a));
}

Update buildLion(NNBuilder &b, const OptimizerOptions &options, Value parameter,
                 Value gradient, ValueRange states, Scalars scalar) {
  if (options.weight_decay != 0) {
    parameter = b.mul(parameter, scalar(kDecay));
  }
  Value direction =
      b.unary(UnaryKind::sign, mix(b, options.beta1, states[0], gradient));
  Value step = b.mul(direction, scalar(kLearningRate));
  return {b.sub(parameter, step), {mix(b, options.beta2, states[0], gradient)}};
}

Update buildAdagrad(NNBuilder &b, const OptimizerOptions &options,
                    Value parameter, Value gradient, ValueRange states,
                    Scalars scalar) {
  gradient = addDecayToGradient(b, options, gradient, parameter);
  Value sum = b.add(states[0], b.mul(gradient, gradient));
  Value deviation = b.unary(UnaryKind::sqrt, sum);
  Value direction = b.div(gradient, b.shift(deviation, options.eps));
  Value step = b.mul(direction, scalar(kLearningRate));
  return {b.sub(parameter, step), {sum}};
}

/// As DeepSpeed's FusedLamb: the moments in the direction are not corrected,
/// the rate is.
Update buildLamb(NNBuilder &b, const OptimizerOptions &options, Value parameter,
                 Value gradient, ValueRange states, Scalars) {
  Value mean = mix(b, options.beta1, states[0], gradient);
  Value square = b.mul(b.scale(gradient, 1 - options.beta2), gradient);
  Value variance = b.add(b.scale(states[1], options.beta2), square);
  Value deviation = b.unary(UnaryKind::sqrt, variance);
  Value direction = b.div(mean, b.shift(deviation, options.eps));
  direction = addDecayToGradient(b, options, direction, parameter);
  return {/*parameter=*/{}, {mean, variance}, direction};
}

/// The facts of a kind: its name in options/Optimizers.h, and the states it
/// keeps besides what momentum needs.
struct KindInfo {
  OptimizerOptions::Kind kind;
  StringLiteral name;
  SmallVector<StringRef> states;
  decltype(&buildSgd) build;
};

/// In the order of `OptimizerOptions::Kind`.
ArrayRef<KindInfo> kinds() {
  using Options = OptimizerOptions;
  static const KindInfo all[] = {
      {Options::sgd, "sgd", {}, buildSgd},
      {Options::adam, "adam", {kExpAvg, kExpAvgSq}, buildAdam},
      {Options::adamw, "adamw", {kExpAvg, kExpAvgSq}, buildAdam},
      {Options::lion, "lion", {kExpAvg}, buildLion},
      {Options::adagrad, "adagrad", {kSum}, buildAdagrad},
      {Options::lamb, "lamb", {kExpAvg, kExpAvgSq}, buildLamb},
  };
  return all;
}

const KindInfo &infoOf(const OptimizerOptions &options) {
  return kinds()[options.kind];
}

bool takes(const OptimizerOptions &options, std::string_view number) {
  return zerograph::options::uses(infoOf(options).name, number);
}

} // namespace

std::optional<OptimizerOptions::Kind>
mlir::zg::nn::optimizerKind(StringRef name) {
  for (const KindInfo &info : kinds()) {
    if (info.name == name) {
      return info.kind;
    }
  }
  return std::nullopt;
}

std::string mlir::zg::nn::optimizerNames() {
  return llvm::join(
      llvm::map_range(kinds(),
                      [](const KindInfo &info) { return info.name.str(); }),
      ", ");
}

std::string mlir::zg::nn::checkOptimizer(const OptimizerOptions &options) {
  auto require = [](bool holds, StringRef name, double value,
                    StringRef range) -> std::string {
    return holds ? ""
                 : llvm::formatv("{0} is {1}, but must be {2}", name, value,
                                 range)
                       .str();
  };
  auto notNegative = [](double value) { return value >= 0; };
  auto fraction = [](double value) { return value >= 0 && value < 1; };
  std::string problems;
  auto collect = [&](std::string problem) {
    if (!problem.empty()) {
      problems += (problems.empty() ? "" : "; ") + problem;
    }
  };
  collect(require(notNegative(options.lr), "learning rate", options.lr,
                  "0 or more"));
  collect(require(notNegative(options.weight_decay), "weight decay",
                  options.weight_decay, "0 or more"));
  collect(require(notNegative(options.clip_value), "clip value",
                  options.clip_value, "0 or more"));
  if (options.kind == OptimizerOptions::sgd) {
    collect(require(notNegative(options.momentum), "momentum", options.momentum,
                    "0 or more"));
    if (options.nesterov && options.momentum == 0) {
      collect("nesterov needs a momentum above 0");
    }
  }
  if (takes(options, "beta1")) {
    collect(require(fraction(options.beta1), "beta1", options.beta1,
                    "at least 0 and below 1"));
    collect(require(fraction(options.beta2), "beta2", options.beta2,
                    "at least 0 and below 1"));
  }
  std::string_view kind = infoOf(options).name;
  if (options.cycled_beta1 && !zerograph::options::optimizerOf(kind).cycles) {
    collect(("beta1 is cycled, which only adam and adamw can; this is " +
             infoOf(options).name)
                .str());
  }
  if (options.kind == OptimizerOptions::lamb) {
    // The elements between parameters must not become 0 / 0.
    collect(require(options.eps > 0, "eps", options.eps, "above 0"));
    collect(require(options.lamb_min_coeff >= 0 &&
                        options.lamb_min_coeff <= options.lamb_max_coeff,
                    "lamb_min_coeff", options.lamb_min_coeff,
                    "0 or more, and at most lamb_max_coeff"));
  } else if (takes(options, "eps")) {
    collect(require(notNegative(options.eps), "eps", options.eps, "0 or more"));
  }
  return problems;
}

DictionaryAttr
mlir::zg::nn::describeOptimizer(MLIRContext *context,
                                const OptimizerOptions &options) {
  Builder b(context);
  NamedAttrList list;
  auto number = [&](StringRef name, double value) {
    list.append(name, b.getF64FloatAttr(value));
  };
  number("lr", options.lr);
  number("weight_decay", options.weight_decay);
  list.append("optimizer", b.getStringAttr(infoOf(options).name));
  if (options.kind == OptimizerOptions::sgd) {
    number("momentum", options.momentum);
    list.append("nesterov", b.getBoolAttr(options.nesterov));
  }
  if (takes(options, "beta1")) {
    number("beta1", options.beta1);
    number("beta2", options.beta2);
  }
  if (takes(options, "eps")) {
    number("eps", options.eps);
  }
  if (options.kind == OptimizerOptions::lamb) {
    number("lamb_min_coeff", options.lamb_min_coeff);
    number("lamb_max_coeff", options.lamb_max_coeff);
  }
  return list.getDictionary(context);
}

std::string mlir::zg::nn::changeOptimizer(OptimizerOptions &options,
                                          DictionaryAttr numbers) {
  const std::pair<StringRef, double *> fields[] = {
      {"lr", &options.lr},       {"weight_decay", &options.weight_decay},
      {"eps", &options.eps},     {"momentum", &options.momentum},
      {"beta1", &options.beta1}, {"beta2", &options.beta2}};
  DictionaryAttr known = describeOptimizer(numbers.getContext(), options);
  for (NamedAttribute number : numbers) {
    const auto *field = llvm::find_if(
        fields, [&](auto &entry) { return entry.first == number.getName(); });
    if (!known.get(number.getName()) || field == std::end(fields)) {
      return (infoOf(options).name + " has no " + number.getName().strref())
          .str();
    }
    *field->second = cast<FloatAttr>(number.getValue()).getValueAsDouble();
  }
  return checkOptimizer(options);
}

SmallVector<StringRef>
mlir::zg::nn::optimizerStates(const OptimizerOptions &options) {
  if (options.kind == OptimizerOptions::sgd && options.momentum != 0) {
    return {kMomentumBuffer};
  }
  return infoOf(options).states;
}

Update mlir::zg::nn::buildUpdate(OpBuilder &builder, Location location,
                                 const OptimizerOptions &options,
                                 Value parameter, Value gradientSum,
                                 ValueRange states, Scalars scalar) {
  NNBuilder b(builder, location);
  auto whole = [&](StringRef name) {
    Value value = b.convert(scalar(name), elementOf(parameter));
    return b.broadcast(value, shapeOf(parameter));
  };
  Value gradient = b.mul(gradientSum, whole(kGradientScale));
  if (double limit = options.clip_value; limit != 0) {
    gradient = b.binary(BinaryKind::max, gradient, b.splat(gradient, -limit));
    gradient = b.binary(BinaryKind::min, gradient, b.splat(gradient, limit));
  }
  return infoOf(options).build(b, options, parameter, gradient, states, whole);
}
