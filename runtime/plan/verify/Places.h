//===- Places.h - which part of which unit bytes stand for ----------------===//
//
// A slice of a unit holds its parameters, gradients or an optimizer state, or
// the part of these that each rank has. What a step does with such bytes can
// then be compared with what it says that it does.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_VERIFY_PLACES_H
#define ZEROGRAPH_RUNTIME_PLAN_VERIFY_PLACES_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace zerograph::verify {

enum class Role { Param, Gradient, Optimizer };

/// Elements [begin + rank * stride, + elements) of a unit's flat buffer. No
/// elements: bytes that cut one in two.
struct Place {
  int unit = -1;
  Role role = Role::Param;
  uint64_t begin = 0;
  uint64_t elements = 0;
  uint64_t stride = 0;

  bool sameElements(const Place &other) const {
    return unit == other.unit && elements != 0 && begin == other.begin &&
           elements == other.elements && stride == other.stride;
  }
  bool operator==(const Place &other) const {
    return role == other.role && sameElements(other);
  }
};

/// "gradients [256 + rank * 256, + 256) of unit 1 (b)".
std::string describePlace(const plan::Plan &plan, const Place &place);

/// Places of all slices of a valid plan. A state says where it belongs; other
/// slices say it by class, unit and segment. What a buffer of gathered values
/// holds follows from what is gathered into it.
class Places {
public:
  explicit Places(const plan::Plan &plan);

  /// None: bytes of no unit, such as activations and staging.
  std::optional<Place> of(const plan::Access &access) const;
  std::optional<Place> ofSlice(uint32_t slice) const;

  /// Segment `i` of a unit, whole or the part that each rank has.
  Place segment(int unit, int i, Role role, bool part) const;

private:
  struct Holding {
    Place place;
    uint64_t element_bytes = 0; // 0: holds nothing of a unit
  };
  void hold(uint32_t slice, Role role, int unit, int segment, bool sharded);
  void gathered();

  const plan::Plan &plan;
  std::vector<Holding> slices;
};

/// The bytes, or elements, [begin + rank * stride, + count) of all ranks, as
/// ranges [first, second).
using Spans = std::vector<std::pair<uint64_t, uint64_t>>;
void addSpans(Spans &spans, uint64_t begin, uint64_t count, uint64_t stride,
              uint32_t world);
/// The first range of [0, end) that `spans` leave out.
std::optional<std::pair<uint64_t, uint64_t>> firstGap(Spans spans,
                                                      uint64_t end);

} // namespace zerograph::verify

#endif // ZEROGRAPH_RUNTIME_PLAN_VERIFY_PLACES_H
