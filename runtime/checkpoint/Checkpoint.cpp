//===- Checkpoint.cpp - a published checkpoint, opened --------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/Folder.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <tuple>

using namespace zerograph;

namespace {

/// Returns what is lost with a file.
std::string heldBy(const CheckpointIndex &index, size_t file) {
  std::vector<std::string> names;
  for (const CheckpointTensor &tensor : index.tensors) {
    for (const CheckpointPiece &piece : tensor.pieces) {
      if (piece.file == file) {
        names.push_back(tensor.text());
        break;
      }
    }
  }
  return names.empty() ? "no tensor has a piece in it"
                       : absl::StrCat("it has pieces of ", listOf(names));
}

} // namespace

absl::StatusOr<std::unique_ptr<Checkpoint>>
Checkpoint::open(const std::string &path) {
  std::string index_path = absl::StrCat(path, "/", kIndexName);
  ZG_ASSIGN_OR_RETURN(std::string text, readText(index_path));
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->folder = path;
  ZG_ASSIGN_OR_RETURN(checkpoint->index_, parseIndex(index_path, text));
  std::vector<std::string> problems;
  const CheckpointIndex &index = checkpoint->index_;
  for (size_t i = 0; i < index.files.size(); ++i) {
    const CheckpointFile &file = index.files[i];
    absl::StatusOr<std::shared_ptr<File>> opened =
        File::openForReading(absl::StrCat(path, "/", file.name));
    if (!opened.ok()) {
      problems.push_back(
          absl::StrCat(opened.status().message(), " (", heldBy(index, i), ")"));
    } else if ((*opened)->bytes() != file.bytes) {
      problems.push_back(absl::StrCat(
          (*opened)->path(), " has ", (*opened)->bytes(), " bytes, and had ",
          file.bytes, " when it was written (", heldBy(index, i), ")"));
    } else {
      checkpoint->files.push_back(std::move(*opened));
    }
  }
  if (!problems.empty()) {
    return absl::DataLossError(absl::StrJoin(problems, "\n  "));
  }
  return checkpoint;
}

uint64_t Checkpoint::bytes() const {
  uint64_t bytes = 0;
  for (const CheckpointFile &file : index_.files) {
    bytes += file.bytes;
  }
  return bytes;
}

const CheckpointTensor *Checkpoint::find(const std::string &name, bool values,
                                         const std::string &role,
                                         std::optional<uint32_t> rank) const {
  // Values are those of a master or of a parameter without one.
  auto key =
      std::make_tuple(name, !values, values ? std::string() : role, rank);
  auto keyOf = [](const CheckpointTensor &tensor) {
    return std::make_tuple(tensor.name, !tensor.isValues(),
                           tensor.isValues() ? std::string() : tensor.role,
                           tensor.rank);
  };
  auto found =
      std::lower_bound(index_.tensors.begin(), index_.tensors.end(), key,
                       [&](const CheckpointTensor &tensor, const auto &key) {
                         return keyOf(tensor) < key;
                       });
  return found != index_.tensors.end() && keyOf(*found) == key ? &*found
                                                               : nullptr;
}

absl::Status Checkpoint::readBlock(const CheckpointTensor &tensor,
                                   const CheckpointPiece &piece, uint64_t block,
                                   std::vector<std::byte> &bytes) const {
  const File &file = *files[piece.file];
  uint64_t begin = block * kChecksumBytes;
  uint64_t all = piece.elements * elementSize(tensor.type);
  bytes.resize(std::min(kChecksumBytes, all - begin));
  absl::Status status =
      file.read(piece.offset + begin, bytes.size(), bytes.data());
  if (!status.ok()) {
    return annotate(status, tensor.text());
  }
  if (checksumOf(bytes.data(), bytes.size()) != piece.checksums[block]) {
    return absl::DataLossError(absl::StrCat(
        file.path(), ": ", tensor.text(), " is damaged: bytes ",
        piece.offset + begin, " to ", piece.offset + begin + bytes.size(),
        " are not those that were written"));
  }
  return absl::OkStatus();
}

absl::Status Checkpoint::read(const CheckpointTensor &tensor, uint64_t first,
                              uint64_t count, ElementsVisitor visit) const {
  uint64_t element = elementSize(tensor.type);
  uint64_t block_elements = kChecksumBytes / element, end = first + count;
  std::vector<std::byte> bytes;
  // The last piece that begins at or before `first`.
  auto piece = std::upper_bound(
      tensor.pieces.begin(), tensor.pieces.end(), first,
      [](uint64_t first, const CheckpointPiece &p) { return first < p.first; });
  piece -= piece == tensor.pieces.begin() ? 0 : 1;
  for (; piece != tensor.pieces.end() && piece->first < end; ++piece) {
    uint64_t from = std::max(first, piece->first) - piece->first;
    uint64_t to = std::min(end, piece->first + piece->elements) - piece->first;
    while (from < to) {
      uint64_t block = from / block_elements;
      uint64_t begin = block * block_elements;
      uint64_t next = std::min(to, begin + block_elements);
      ZG_RETURN_IF_ERROR(readBlock(tensor, *piece, block, bytes));
      ZG_RETURN_IF_ERROR(visit(piece->first + from, next - from,
                               bytes.data() + (from - begin) * element));
      from = next;
    }
  }
  return absl::OkStatus();
}
