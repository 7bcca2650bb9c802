//===- TensorFile.cpp - what the readers share ----------------------------===//

#include "runtime/io/TensorFile.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <filesystem>

using namespace zerograph;

std::string zerograph::shapeText(absl::Span<const uint64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
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
  return std::filesystem::path(path).extension() == ".parquet"
             ? readParquet(path)
             : readSafetensors(path);
}

absl::StatusOr<TensorFile> zerograph::readWeights(const std::string &path,
                                                  Metadata *metadata) {
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  std::string begin(std::min<uint64_t>(file->bytes(), 4), '\0');
  ZG_RETURN_IF_ERROR(file->read(0, begin.size(), begin.data()));
  // That of a ZIP file. As the length of a header it would be 64 MiB.
  return begin == "PK\3\4" ? readTorch(path) : readSafetensors(path, metadata);
}

bool zerograph::isTorchFile(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension();
  return extension == ".pt" || extension == ".pth";
}
