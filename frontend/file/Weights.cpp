//===- Weights.cpp - where a tensor's bytes lie, and reading small ones ---===//

#include "frontend/file/ModelFile.h"

#include "frontend/base/Error.h"
#include "runtime/base/Beneath.h"

#include "absl/strings/numbers.h"

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

Shape shapeOf(const TensorProto &tensor) {
  return Shape(tensor.dims().begin(), tensor.dims().end());
}

int64_t byteCount(const TensorProto &tensor) {
  int64_t size = typeBytes(tensor.data_type());
  if (size == 0) {
    fail("tensor '", tensor.name(), "' has the unsupported type ",
         typeName(tensor.data_type()));
  }
  return elementCount(shapeOf(tensor)) * size;
}

int64_t externalNumber(const TensorProto &tensor, absl::string_view key,
                       const std::string &text) {
  int64_t value;
  if (!absl::SimpleAtoi(text, &value) || value < 0) {
    fail("tensor '", tensor.name(), "': external ", key, " '", text,
         "' is not a number of bytes");
  }
  return value;
}

/// What external data is in: an open file, or none where there is no such.
struct External {
  ByteRange range;
  int file = -1;

  External() = default;
  External(External &&other) noexcept
      : range(std::move(other.range)), file(std::exchange(other.file, -1)) {}
  External &operator=(External &&) = delete;
  ~External() {
    if (file >= 0) {
      close(file);
    }
  }
};

External openExternal(const ModelFile &file, const TensorProto &tensor) {
  External external;
  ByteRange &range = external.range;
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

bool isExternal(const TensorProto &tensor) {
  return tensor.data_location() == TensorProto::EXTERNAL;
}

/// Repeated field -> little-endian bytes of `To`.
template <typename To, typename Field>
std::string packField(const Field &field, int64_t count,
                      const TensorProto &tensor) {
  if (field.size() != count) {
    fail("tensor '", tensor.name(), "' holds ", field.size(),
         " values, but its shape ", shapeText(shapeOf(tensor)), " needs ",
         count);
  }
  std::string bytes(count * sizeof(To), '\0');
  for (int64_t i = 0; i < count; ++i) {
    To value = static_cast<To>(field.Get(static_cast<int>(i)));
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return bytes;
}

double bitsToDouble(int32_t type, uint16_t bits) {
  if (type == TensorProto::BFLOAT16) {
    uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
  }
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double magnitude =
      exponent == 31  ? (fraction != 0 ? __builtin_nan("") : __builtin_inf())
      : exponent == 0 ? __builtin_ldexp(fraction, -24)
                      : __builtin_ldexp(fraction + 1024, exponent - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

HostTensor decode(const TensorProto &tensor, const std::string &bytes) {
  int32_t type = tensor.data_type();
  HostTensor result(type, shapeOf(tensor));
  const char *data = bytes.data();
  auto load = [&]<typename T>(T, int64_t i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    return value;
  };
  for (int64_t i = 0; i < result.size(); ++i) {
    switch (type) {
    case TensorProto::DOUBLE:
      result.setFloat(i, load(double(), i));
      break;
    case TensorProto::FLOAT:
      result.setFloat(i, load(float(), i));
      break;
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      result.setFloat(i, bitsToDouble(type, load(uint16_t(), i)));
      break;
    case TensorProto::INT64:
      result.setInt(i, load(int64_t(), i));
      break;
    case TensorProto::INT32:
      result.setInt(i, load(int32_t(), i));
      break;
    case TensorProto::INT16:
      result.setInt(i, load(int16_t(), i));
      break;
    case TensorProto::INT8:
      result.setInt(i, load(int8_t(), i));
      break;
    default:
      result.setInt(i, load(uint8_t(), i));
    }
  }
  result.compress();
  return result;
}

} // namespace

std::optional<ByteRange> locate(const ModelFile &file,
                                const TensorProto &tensor) {
  if (isExternal(tensor)) {
    return openExternal(file, tensor).range;
  }
  auto found = file.embedded.find(tensor.name());
  if (found == file.embedded.end()) {
    return std::nullopt;
  }
  if (found->second.length != byteCount(tensor)) {
    fail("tensor '", tensor.name(), "' holds ", found->second.length,
         " bytes, but ", typeName(tensor.data_type()), " of shape ",
         shapeText(shapeOf(tensor)), " needs ", byteCount(tensor));
  }
  return found->second;
}

std::string littleEndianBytes(const TensorProto &tensor) {
  int64_t count = elementCount(shapeOf(tensor)), bytes = byteCount(tensor);
  if (tensor.has_raw_data()) {
    if (static_cast<int64_t>(tensor.raw_data().size()) != bytes) {
      fail("tensor '", tensor.name(), "' holds ", tensor.raw_data().size(),
           " bytes, but ", typeName(tensor.data_type()), " of shape ",
           shapeText(shapeOf(tensor)), " needs ", bytes);
    }
    return tensor.raw_data();
  }
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return packField<float>(tensor.float_data(), count, tensor);
  case TensorProto::DOUBLE:
    return packField<double>(tensor.double_data(), count, tensor);
  case TensorProto::INT64:
    return packField<int64_t>(tensor.int64_data(), count, tensor);
  case TensorProto::INT32:
    return packField<int32_t>(tensor.int32_data(), count, tensor);
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
    return packField<uint16_t>(tensor.int32_data(), count, tensor);
  default:
    return packField<uint8_t>(tensor.int32_data(), count, tensor);
  }
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

bool isReadable(const ModelFile &file, const TensorProto &tensor) {
  if (!isExternal(tensor)) {
    return true;
  }
  return openExternal(file, tensor).file >= 0;
}

HostTensor readTensor(const TensorProto &tensor, const ModelFile *file) {
  int64_t bytes = byteCount(tensor);
  if (elementCount(shapeOf(tensor)) > HostTensor::kMaxElements) {
    throw TooLarge();
  }
  if (!isExternal(tensor)) {
    return decode(tensor, littleEndianBytes(tensor));
  }
  if (file == nullptr) {
    fail("tensor '", tensor.name(), "' may not be external here");
  }
  External external = openExternal(*file, tensor);
  std::string data(bytes, '\0');
  for (int64_t at = 0; at < bytes;) {
    ssize_t count = pread(external.file, data.data() + at, bytes - at,
                          external.range.offset + at);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      fail("tensor '", tensor.name(), "' is needed while importing, but '",
           external.range.file, "' cannot be read");
    }
    at += count;
  }
  return decode(tensor, data);
}

} // namespace zerograph::frontend
