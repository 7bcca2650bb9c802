//===- Safetensors.cpp - reads .safetensors -------------------------------===//

#include "runtime/base/LittleEndian.h"
#include "runtime/io/TensorFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

using namespace zerograph;
using nlohmann::json;

namespace {

/// The format's own limit.
constexpr uint64_t kLongestHeader = 100'000'000;

absl::Status bad(const std::string &path, const std::string &what) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": no valid safetensors file: ", what));
}

/// Parses the header; duplicate names are told apart only while parsing.
absl::StatusOr<json> parseHeader(const std::string &path,
                                 const std::string &text) {
  std::set<std::string> names;
  std::string duplicate;
  auto watch = [&](int depth, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::key && depth == 1 &&
        !names.insert(value.get<std::string>()).second) {
      duplicate = value.get<std::string>();
    }
    return true;
  };
  json header = json::parse(text, watch, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object()) {
    return bad(path, "the header is no JSON object");
  }
  if (!duplicate.empty()) {
    return bad(path, absl::StrCat("'", duplicate, "' is there twice"));
  }
  return header;
}

absl::StatusOr<uint64_t> naturalNumber(const std::string &path,
                                       const std::string &name,
                                       const json &value) {
  if (!value.is_number_unsigned()) {
    return bad(path, absl::StrCat("'", name,
                                  "' has a shape or offset that is "
                                  "no natural number"));
  }
  return value.get<uint64_t>();
}

absl::StatusOr<TensorExtent> parseEntry(const std::string &path,
                                        const std::string &name,
                                        const json &entry, uint64_t data_begin,
                                        uint64_t data_bytes) {
  TensorExtent extent;
  if (!entry.is_object() || !entry.contains("dtype") ||
      !entry["dtype"].is_string() || !entry.contains("shape") ||
      !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2) {
    return bad(path,
               absl::StrCat("'", name, "' lacks dtype, shape or data_offsets"));
  }
  std::string dtype = entry["dtype"].get<std::string>();
  extent.type = safetensorsType(dtype);
  if (extent.type == plan::ELEMENT_INVALID) {
    return bad(path,
               absl::StrCat("'", name, "' has the unknown dtype ", dtype));
  }
  for (const json &size : entry["shape"]) {
    ZG_ASSIGN_OR_RETURN(uint64_t value, naturalNumber(path, name, size));
    extent.shape.push_back(value);
  }
  ZG_ASSIGN_OR_RETURN(uint64_t begin,
                      naturalNumber(path, name, entry["data_offsets"][0]));
  ZG_ASSIGN_OR_RETURN(uint64_t end,
                      naturalNumber(path, name, entry["data_offsets"][1]));
  if (begin > end || end > data_bytes) {
    return bad(path, absl::StrCat("'", name, "' has the bytes [", begin, ", ",
                                  end, ") of ", data_bytes));
  }
  if (!byteCount(extent.shape, elementSize(extent.type), extent.bytes) ||
      extent.bytes != end - begin) {
    return bad(path, absl::StrCat("'", name, "' of ", dtype, " ",
                                  shapeText(extent.shape), " has ", end - begin,
                                  " bytes"));
  }
  extent.offset = data_begin + begin;
  return extent;
}

/// Extents in file order meet without a gap and reach the end of the file.
absl::Status checkCover(const std::string &path, const TensorFile &tensors,
                        uint64_t data_begin, uint64_t data_end) {
  std::vector<std::pair<const std::string *, const TensorExtent *>> order;
  for (const auto &[name, extent] : tensors) {
    order.push_back({&name, &extent});
  }
  std::stable_sort(order.begin(), order.end(), [](auto &a, auto &b) {
    return std::make_pair(a.second->offset, a.second->bytes) <
           std::make_pair(b.second->offset, b.second->bytes);
  });
  uint64_t end = data_begin;
  for (auto [name, extent] : order) {
    if (extent->offset != end) {
      return bad(
          path,
          absl::StrCat("'", *name, "' begins at byte ", extent->offset,
                       extent->offset < end ? ", inside of" : ", a gap after",
                       " the tensor before it, which ends at ", end));
    }
    end += extent->bytes;
  }
  if (end != data_end) {
    return bad(path, absl::StrCat("the tensors end at byte ", end,
                                  ", the file at ", data_end));
  }
  return absl::OkStatus();
}

} // namespace

plan::ElementType zerograph::safetensorsType(const std::string &name) {
  static const auto *types = new std::map<std::string, plan::ElementType>{
      {"F32", plan::F32},   {"F64", plan::F64}, {"F16", plan::F16},
      {"BF16", plan::BF16}, {"I64", plan::I64}, {"I32", plan::I32},
      {"I16", plan::I16},   {"I8", plan::I8},   {"U8", plan::U8},
      {"BOOL", plan::BOOL}};
  auto found = types->find(name);
  return found == types->end() ? plan::ELEMENT_INVALID : found->second;
}

absl::StatusOr<TensorFile> zerograph::readSafetensors(const std::string &path,
                                                      Metadata *metadata) {
  ZG_ASSIGN_OR_RETURN(auto file, File::openForReading(path));
  std::string begin(std::min<uint64_t>(file->bytes(), 512), '\0');
  ZG_RETURN_IF_ERROR(file->read(0, begin.size(), begin.data()));
  if (file->bytes() < 8) {
    return bad(path, absl::StrCat("it has ", file->bytes(), " bytes"));
  }
  uint64_t length = littleEndian(begin.data(), 8);
  if (length > kLongestHeader || length > file->bytes() - 8) {
    bool cut = begin.size() > 8 && begin[8] == '{'; // not of another format
    if (std::optional<KnownFormat> known = knownFormat(begin); known && !cut) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": it is ", known->what, "; ", known->remedy));
    }
    return bad(path,
               absl::StrCat("a header of ", length, " bytes in a file of ",
                            file->bytes(), " (at most ", kLongestHeader, ")"));
  }
  std::string text(length, '\0');
  ZG_RETURN_IF_ERROR(file->read(8, length, text.data()));
  ZG_ASSIGN_OR_RETURN(json header, parseHeader(path, text));

  TensorFile tensors;
  uint64_t data_begin = 8 + length;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__") {
      for (const auto &[key, value] : entry.items()) {
        if (metadata != nullptr && value.is_string()) {
          (*metadata)[key] = value.get<std::string>();
        }
      }
      continue;
    }
    ZG_ASSIGN_OR_RETURN(
        TensorExtent extent,
        parseEntry(path, name, entry, data_begin, file->bytes() - data_begin));
    extent.file = file;
    tensors.emplace(name, std::move(extent));
  }
  ZG_RETURN_IF_ERROR(checkCover(path, tensors, data_begin, file->bytes()));
  return tensors;
}
