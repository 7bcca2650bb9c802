//===- RunOfPlan.cpp - what a plan says of its runs -----------------------===//

#include "runtime/checkpoint/RunOfPlan.h"

#include "runtime/base/Version.h"
#include "runtime/plan/Mesh.h"
#include "runtime/state/Adapters.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

using namespace zerograph;
using nlohmann::json;

static json jsonOf(const google::protobuf::Message &message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(message, &text, options)
           .ok()) {
    return json::object();
  }
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string zerograph::settingsOf(const plan::Plan &plan) {
  json settings = {{"groups", json::array()}};
  for (const plan::OptimizerGroup &group : plan.groups()) {
    settings["groups"].push_back(jsonOf(group));
  }
  settings["schedule"] = jsonOf(plan.schedule());
  settings["clip_norm"] = plan.clip_norm();
  settings["clip_value"] = plan.clip_value();
  settings["skip_nonfinite"] = plan.skip_nonfinite();
  settings["loss_scale"] = jsonOf(plan.loss_scale());
  settings["loss_mean"] = plan.has_loss_count() ? "tokens" : "micro-batches";
  return settings.dump();
}

std::string zerograph::optimizerOf(const plan::Plan &plan) {
  return plan.groups_size() > 0 ? plan.groups(0).kind() : "";
}

CheckpointRun zerograph::runOf(const LoadedPlan &loaded) {
  const plan::Plan &plan = loaded.plan;
  CheckpointRun run;
  run.samples_per_step = samplesOfStep(plan);
  run.micro_batch = plan.micro_batch();
  run.optimizer = optimizerOf(plan);
  run.settings = settingsOf(plan);
  run.adapters = metadataOfAdapters(plan);
  run.ranks = worldOf(plan);
  run.time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  run.model = plan.model();
  run.plan = hashOfRanks(plan);
  run.graph = plan.graph_hash();
  run.producer = kProducer;
  return run;
}

absl::StatusOr<CheckpointRun> zerograph::runAt(const LoadedPlan &loaded,
                                               const std::string &text) {
  CheckpointRun begin = runOf(loaded);
  begin.ranks = 1; // that write
  ZG_ASSIGN_OR_RETURN(CheckpointRun run, withFields(begin, text));
  if (!loaded.plan.has_loss_scale()) {
    run.loss_scale.reset();
  }
  return run;
}
