//===- Supported.cpp - types and names that a runtime can work with -------===//

#include "runtime/plan/Supported.h"

#include "runtime/plan/Describe.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace zerograph {
namespace {

constexpr std::pair<absl::string_view, ScalarKind> kScalars[] = {
    {"learning_rate", ScalarKind::learning_rate},
    {"gradient_scale", ScalarKind::gradient_scale},
    {"loss_scale", ScalarKind::loss_scale},
    {"step_size", ScalarKind::step_size},
    {"bias_correction2_sqrt", ScalarKind::bias_correction2_sqrt},
    {"decay", ScalarKind::decay},
    {"one_minus_beta1", ScalarKind::one_minus_beta1},
    {"stop", ScalarKind::stop},
    {"weight", ScalarKind::weight},
    {"seed", ScalarKind::seed},
    {"step", ScalarKind::step},
    {"sample_base", ScalarKind::sample_base},
    {"rank", ScalarKind::rank},
};

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

std::optional<ScalarKind> scalarKind(absl::string_view name) {
  for (const auto &[known, kind] : kScalars) {
    if (name == known) {
      return kind;
    }
  }
  return std::nullopt;
}

bool isRandom(const plan::Plan &plan) {
  for (const plan::Scalar &scalar : plan.scalars()) {
    if (scalarKind(scalar.name()) == ScalarKind::seed) {
      return true;
    }
  }
  return false;
}

std::string scalarNames() {
  std::string names;
  for (const auto &[known, kind] : kScalars) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", known);
  }
  return names;
}

} // namespace zerograph
