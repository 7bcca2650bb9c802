//===- Verify.cpp - every byte of a checkpoint ----------------------------===//

#include "runtime/checkpoint/Verify.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/Folder.h"

#include "absl/strings/str_join.h"

using namespace zerograph;

namespace {

/// The header is that which was written, and has just the pieces of the index.
absl::Status checkHeader(const std::string &folder,
                         const CheckpointIndex &index, uint32_t number) {
  const CheckpointFile &expected = index.files[number];
  std::string path = absl::StrCat(folder, "/", expected.name);
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  std::string header(expected.header_bytes, '\0');
  ZG_RETURN_IF_ERROR(file->read(0, header.size(), header.data()));
  if (checksumOf(header.data(), header.size()) != expected.header_checksum) {
    return absl::DataLossError(
        absl::StrCat(path, ": its header is damaged: bytes 0 to ",
                     header.size(), " are not those that were written"));
  }
  ZG_ASSIGN_OR_RETURN(TensorFile arrays, readSafetensors(path));
  size_t pieces = 0;
  for (const CheckpointTensor &tensor : index.tensors) {
    for (const CheckpointPiece &piece : tensor.pieces) {
      if (piece.file != number) {
        continue;
      }
      ++pieces;
      std::string key = pieceKey(tensor, piece.first, piece.elements);
      auto found = arrays.find(key);
      if (found == arrays.end() || found->second.offset != piece.offset ||
          found->second.type != tensor.type ||
          found->second.shape != std::vector<uint64_t>{piece.elements}) {
        return absl::DataLossError(
            absl::StrCat(path, ": '", key, "' is not where the index has it"));
      }
    }
  }
  if (pieces != arrays.size()) {
    return absl::DataLossError(absl::StrCat(path, " has ", arrays.size(),
                                            " arrays, and the index ", pieces));
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<VerifiedCheckpoint>
zerograph::verifyCheckpoint(const std::string &path) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<Checkpoint> checkpoint,
                      Checkpoint::open(path));
  const CheckpointIndex &index = checkpoint->index();
  VerifiedCheckpoint verified;
  verified.run = index.run;
  verified.bytes = checkpoint->bytes();
  std::vector<std::string> problems;
  auto note = [&](const absl::Status &status) {
    if (!status.ok()) {
      problems.push_back(std::string(status.message()));
    }
  };
  for (size_t i = 0; i < index.files.size(); ++i) {
    note(checkHeader(path, index, uint32_t(i)));
  }
  for (const CheckpointTensor &tensor : index.tensors) {
    ++verified.tensors;
    verified.pieces += tensor.pieces.size();
    for (const CheckpointPiece &piece : tensor.pieces) {
      // Each apart, so that one that is damaged hides no other.
      note(checkpoint->read(tensor, piece.first, piece.elements,
                            [](uint64_t, uint64_t, const std::byte *) {
                              return absl::OkStatus();
                            }));
    }
  }
  if (!problems.empty()) {
    return absl::DataLossError(absl::StrJoin(problems, "\n  "));
  }
  return verified;
}
