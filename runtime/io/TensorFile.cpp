//===- TensorFile.cpp - what the readers share ----------------------------===//

#include "runtime/io/TensorFile.h"

#include "runtime/base/LittleEndian.h"

#include "absl/strings/match.h"
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
             : readWeights(path);
}

/// Returns whether a file is a ZIP file of arrays of numpy, by the name of its
/// first entry: torch.save writes no such name.
static bool isNpz(const File &file, const std::string &begin) {
  if (!absl::StartsWith(begin, "PK\3\4") || begin.size() < 30) {
    return false;
  }
  uint64_t name = littleEndian(begin.data() + 26, 2);
  std::string first(std::min(name, file.bytes() - 30), '\0');
  return file.read(30, first.size(), first.data()).ok() &&
         absl::EndsWith(first, ".npy");
}

absl::StatusOr<TensorFile> zerograph::readWeights(const std::string &path,
                                                  Metadata *metadata) {
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<File> file, File::openForReading(path));
  std::string begin(std::min<uint64_t>(file->bytes(), 64), '\0');
  ZG_RETURN_IF_ERROR(file->read(0, begin.size(), begin.data()));
  // As the length of a header these would be 64 MiB, and beyond any file.
  if (absl::StartsWith(begin, "\x93NUMPY")) {
    return readNpy(path);
  }
  return isNpz(*file, begin) ? readNpz(path) : readSafetensors(path, metadata);
}

bool zerograph::holdsArrays(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension();
  return extension == ".safetensors" || extension == ".parquet" ||
         extension == ".npy" || extension == ".npz" || extension == ".pt" ||
         extension == ".pth"; // which are refused when they are read
}
