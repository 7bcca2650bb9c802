//===- WriteShard.cpp - a rank's file of a checkpoint ---------------------===//

#include "runtime/checkpoint/WriteShard.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/io/SafetensorsWriter.h"

#include <algorithm>

using namespace zerograph;

absl::StatusOr<CheckpointIndex> zerograph::writeShard(
    const std::string &folder, const CheckpointRun &run, uint32_t rank,
    const std::vector<ShardPiece> &pieces,
    absl::FunctionRef<absl::StatusOr<const std::byte *>(size_t)> bytesOf) {
  std::vector<SafetensorsWriter::Entry> entries;
  for (const ShardPiece &piece : pieces) {
    entries.push_back({pieceKey(*piece.tensor, piece.first, piece.elements),
                       piece.tensor->type,
                       {piece.elements}});
  }
  std::string path = absl::StrCat(folder, "/", shardName(rank));
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> shard,
                      SafetensorsWriter::create(path, entries));
  CheckpointIndex index;
  index.run = run;
  index.files.push_back(
      {shardName(rank), shard->bytes(), shard->header().size(),
       checksumOf(shard->header().data(), shard->header().size())});
  for (size_t i = 0; i < pieces.size(); ++i) {
    const ShardPiece &piece = pieces[i];
    uint64_t bytes = piece.elements * elementSize(piece.tensor->type);
    ZG_ASSIGN_OR_RETURN(const std::byte *data, bytesOf(i));
    for (uint64_t at = 0; at < bytes; at += kChecksumBytes) {
      ZG_RETURN_IF_ERROR(shard->write(entries[i].name, at,
                                      std::min(kChecksumBytes, bytes - at),
                                      data + at));
    }
    CheckpointTensor tensor = *piece.tensor;
    tensor.pieces = {{0, shard->offsetOf(entries[i].name), piece.first,
                      piece.elements, checksumsOf(data, bytes)}};
    index.tensors.push_back(std::move(tensor));
  }
  ZG_RETURN_IF_ERROR(shard->commit());
  return index;
}
