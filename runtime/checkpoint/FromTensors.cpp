//===- FromTensors.cpp - a checkpoint made of whole tensors ---------------===//

#include "runtime/checkpoint/FromTensors.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/OwnedPieces.h"
#include "runtime/checkpoint/WriteShard.h"
#include "runtime/state/Convert.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <filesystem>
#include <set>

using namespace zerograph;

namespace {

/// Returns what is wrong with a tensor that is wanted; empty: nothing.
std::string problemOf(const CheckpointTensor &wanted,
                      const TensorFile &tensors) {
  auto found = tensors.find(wanted.key());
  if (found == tensors.end()) {
    return absl::StrCat("'", wanted.key(), "' is missing");
  }
  const TensorExtent &extent = found->second;
  if (extent.shape != wanted.shape) {
    return absl::StrCat("'", wanted.key(), "' is ", shapeText(extent.shape),
                        ", expected ", shapeText(wanted.shape));
  }
  return canConvert(extent.type, wanted.type)
             ? ""
             : absl::StrCat("'", wanted.key(), "' is of ",
                            plan::ElementType_Name(extent.type), ", expected ",
                            plan::ElementType_Name(wanted.type));
}

/// Returns the first few of many lines.
std::string firstOf(const std::vector<std::string> &lines) {
  size_t shown = std::min<size_t>(10, lines.size());
  std::string text =
      absl::StrJoin(lines.begin(), lines.begin() + shown, "\n  ");
  return shown == lines.size()
             ? text
             : absl::StrCat(text, "\n  and ", lines.size() - shown, " more");
}

absl::Status checkTensors(const std::vector<CheckpointTensor> &wanted,
                          const TensorFile &tensors, const std::string &model) {
  std::vector<std::string> problems;
  std::set<std::string> keys;
  for (const CheckpointTensor &tensor : wanted) {
    keys.insert(tensor.key());
    if (std::string problem = problemOf(tensor, tensors); !problem.empty()) {
      problems.push_back(std::move(problem));
    }
  }
  for (const auto &[key, extent] : tensors) {
    if (keys.count(key) == 0) {
      problems.push_back(absl::StrCat("the plan has nothing for '", key, "'"));
    }
  }
  return problems.empty()
             ? absl::OkStatus()
             : absl::FailedPreconditionError(absl::StrCat(
                   "the tensors do not fit the plan of ", model, ":\n  ",
                   firstOf(problems),
                   "\n  the plan must train the same parameters by the same "
                   "optimizer"));
}

/// Reads tensors in the type that the plan has.
class TensorReader {
public:
  explicit TensorReader(const TensorFile &tensors) : tensors(tensors) {}

  /// Returns the bytes of a tensor, which stay until the next one is read.
  absl::StatusOr<const std::byte *> read(const CheckpointTensor &wanted) {
    const TensorExtent &extent = tensors.at(wanted.key());
    found.resize(extent.bytes);
    ZG_RETURN_IF_ERROR(
        extent.file->read(extent.offset, extent.bytes, found.data()));
    if (extent.type == wanted.type) {
      return found.data();
    }
    uint64_t elements = extent.bytes / elementSize(extent.type);
    converted.resize(elements * elementSize(wanted.type));
    convertElements(extent.type, found.data(), wanted.type, converted.data(),
                    elements);
    return converted.data();
  }

private:
  const TensorFile &tensors;
  std::vector<std::byte> found, converted;
};

/// Writes the only file of a checkpoint, and its index.
absl::Status writeAll(const std::string &folder, const CheckpointRun &run,
                      const std::vector<CheckpointTensor> &wanted,
                      const TensorFile &tensors) {
  std::vector<ShardPiece> pieces;
  for (const CheckpointTensor &tensor : wanted) {
    uint64_t elements = 0;
    byteCount(tensor.shape, 1, elements);
    if (elements != 0) {
      pieces.push_back({&tensor, 0, elements});
    }
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const ShardPiece &a, const ShardPiece &b) {
                     return elementSize(a.tensor->type) >
                            elementSize(b.tensor->type);
                   });
  TensorReader reader(tensors);
  ZG_ASSIGN_OR_RETURN(
      CheckpointIndex part,
      writeShard(folder, run, /*rank=*/0, pieces,
                 [&](size_t i) { return reader.read(*pieces[i].tensor); }));
  std::string path = absl::StrCat(folder, "/", kIndexName);
  ZG_ASSIGN_OR_RETURN(CheckpointIndex index, mergeIndex(path, {part}));
  return writeText(path, textOf(index));
}

} // namespace

absl::StatusOr<std::string>
zerograph::writeCheckpoint(const LoadedPlan &loaded, const CheckpointRun &run,
                           const TensorFile &tensors,
                           const std::string &folder) {
  std::vector<CheckpointTensor> wanted = savedTensors(loaded.plan, /*rank=*/0);
  ZG_RETURN_IF_ERROR(checkTensors(wanted, tensors, loaded.plan.model()));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointFolder> opened,
                      CheckpointFolder::open(folder));
  std::string path = opened->published(run.steps);
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": there is such a checkpoint already: move it away"));
  }
  ZG_RETURN_IF_ERROR(opened->begin(run.steps));
  ZG_RETURN_IF_ERROR(
      writeAll(opened->writing(run.steps), run, wanted, tensors));
  ZG_RETURN_IF_ERROR(opened->publish(run.steps));
  return path;
}
