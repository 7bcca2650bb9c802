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

} // namespace

absl::Status checkSupported(const plan::Plan &plan) {
  if (plan.mesh_size() != 1) {
    return unsupported("the plan's ranks form a mesh of ", plan.mesh_size(),
                       " axes, expected one");
  }
  for (const plan::Target &device : plan.devices()) {
    if (device.device() != "host" && device.device() != "cuda") {
      return unsupported("the plan is for the device ", device.device(),
                         ", expected host or cuda");
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
  static constexpr plan::ElementType kHost[] = {plan::F32, plan::BF16};
  static constexpr plan::ElementType kCuda[] = {plan::F32, plan::F64, plan::F16,
                                                plan::BF16};
  if (device.device() == "cuda") {
    return kCuda;
  }
  return kHost;
}

bool canConvolve(const plan::Target &device, plan::ElementType type) {
  return type == plan::F32 || (type == plan::F64 && device.device() == "cuda");
}

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
