//===- WriteUniversal.cpp - a checkpoint as DeepSpeed loads it ------------===//

#include "runtime/checkpoint/universal/WriteUniversal.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Whole.h"
#include "runtime/checkpoint/universal/Layout.h"
#include "runtime/io/torch/TorchWriter.h"
#include "runtime/state/Convert.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <filesystem>
#include <optional>

using namespace zerograph;
namespace fs = std::filesystem;

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

/// Writes the number of a parameter's updates, as a tensor: optimizers of
/// PyTorch have one, and DeepSpeed's own take it.
absl::Status writeStep(uint64_t updates, const std::string &path) {
  PickleWriter pickle;
  size_t storage = addCount(pickle);
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchWriter> writer,
                      TorchWriter::create(path, std::move(pickle)));
  ZG_RETURN_IF_ERROR(appendCount(*writer, storage, updates));
  return writer->commit();
}

/// Writes what ZeRO 1 and 2 read of the optimizer, and, in a dictionary in it,
/// ZeRO 3. Nothing is said of rates: those of DeepSpeed's configuration stay.
/// ZeRO 1 and 2 load as many groups as there are here, so there is one for each
/// parameter; no run has more.
absl::Status writeOptimizerState(uint64_t updates, size_t groups,
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

/// Writes how far the run is, as DeepSpeed counts.
absl::Status writeModelStates(const CheckpointRun &run,
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

/// A parameter, and what the optimizer keeps of it.
struct Parameter {
  StateDictName as;
  std::vector<const CheckpointTensor *> tensors;

  bool hasStates() const {
    return std::any_of(tensors.begin(), tensors.end(),
                       [](const auto *tensor) { return !tensor->isValues(); });
  }
};

/// Returns whether a folder can be called so.
bool isFolderName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
         name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::string problemOf(const CheckpointTensor &tensor, const StateDictName &as) {
  if (!canConvert(tensor.type, plan::F32)) {
    return absl::StrCat(tensor.text(), " is of ",
                        plan::ElementType_Name(tensor.type),
                        ", and DeepSpeed keeps all in float32");
  }
  if (!isFolderName(as.name)) {
    return absl::StrCat(tensor.text(), " would be in a folder '", as.name,
                        "', which none can be called; --names gives it "
                        "another name");
  }
  absl::Status shape = as.shapeOf(tensor.shape).status();
  return std::string(shape.message());
}

/// By their names in PyTorch.
absl::StatusOr<std::map<std::string, Parameter>>
parametersOf(const Checkpoint &checkpoint, const StateDictNames &names) {
  std::map<std::string, Parameter> parameters;
  std::map<std::string, std::string> owners;
  std::vector<std::string> problems;
  for (const CheckpointTensor &tensor : checkpoint.index().tensors) {
    if (tensor.rank.value_or(0) != 0) {
      continue; // statistics of its own
    }
    StateDictName as = names.of(tensor.name);
    auto [owner, fresh] = owners.emplace(as.name, tensor.name);
    if (owner->second != tensor.name) {
      problems.push_back(absl::StrCat("'", owner->second, "' and '",
                                      tensor.name, "' would both be '", as.name,
                                      "'"));
    } else if (std::string problem = problemOf(tensor, as); !problem.empty()) {
      problems.push_back(problem);
    }
    Parameter &parameter = parameters[as.name];
    parameter.as = as;
    parameter.tensors.push_back(&tensor);
  }
  if (problems.empty()) {
    return parameters;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(checkpoint.path(),
                   " cannot be written in DeepSpeed's universal layout:\n  ",
                   absl::StrJoin(problems, "\n  ")));
}

absl::Status writeTensor(const Checkpoint &checkpoint,
                         const CheckpointTensor &tensor,
                         const StateDictName &as, const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::vector<uint64_t> shape, as.shapeOf(tensor.shape));
  PickleWriter pickle;
  pickle.beginDictionary();
  pickle.text("param");
  size_t storage = pickle.tensor(plan::F32, shape);
  pickle.endDictionary();
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchWriter> writer,
                      TorchWriter::create(path, std::move(pickle)));
  ZG_RETURN_IF_ERROR(visitTensor(checkpoint, tensor, as, plan::F32,
                                 [&](const std::byte *data, uint64_t bytes) {
                                   return writer->append(storage, data, bytes);
                                 }));
  return writer->commit();
}

absl::Status makeFolder(const std::string &path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? absl::UnavailableError(
                     absl::StrCat(path, ": cannot be made: ", error.message()))
               : absl::OkStatus();
}

absl::Status writeParameter(const Checkpoint &checkpoint,
                            const Parameter &parameter,
                            const std::string &zero) {
  std::string folder = absl::StrCat(zero, "/", parameter.as.name, "/");
  ZG_RETURN_IF_ERROR(makeFolder(folder));
  for (const CheckpointTensor *tensor : parameter.tensors) {
    ZG_RETURN_IF_ERROR(
        writeTensor(checkpoint, *tensor, parameter.as,
                    absl::StrCat(folder, universal::fileOf(*tensor), ".pt")));
  }
  if (!parameter.hasStates()) {
    return absl::OkStatus();
  }
  return writeStep(checkpoint.index().run.updates,
                   absl::StrCat(folder, universal::kStep, ".pt"));
}

absl::Status writeAll(const Checkpoint &checkpoint,
                      const std::map<std::string, Parameter> &parameters,
                      bool torch_optimizer, const std::string &path) {
  const CheckpointRun &run = checkpoint.index().run;
  std::string zero = absl::StrCat(path, "/", universal::kZero);
  ZG_RETURN_IF_ERROR(makeFolder(zero));
  for (const auto &[name, parameter] : parameters) {
    ZG_RETURN_IF_ERROR(writeParameter(checkpoint, parameter, zero));
  }
  ZG_RETURN_IF_ERROR(
      writeOptimizerState(run.updates, parameters.size(), torch_optimizer,
                          absl::StrCat(zero, "/", universal::kOptimizerState)));
  for (const char *name : universal::kModelStates) {
    ZG_RETURN_IF_ERROR(writeModelStates(run, absl::StrCat(path, "/", name)));
  }
  return absl::OkStatus();
}

std::vector<std::string>
notesOn(const Checkpoint &checkpoint, const StateDictNames &names,
        const std::map<std::string, Parameter> &parameters) {
  std::vector<std::string> notes;
  std::set<std::string> initializers;
  size_t with_states = 0;
  for (const auto &[name, parameter] : parameters) {
    initializers.insert(parameter.tensors.front()->name);
    with_states += parameter.hasStates();
  }
  if (std::string others = names.others(initializers); !others.empty()) {
    notes.push_back(others);
  }
  if (with_states != 0 && with_states != parameters.size()) {
    notes.push_back(absl::StrCat(
        parameters.size() - with_states,
        " parameters and running statistics that no optimizer updates have "
        "only fp32.pt, which DeepSpeed does not load: give the model its "
        "weights by load_state_dict before"));
  }
  if (checkpoint.index().run.loss_scale) {
    notes.push_back("the loss scale is not written: it begins anew, as "
                    "DeepSpeed's configuration says");
  }
  return notes;
}

} // namespace

absl::StatusOr<WrittenUniversal>
zerograph::writeUniversal(const Checkpoint &checkpoint,
                          const UniversalOptions &options,
                          const std::string &folder) {
  ZG_ASSIGN_OR_RETURN(auto parameters, parametersOf(checkpoint, options.names));
  std::string tag = checkpointName(checkpoint.index().run.steps);
  WrittenUniversal written = {(fs::path(folder) / tag).string(),
                              parameters.size(),
                              notesOn(checkpoint, options.names, parameters)};
  std::string writing = written.path + ".converting";
  std::error_code error;
  if (isCheckpoint(folder)) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, ": it is a checkpoint: choose another folder"));
  }
  if (fs::exists(written.path, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        written.path, ": there is such a checkpoint already: move it away"));
  }
  fs::remove_all(writing, error); // of a conversion that was killed
  absl::Status status =
      writeAll(checkpoint, parameters, options.torch_optimizer, writing);
  if (status.ok()) {
    status = renameFolder(writing, written.path);
  }
  if (!status.ok()) {
    fs::remove_all(writing, error);
    return status;
  }
  ZG_RETURN_IF_ERROR(
      writeText((fs::path(folder) / universal::kLatest).string(), tag));
  return written;
}
