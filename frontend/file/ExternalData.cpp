//===- ExternalData.cpp - weights in files beside the model ---------------===//

#include "frontend/file/ExternalData.h"

#include "frontend/base/Error.h"
#include "frontend/file/TensorBytes.h"
#include "runtime/base/Beneath.h"

#include "absl/strings/numbers.h"

#include <set>

#include <sys/stat.h>
#include <unistd.h>

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

int64_t externalNumber(const TensorProto &tensor, absl::string_view key,
                       const std::string &text) {
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < 0) {
    fail("tensor '", tensor.name(), "': external ", key, " '", text,
         "' is not a number of bytes");
  }
  return value;
}

/// The place that the entries of a tensor's external data name.
ByteRange readRange(const TensorProto &tensor) {
  ByteRange range;
  range.length = byteCount(tensor);
  std::set<std::string> keys;
  for (const auto &entry : tensor.external_data()) {
    if (!keys.insert(entry.key()).second) {
      fail("tensor '", tensor.name(), "': external ", entry.key(),
           " is given twice");
    }
    if (entry.key() == "location") {
      range.file = entry.value();
    } else if (entry.key() == "offset") {
      range.offset = externalNumber(tensor, "offset", entry.value());
    } else if (entry.key() == "length") {
      int64_t length = externalNumber(tensor, "length", entry.value());
      if (length != range.length) {
        fail("tensor '", tensor.name(), "': external length is ", length,
             " bytes, but ", typeName(tensor.data_type()), " of shape ",
             shapeText(shapeOf(tensor)), " needs ", range.length);
      }
    }
  }
  return range;
}

} // namespace

External::~External() {
  if (file >= 0) {
    close(file);
  }
}

bool isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

External openExternal(const ModelFile &file, const TensorProto &tensor) {
  External external;
  external.range = readRange(tensor);
  const ByteRange &range = external.range;
  int64_t end;
  if (__builtin_add_overflow(range.offset, range.length, &end)) {
    fail("tensor '", tensor.name(), "': external offset ", range.offset,
         " is beyond any file");
  }
  struct stat info = {};
  absl::StatusOr<int> opened = openBeneath(file.folder, range.file, info);
  if (absl::IsNotFound(opened.status())) {
    return external;
  }
  if (!opened.ok()) {
    fail("tensor '", tensor.name(), "': external location '", range.file, "' ",
         opened.status().message());
  }
  external.file = *opened;
  if (end > info.st_size) {
    fail("tensor '", tensor.name(), "': needs bytes ", range.offset, " to ",
         end, " of '", range.file, "', which has ",
         static_cast<int64_t>(info.st_size));
  }
  return external;
}

std::vector<std::string> externalNotes(const ModelFile &file) {
  std::map<std::string, std::pair<std::string, int>> users; // by key
  for (const TensorProto &tensor : file.graph().initializer()) {
    for (const auto &entry : tensor.external_data()) {
      const std::string &key = entry.key();
      if (isExternal(tensor) && key != "location" && key != "offset" &&
          key != "length") {
        ++users.try_emplace(key, tensor.name(), 0).first->second.second;
      }
    }
  }
  std::vector<std::string> notes;
  for (const auto &[key, user] : users) {
    notes.push_back(absl::StrCat(
        "tensor '", user.first, "'",
        user.second > 1 ? absl::StrCat(" and ", user.second - 1, " more") : "",
        ": external '", key, "' is ",
        key == "checksum" ? "not checked: planning reads no weights"
                          : "an unknown key, and ignored"));
  }
  return notes;
}

} // namespace zerograph::frontend
