//===- CardsFor.h - the cards that can run a plan -------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_CARDSFOR_H
#define ZEROGRAPH_RUNTIME_PLAN_CARDSFOR_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <vector>

namespace zerograph {

/// A card, and the bytes of it that the arena of one rank can have.
struct CardRoom {
  const char *name;
  uint64_t bytes;
};

/// Returns the cards whose architecture can run a plan for GPUs, the smallest
/// first, whether its arena fits or not; none for a plan for another device.
std::vector<CardRoom> cardsFor(const plan::Plan &plan);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_CARDSFOR_H
