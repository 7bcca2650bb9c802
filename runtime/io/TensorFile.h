//===- TensorFile.h - named arrays in files -------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_IO_TENSORFILE_H
#define ZEROGRAPH_RUNTIME_IO_TENSORFILE_H

#include "runtime/io/File.h"
#include "runtime/plan/Describe.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zerograph {

/// The place of the bytes of an array: plain little-endian elements, row-major.
struct TensorExtent {
  std::shared_ptr<File> file;
  plan::ElementType type = plan::ELEMENT_INVALID;
  std::vector<uint64_t> shape;
  uint64_t offset = 0; // in the file
  uint64_t bytes = 0;
};

/// Arrays by name.
using TensorFile = std::map<std::string, TensorExtent>;
/// Texts by name that a .safetensors file has besides.
using Metadata = std::map<std::string, std::string>;

/// The arrays of a .safetensors file. The header is checked before anything
/// relies on it: its length, its JSON, types, shapes, and that the extents
/// cover the rest of the file once, without holes. `metadata` may be null.
absl::StatusOr<TensorFile> readSafetensors(const std::string &path,
                                           Metadata *metadata = nullptr);

/// The array of NAME.npy, by that name; those of a folder of such files; and of
/// a .npz file, as numpy.savez writes it, without compression.
absl::StatusOr<TensorFile> readNpy(const std::string &path);
absl::StatusOr<TensorFile> readNpyFolder(const std::string &path);
absl::StatusOr<TensorFile> readNpz(const std::string &path);

/// The columns of a Parquet file that are numbers, or lists of numbers of equal
/// length, unpacked into a temporary file that lives as long as the process. An
/// error where the build has no Apache Arrow.
absl::StatusOr<TensorFile> readParquet(const std::string &path);

/// Returns whether a file of a folder is data, by its name.
bool holdsArrays(const std::string &path);

/// The arrays of a .safetensors file, or of a .npy or .npz file, which has no
/// `metadata`; told apart by what they begin with, whatever the file is called.
/// Others are refused, as `knownFormat` says.
absl::StatusOr<TensorFile> readWeights(const std::string &path,
                                       Metadata *metadata = nullptr);

/// These, a folder of .npy files, or a .parquet file.
absl::StatusOr<TensorFile> readTensors(const std::string &path);

/// A kind of file that people take for another one.
struct KnownFormat {
  std::string what;     ///< "an HDF5 file"
  std::string remedy;   ///< how its arrays become a file that is read as data
  bool weights = false; ///< it likely holds a model's weights
};
inline constexpr char kPlanFormat[] = "a plan of Zerograph";
inline constexpr char kModelFormat[] = "an ONNX model";
/// The kind of a file that begins with `begin`, at least 16 bytes if it has
/// them; nothing where that cannot be told.
std::optional<KnownFormat> knownFormat(absl::string_view begin);

/// Returns the type that .safetensors files name so, "I64"; ELEMENT_INVALID: no
/// input or parameter has it.
plan::ElementType safetensorsType(const std::string &name);
/// "[2, 3]".
std::string shapeText(absl::Span<const uint64_t> shape);
/// The product of `shape` and `element` bytes; false where it exceeds 2^62.
bool byteCount(absl::Span<const uint64_t> shape, uint64_t element,
               uint64_t &bytes);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_IO_TENSORFILE_H
