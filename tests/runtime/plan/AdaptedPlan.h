//===- AdaptedPlan.h - a weight and its adapter, made by hand -------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_PLAN_ADAPTEDPLAN_H
#define ZEROGRAPH_TESTS_RUNTIME_PLAN_ADAPTEDPLAN_H

#include "runtime/plan/plan.pb.h"

#include <string>

namespace zerograph::testing {

inline plan::Parameter &addMatrix(plan::Unit &unit, const std::string &name,
                                  uint64_t rows, uint64_t columns,
                                  plan::Init init = plan::NORMAL) {
  plan::Parameter &parameter = *unit.add_parameters();
  parameter.set_name(name);
  parameter.add_shape(rows);
  parameter.add_shape(columns);
  parameter.set_elements(rows * columns);
  parameter.set_init(init);
  return parameter;
}

/// The units of a frozen weight "w" `[outputs, inputs]`, or `transposed`, and
/// of its trained adapter: "a" `[2, inputs]` and "b" `[outputs, 2]`, alpha 3.
inline plan::Plan adaptedPlan(uint64_t outputs, uint64_t inputs,
                              plan::ElementType type = plan::F32,
                              bool transposed = false) {
  plan::Plan plan;
  plan::Unit &frozen = *plan.add_units(), &trained = *plan.add_units();
  frozen.set_type(type);
  trained.set_type(type);
  trained.set_trainable(true);
  plan::Parameter &weight = transposed
                                ? addMatrix(frozen, "w", inputs, outputs)
                                : addMatrix(frozen, "w", outputs, inputs);
  plan::Adapter &adapter = *weight.mutable_adapter();
  adapter.set_a("a");
  adapter.set_b("b");
  adapter.set_alpha(3);
  adapter.set_transposed(transposed);
  addMatrix(trained, "a", 2, inputs, plan::LORA_A);
  addMatrix(trained, "b", outputs, 2, plan::LORA_B);
  return plan;
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_PLAN_ADAPTEDPLAN_H
