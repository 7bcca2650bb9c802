//===- Recurrent.cpp - LSTM, GRU and RNN, unrolled over time --------------===//
//
// The input's part of all steps is one product; each step adds its product with
// the state before it. There is no gradient rule for these operators: gradients
// come by the rules of the ops that they become.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Recurrent.h"

#include "frontend/quirks/Quirks.h"

#include <algorithm>

using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend::recurrent {

/// Most steps that are unrolled, over both directions.
constexpr int64_t kMaxSteps = 4096;

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

Recurrent::Recurrent(Op &op, int64_t gates, std::vector<std::string> defaults)
    : op(op), emit(op.emit), gates(gates), hasCell(gates == 4) {
  Shape x = op.shape(0), r = op.shape(2);
  if (x.size() != 3 || r.size() != 3) {
    fail("X and R need rank 3, but have shapes ", shapeText(x), " and ",
         shapeText(r));
  }
  batchFirst = op.intAttribute("layout", 0) != 0;
  steps = x[batchFirst ? 1 : 0];
  batch = x[batchFirst ? 0 : 1];
  inputSize = x[2];
  hidden = r[2];
  if (int64_t said = op.intAttribute("hidden_size", hidden); said != hidden) {
    fail("hidden_size=", said, ", but R has shape ", shapeText(r),
         ": expected its last dimension, ", hidden);
  }
  std::string direction = op.stringAttribute("direction", "forward");
  if (direction == "bidirectional") {
    directions = 2;
  } else if (direction != "forward" && direction != "reverse") {
    fail("direction='", direction,
         "' is not known; 'forward', 'reverse' and 'bidirectional' are");
  }
  if (steps * directions > kMaxSteps) {
    fail("unrolls into ", steps * directions, " steps; at most ", kMaxSteps,
         " are supported: train on shorter sequences");
  }
  checkProjection();
  checkInput(1, "W", {directions, gates * hidden, inputSize});
  checkInput(2, "R", {directions, gates * hidden, hidden});
  checkInput(3, "B", {directions, 2 * gates * hidden});
  checkInput(4, "sequence_lens", {batch});
  Shape state = batchFirst ? Shape{batch, directions, hidden}
                           : Shape{directions, batch, hidden};
  checkInput(5, "initial_h", state);
  if (hasCell) {
    checkInput(6, "initial_c", state);
    checkInput(7, "P", {directions, 3 * hidden});
  }
  clip = op.hasAttribute("clip") ? op.floatAttribute("clip", 0) : 0;
  readActivations(defaults);
}

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

/// Refuses a cell that is larger than the state: PyTorch would project it after
/// each step.
void Recurrent::checkProjection() {
  Shape r = op.shape(2);
  int64_t cell = r[1] / gates;
  if (hasCell && r[1] == cell * gates && r[2] == hidden && cell > hidden) {
    fail("its cell has ", cell, " elements and its output ", hidden,
         ": an LSTM with proj_size. ", kProjectionAdvice);
  }
}

void Recurrent::checkInput(int i, const char *what, const Shape &expected) {
  if (op.hasInput(i) && op.shape(i) != expected) {
    fail(what, " has shape ", shapeText(op.shape(i)), ", but ",
         shapeText(expected), " is expected");
  }
}

Value Recurrent::activate(const Activation &f, Value x) {
  if (clip > 0) {
    Value low = emit.splatLike(-clip, x), high = emit.splatLike(clip, x);
    x = emit.select(emit.compare(CompareKind::lt, x, low), low, x);
    x = emit.select(emit.compare(CompareKind::gt, x, high), high, x);
  }
  return apply(emit, f, x);
}

Value Recurrent::part(int i, int64_t direction) {
  Shape shape = op.shape(i);
  shape.erase(shape.begin());
  return emit.reshape(emit.sliceAxis(op.value(i), 0, direction, 1), shape);
}

Value Recurrent::initialState(int i, int64_t direction) {
  const HostTensor *host = op.hasInput(i) ? op.host(i) : nullptr;
  if (!op.hasInput(i) ||
      (host != nullptr && host->isSplat() && host->floatAt(0) == 0)) {
    return {};
  }
  return emit.reshape(
      emit.sliceAxis(op.value(i), batchFirst ? 1 : 0, direction, 1),
      {batch, hidden});
}

Value Recurrent::inputBias(const Direction &direction) {
  return sum(direction.biasOfInput, direction.biasOfState);
}

Value Recurrent::holdAtEnd(State &after, const State &before, int64_t time) {
  if (!lengths) {
    return after.h;
  }
  Value inside = emit.compare(CompareKind::gt, lengths, time);
  Value zero = emit.splat(0, {batch, hidden}, Emitter::elementOf(after.h));
  auto hold = [&](Value next, Value old) {
    return emit.select(inside, next, old ? old : zero);
  };
  Value shown = hold(after.h, zero);
  after.h = hold(after.h, before.h);
  if (hasCell) {
    after.c = hold(after.c, before.c);
  }
  return shown;
}

void Recurrent::runDirection(int64_t d, bool backwards) {
  Direction direction{d, part(2, d), {}, {}, activations[d]};
  if (op.hasInput(3)) {
    Value bias = part(3, d);
    direction.biasOfInput = emit.sliceAxis(bias, 0, 0, gates * hidden);
    direction.biasOfState =
        emit.sliceAxis(bias, 0, gates * hidden, gates * hidden);
  }
  begin(direction);
  Value x = emit.matmul(input, part(1, d), false, true);
  x = sum(x, inputBias(direction));
  x = emit.reshape(x, {steps, batch, gates * hidden});

  State state{initialState(5, d), hasCell ? initialState(6, d) : Value()};
  std::vector<Value> outputs(steps);
  for (int64_t k = 0; k < steps; ++k) {
    int64_t t = backwards ? steps - 1 - k : k;
    Value now =
        emit.reshape(emit.sliceAxis(x, 0, t, 1), {batch, gates * hidden});
    State after = step(direction, now, state);
    Value shown = holdAtEnd(after, state, t);
    state = after;
    outputs[t] = emit.reshape(shown, {1, 1, batch, hidden});
  }
  whole.push_back(emit.concat(outputs, 0));
  lastH.push_back(emit.reshape(state.h, {1, batch, hidden}));
  if (hasCell) {
    lastC.push_back(emit.reshape(state.c, {1, batch, hidden}));
  }
}

void Recurrent::run() {
  Value x = op.value(0);
  if (batchFirst) {
    x = emit.transpose(x, {1, 0, 2});
  }
  input = emit.reshape(x, {steps * batch, inputSize});
  if (op.hasInput(4)) {
    const HostTensor *host = op.host(4);
    if (host == nullptr || !host->isSplat() || host->intAt(0) != steps) {
      lengths = op.value(4);
      if (host == nullptr) {
        op.boundInput(lengths, 0, steps);
      }
      lengths = emit.reshape(lengths, {batch, 1});
    }
  }
  std::string direction = op.stringAttribute("direction", "forward");
  for (int64_t d = 0; d < directions; ++d) {
    runDirection(d, d == 1 || direction == "reverse");
  }
  if (op.wantsOutput(0)) {
    Value y = emit.concat(whole, 1); // [T, D, B, H]
    op.set(0, batchFirst ? emit.transpose(y, {2, 0, 1, 3}) : y);
  }
  int output = 1;
  for (const std::vector<Value> *last : {&lastH, &lastC}) {
    if (!last->empty() && op.wantsOutput(output)) {
      Value y = emit.concat(*last, 0); // [D, B, H]
      op.set(output, batchFirst ? emit.transpose(y, {1, 0, 2}) : y);
    }
    ++output;
  }
}

} // namespace zerograph::frontend::recurrent
