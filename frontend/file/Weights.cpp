//===- Weights.cpp - where a tensor's bytes lie, and reading small ones ---===//

#include "frontend/base/Error.h"
#include "frontend/file/ExternalData.h"
#include "frontend/file/TensorBytes.h"

#include <cerrno>

#include <unistd.h>

using onnx::TensorProto;

namespace zerograph::frontend {

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

} // namespace zerograph::frontend
