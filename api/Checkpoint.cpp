//===- Checkpoint.cpp - checkpoints of the caller's arrays ----------------===//

#include "runtime/checkpoint/FromTensors.h"

#include "api/Arrays.h"
#include "api/Plan.h"
#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/checkpoint/RunOfPlan.h"

#include <nlohmann/json.hpp>

using namespace zerograph;

zg_code zg_plan_checkpoint(const zg_plan *plan, char **json) {
  return api::guard([&] {
    auto list = nlohmann::ordered_json::array();
    for (const CheckpointTensor &tensor :
         savedTensors(plan->made->plan.plan, /*rank=*/0)) {
      list.push_back({{"name", tensor.key()},
                      {"type", plan::ElementType_Name(tensor.type)},
                      {"shape", tensor.shape},
                      {"parameter", tensor.name},
                      {"role", tensor.isValues() ? "values" : tensor.role}});
    }
    *json = api::copyOf(list.dump());
    return absl::OkStatus();
  });
}

zg_code zg_checkpoint_write(const zg_plan *plan, const char *run,
                            const zg_array *arrays, size_t count,
                            const char *folder, char **path) {
  return api::guard([&]() -> absl::Status {
    const LoadedPlan &loaded = plan->made->plan;
    ZG_ASSIGN_OR_RETURN(TensorFile tensors,
                        api::arraysOf("the checkpoint", arrays, count));
    ZG_ASSIGN_OR_RETURN(CheckpointRun where, runAt(loaded, run));
    ZG_ASSIGN_OR_RETURN(std::string written,
                        writeCheckpoint(loaded, where, tensors, folder));
    if (path) {
      *path = api::copyOf(written);
    }
    return absl::OkStatus();
  });
}
