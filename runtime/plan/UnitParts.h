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

#include "absl/strings/string_view.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

enum class Role { Param, Master, Gradient, Optimizer };
inline constexpr absl::string_view kParamRole = "param", kMasterRole = "master",
                                   kGradientRole = "grad";

/// Returns what the name of a role stands for: "param", "master", "grad", or
/// the name of an optimizer's state.
Role roleOf(absl::string_view name);
inline Role roleOf(const plan::State &state) { return roleOf(state.role()); }
/// Returns the role of what holds a unit's parameters to their last bit: its
/// master, if it has one.
Role roleOfValues(const plan::Unit &unit);
/// Returns whether a buffer of this class may hold elements in that role, if a
/// collective, an update or a transfer takes them.
bool fits(absl::string_view role, plan::SliceClass of);

/// Elements [begin + offset of the rank, + elements) of a unit's flat buffer.
/// `role` is a name in the plan, which must outlive it. It has no elements if
/// the bytes cut one in two.
struct UnitPart {
  int unit = -1;
  absl::string_view role;
  uint64_t begin = 0;
  uint64_t elements = 0;
  Strides strides{};

  bool sameElements(const UnitPart &other) const {
    return unit == other.unit && elements != 0 && begin == other.begin &&
           elements == other.elements && strides == other.strides;
  }
  bool contains(const UnitPart &other) const {
    return unit == other.unit && role == other.role && other.elements != 0 &&
           strides == other.strides && begin <= other.begin &&
           other.begin + other.elements <= begin + elements;
  }
  bool operator==(const UnitPart &other) const {
    return role == other.role && sameElements(other);
  }
};

/// "gradients [256 + rank * 256, + 256) of unit 1 (b)".
std::string describe(const plan::Plan &plan, const UnitPart &part);

/// Tells the parts of all slices of a plan with valid units and slices, as the
/// plan declares them. The plan must outlive it and what it returns.
class UnitParts {
public:
  explicit UnitParts(const plan::Plan &plan);

  /// None: bytes of no unit, such as activations and staging.
  std::optional<UnitPart> of(const plan::Access &access) const;

  /// Returns segment `i` of a unit, or with -1 the whole unit; and a rank's
  /// part of it over `axes`.
  UnitPart segment(int unit, int i, absl::string_view role) const;
  UnitPart shardOf(int unit, int i, absl::string_view role,
                   const Axes &axes) const;

private:
  struct Holding {
    UnitPart part;
    uint64_t element_bytes = 0; // 0: holds nothing of a unit
  };
  void hold(int slice, const UnitPart &part);

  const plan::Plan &plan;
  Mesh mesh;
  std::vector<Holding> slices;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_PLAN_UNITPARTS_H
