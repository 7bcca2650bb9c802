//===- MergeIndex.cpp - one index of the ranks' parts ---------------------===//

#include "runtime/checkpoint/Index.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace zerograph;

namespace {

/// Returns the key by which tensors are ordered, and told apart.
auto keyOf(const CheckpointTensor &tensor) {
  // A parameter has one tensor of values, whatever its role is called.
  return std::make_tuple(tensor.name, !tensor.isValues(),
                         tensor.isValues() ? std::string() : tensor.role,
                         tensor.rank);
}

absl::Status checkTensor(const CheckpointTensor &tensor) {
  uint64_t bytes = 0, end = 0;
  byteCount(tensor.shape, elementSize(tensor.type), bytes);
  for (const CheckpointPiece &piece : tensor.pieces) {
    if (piece.first != end) {
      return absl::InvalidArgumentError(
          absl::StrCat(tensor.text(), ": a piece begins at element ",
                       piece.first, ", expected ", end));
    }
    end += piece.elements;
  }
  uint64_t elements = bytes / elementSize(tensor.type);
  if (end != elements) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.text(), ": its pieces end at element ", end, " of ", elements));
  }
  return absl::OkStatus();
}

/// The pieces lie in each file from its header on to its end.
absl::Status checkFiles(const CheckpointIndex &index) {
  std::vector<std::map<uint64_t, uint64_t>> extents(index.files.size());
  for (const CheckpointTensor &tensor : index.tensors) {
    for (const CheckpointPiece &piece : tensor.pieces) {
      uint64_t bytes = piece.elements * elementSize(tensor.type);
      if (!extents[piece.file].emplace(piece.offset, bytes).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(index.files[piece.file].name,
                         ": two pieces begin at byte ", piece.offset));
      }
    }
  }
  for (size_t i = 0; i < index.files.size(); ++i) {
    const CheckpointFile &file = index.files[i];
    uint64_t end = file.header_bytes;
    for (const auto &[offset, bytes] : extents[i]) {
      if (offset != end) {
        return absl::InvalidArgumentError(
            absl::StrCat(file.name, ": a piece begins at byte ", offset,
                         ", expected ", end));
      }
      end += bytes;
    }
    if (end != file.bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          file.name, ": its pieces end at byte ", end, " of ", file.bytes));
    }
  }
  return absl::OkStatus();
}

absl::Status checkAll(const CheckpointIndex &index) {
  if (index.files.size() != index.run.ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", index.files.size(), " files of ",
                     index.run.ranks, " ranks"));
  }
  for (size_t i = 0; i + 1 < index.tensors.size(); ++i) {
    if (!(keyOf(index.tensors[i]) < keyOf(index.tensors[i + 1]))) {
      return absl::InvalidArgumentError(absl::StrCat(
          index.tensors[i + 1].text(), " is there twice, or not in order"));
    }
  }
  for (const CheckpointTensor &tensor : index.tensors) {
    ZG_RETURN_IF_ERROR(checkTensor(tensor));
  }
  return checkFiles(index);
}

} // namespace

absl::Status zerograph::checkWhole(const std::string &path,
                                   const CheckpointIndex &index) {
  absl::Status status = checkAll(index);
  return status.ok() ? status : annotate(status, path);
}

absl::StatusOr<CheckpointIndex>
zerograph::mergeIndex(const std::string &path,
                      const std::vector<CheckpointIndex> &parts) {
  CheckpointIndex whole;
  using Key = decltype(keyOf(CheckpointTensor()));
  std::map<Key, CheckpointTensor> tensors;
  for (const CheckpointIndex &part : parts) {
    auto before = uint32_t(whole.files.size());
    whole.run = parts.front().run;
    if (part.run.steps != whole.run.steps || part.run.plan != whole.run.plan) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": the parts are of different runs"));
    }
    whole.files.insert(whole.files.end(), part.files.begin(), part.files.end());
    for (const CheckpointTensor &tensor : part.tensors) {
      CheckpointTensor &merged = tensors[keyOf(tensor)];
      std::vector<CheckpointPiece> pieces = std::move(merged.pieces);
      for (CheckpointPiece piece : tensor.pieces) {
        piece.file += before;
        pieces.push_back(std::move(piece));
      }
      merged = tensor;
      merged.pieces = std::move(pieces);
    }
  }
  for (auto &[key, tensor] : tensors) {
    std::sort(tensor.pieces.begin(), tensor.pieces.end(),
              [](const CheckpointPiece &a, const CheckpointPiece &b) {
                return a.first < b.first;
              });
    whole.tensors.push_back(std::move(tensor));
  }
  ZG_RETURN_IF_ERROR(checkWhole(path, whole));
  return whole;
}
