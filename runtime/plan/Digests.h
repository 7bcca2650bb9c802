//===- Digests.h - what each step does to which data ----------------------===//
//
// A step's digest is a number made of its operation, how it touches bytes, and
// what those bytes are: results of which steps, parts of which unit, input or
// scalar. Where buffers lie is no part of it. A plan states the digests, so
// that an operand, a size or an order that is changed later is found at its
// step. The compiler's own mistakes are not: it states what it wrote.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_DIGESTS_H
#define ZEROGRAPH_RUNTIME_PLAN_DIGESTS_H

#include "runtime/plan/Writers.h"

#include <string>
#include <vector>

namespace zerograph {

/// The digests of one program of a valid plan, as the last rank sees its data.
class Digests {
public:
  Digests(const plan::Plan &plan, int program);

  /// Of the next step, whose results are from then on known by the digest that
  /// is stated for it: one wrong step is found, and not all that follow it.
  uint64_t of(const plan::Step &step) const;
  void pass(const plan::Step &step);

private:
  void describe(const plan::Step &step, int access, std::string &text) const;

  const plan::Plan &plan;
  uint32_t rank;
  uint64_t module;                // the hash of all machine code
  std::vector<uint64_t> meanings; // by slice; 0: only of the steps
  Writers writers;
};

/// States the digests of all steps as they are. The plan must be valid.
void stateDigests(plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_DIGESTS_H
