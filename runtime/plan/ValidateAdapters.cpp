//===- ValidateAdapters.cpp - low-rank adapters of weights ----------------===//

#include "runtime/plan/Validate.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Checks.h"

#include <cmath>
#include <map>

namespace zerograph {
namespace detail {
namespace {

using steps::invalid;

struct Found {
  const plan::Unit *unit;
  const plan::Parameter *parameter;
};

/// A matrix of an adapter: a parameter of the type in which the weight changes.
absl::Status validateMatrix(const std::map<std::string, Found> &parameters,
                            const std::string &name, plan::Init init,
                            plan::ElementType type) {
  auto found = parameters.find(name);
  if (found == parameters.end() ||
      found->second.parameter->shape_size() != 2 || // not looked at yet
      found->second.parameter->init() != init ||
      ownType(*found->second.unit, *found->second.parameter) != type) {
    return invalid("its \"", name, "\" is no such matrix of a ", nameOf(type),
                   " adapter");
  }
  return absl::OkStatus();
}

absl::Status validateAdapter(const std::map<std::string, Found> &parameters,
                             const Found &weight) {
  const plan::Adapter &adapter = weight.parameter->adapter();
  plan::ElementType type = trainedType(*weight.unit, *weight.parameter);
  bool floats = type == plan::F32 || type == plan::F64;
  if (!floats || weight.unit->trainable() || weight.unit->local() ||
      !std::isfinite(adapter.alpha())) {
    return invalid("it is ", nameOf(type), ", trained, or its alpha no number");
  }
  ZG_RETURN_IF_ERROR(
      validateMatrix(parameters, adapter.a(), plan::LORA_A, type));
  ZG_RETURN_IF_ERROR(
      validateMatrix(parameters, adapter.b(), plan::LORA_B, type));
  const plan::Parameter &a = *parameters.at(adapter.a()).parameter;
  const plan::Parameter &b = *parameters.at(adapter.b()).parameter;
  if (a.shape(0) != b.shape(1) || a.elements() == 0 ||
      !(Checked(a.shape(1)) * b.shape(0)).is(weight.parameter->elements())) {
    return invalid("its ", weight.parameter->elements(),
                   " elements are no product of its matrices");
  }
  return absl::OkStatus();
}

} // namespace

absl::Status validateAdapters(const plan::Plan &plan) {
  std::map<std::string, Found> parameters;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      parameters[parameter.name()] = {&unit, &parameter};
    }
  }
  for (const auto &[name, found] : parameters) {
    plan::Init init = found.parameter->init();
    if ((init == plan::LORA_A || init == plan::LORA_B) &&
        found.parameter->shape_size() != 2) {
      return invalid("parameter ", name,
                     " is no matrix, and begins as one of an adapter");
    }
    if (found.parameter->has_adapter()) {
      absl::Status status = validateAdapter(parameters, found);
      if (!status.ok()) {
        return annotate(status, absl::StrCat("adapter of ", name));
      }
    }
  }
  return absl::OkStatus();
}

} // namespace detail
} // namespace zerograph
