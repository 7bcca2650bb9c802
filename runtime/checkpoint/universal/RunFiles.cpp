//===- RunFiles.cpp - files of a universal checkpoint without tensors -----===//

#include "runtime/checkpoint/universal/RunFiles.h"

#include "runtime/checkpoint/universal/Layout.h"
#include "runtime/io/torch/TorchWriter.h"

#include <optional>

using namespace zerograph;

namespace {

/// A count as optimizers of PyTorch have it, in float32.
size_t addCount(PickleWriter &pickle) { return pickle.tensor(plan::F32, {}); }

absl::Status appendCount(TorchWriter &writer, size_t storage, uint64_t count) {
  auto value = float(count);
  return writer.append(storage, &value, sizeof(value));
}

void addEmptyGroups(PickleWriter &pickle, size_t count) {
  pickle.text("param_groups");
  pickle.beginList();
  for (size_t i = 0; i < count; ++i) {
    pickle.beginDictionary();
    pickle.endDictionary();
  }
  pickle.endList();
}

} // namespace

absl::Status universal::writeStep(uint64_t updates, const std::string &path) {
  PickleWriter pickle;
  size_t storage = addCount(pickle);
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchWriter> writer,
                      TorchWriter::create(path, std::move(pickle)));
  ZG_RETURN_IF_ERROR(appendCount(*writer, storage, updates));
  return writer->commit();
}

absl::Status universal::writeOptimizerState(uint64_t updates, size_t groups,
                                            bool torch_optimizer,
                                            const std::string &path) {
  std::optional<size_t> storage;
  PickleWriter pickle;
  pickle.beginDictionary();
  pickle.text("ds_version");
  pickle.text(universal::kVersion);
  addEmptyGroups(pickle, groups);
  pickle.text("optimizer_state_dict");
  pickle.beginDictionary();
  pickle.text("state");
  pickle.beginDictionary();
  pickle.integer(0);
  pickle.beginDictionary();
  pickle.text("step");
  // ZeRO 3 gives the same one to all groups. So of a tensor each counts what
  // all have made; numbers are each group's own.
  if (torch_optimizer) {
    storage = addCount(pickle);
  } else {
    pickle.integer(int64_t(updates));
  }
  pickle.endDictionary();
  pickle.endDictionary();
  addEmptyGroups(pickle, 1);
  pickle.endDictionary();
  pickle.endDictionary();
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchWriter> writer,
                      TorchWriter::create(path, std::move(pickle)));
  if (storage) {
    ZG_RETURN_IF_ERROR(appendCount(*writer, *storage, updates));
  }
  return writer->commit();
}

absl::Status universal::writeModelStates(const CheckpointRun &run,
                                         const std::string &path) {
  PickleWriter pickle;
  pickle.beginDictionary();
  auto number = [&](const char *key, uint64_t value) {
    pickle.text(key);
    pickle.integer(int64_t(value));
  };
  number("dp_world_size", 1);
  number("mp_world_size", 1);
  number("global_steps", run.steps);
  number("global_samples", run.steps * run.samples_per_step);
  number("skipped_steps", run.steps - run.updates);
  pickle.text("ds_version");
  pickle.text(universal::kVersion);
  // DeepSpeed's schedules count updates from 0, PyTorch's are not told.
  pickle.text("lr_scheduler");
  pickle.beginDictionary();
  pickle.text("last_batch_iteration");
  pickle.integer(int64_t(run.updates) - 1);
  pickle.endDictionary();
  pickle.endDictionary();
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchWriter> writer,
                      TorchWriter::create(path, std::move(pickle)));
  return writer->commit();
}
