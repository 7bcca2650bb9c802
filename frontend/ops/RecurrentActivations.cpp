//===- RecurrentActivations.cpp - functions of recurrent cells ------------===//

#include "frontend/ops/Recurrent.h"

#include <algorithm>

using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend::recurrent {

Value apply(Emitter &emit, const Activation &f, Value x) {
  if (f.name == "sigmoid") {
    return emit.unary(UnaryKind::sigmoid, x);
  }
  if (f.name == "tanh") {
    return emit.unary(UnaryKind::tanh, x);
  }
  if (f.name == "relu") {
    return emit.select(emit.compare(CompareKind::le, x, 0.0),
                       emit.splatLike(0, x), x);
  }
  if (f.name == "leakyrelu") {
    return emit.select(emit.compare(CompareKind::gt, x, 0.0), x,
                       emit.mul(x, f.alpha));
  }
  if (f.name == "softsign") {
    return emit.div(x, emit.add(emit.unary(UnaryKind::abs, x), 1.0));
  }
  if (f.name == "affine") {
    return emit.add(emit.mul(x, f.alpha), f.beta);
  }
  if (f.name == "scaledtanh") {
    return emit.mul(emit.unary(UnaryKind::tanh, emit.mul(x, f.beta)), f.alpha);
  }
  // hardsigmoid
  Value y = emit.add(emit.mul(x, f.alpha), f.beta);
  y = emit.select(emit.compare(CompareKind::le, y, 0.0), emit.splatLike(0, y),
                  y);
  return emit.select(emit.compare(CompareKind::ge, y, 1.0),
                     emit.splatLike(1, y), y);
}

namespace {

/// The values of an attribute; they are given for those functions alone that
/// have such a number.
class Numbers {
public:
  explicit Numbers(std::vector<float> list) : list(std::move(list)) {}
  double take(double otherwise) {
    return next < list.size() ? list[next++] : otherwise;
  }

private:
  std::vector<float> list;
  size_t next = 0;
};

Activation activationOf(const std::string &name, Numbers &alphas,
                        Numbers &betas) {
  Activation f{name, 0, 0};
  std::transform(f.name.begin(), f.name.end(), f.name.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (f.name == "leakyrelu") {
    f.alpha = alphas.take(0.01f);
  } else if (f.name == "hardsigmoid") {
    f.alpha = alphas.take(0.2f);
    f.beta = betas.take(0.5f);
  } else if (f.name == "affine" || f.name == "scaledtanh") {
    f.alpha = alphas.take(1);
    f.beta = betas.take(f.name == "affine" ? 0 : 1);
  } else if (f.name != "sigmoid" && f.name != "tanh" && f.name != "relu" &&
             f.name != "softsign") {
    fail("activation '", name,
         "' is not supported; Sigmoid, Tanh, Relu, LeakyRelu, HardSigmoid, "
         "Softsign, Affine and ScaledTanh are");
  }
  return f;
}

} // namespace

void Recurrent::readActivations(const std::vector<std::string> &defaults) {
  std::vector<std::string> names = op.stringsAttribute("activations");
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  if (names.size() != defaults.size() * directions) {
    fail("there are ", names.size(), " activations, but ",
         defaults.size() * directions, " are needed");
  }
  Numbers alphas(op.floatsAttribute("activation_alpha"));
  Numbers betas(op.floatsAttribute("activation_beta"));
  for (size_t i = 0; i < names.size(); ++i) {
    if (i % defaults.size() == 0) {
      activations.emplace_back();
    }
    activations.back().push_back(activationOf(names[i], alphas, betas));
  }
}

} // namespace zerograph::frontend::recurrent
