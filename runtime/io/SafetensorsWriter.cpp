//===- SafetensorsWriter.cpp - writes .safetensors by extents -------------===//

#include "runtime/io/SafetensorsWriter.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace zerograph;

absl::StatusOr<std::unique_ptr<SafetensorsWriter>>
SafetensorsWriter::create(const std::string &path, std::vector<Entry> entries,
                          const Metadata &metadata) {
  // Larger elements first: then every array is aligned to its element.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry &a, const Entry &b) {
                     return elementSize(a.type) > elementSize(b.type);
                   });
  std::unique_ptr<SafetensorsWriter> writer(new SafetensorsWriter);
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) {
    header["__metadata__"] = metadata;
  }
  uint64_t end = 0;
  for (const Entry &entry : entries) {
    uint64_t bytes = 0;
    if (elementSize(entry.type) == 0 ||
        !byteCount(entry.shape, elementSize(entry.type), bytes)) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": '", entry.name, "' of ", plan::ElementType_Name(entry.type),
          " ", shapeText(entry.shape), " cannot be written"));
    }
    if (!writer->places.emplace(entry.name, Place{end, bytes}).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": two arrays are named '", entry.name, "'"));
    }
    header[entry.name] = {{"dtype", plan::ElementType_Name(entry.type)},
                          {"shape", entry.shape},
                          {"data_offsets", {end, end + bytes}}};
    end += bytes;
  }
  // Names that are not UTF-8 are replaced rather than thrown about.
  std::string text =
      header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string prefix(8, '\0');
  for (int i = 0; i < 8; ++i) {
    prefix[size_t(i)] = char(text.size() >> (8 * i) & 0xff);
  }
  for (auto &[name, place] : writer->places) {
    place.offset += 8 + text.size();
  }
  ZG_ASSIGN_OR_RETURN(writer->file,
                      NewFile::create(path, 8 + text.size() + end));
  writer->header_text = prefix + text;
  ZG_RETURN_IF_ERROR(writer->file->write(0, writer->header_text.size(),
                                         writer->header_text.data()));
  return writer;
}

absl::Status SafetensorsWriter::write(const std::string &name, uint64_t offset,
                                      uint64_t bytes, const void *data) {
  auto found = places.find(name);
  if (found == places.end() || offset > found->second.bytes ||
      bytes > found->second.bytes - offset) {
    return absl::InternalError(absl::StrCat(file->path(), ": '", name,
                                            "' has no bytes [", offset, ", ",
                                            offset + bytes, ")"));
  }
  return file->write(found->second.offset + offset, bytes, data);
}
