//===- UnitParts.h - which part of which unit bytes stand for -------------===//
//
// A slice of a unit holds its parameters, gradients or an optimizer state, or
// the part of these that each rank has. What a step does with such bytes can
// then be compared with what it says that it does.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_PLAN_UNITPARTS_H
#define ZEROGRAPH_RUNTIME_PLAN_UNITPARTS_H

#include "runtime/plan/Mesh.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

enum class Role { Param, Master, Gradient, Optimizer };

/// Returns the role of a state.
Role roleOf(const plan::State &state);
/// Returns the role of what holds a unit's parameters to their last bit: its
/// master, if it has one.
Role roleOfValues(const plan::Unit &unit);

/// Elements [begin + offset of the rank, + elements) of a unit's flat buffer.
/// No elements: bytes that cut one in two.
struct UnitPart {
  int unit = -1;
  Role role = Role::Param;
  uint64_t begin = 0;
  uint64_t elements = 0;
  Strides strides{};

  bool sameElements(const UnitPart &other) const {
    return unit == other.unit && elements != 0 && begin == other.begin &&
           elements == other.elements && strides == other.strides;
  }
  bool operator==(const UnitPart &other) const {
    return role == other.role && sameElements(other);
  }
};

/// "gradients [256 + rank * 256, + 256) of unit 1 (b)".
std::string describe(const plan::Plan &plan, const UnitPart &part);

/// Tells the parts of all slices of a plan with valid units and slices. A state
/// says what it holds; other slices say it by class, unit and segment. What a
/// buffer holds that is gathered or reduced into follows from the collective.
class UnitParts {
public:
  explicit UnitParts(const plan::Plan &plan);

  /// None: bytes of no unit, such as activations and staging.
  std::optional<UnitPart> of(const plan::Access &access) const;

  /// Segment `i` of a unit, and a rank's part of it over `axes`.
  UnitPart segment(int unit, int i, Role role) const;
  UnitPart shardOf(int unit, int i, Role role, const Axes &axes) const;

private:
  struct Holding {
    UnitPart part;
    uint64_t element_bytes = 0; // 0: holds nothing of a unit
  };
  void hold(uint32_t slice, Role role, int unit, int segment, const Axes &axes);
  void holdWhatIsReceived(const plan::Step &step);
  void holdWhatIsCopied(const plan::Step &step);
  bool isWholeBuffer(const plan::Access &access) const;
  void holdAs(const plan::Access &access, const std::optional<UnitPart> &part);
  void nameWhatIsGathered(const plan::Step &step);

  const plan::Plan &plan;
  Mesh mesh;
  std::vector<Holding> slices;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_UNITPARTS_H
