//===- CardsFor.cpp - the cards that can run a plan -----------------------===//

#include "runtime/plan/CardsFor.h"

#include "options/Cards.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Supported.h"

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

#include <algorithm>

using namespace zerograph;

/// The architecture that a plan for CUDA needs: 90 for sm_90; 0 for any.
static int architectureOf(const plan::Target &target) {
  int number = 0;
  for (absl::string_view feature : target.features()) {
    if (absl::ConsumePrefix(&feature, "sm_")) { // "sm_90a" is of 90
      size_t digits =
          std::min(feature.find_first_not_of("0123456789"), feature.size());
      (void)absl::SimpleAtoi(feature.substr(0, digits), &number);
    }
  }
  return number;
}

std::vector<CardRoom> zerograph::cardsFor(const plan::Plan &plan) {
  std::vector<CardRoom> cards;
  const plan::Target &target = plan.devices(0);
  for (const options::Card &card : options::kCards) {
    if (isGpu(target) && card.architecture >= architectureOf(target)) {
      cards.push_back({card.name, uint64_t(options::usableBytes(
                                      card, int64_t(worldOf(plan))))});
    }
  }
  return cards;
}
