//===- Iterations.h - what loops of both kinds share ----------------------===//

#ifndef ZEROGRAPH_FRONTEND_OPS_ITERATIONS_H
#define ZEROGRAPH_FRONTEND_OPS_ITERATIONS_H

#include "frontend/ops/Ops.h"

namespace zerograph::frontend {

/// A loop that is unrolled: what it carries from one iteration to the next, and
/// the outputs that it collects from all of them.
struct Iterations {
  std::vector<NamedSlot> carried;
  std::vector<std::vector<Slot>> collected; ///< one list per output
};

/// Imports one iteration of the loop's body, run on `inputs`; gives the body's
/// outputs. If it finds a problem, which is noted then, marks all outputs of
/// the loop as failed: false.
bool runIteration(Op &op, int64_t trip, const std::vector<NamedSlot> &inputs,
                  size_t leastOutputs, std::vector<NamedSlot> &outputs);

/// Takes what the body gives, from its output `first` on, into `loop`.
void takeOutputs(Iterations &loop, const std::vector<NamedSlot> &outputs,
                 size_t first);

/// Fails unless a body has so many outputs.
void checkOutputs(const std::vector<NamedSlot> &outputs, size_t least);

/// Marks all outputs as failed; the problem is noted already.
void failOutputs(Op &op);

/// Sets output i to the values of all iterations along a new axis.
void setStacked(Op &op, int i, std::vector<Slot> parts, int64_t axis,
                bool reversed);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_OPS_ITERATIONS_H
