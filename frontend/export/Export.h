//===- Export.h - trained weights into a model's own file -----------------===//
//
// Decides what an exported model consists of. Nothing here writes a file: that
// is the caller's.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORT_EXPORT_H
#define ZEROGRAPH_FRONTEND_EXPORT_EXPORT_H

#include "absl/status/statusor.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace zerograph::frontend {

/// A tensor, wherever it comes from.
struct TrainedWeight {
  std::string dtype; ///< as in safetensors: "F32", ...
  std::vector<int64_t> shape;
  /// All of its bytes, little-endian, as elements of another type: its own, or,
  /// of "F32", "F16" and "BF16", each other, rounded to nearest even.
  std::function<absl::StatusOr<std::string>(const std::string &dtype)> read;
  /// Left out where the model has no initializer of its name; else that is an
  /// error.
  bool optional = false;
};
using TrainedWeights = std::map<std::string, TrainedWeight>;

/// A file of external data beside the exported model.
struct DataFile {
  std::string name;   ///< in the folder of the exported model
  std::string source; ///< in the model's folder, to copy first; empty: zeros
  int64_t bytes = 0;
  /// A weight, in a type, from an offset on.
  struct Part {
    int64_t offset;
    std::string weight;
    std::string dtype;
  };
  std::vector<Part> parts;
};

/// An ONNX file, and those that it names.
struct ExportedModel {
  std::string bytes;
  std::vector<DataFile> data;
  std::vector<std::string> notes; ///< worth knowing, nothing is wrong
  size_t weights = 0;             ///< that it has
};

struct ExportOptions {
  /// Leaves out the loss and what only training needs.
  bool inference = false;
  /// Name of the output that is the loss; empty: inferred, as for training.
  std::string loss_output;
  /// Values that become outputs; "value=name": of that name.
  std::vector<std::string> output_value;
};

/// The model at `path` with `weights` in place of those of its initializers,
/// by name, as the file `output` ("FOLDER/OUT.onnx") is to hold it. All else
/// stays as it is, except that external data is named after `output`. Errors
/// name all tensors at fault.
absl::StatusOr<ExportedModel> exportModel(const std::string &path,
                                          const std::string &output,
                                          const TrainedWeights &weights,
                                          const ExportOptions &options);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORT_EXPORT_H
