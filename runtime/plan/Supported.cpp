//===- Supported.cpp - types and names that a runtime can work with -------===//

#include "runtime/plan/Supported.h"

#include "runtime/plan/Describe.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <vector>

namespace zerograph {
namespace {

template <typename... Args>
absl::Status unsupported(const Args &...args) {
  return absl::UnimplementedError(absl::StrCat(args..., "; not built yet"));
}

/// The facts about a device by which plans for it are checked and described.
struct DeviceRow {
  absl::string_view name;
  /// Types that its library multiplies, of those that plans can have, and
  /// convolves.
  std::vector<plan::ElementType> multiplies, convolves;
  bool gpu;
};
const DeviceRow kDevices[] = {
    {"host", {plan::F32, plan::BF16}, {plan::F32}, false},
    {"cuda",
     {plan::F32, plan::F64, plan::F16, plan::BF16},
     {plan::F32, plan::F64, plan::F16, plan::BF16},
     true}};

/// Returns the row of a device; null where there is none.
const DeviceRow *findRow(absl::string_view name) {
  const auto *row =
      std::find_if(std::begin(kDevices), std::end(kDevices),
                   [&](const DeviceRow &row) { return row.name == name; });
  return row == std::end(kDevices) ? nullptr : row;
}

/// Returns the row of a device, or the host's: `checkSupported` comes last.
const DeviceRow &rowOf(absl::string_view name) {
  const DeviceRow *row = findRow(name);
  return row != nullptr ? *row : kDevices[0];
}

} // namespace

absl::Status checkSupported(const plan::Plan &plan) {
  if (plan.mesh_size() != 1) {
    return unsupported("the plan's ranks form a mesh of ", plan.mesh_size(),
                       " axes, expected one");
  }
  for (const plan::Target &device : plan.devices()) {
    if (findRow(device.device()) == nullptr) {
      return unsupported(
          "the plan is for the device ", device.device(), ", expected ",
          absl::StrJoin(kDevices, " or ", [](std::string *to, const auto &row) {
            absl::StrAppend(to, row.name);
          }));
    }
  }
  return absl::OkStatus();
}

absl::Status needReducible(plan::ElementType wire,
                           plan::ElementType accumulator) {
  if (accumulator != plan::F32 && accumulator != plan::F64) {
    return absl::UnimplementedError(
        absl::StrCat("adds up elements of type ", nameOf(accumulator),
                     "; reductions of f32 and f64 exist"));
  }
  bool half = wire == plan::BF16 || wire == plan::F16;
  if (wire != accumulator && !(half && accumulator == plan::F32)) {
    return unsupported("adds up elements of type ", nameOf(accumulator),
                       " that travel as ", nameOf(wire));
  }
  return absl::OkStatus();
}

absl::Span<const plan::ElementType> multiplied(const plan::Target &device) {
  return rowOf(device.device()).multiplies;
}

absl::Span<const plan::ElementType> convolved(const plan::Target &device) {
  return rowOf(device.device()).convolves;
}

bool isGpu(absl::string_view name) { return rowOf(name).gpu; }

bool isGpu(const plan::Target &device) { return isGpu(device.device()); }

options::Scalar formulaScalar(plan::Scalar::Kind kind) {
  const auto *row = options::findRow(options::kScalarNames, nameOf(kind));
  return row != nullptr ? row->scalar : options::Scalar::none;
}

bool isRandom(const plan::Plan &plan) {
  return std::any_of(plan.scalars().begin(), plan.scalars().end(),
                     [](const plan::Scalar &scalar) {
                       return scalar.kind() == plan::Scalar::SEED;
                     });
}

std::string scalarNames() {
  std::vector<std::string> names;
  for (int kind = plan::Scalar::INVALID + 1; plan::Scalar::Kind_IsValid(kind);
       ++kind) {
    names.push_back(nameOf(plan::Scalar::Kind(kind)));
  }
  return absl::StrJoin(names, ", ");
}

} // namespace zerograph
