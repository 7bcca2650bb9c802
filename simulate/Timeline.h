//===- Timeline.h - when each step of a program runs ----------------------===//
//
// A discrete-event simulation. A step begins when the one before it on its
// stream and all that it waits for have ended. Steps that run side by side
// share what they keep busy in equal parts of their demand: where together they
// ask for more of a resource than there is, each that uses it is slower by that
// factor.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_SIMULATE_TIMELINE_H
#define ZEROGRAPH_SIMULATE_TIMELINE_H

#include "simulate/StepWork.h"

#include <vector>

namespace zerograph::simulate {

/// Seconds from the program's begin on.
struct Span {
  double begin = 0, end = 0;
};

struct Timeline {
  std::vector<Span> steps; ///< of the program, in issue order
  /// The step whose end let each begin, or -1; the last of them.
  std::vector<int> after;
  double seconds = 0;
};

/// Runs a program of a valid plan, of which step i has the work `works[i]`.
Timeline simulate(const plan::Plan &plan, const plan::Program &program,
                  const std::vector<Work> &works);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_TIMELINE_H
