//===- UniversalCheckpoint.cpp - a checkpoint in DeepSpeed's layout -------===//

#include "runtime/checkpoint/universal/UniversalCheckpoint.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/JsonFields.h"
#include "runtime/checkpoint/universal/Layout.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

#include <filesystem>

using namespace zerograph;
namespace fs = std::filesystem;
using Kind = PickleValue::Kind;

namespace {

/// Returns the classes of objects that DeepSpeed saves beside tensors.
const std::set<std::string> &deepSpeedClasses() {
  static const auto *classes = new std::set<std::string>{
      "deepspeed.runtime.fp16.loss_scaler.LossScaler",
      "deepspeed.runtime.fp16.loss_scaler.DynamicLossScaler",
      "deepspeed.runtime.zero.config.ZeroStageEnum",
      "torch._tensor._rebuild_from_type_v2",
      "torch.Tensor",
      "torch.device",
      "torch.float32",
      "torch.float16",
      "torch.bfloat16"};
  return *classes;
}

bool isThere(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool isCheckpointFolder(const fs::path &path) {
  return isThere(path / universal::kZero / universal::kOptimizerState);
}

/// A key's natural number, if it has one.
std::optional<uint64_t> numberIn(const PickleValue &mapping, const char *key) {
  const PickleValue *value = mapping.find(key);
  if (!value || value->kind != Kind::Integer || value->integer < 0) {
    return std::nullopt;
  }
  return uint64_t(value->integer);
}

/// An optimizer's count: a number, or a tensor of one.
absl::StatusOr<uint64_t> countOf(const TorchFile &file,
                                 const PickleValue &value) {
  auto bad = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        file.path(), ": it counts no updates: it holds ", value.describe()));
  };
  if (value.kind == Kind::Integer && value.integer >= 0) {
    return uint64_t(value.integer);
  }
  if (!TorchFile::isTensor(value)) {
    return bad();
  }
  ZG_ASSIGN_OR_RETURN(TensorExtent extent,
                      file.tensor(value, universal::kStep));
  if (extent.type == plan::F32 && extent.bytes == sizeof(float)) {
    float count = 0;
    ZG_RETURN_IF_ERROR(extent.file->read(extent.offset, sizeof(count), &count));
    return count >= 0 && count < 1e18F ? absl::StatusOr<uint64_t>(count)
                                       : bad();
  }
  if (extent.type == plan::I64 && extent.bytes == sizeof(int64_t)) {
    int64_t count = 0;
    ZG_RETURN_IF_ERROR(extent.file->read(extent.offset, sizeof(count), &count));
    return count >= 0 ? absl::StatusOr<uint64_t>(uint64_t(count)) : bad();
  }
  return bad();
}

} // namespace

bool UniversalCheckpoint::isAt(const std::string &path) {
  return isCheckpointFolder(path) ||
         isThere(fs::path(path) / universal::kLatest);
}

absl::StatusOr<UniversalCheckpoint>
UniversalCheckpoint::open(const std::string &path) {
  UniversalCheckpoint made;
  made.folder = path;
  if (!isCheckpointFolder(path)) {
    std::string latest = (fs::path(path) / universal::kLatest).string();
    ZG_ASSIGN_OR_RETURN(std::string text, readText(latest));
    std::string tag(absl::StripAsciiWhitespace(text));
    made.folder = (fs::path(path) / tag).string();
    if (tag.empty() || tag.find('/') != std::string::npos || tag == ".." ||
        !isCheckpointFolder(made.folder)) {
      return absl::NotFoundError(absl::StrCat(
          latest, " names '", tag, "', which is no universal checkpoint in ",
          path, ": it has no ", universal::kZero, "/",
          universal::kOptimizerState));
    }
  }
  ZG_RETURN_IF_ERROR(made.listParameters());
  ZG_RETURN_IF_ERROR(made.readModelStates());
  ZG_RETURN_IF_ERROR(made.readOptimizerState());
  ZG_RETURN_IF_ERROR(made.readUpdates());
  if (made.updates_ > made.steps_) {
    return absl::InvalidArgumentError(
        absl::StrCat(made.folder, ": the optimizer has made ", made.updates_,
                     " updates in ", made.steps_, " steps"));
  }
  return made;
}

absl::Status UniversalCheckpoint::listParameters() {
  std::error_code error;
  std::string zero = (fs::path(folder) / universal::kZero).string();
  for (fs::directory_iterator one(zero, error), end; !error && one != end;
       one.increment(error)) {
    std::error_code ignored; // no folder, then
    if (!one->is_directory(ignored)) {
      continue;
    }
    std::set<std::string> &found = files[one->path().filename().string()];
    for (fs::directory_iterator file(one->path(), error); !error && file != end;
         file.increment(error)) {
      std::string name = file->path().filename().string();
      absl::string_view rest = name;
      if (absl::ConsumeSuffix(&rest, ".pt")) {
        found.insert(std::string(rest));
      }
    }
  }
  return error ? absl::UnavailableError(absl::StrCat(
                     zero, ": cannot be listed: ", error.message()))
               : absl::OkStatus();
}

absl::Status UniversalCheckpoint::readModelStates() {
  std::string path;
  for (const char *name : universal::kModelStates) {
    if (path.empty() && isThere(fs::path(folder) / name)) {
      path = (fs::path(folder) / name).string();
    }
  }
  if (path.empty()) {
    return absl::NotFoundError(absl::StrCat(folder, ": it has neither ",
                                            universal::kModelStates[0], " nor ",
                                            universal::kModelStates[1]));
  }
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchFile> file,
                      TorchFile::open(path, deepSpeedClasses()));
  std::optional<uint64_t> steps = numberIn(file->root(), "global_steps");
  if (!steps || *steps > kMostCount) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": it has no number 'global_steps'"));
  }
  steps_ = *steps;
  uint64_t skipped = numberIn(file->root(), "skipped_steps").value_or(0);
  updates_ = steps_ - std::min(skipped, steps_);
  std::optional<uint64_t> all = numberIn(file->root(), "global_samples");
  if (all && steps_ != 0 && *all % steps_ == 0) {
    samples = *all / steps_;
  }
  return absl::OkStatus();
}

absl::Status UniversalCheckpoint::readOptimizerState() {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchFile> file,
                      TorchFile::open((fs::path(folder) / universal::kZero /
                                       universal::kOptimizerState)
                                          .string(),
                                      deepSpeedClasses()));
  // ZeRO 3 counts only here.
  if (const PickleValue *inner = file->root().find("optimizer_state_dict")) {
    const PickleValue *state = inner->find("state");
    const PickleValue *first =
        state && state->items.size() >= 2 ? state->items[1] : nullptr;
    const PickleValue *count = first ? first->find(universal::kStep) : nullptr;
    if (count) {
      ZG_ASSIGN_OR_RETURN(updates_, countOf(*file, *count));
    }
  }
  const PickleValue *scaler = file->root().find("loss_scaler");
  if (!scaler || scaler->kind != Kind::Object || !scaler->state ||
      !absl::EndsWith(scaler->text, ".DynamicLossScaler")) {
    return absl::OkStatus();
  }
  const PickleValue &state = *scaler->state;
  const PickleValue *value = state.find("cur_scale");
  const PickleValue *overflow = state.find("last_overflow_iter");
  SavedLossScale saved;
  saved.scale = !value                      ? 0
                : value->kind == Kind::Real ? value->real
                                            : double(value->integer);
  saved.steps = int64_t(numberIn(state, "cur_iter").value_or(0));
  saved.last_overflow =
      overflow && overflow->kind == Kind::Integer ? overflow->integer : -1;
  saved.hysteresis = uint32_t(numberIn(state, "cur_hysteresis").value_or(1));
  if (!(saved.scale > 0) || saved.last_overflow < -1 ||
      saved.last_overflow >= std::max<int64_t>(1, saved.steps)) {
    return absl::InvalidArgumentError(absl::StrCat(
        file->path(), ": its loss scale is none that a run can have"));
  }
  scale = saved;
  return absl::OkStatus();
}

/// All parameters count the same.
absl::Status UniversalCheckpoint::readUpdates() {
  std::string first;
  for (const auto &[name, own] : files) {
    if (own.count(universal::kStep) == 0) {
      continue;
    }
    std::string path = pathOf(name, universal::kStep);
    ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchFile> file, TorchFile::open(path));
    ZG_ASSIGN_OR_RETURN(uint64_t count, countOf(*file, file->root()));
    if (!first.empty() && count != updates_) {
      return absl::FailedPreconditionError(absl::StrCat(
          folder, ": '", first, "' was updated ", updates_, " times, and '",
          name, "' ", count, " times: a plan updates all parameters at once"));
    }
    updates_ = count;
    first = name;
  }
  return absl::OkStatus();
}

std::string UniversalCheckpoint::pathOf(const std::string &parameter,
                                        const std::string &file) const {
  return (fs::path(folder) / universal::kZero / parameter / (file + ".pt"))
      .string();
}

absl::StatusOr<TensorExtent>
UniversalCheckpoint::tensor(const std::string &parameter,
                            const std::string &file) const {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<TorchFile> opened,
                      TorchFile::open(pathOf(parameter, file)));
  const PickleValue &root = opened->root();
  const PickleValue *inner = root.find("param");
  return opened->tensor(inner ? *inner : root, parameter);
}
