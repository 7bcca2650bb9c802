//===- AdoptUniversal.cpp - DeepSpeed's checkpoint as one of ours ---------===//

#include "runtime/checkpoint/universal/AdoptUniversal.h"

#include "runtime/base/Version.h"
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/checkpoint/Resume.h"
#include "runtime/checkpoint/WriteShard.h"
#include "runtime/checkpoint/universal/Layout.h"
#include "runtime/state/Adapters.h"
#include "runtime/state/Convert.h"
#include "runtime/state/Transpose.h"

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include <algorithm>
#include <filesystem>

using namespace zerograph;

namespace {

/// A tensor that the plan wants, and what PyTorch calls it.
struct Wanted {
  CheckpointTensor tensor;
  StateDictName as;
  uint64_t elements = 0;
};

/// Returns what is wanted; of what each rank has its own, rank 0's.
std::vector<Wanted> wantedBy(const plan::Plan &plan,
                             const StateDictNames &names) {
  std::vector<Wanted> wanted;
  for (const plan::Unit &unit : plan.units()) {
    std::set<std::string> roles;
    for (const plan::State &state : unit.states()) {
      if (!isSaved(unit, state) || !roles.insert(state.role()).second) {
        continue;
      }
      for (const plan::Parameter &parameter : unit.parameters()) {
        Wanted one = {tensorOf(unit, state, parameter, 0),
                      names.of(parameter.name())};
        byteCount(one.tensor.shape, 1, one.elements);
        wanted.push_back(std::move(one));
      }
    }
  }
  return wanted;
}

/// Finds tensors, and takes what they hold.
class Adoption {
public:
  Adoption(const UniversalCheckpoint &universal, const AdoptOptions &options)
      : universal(universal), options(options) {}

  /// Adds to `problems` what is wrong with a tensor.
  void check(const Wanted &wanted);
  /// Checks what DeepSpeed's optimizer keeps and the plan's does not.
  void checkOthers();
  absl::Status status(const std::string &model) const;
  std::vector<std::string> notes() const;

  /// As the plan has it, until the next one.
  absl::StatusOr<const std::byte *> read(const Wanted &wanted);

private:
  bool isIn(const Wanted &wanted) const;
  /// Finds the tensor of the checkpoint or, of values that it lacks, of the
  /// file of weights.
  absl::StatusOr<TensorExtent> find(const Wanted &wanted) const;

  const UniversalCheckpoint &universal;
  const AdoptOptions &options;
  std::set<std::pair<std::string, std::string>> used; // parameter, file
  std::set<std::string> initializers;
  std::vector<std::string> problems;
  std::vector<std::byte> found, converted;
  uint64_t of_weights = 0;
};

bool Adoption::isIn(const Wanted &wanted) const {
  auto parameter = universal.parameters().find(wanted.as.name);
  return parameter != universal.parameters().end() &&
         parameter->second.count(universal::fileOf(wanted.tensor)) != 0;
}

absl::StatusOr<TensorExtent> Adoption::find(const Wanted &wanted) const {
  if (isIn(wanted)) {
    return universal.tensor(wanted.as.name, universal::fileOf(wanted.tensor));
  }
  auto weight = options.weights.find(wanted.as.name);
  if (weight != options.weights.end() && wanted.tensor.isValues()) {
    return weight->second;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no ", universal::kZero, "/", wanted.as.name, "/",
                   universal::fileOf(wanted.tensor), ".pt, which is ",
                   wanted.tensor.text()));
}

void Adoption::check(const Wanted &wanted) {
  initializers.insert(wanted.tensor.name);
  used.insert({wanted.as.name, universal::fileOf(wanted.tensor)});
  absl::StatusOr<std::vector<uint64_t>> shape =
      wanted.as.shapeOf(wanted.tensor.shape);
  absl::StatusOr<TensorExtent> extent = find(wanted);
  if (!shape.ok() || !extent.ok()) {
    problems.push_back(
        std::string((shape.ok() ? extent.status() : shape.status()).message()));
    return;
  }
  of_weights += !isIn(wanted);
  std::string where = absl::StrCat("'", wanted.as.name, "' (",
                                   universal::fileOf(wanted.tensor), ")");
  bool flat = extent->shape == std::vector<uint64_t>{wanted.elements};
  if (extent->shape != *shape && !flat) {
    problems.push_back(absl::StrCat(where, " is ", shapeText(extent->shape),
                                    ", expected ", shapeText(*shape), " of ",
                                    wanted.tensor.text()));
  } else if (!canConvert(extent->type, wanted.tensor.type)) {
    problems.push_back(absl::StrCat(
        where, " is of ", plan::ElementType_Name(extent->type), ", expected ",
        plan::ElementType_Name(wanted.tensor.type)));
  }
}

void Adoption::checkOthers() {
  for (const auto &[name, files] : universal.parameters()) {
    for (const std::string &file : files) {
      if (file != universal::kValues && file != universal::kStep &&
          used.count({name, file}) == 0) {
        problems.push_back(absl::StrCat("the plan has nothing for ",
                                        universal::kZero, "/", name, "/", file,
                                        ".pt"));
      }
    }
  }
}

absl::Status Adoption::status(const std::string &model) const {
  if (problems.empty()) {
    return absl::OkStatus();
  }
  constexpr size_t kMost = 10;
  size_t shown = std::min(kMost, problems.size());
  return absl::FailedPreconditionError(absl::StrCat(
      universal.path(), " does not fit the plan of ", model, ":\n  ",
      absl::StrJoin(problems.begin(), problems.begin() + shown, "\n  "),
      shown < problems.size()
          ? absl::StrCat("\n  and ", problems.size() - shown, " more")
          : "",
      "\n  --names says what PyTorch calls a tensor of the model, "
      "--load-weights has values that DeepSpeed did not save, and the plan "
      "must train the same parameters by the same optimizer"));
}

std::vector<std::string> Adoption::notes() const {
  std::vector<std::string> notes;
  if (std::string others = options.names.others(initializers);
      !others.empty()) {
    notes.push_back(others);
  }
  if (of_weights != 0) {
    notes.push_back(absl::StrCat(of_weights, " tensors are those of "
                                             "--load-weights: DeepSpeed did "
                                             "not save them"));
  }
  return notes;
}

absl::StatusOr<const std::byte *> Adoption::read(const Wanted &wanted) {
  ZG_ASSIGN_OR_RETURN(TensorExtent extent, find(wanted));
  found.resize(extent.bytes);
  ZG_RETURN_IF_ERROR(
      extent.file->read(extent.offset, extent.bytes, found.data()));
  uint64_t element = elementSize(wanted.tensor.type);
  if (extent.type != wanted.tensor.type) {
    converted.resize(wanted.elements * element);
    convertElements(extent.type, found.data(), wanted.tensor.type,
                    converted.data(), wanted.elements);
    found.swap(converted);
  }
  if (wanted.as.transposed) {
    converted.resize(found.size());
    transposeMatrix(found.data(), wanted.tensor.shape[1],
                    wanted.tensor.shape[0], element, converted.data());
    found.swap(converted);
  }
  return found.data();
}

CheckpointRun describe(const LoadedPlan &loaded,
                       const UniversalCheckpoint &universal,
                       const AdoptOptions &options) {
  const plan::Plan &plan = loaded.plan;
  CheckpointRun run;
  run.steps = universal.steps();
  run.updates = universal.updates();
  if (plan.has_loss_scale()) {
    run.loss_scale = universal.lossScale();
  }
  run.seed = options.seed;
  run.shuffle = options.shuffle;
  run.samples_per_step = universal.samplesOfStep().value_or(
      worldOf(plan) * plan.accumulate() * plan.micro_batch());
  run.micro_batch = plan.micro_batch();
  run.optimizer = optimizerOf(plan);
  run.settings = settingsOf(plan);
  run.adapters = metadataOfAdapters(plan);
  run.time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  run.model = plan.model();
  run.plan = loaded.hash_hex;
  run.producer = kProducer;
  return run;
}

} // namespace

absl::StatusOr<AdoptedCheckpoint> zerograph::adoptUniversal(
    const LoadedPlan &loaded, const UniversalCheckpoint &universal,
    const AdoptOptions &options, const std::string &folder) {
  std::vector<Wanted> wanted = wantedBy(loaded.plan, options.names);
  Adoption adoption(universal, options);
  for (const Wanted &one : wanted) {
    adoption.check(one);
  }
  adoption.checkOthers();
  ZG_RETURN_IF_ERROR(adoption.status(loaded.plan.model()));

  ZG_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointFolder> opened,
                      CheckpointFolder::open(folder));
  AdoptedCheckpoint adopted;
  adopted.run = describe(loaded, universal, options);
  adopted.path = opened->published(universal.steps());
  adopted.tensors = wanted.size();
  adopted.notes = adoption.notes();
  std::error_code error;
  if (std::filesystem::exists(adopted.path, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        adopted.path, ": there is such a checkpoint already: move it away"));
  }
  std::string writing = opened->writing(universal.steps());
  ZG_RETURN_IF_ERROR(opened->begin(universal.steps()));
  std::vector<ShardPiece> pieces;
  std::vector<const Wanted *> owners;
  for (const Wanted &one : wanted) {
    if (one.elements != 0) {
      pieces.push_back({&one.tensor, 0, one.elements});
      owners.push_back(&one);
    }
  }
  ZG_ASSIGN_OR_RETURN(
      CheckpointIndex part,
      writeShard(writing, adopted.run, 0, pieces,
                 [&](size_t i) { return adoption.read(*owners[i]); }));
  std::string path = absl::StrCat(writing, "/", kIndexName);
  ZG_ASSIGN_OR_RETURN(CheckpointIndex index, mergeIndex(path, {part}));
  ZG_RETURN_IF_ERROR(writeText(path, textOf(index)));
  ZG_RETURN_IF_ERROR(opened->publish(universal.steps()));
  return adopted;
}
