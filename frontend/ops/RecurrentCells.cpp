//===- RecurrentCells.cpp - one step of LSTM, GRU and RNN -----------------===//

#include "frontend/ops/Recurrent.h"

namespace zerograph::frontend {

namespace recurrent {
namespace {

class Rnn : public Recurrent {
public:
  explicit Rnn(Op &op) : Recurrent(op, 1, {"Tanh"}) {}

  State step(const Direction &d, Value x, const State &before) override {
    return {activate(d.f[0], sum(x, product(before.h, d.r))), {}};
  }
};

class Lstm : public Recurrent {
public:
  explicit Lstm(Op &op) : Recurrent(op, 4, {"Sigmoid", "Tanh", "Tanh"}) {
    coupled = op.intAttribute("input_forget", 0) != 0;
  }

  void begin(const Direction &d) override {
    peepholes = op.hasInput(7) ? part(7, d.index) : Value();
  }

  /// Gates in ONNX's order: input, output, forget, cell.
  State step(const Direction &d, Value x, const State &before) override {
    Value all = sum(x, product(before.h, d.r));
    // The k-th of the gates that see the cell: input, output, forget.
    auto peep = [&](Value value, int64_t k, Value cell) {
      return peepholes && cell
                 ? emit.add(value, emit.mul(cell, gate(peepholes, k)))
                 : value;
    };
    Value i = activate(d.f[0], peep(gate(all, 0), 0, before.c));
    Value candidate = activate(d.f[1], gate(all, 3));
    Value c = emit.mul(i, candidate);
    if (before.c) {
      Value forget = coupled
                         ? emit.sub(emit.splatLike(1, i), i)
                         : activate(d.f[0], peep(gate(all, 2), 2, before.c));
      c = emit.add(emit.mul(forget, before.c), c);
    }
    Value o = activate(d.f[0], peep(gate(all, 1), 1, c));
    return {emit.mul(o, apply(emit, d.f[2], c)), c};
  }

private:
  bool coupled;
  Value peepholes; ///< [3 x H], or null
};

class Gru : public Recurrent {
public:
  explicit Gru(Op &op) : Recurrent(op, 3, {"Sigmoid", "Tanh"}) {
    resetAfter = op.intAttribute("linear_before_reset", 0) != 0;
  }

  /// With resetAfter the reset gate also scales the state's bias of the
  /// candidate, [H]: it is added in `step`.
  Value inputBias(const Direction &d) override {
    if (!resetAfter || !d.biasOfState) {
      return Recurrent::inputBias(d);
    }
    Value others = emit.sliceAxis(d.biasOfState, 0, 0, 2 * hidden);
    return emit.add(d.biasOfInput, emit.pad(others, {0}, {3 * hidden}, 0));
  }

  void begin(const Direction &d) override {
    if (!resetAfter) {
      first = emit.sliceAxis(d.r, 0, 0, 2 * hidden);
      last = emit.sliceAxis(d.r, 0, 2 * hidden, hidden);
    }
  }

  /// Gates in ONNX's order: update, reset, candidate.
  State step(const Direction &d, Value x, const State &before) override {
    Value own = gate(x, 2), both = emit.sliceAxis(x, 1, 0, 2 * hidden);
    Value inner; // the candidate's part of the state
    if (resetAfter) {
      Value all = product(before.h, d.r);
      if (all) {
        both = emit.add(both, emit.sliceAxis(all, 1, 0, 2 * hidden));
        inner = gate(all, 2);
      }
      if (d.biasOfState) {
        inner = sum(inner, gate(d.biasOfState, 2));
      }
    } else {
      both = sum(both, product(before.h, first));
    }
    Value z = activate(d.f[0], gate(both, 0));
    Value r = activate(d.f[0], gate(both, 1));
    if (resetAfter) {
      inner = inner ? emit.mul(r, inner) : inner;
    } else if (before.h) {
      inner = product(emit.mul(r, before.h), last);
    }
    Value candidate = activate(d.f[1], sum(own, inner));
    Value h = emit.mul(emit.sub(emit.splatLike(1, z), z), candidate);
    return {before.h ? emit.add(h, emit.mul(z, before.h)) : h, {}};
  }

private:
  bool resetAfter;
  Value first, last; ///< the state's weights of both gates, of the candidate
};

template <typename Cell>
void emitRecurrent(Op &op) {
  Cell(op).run();
}

const OpDef kOps[] = {
    {"GRU", 7, emitRecurrent<Gru>, nullptr, gradientExceptTo<4>},
    {"LSTM", 7, emitRecurrent<Lstm>, nullptr, gradientExceptTo<4>},
    {"RNN", 7, emitRecurrent<Rnn>, nullptr, gradientExceptTo<4>},
};

} // namespace
} // namespace recurrent

llvm::ArrayRef<OpDef> recurrentOps() { return recurrent::kOps; }

} // namespace zerograph::frontend
