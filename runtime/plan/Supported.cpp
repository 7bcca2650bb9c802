//===- Supported.cpp - types and names that a runtime can work with -------===//

#include "runtime/plan/Supported.h"

#include "absl/strings/str_cat.h"

#include <utility>

namespace zerograph {
namespace {

constexpr std::pair<absl::string_view, ScalarKind> kScalars[] = {
    {"learning_rate", ScalarKind::learning_rate},
    {"gradient_scale", ScalarKind::gradient_scale},
    {"step_size", ScalarKind::step_size},
    {"bias_correction2_sqrt", ScalarKind::bias_correction2_sqrt},
    {"decay", ScalarKind::decay},
    {"stop", ScalarKind::stop},
    {"seed", ScalarKind::seed},
    {"step", ScalarKind::step},
    {"sample_base", ScalarKind::sample_base},
};

} // namespace

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
