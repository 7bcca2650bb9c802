//===- ExtraWeights.cpp - weights that the model holds in no plain form ---===//

#include "runtime/base/Status.h"
#include "runtime/io/SafetensorsWriter.h"
#include "runtime/io/TensorFile.h"
#include "runtime/plan/Describe.h"
#include "tools/compiler/Compile.h"

#include <filesystem>

namespace zerograph {
namespace {

struct Target {
  plan::Parameter *parameter;
  plan::ElementType type;
};

std::map<std::string, Target> parametersByName(plan::Plan &plan) {
  std::map<std::string, Target> result;
  for (plan::Unit &unit : *plan.mutable_units()) {
    for (plan::Parameter &parameter : *unit.mutable_parameters()) {
      result[parameter.name()] = {&parameter, ownType(unit, parameter)};
    }
  }
  return result;
}

} // namespace

std::string extraWeightsPath(const std::string &plan_path) {
  return plan_path + ".weights.safetensors";
}

void removeExtraWeights(const CompileResult &result,
                        const std::string &plan_path) {
  if (!result.extra_weights.empty()) {
    std::error_code ignored; // the first error is the one to tell
    std::filesystem::remove(extraWeightsPath(plan_path), ignored);
  }
}

absl::Status writeExtraWeights(CompileResult &result,
                               const std::string &plan_path) {
  if (result.extra_weights.empty()) {
    return absl::OkStatus();
  }
  std::map<std::string, Target> parameters = parametersByName(result.plan);
  std::string path = extraWeightsPath(plan_path);
  std::vector<SafetensorsWriter::Entry> entries;
  for (const ExtraWeight &weight : result.extra_weights) {
    auto it = parameters.find(weight.name);
    if (it == parameters.end()) {
      continue; // folded away: nothing uses it
    }
    const plan::Parameter &parameter = *it->second.parameter;
    entries.push_back({weight.name,
                       it->second.type,
                       {parameter.shape().begin(), parameter.shape().end()}});
  }
  ZG_ASSIGN_OR_RETURN(auto writer,
                      SafetensorsWriter::create(path, std::move(entries)));
  for (const ExtraWeight &weight : result.extra_weights) {
    if (parameters.count(weight.name)) {
      ZG_RETURN_IF_ERROR(writer->write(weight.name, 0, weight.bytes.size(),
                                       weight.bytes.data()));
    }
  }
  ZG_RETURN_IF_ERROR(writer->commit());

  ZG_ASSIGN_OR_RETURN(TensorFile written, readSafetensors(path));
  std::filesystem::path file(path);
  for (auto &[name, extent] : written) {
    plan::Source *source = parameters.at(name).parameter->mutable_source();
    source->set_file(file.filename());
    source->clear_folder(); // the plan's, wherever it goes
    source->set_offset(extent.offset);
    source->set_length(extent.bytes);
  }
  return absl::OkStatus();
}

} // namespace zerograph
