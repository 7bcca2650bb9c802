//===- Reference.cpp - what PyTorch computed for a model ------------------===//

#include "tests/e2e/Reference.h"

#include "runtime/io/File.h"
#include "runtime/io/TensorFile.h"
#include "runtime/plan/Describe.h"
#include "runtime/state/Convert.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

namespace zerograph::testing {

namespace {

ReferenceRun readRun(const nlohmann::json &run) {
  ReferenceRun entry;
  entry.optimizer = run["optimizer"];
  entry.lr = run["lr"];
  entry.momentum = run.value("momentum", 0.0);
  entry.nesterov = run.value("nesterov", false);
  entry.weight_decay = run["weight_decay"];
  if (run.contains("betas")) {
    entry.beta1 = run["betas"][0];
    entry.beta2 = run["betas"][1];
  }
  entry.epsilon = run.value("eps", entry.epsilon);
  entry.coefficients = run.value("coefficients", entry.coefficients);
  entry.groups = run.value("groups", entry.groups);
  entry.no_decay = run.value("no_decay", false);
  if (run.contains("schedule")) {
    entry.total_steps = run["schedule"]["total_steps"];
    entry.warmup_steps = run["schedule"]["warmup_steps"];
    entry.min_lr = run["schedule"]["min_lr"];
  }
  entry.max_norm = run.value("max_norm", 0.0);
  if (entry.max_norm != 0) {
    entry.norms = run["grad_norm_fp64"].get<std::vector<double>>();
  }
  entry.losses = run["losses_fp64"].get<std::vector<double>>();
  entry.moved = run.value("moved_fp64", entry.moved);
  return entry;
}

void readRuns(const nlohmann::json &json, Reference &reference) {
  for (const auto &run : json["runs"]) {
    reference.runs[run["name"]] = readRun(run);
  }
}

} // namespace

Reference loadReference(const std::string &model) {
  std::ifstream file(std::string(ZEROGRAPH_MODELS) + "/" + model +
                     "/reference.json");
  nlohmann::json json = nlohmann::json::parse(file);
  Reference reference;
  reference.steps = json["steps"];
  reference.global_batch = json["global_batch"];
  reference.has_sequence = json["batches"].contains("input_ids");
  readRuns(json, reference);
  std::ifstream more(std::string(ZEROGRAPH_OPTIMIZERS) + "/" + model + ".json");
  if (more) {
    readRuns(nlohmann::json::parse(more), reference);
  }
  if (json.contains("loss_of_step_0_with_p_0")) {
    reference.loss_without_dropout = json["loss_of_step_0_with_p_0"]["fp64"];
  }
  for (const auto &[name, value] :
       json["final_adamw_max_abs_difference_fp32_fp64"].items()) {
    reference.adamw_distance[name] = value;
  }
  for (const auto &[name, value] :
       json["elements_with_vanishing_gradient"].items()) {
    reference.vanishing[name] = value;
  }
  return reference;
}

Arrays loadArrays(const std::string &path) {
  Arrays arrays;
  auto tensors = readSafetensors(path);
  EXPECT_TRUE(tensors.ok()) << tensors.status();
  if (!tensors.ok()) {
    return arrays;
  }
  for (const auto &[name, extent] : *tensors) {
    std::vector<std::byte> bytes(extent.bytes);
    absl::Status read =
        extent.file->read(extent.offset, extent.bytes, bytes.data());
    EXPECT_TRUE(read.ok()) << read;
    std::vector<float> &values = arrays[name];
    values.resize(extent.bytes / elementSize(extent.type));
    EXPECT_TRUE(canConvert(extent.type, plan::F32)) << name;
    convertElements(extent.type, bytes.data(), plan::F32,
                    reinterpret_cast<std::byte *>(values.data()),
                    values.size());
  }
  return arrays;
}

} // namespace zerograph::testing
