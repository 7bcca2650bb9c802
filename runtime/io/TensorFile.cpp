//===- TensorFile.cpp - what the readers share ----------------------------===//

#include "runtime/io/TensorFile.h"

#include "absl/strings/str_join.h"

#include <filesystem>

using namespace zerograph;

std::string zerograph::shapeText(absl::Span<const uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

uint64_t zerograph::bytesOf(plan::ElementType type) {
  switch (type) {
  case plan::F64:
  case plan::I64:
    return 8;
  case plan::F32:
  case plan::I32:
    return 4;
  case plan::F16:
  case plan::BF16:
  case plan::I16:
    return 2;
  case plan::I8:
  case plan::U8:
  case plan::BOOL:
    return 1;
  default:
    return 0;
  }
}

bool zerograph::byteCount(absl::Span<const uint64_t> shape, uint64_t element,
                          uint64_t &bytes) {
  bytes = element;
  bool fits = true;
  for (uint64_t size : shape) {
    fits = fits && !__builtin_mul_overflow(bytes, size, &bytes) &&
           bytes < (uint64_t(1) << 62);
    if (size == 0) {
      bytes = 0;
      return true;
    }
  }
  return fits;
}

absl::StatusOr<TensorFile> zerograph::readTensors(const std::string &path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return readNpyFolder(path);
  }
  return readSafetensors(path);
}
