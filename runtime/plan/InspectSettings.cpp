//===- InspectSettings.cpp - what a plan was compiled with ----------------===//

#include "runtime/plan/InspectParts.h"

#include "options/Optimizers.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/ForEachStep.h"
#include "runtime/plan/Traffic.h"

namespace zerograph {
namespace {

using Json = nlohmann::ordered_json;

Json optimizerJson(const plan::OptimizerGroup &optimizer) {
  Json json{{"kind", optimizer.kind()},
            {"learning_rate", optimizer.learning_rate()}};
  auto takes = [&](options::Number number) {
    return options::takes(optimizer.kind(), number);
  };
  if (takes(&options::Hyperparameters::momentum)) {
    json["momentum"] = optimizer.momentum();
    json["nesterov"] = optimizer.nesterov();
  }
  if (takes(&options::Hyperparameters::beta1)) {
    json["betas"] = {optimizer.beta1(), optimizer.beta2()};
  }
  if (takes(&options::Hyperparameters::eps)) {
    json["epsilon"] = optimizer.epsilon();
  }
  if (takes(&options::Hyperparameters::lamb_min_coeff)) {
    json["coefficients"] = {optimizer.lamb_min_coeff(),
                            optimizer.lamb_max_coeff()};
  }
  json["weight_decay"] = optimizer.weight_decay();
  return json;
}

/// The first is the one of all parameters that name no other.
Json groupsJson(const plan::Plan &plan) {
  Json groups = Json::array();
  for (const plan::OptimizerGroup &group : plan.groups()) {
    Json json{{"name", group.name()}};
    json.update(optimizerJson(group));
    groups.push_back(json);
  }
  return groups;
}

/// The fields that are not 0.
Json scheduleJson(const plan::Schedule &schedule) {
  Json json{{"kind", "constant"}};
  const google::protobuf::Reflection &reflection = *schedule.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor *> set;
  reflection.ListFields(schedule, &set);
  for (const google::protobuf::FieldDescriptor *field : set) {
    if (field->cpp_type() == field->CPPTYPE_STRING) {
      json[field->name()] = reflection.GetString(schedule, field);
    } else if (field->cpp_type() == field->CPPTYPE_DOUBLE) {
      json[field->name()] = reflection.GetDouble(schedule, field);
    } else {
      json[field->name()] = reflection.GetUInt64(schedule, field);
    }
  }
  return json;
}

Json metricNames(const plan::Plan &plan) {
  Json names = Json::array();
  for (const plan::Total &metric : plan.metrics()) {
    names.push_back(metric.name());
  }
  return names;
}

/// Returns the name of the last step that writes the loss.
std::string lossNode(const plan::Plan &plan) {
  std::string name;
  forEachStep(plan, [&](int, int, const plan::Step &step) {
    for (const plan::Access &access : step.accesses()) {
      if (plan.has_loss() && access.mode() != plan::READ &&
          access.slice() == plan.loss().slice()) {
        name = step.name();
      }
    }
  });
  return name;
}

} // namespace

const char *reductionOf(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (step.reduce_scatter().any_order()) {
        return "nccl";
      }
    }
  }
  return "exact";
}

std::string reducePrecisionOf(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      const plan::ReduceScatter &reduce = step.reduce_scatter();
      if (reduce.wire() != reduce.accumulator()) {
        return reduce.wire() == plan::BF16 ? "bf16" : "fp16";
      }
    }
  }
  return "fp32";
}

nlohmann::ordered_json settingsJson(const LoadedPlan &loaded) {
  const plan::Plan &plan = loaded.plan;
  const plan::Target &target = plan.devices(0);
  uint64_t code = 0;
  for (const plan::Module &module : plan.modules()) {
    code += module.elf().size() + module.ptx().text().size();
  }
  Json inputs = Json::array();
  for (const plan::Input &input : plan.inputs()) {
    inputs.push_back({{"name", input.name()},
                      {"type", nameOf(input.type())},
                      {"shape", std::vector<uint64_t>(input.shape().begin(),
                                                      input.shape().end())},
                      {"per_sample", input.per_sample()}});
  }
  return {
      {"model", plan.model()},
      {"producer", plan.producer()},
      {"hash", loaded.hash_hex},
      {"target",
       {{"device", target.device()},
        {"features", std::vector<std::string>(target.features().begin(),
                                              target.features().end())},
        {"math_library", target.math_library()},
        {"math_isa", target.math_isa()},
        {"allow_tf32", target.allow_tf32()},
        {"fast_math", target.fast_math()}}},
      {"ranks", worldOf(plan)},
      {"zero_stage", plan.zero_stage()},
      {"accumulate", plan.accumulate()},
      {"micro_batch", plan.micro_batch()},
      {"optimizer", optimizerJson(isForward(plan) ? plan::OptimizerGroup()
                                                  : plan.groups(0))},
      {"groups", groupsJson(plan)},
      {"schedule", scheduleJson(plan.schedule())},
      {"skip_nonfinite", plan.skip_nonfinite()},
      {"loss_scale",
       {{"initial", plan.has_loss_scale() ? plan.loss_scale().initial() : 1},
        {"window", plan.loss_scale().window()},
        {"hysteresis", plan.loss_scale().hysteresis()},
        {"consecutive_hysteresis", plan.loss_scale().consecutive_hysteresis()},
        {"minimum", plan.loss_scale().minimum()}}},
      {"clip_norm", plan.clip_norm()}, // null: infinite
      {"clip_value", plan.clip_value()},
      {"recomputed", plan.recomputed()},
      {"recompute", plan.recompute().empty() ? "none" : plan.recompute()},
      {"recompute_ratio", plan.recompute_ratio()},
      {"loss", plan.loss().name()},
      {"loss_node", lossNode(plan)},
      {"metrics", metricNames(plan)},
      {"loss_mean", plan.has_loss_count() ? "tokens" : "micro-batches"},
      {"dump_gradients", plan.dump_gradients()},
      {"reduction", reductionOf(plan)},
      {"reduce_precision", reducePrecisionOf(plan)},
      {"reduce", reducesLast(plan) ? "last" : "each"},
      {"inputs", inputs},
      {"kernels", plan.kernels_size()},
      {"kernel_module_bytes", code}};
}

} // namespace zerograph
