//===- Index.cpp - an index as text, and back -----------------------------===//

#include "runtime/checkpoint/Index.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/JsonFields.h"
#include "runtime/plan/Mesh.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <nlohmann/json.hpp>
#include <xxhash.h>

#include <algorithm>

using namespace zerograph;
using nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

namespace {

constexpr char kFormat[] = "zerograph checkpoint";

OrderedJson jsonOf(const CheckpointPiece &piece) {
  OrderedJson checksums = OrderedJson::array();
  for (uint64_t checksum : piece.checksums) {
    checksums.push_back(hexOf(checksum));
  }
  return {{"file", piece.file},
          {"offset", piece.offset},
          {"first", piece.first},
          {"elements", piece.elements},
          {"xxh3", std::move(checksums)}};
}

OrderedJson jsonOf(const CheckpointTensor &tensor) {
  OrderedJson object = {{"name", tensor.name},
                        {"role", tensor.role},
                        {"type", plan::ElementType_Name(tensor.type)},
                        {"computed", plan::ElementType_Name(tensor.computed)},
                        {"shape", tensor.shape}};
  if (tensor.rank) {
    object["rank"] = *tensor.rank;
  }
  OrderedJson &pieces = object["pieces"] = OrderedJson::array();
  for (const CheckpointPiece &piece : tensor.pieces) {
    pieces.push_back(jsonOf(piece));
  }
  return object;
}

OrderedJson jsonOf(const CheckpointFile &file) {
  return {{"name", file.name},
          {"bytes", file.bytes},
          {"header_bytes", file.header_bytes},
          {"header_xxh3", hexOf(file.header_checksum)}};
}

OrderedJson jsonOf(const CheckpointRun &run) {
  OrderedJson object = {{"format", kFormat},
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
                        {"settings", OrderedJson::parse(run.settings)},
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

std::string CheckpointTensor::key() const {
  return isValues() ? name : absl::StrCat(name, ".", role);
}

std::string CheckpointTensor::text() const {
  return absl::StrCat("'", name, "' (", role,
                      rank ? absl::StrCat(" of rank ", *rank) : "", ")");
}

std::string zerograph::pieceKey(const CheckpointTensor &tensor, uint64_t first,
                                uint64_t elements) {
  return absl::StrCat(tensor.key(),
                      tensor.rank ? absl::StrCat("@", *tensor.rank) : "", "[",
                      first, ":", first + elements, "]");
}

std::string zerograph::textOf(const CheckpointIndex &index) {
  std::string text = "{\n";
  OrderedJson run = jsonOf(index.run);
  for (const auto &[key, value] : run.items()) {
    absl::StrAppend(&text, "\"", key, "\": ", value.dump(), ",\n");
  }
  absl::StrAppend(&text, "\"files\": [\n", lines(index.files), "\n],\n");
  absl::StrAppend(&text, "\"tensors\": [\n", lines(index.tensors), "\n]");
  uint64_t checksum = checksumOf(text.data(), text.size());
  return absl::StrCat(text, kChecksumBegin, hexOf(checksum), kChecksumEnd);
}

namespace {

/// More than we nest. What is deeper might not fit on the stack.
constexpr int kDeepest = 16;

absl::StatusOr<CheckpointRun> parseRun(const json &object) {
  JsonFields fields(object, "it");
  CheckpointRun run;
  run.producer = fields.text("producer");
  run.time = fields.text("time");
  run.model = fields.text("model");
  run.plan = fields.text("plan");
  if (fields.has("graph")) {
    run.graph = fields.checksum("graph");
  }
  run.ranks = uint32_t(fields.number("ranks", kMaxWorld));
  run.steps = fields.number("steps", kMostCount);
  run.updates = fields.number("updates", run.steps);
  run.seed = fields.number("seed");
  run.samples = fields.number("samples");
  run.samples_per_step = fields.number("samples_per_step");
  run.micro_batch = fields.number("micro_batch");
  run.optimizer = fields.text("optimizer");
  if (!fields.has("settings") || !fields.value("settings").is_object()) {
    fields.fail("has no 'settings'");
  } else {
    run.settings = fields.value("settings").dump();
  }
  if (fields.number("checksum_bytes") != kChecksumBytes) {
    fields.fail(
        absl::StrCat("has checksums of other than ", kChecksumBytes, " bytes"));
  }
  if (fields.has("shuffle")) {
    run.shuffle = fields.number("shuffle");
  }
  if (fields.has("loss_scale")) {
    JsonFields scale(fields.value("loss_scale"), "its loss scale");
    SavedLossScale &saved = run.loss_scale.emplace();
    saved.scale = scale.real("scale");
    saved.steps = scale.integer("steps");
    saved.last_overflow = scale.integer("last_overflow");
    saved.hysteresis = uint32_t(scale.number("hysteresis", UINT32_MAX));
    if (!(saved.scale > 0) || saved.steps < 0 || saved.last_overflow < -1 ||
        saved.last_overflow >= std::max<int64_t>(1, saved.steps)) {
      scale.fail("is none that a run can have");
    }
    ZG_RETURN_IF_ERROR(scale.status());
  }
  if (fields.has("adapters")) {
    const json &adapters = fields.value("adapters");
    for (const auto &[key, value] : adapters.items()) {
      if (!adapters.is_object() || !value.is_string()) {
        return absl::InvalidArgumentError("it has no texts in 'adapters'");
      }
      run.adapters[key] = value.get<std::string>();
    }
  }
  ZG_RETURN_IF_ERROR(fields.status());
  return run;
}

absl::StatusOr<CheckpointFile> parseFile(const json &object, uint32_t ranks) {
  JsonFields fields(object, "a file");
  CheckpointFile file;
  file.name = fields.text("name");
  file.bytes = fields.number("bytes", kMostCount);
  file.header_bytes = fields.number("header_bytes", file.bytes);
  file.header_checksum = fields.checksum("header_xxh3");
  ZG_RETURN_IF_ERROR(fields.status());
  std::optional<uint32_t> rank = rankOfShard(file.name);
  if (!rank || *rank >= ranks) {
    return absl::InvalidArgumentError(
        absl::StrCat("a file is named '", file.name, "', which none of ", ranks,
                     " ranks writes"));
  }
  return file;
}

absl::StatusOr<CheckpointPiece>
parsePiece(const json &object, const CheckpointTensor &tensor,
           uint64_t elements, const std::vector<CheckpointFile> &files) {
  JsonFields fields(object, absl::StrCat("a piece of ", tensor.text()));
  CheckpointPiece piece;
  piece.file = uint32_t(fields.number("file", UINT32_MAX));
  piece.offset = fields.number("offset", kMostCount);
  piece.first = fields.number("first", elements);
  piece.elements = fields.number("elements", elements - piece.first);
  piece.checksums = fields.checksums("xxh3");
  ZG_RETURN_IF_ERROR(fields.status());
  if (piece.file >= files.size()) {
    fields.fail(absl::StrCat("is in file ", piece.file, " of ", files.size()));
    return fields.status();
  }
  const CheckpointFile &file = files[piece.file];
  uint64_t bytes = piece.elements * elementSize(tensor.type);
  if (piece.elements == 0 || piece.offset < file.header_bytes ||
      piece.offset > file.bytes || bytes > file.bytes - piece.offset) {
    fields.fail(absl::StrCat("has ", piece.elements, " elements at byte ",
                             piece.offset, " of ", file.name, ", which has ",
                             file.bytes, " bytes"));
  }
  uint64_t wanted = (bytes + kChecksumBytes - 1) / kChecksumBytes;
  if (piece.checksums.size() != wanted) {
    fields.fail(absl::StrCat("has ", piece.checksums.size(),
                             " checksums, expected ", wanted));
  }
  ZG_RETURN_IF_ERROR(fields.status());
  return piece;
}

absl::StatusOr<CheckpointTensor>
parseTensor(const json &object, uint32_t ranks,
            const std::vector<CheckpointFile> &files) {
  JsonFields fields(object, "a tensor");
  CheckpointTensor tensor;
  tensor.name = fields.text("name");
  tensor.role = fields.text("role");
  tensor.type = fields.type("type");
  tensor.computed = fields.type("computed");
  tensor.shape = fields.numbers("shape");
  if (fields.has("rank")) {
    tensor.rank = uint32_t(fields.number("rank", ranks - 1));
  }
  ZG_RETURN_IF_ERROR(fields.status());
  uint64_t bytes = 0;
  if (tensor.name.empty() || tensor.role.empty() ||
      !byteCount(tensor.shape, elementSize(tensor.type), bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        tensor.text(), " of ", shapeText(tensor.shape), " cannot be"));
  }
  for (const json &piece : fields.array("pieces")) {
    ZG_ASSIGN_OR_RETURN(
        CheckpointPiece parsed,
        parsePiece(piece, tensor, bytes / elementSize(tensor.type), files));
    tensor.pieces.push_back(std::move(parsed));
  }
  ZG_RETURN_IF_ERROR(fields.status());
  return tensor;
}

absl::StatusOr<CheckpointIndex> parseObject(const json &object) {
  CheckpointIndex index;
  JsonFields fields(object, "it");
  if (fields.text("format") != kFormat) {
    return absl::InvalidArgumentError("it is no index of a checkpoint");
  }
  if (uint64_t version = fields.number("version"); version != kIndexVersion) {
    return absl::InvalidArgumentError(absl::StrCat("it is of version ", version,
                                                   ", and this program reads ",
                                                   kIndexVersion));
  }
  ZG_ASSIGN_OR_RETURN(index.run, parseRun(object));
  if (index.run.ranks == 0) {
    return absl::InvalidArgumentError("it has no ranks");
  }
  for (const json &file : fields.array("files")) {
    ZG_ASSIGN_OR_RETURN(CheckpointFile parsed,
                        parseFile(file, index.run.ranks));
    index.files.push_back(std::move(parsed));
  }
  for (const json &tensor : fields.array("tensors")) {
    ZG_ASSIGN_OR_RETURN(CheckpointTensor parsed,
                        parseTensor(tensor, index.run.ranks, index.files));
    index.tensors.push_back(std::move(parsed));
  }
  ZG_RETURN_IF_ERROR(fields.status());
  return index;
}

/// The last line is right for all before it.
absl::Status checkChecksum(absl::string_view text) {
  size_t end = kChecksumBegin.size() + 16 + kChecksumEnd.size();
  if (text.size() < end) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", text.size(), " bytes"));
  }
  absl::string_view body = text.substr(0, text.size() - end);
  if (text.substr(body.size()) !=
      absl::StrCat(kChecksumBegin, hexOf(checksumOf(body.data(), body.size())),
                   kChecksumEnd)) {
    return absl::InvalidArgumentError(
        "its checksum is not that of its text: it is damaged, or cut short");
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<CheckpointRun> zerograph::withFields(const CheckpointRun &run,
                                                    const std::string &text) {
  json given = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!given.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no object of JSON"));
  }
  json object = json::parse(jsonOf(run).dump());
  for (const auto &[key, value] : given.items()) {
    static constexpr absl::string_view kFields[] = {
        "steps",   "updates",          "seed",
        "shuffle", "samples_per_step", "loss_scale"};
    if (!absl::c_linear_search(kFields, key)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a run has no field '", key, "'; there are ",
                       absl::StrJoin(kFields, ", ")));
    }
    object[key] = value;
  }
  if (given.contains("steps") && !given.contains("updates")) {
    object["updates"] = given["steps"];
  }
  return parseRun(object);
}

absl::StatusOr<CheckpointIndex>
zerograph::parseIndexPart(const std::string &path, const std::string &text) {
  auto parse = [&]() -> absl::StatusOr<CheckpointIndex> {
    ZG_RETURN_IF_ERROR(checkChecksum(text));
    bool deep = false;
    auto watch = [&](int depth, json::parse_event_t, json &) {
      deep |= depth > kDeepest;
      return true;
    };
    json object = json::parse(text, watch, /*allow_exceptions=*/false);
    if (object.is_discarded() || deep) {
      return absl::InvalidArgumentError("it is no JSON");
    }
    return parseObject(object);
  };
  absl::StatusOr<CheckpointIndex> index = parse();
  if (!index.ok()) {
    return annotate(index.status(), path);
  }
  return index;
}

absl::StatusOr<CheckpointIndex> zerograph::parseIndex(const std::string &path,
                                                      const std::string &text) {
  ZG_ASSIGN_OR_RETURN(CheckpointIndex index, parseIndexPart(path, text));
  ZG_RETURN_IF_ERROR(checkWhole(path, index));
  return index;
}
