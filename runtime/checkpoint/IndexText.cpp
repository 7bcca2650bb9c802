//===- IndexText.cpp - an index as text -----------------------------------===//

#include "runtime/checkpoint/Index.h"
#include "runtime/checkpoint/IndexFormat.h"

#include "absl/strings/str_format.h"
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <algorithm>

using namespace zerograph;
using json = nlohmann::ordered_json;

namespace {

json jsonOf(const CheckpointPiece &piece) {
  json checksums = json::array();
  for (uint64_t checksum : piece.checksums) {
    checksums.push_back(hexOf(checksum));
  }
  return {{"file", piece.file},
          {"offset", piece.offset},
          {"first", piece.first},
          {"elements", piece.elements},
          {"xxh3", std::move(checksums)}};
}

json jsonOf(const CheckpointTensor &tensor) {
  json object = {{"name", tensor.name},
                 {"role", tensor.role},
                 {"type", plan::ElementType_Name(tensor.type)},
                 {"computed", plan::ElementType_Name(tensor.computed)},
                 {"shape", tensor.shape}};
  if (tensor.rank) {
    object["rank"] = *tensor.rank;
  }
  json &pieces = object["pieces"] = json::array();
  for (const CheckpointPiece &piece : tensor.pieces) {
    pieces.push_back(jsonOf(piece));
  }
  return object;
}

json jsonOf(const CheckpointFile &file) {
  return {{"name", file.name},
          {"bytes", file.bytes},
          {"header_bytes", file.header_bytes},
          {"header_xxh3", hexOf(file.header_checksum)}};
}

json jsonOf(const CheckpointRun &run) {
  json object = {{"format", kFormat},
                 {"version", kIndexVersion},
                 {"producer", run.producer},
                 {"time", run.time},
                 {"model", run.model},
                 {"plan", run.plan},
                 {"graph", hexOf(run.graph)},
                 {"ranks", run.ranks},
                 {"steps", run.steps},
                 {"updates", run.updates},
                 {"seed", run.seed},
                 {"samples", run.samples},
                 {"samples_per_step", run.samples_per_step},
                 {"micro_batch", run.micro_batch},
                 {"optimizer", run.optimizer},
                 {"settings", json::parse(run.settings)},
                 {"checksum_bytes", kChecksumBytes}};
  if (run.shuffle) {
    object["shuffle"] = *run.shuffle;
  }
  if (run.loss_scale) {
    object["loss_scale"] = {{"scale", run.loss_scale->scale},
                            {"steps", run.loss_scale->steps},
                            {"last_overflow", run.loss_scale->last_overflow},
                            {"hysteresis", run.loss_scale->hysteresis}};
  }
  if (!run.adapters.empty()) {
    object["adapters"] = run.adapters;
  }
  return object;
}

/// A line each.
template <typename Entries>
std::string lines(const Entries &entries) {
  std::string text;
  for (const auto &entry : entries) {
    absl::StrAppend(&text, text.empty() ? "" : ",\n", jsonOf(entry).dump());
  }
  return text;
}

} // namespace

std::string zerograph::hexOf(uint64_t checksum) {
  return absl::StrFormat("%016x", checksum);
}

uint64_t zerograph::checksumOf(const void *data, uint64_t bytes) {
  return XXH3_64bits(data, bytes);
}

std::vector<uint64_t> zerograph::checksumsOf(const std::byte *data,
                                             uint64_t bytes) {
  std::vector<uint64_t> checksums;
  for (uint64_t begin = 0; begin < bytes; begin += kChecksumBytes) {
    checksums.push_back(
        checksumOf(data + begin, std::min(kChecksumBytes, bytes - begin)));
  }
  return checksums;
}

std::string CheckpointTensor::text() const {
  return absl::StrCat("'", name, "' (", role,
                      rank ? absl::StrCat(" of rank ", *rank) : "", ")");
}

std::string zerograph::pieceKey(const CheckpointTensor &tensor, uint64_t first,
                                uint64_t elements) {
  return absl::StrCat(tensor.name,
                      tensor.isValues() ? "" : absl::StrCat(".", tensor.role),
                      tensor.rank ? absl::StrCat("@", *tensor.rank) : "", "[",
                      first, ":", first + elements, "]");
}

std::string zerograph::textOf(const CheckpointIndex &index) {
  std::string text = "{\n";
  json run = jsonOf(index.run);
  for (const auto &[key, value] : run.items()) {
    absl::StrAppend(&text, "\"", key, "\": ", value.dump(), ",\n");
  }
  absl::StrAppend(&text, "\"files\": [\n", lines(index.files), "\n],\n");
  absl::StrAppend(&text, "\"tensors\": [\n", lines(index.tensors), "\n]");
  uint64_t checksum = checksumOf(text.data(), text.size());
  return absl::StrCat(text, kChecksumBegin, hexOf(checksum), kChecksumEnd);
}
