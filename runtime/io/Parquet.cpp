//===- Parquet.cpp - reads a Parquet file ---------------------------------===//

#include "runtime/io/TensorFile.h"

#include "runtime/base/Module.h"
#include "runtime/io/parquet/Columns.h"

#include <mutex>

using namespace zerograph;

namespace {

absl::StatusOr<parquet::ReadColumns> findModule(const std::string &path) {
  absl::StatusOr<void *> function =
      openModule(parquet::kModule, parquet::kReadColumns);
  if (!function.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path,
        ": to read Parquet, Zerograph needs Apache Arrow: run "
        "tools/setup.sh --parquet and tools/build.sh, or convert the "
        "file as docs/data.md says (",
        function.status().message(), ")"));
  }
  return reinterpret_cast<parquet::ReadColumns>(*function);
}

/// Puts columns one after the other into a file without a name.
class Unpacking final : public parquet::Sink {
public:
  explicit Unpacking(const std::string &path) : path(path) {}

  bool begin(const std::vector<parquet::Column> &columns) override {
    uint64_t bytes = 0;
    for (const parquet::Column &column : columns) {
      begins.push_back(bytes);
      if (__builtin_add_overflow(bytes, column.bytes, &bytes)) {
        status = absl::InvalidArgumentError(
            absl::StrCat(path, ": its columns have too many bytes"));
        return false;
      }
    }
    absl::StatusOr<std::shared_ptr<File>> created =
        File::temporary(path, bytes);
    status = created.status();
    if (!status.ok()) {
      return false;
    }
    file = *created;
    for (size_t i = 0; i < columns.size(); ++i) {
      const parquet::Column &column = columns[i];
      tensors[column.name] = {file, safetensorsType(column.type), column.shape,
                              begins[i], column.bytes};
    }
    return true;
  }

  bool write(size_t column, uint64_t offset, const void *data,
             uint64_t bytes) override {
    status = file->write(begins[column] + offset, bytes, data);
    return status.ok();
  }

  absl::Status status;
  TensorFile tensors;

private:
  std::string path;
  std::shared_ptr<File> file;
  std::vector<uint64_t> begins; // of columns
};

absl::StatusOr<TensorFile> unpack(const std::string &path) {
  // A path that is no file, or not there, has the same message as other
  // formats.
  ZG_RETURN_IF_ERROR(File::openForReading(path).status());
  ZG_ASSIGN_OR_RETURN(parquet::ReadColumns read, findModule(path));
  Unpacking unpacking(path);
  std::string wrong = read(path, unpacking);
  ZG_RETURN_IF_ERROR(unpacking.status);
  if (!wrong.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": cannot read it as Parquet: ", wrong));
  }
  return std::move(unpacking.tensors);
}

} // namespace

absl::StatusOr<TensorFile> zerograph::readParquet(const std::string &path) {
  // `train` looks at a file once to compile and once to read it.
  static std::mutex mutex;
  static auto *unpacked = new std::map<std::string, TensorFile>;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = unpacked->find(path);
  if (found != unpacked->end()) {
    return found->second;
  }
  ZG_ASSIGN_OR_RETURN(TensorFile tensors, unpack(path));
  return unpacked->emplace(path, std::move(tensors)).first->second;
}
