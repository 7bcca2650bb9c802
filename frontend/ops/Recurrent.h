//===- Recurrent.h - what a recurrent operator's cell is part of ----------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_RECURRENT_H
#define ZEROGRAPH_FRONTEND_OPS_RECURRENT_H

#include "frontend/ops/Ops.h"

#include <string>
#include <vector>

namespace zerograph::frontend::recurrent {

using mlir::Value;

/// An activation function with what its attributes give it.
struct Activation {
  std::string name;
  double alpha, beta;
};

Value apply(Emitter &emit, const Activation &f, Value x);

/// One operator over all its directions.
class Recurrent {
public:
  /// `gates` of a cell, and the activations that it applies by default.
  Recurrent(Op &op, int64_t gates, std::vector<std::string> defaults);
  virtual ~Recurrent() = default;
  void run();

protected:
  /// The state of a cell; null: zeros.
  struct State {
    Value h, c;
  };
  /// The weights of one direction.
  struct Direction {
    int64_t index;
    Value r;                        ///< [gates x H, H]
    Value biasOfInput, biasOfState; ///< [gates x H], or null
    std::vector<Activation> f;
  };

  /// Called before the steps of a direction: computes what they share.
  virtual void begin(const Direction &direction) {}
  /// One step; `x` [B, gates x H] is the input's part, with what
  /// inputBias has added.
  virtual State step(const Direction &direction, Value x,
                     const State &before) = 0;
  /// Returns what is added to the input's part of all steps at once; may be
  /// null.
  virtual Value inputBias(const Direction &direction);

  Value gate(Value all, int64_t k) {
    return emit.sliceAxis(all, Emitter::rankOf(all) - 1, k * hidden, hidden);
  }
  /// clip, then the activation.
  Value activate(const Activation &f, Value x);
  Value sum(Value a, Value b) { return !a ? b : !b ? a : emit.add(a, b); }
  /// [B, H] x [gates x H, H]^T, or null for a state of zeros.
  Value product(Value h, Value weights) {
    return h ? emit.matmul(h, weights, false, true) : Value();
  }
  /// Input i of shape [D, ...], of one direction.
  Value part(int i, int64_t direction);

  Op &op;
  Emitter &emit;
  int64_t gates, hidden = 0, directions = 1;

private:
  void readActivations(const std::vector<std::string> &defaults);
  void checkProjection();
  void checkInput(int i, const char *what, const Shape &expected);
  Value initialState(int i, int64_t direction);
  void runDirection(int64_t d, bool backwards);
  /// Returns what a step gives: `after.h`. But after a sequence's end the
  /// state stays as it was `before`, and the step gives zeros.
  Value holdAtEnd(State &after, const State &before, int64_t time);

  int64_t steps = 0, batch = 0, inputSize = 0;
  bool batchFirst = false, hasCell = false;
  double clip = 0;
  std::vector<std::vector<Activation>> activations; ///< one list per direction
  Value input;                                      ///< [T x B, I]
  Value lengths;                                    ///< [B, 1], or null
  std::vector<Value> whole, lastH, lastC;           ///< one per direction
};

} // namespace zerograph::frontend::recurrent

#endif // ZEROGRAPH_FRONTEND_OPS_RECURRENT_H
