//===- TensorBytes.cpp - a tensor of the file and its bytes ---------------===//

#include "frontend/file/TensorBytes.h"

#include "frontend/base/Error.h"
#include "frontend/file/ExternalData.h"
#include "frontend/file/ModelFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unistd.h>

using onnx::TensorProto;

namespace zerograph::frontend {

Shape shapeOf(const TensorProto &tensor) {
  return Shape(tensor.dims().begin(), tensor.dims().end());
}

int64_t longDims(const TensorProto &tensor) {
  return std::count_if(tensor.dims().begin(), tensor.dims().end(),
                       [](int64_t dim) { return dim > 1; });
}

int64_t byteCount(const TensorProto &tensor) {
  int64_t size = typeBytes(tensor.data_type());
  if (size == 0) {
    fail("tensor '", tensor.name(), "' has the unsupported type ",
         typeName(tensor.data_type()));
  }
  return elementCount(shapeOf(tensor)) * size;
}

bool hasNoData(const TensorProto &tensor) {
  return tensor.data_location() != TensorProto::EXTERNAL &&
         tensor.raw_data().empty() && tensor.float_data().empty() &&
         tensor.double_data().empty() && tensor.int32_data().empty() &&
         tensor.int64_data().empty() && tensor.uint64_data().empty() &&
         tensor.string_data().empty() && elementCount(shapeOf(tensor)) != 0;
}

namespace {

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

} // namespace

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

std::optional<ByteRange> locate(const ModelFile &file,
                                const TensorProto &tensor) {
  if (isExternal(tensor)) {
    return openExternal(file, tensor).range;
  }
  if (hasNoData(tensor)) {
    return std::nullopt;
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

bool isReadable(const ModelFile &file, const TensorProto &tensor) {
  if (!isExternal(tensor)) {
    return !hasNoData(tensor);
  }
  return openExternal(file, tensor).file >= 0;
}

std::string readBytes(const TensorProto &tensor, const ModelFile *file) {
  int64_t bytes = byteCount(tensor);
  if (hasNoData(tensor)) {
    fail("tensor '", tensor.name(), "' of shape ", shapeText(shapeOf(tensor)),
         " is needed while importing, but the file has no values of it: export "
         "the model again with real values for what is no parameter");
  }
  if (!isExternal(tensor)) {
    return littleEndianBytes(tensor);
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
  return data;
}

HostTensor readTensor(const TensorProto &tensor, const ModelFile *file) {
  if (elementCount(shapeOf(tensor)) > HostTensor::kMaxElements) {
    throw TooLarge();
  }
  return decode(tensor, readBytes(tensor, file));
}

bool isTransposed(const std::string &copy, const Shape &shape,
                  const std::string &original, const Shape &from,
                  const std::vector<size_t> &order, size_t element) {
  Shape strides = rowMajor(from), at(shape.size(), 0);
  int64_t place = 0;
  for (size_t i = 0; i < copy.size(); i += element) {
    if (std::memcmp(&copy[i], &original[place * element], element) != 0) {
      return false;
    }
    for (size_t dim = shape.size(); dim-- > 0;) {
      place += strides[order[dim]];
      if (++at[dim] < shape[dim]) {
        break;
      }
      place -= at[dim] * strides[order[dim]];
      at[dim] = 0;
    }
  }
  return true;
}

bool isSplat(const std::string &bytes, size_t element) {
  return bytes.size() <= element || std::memcmp(bytes.data(), &bytes[element],
                                                bytes.size() - element) == 0;
}

} // namespace zerograph::frontend
