//===- ExportModel.cpp - trained weights into a model's own file ----------===//

#include "frontend/base/Error.h"
#include "frontend/base/Guarded.h"
#include "frontend/export/Export.h"
#include "frontend/export/Inference.h"
#include "frontend/export/PlaceWeights.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

#include <climits>

namespace zerograph::frontend {

/// Serializes a message so that equal ones give equal bytes.
static std::string serialize(const onnx::ModelProto &model) {
  size_t size = model.ByteSizeLong();
  if (size > INT_MAX) {
    fail("would hold ", size,
         " bytes; an ONNX file ends at 2 GiB: save the model with external "
         "data first");
  }
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.SetSerializationDeterministic(true);
  if (!model.SerializeToCodedStream(&output)) {
    fail("the exported model cannot be serialized");
  }
  output.Trim();
  return bytes;
}

absl::StatusOr<ExportedModel> exportModel(const std::string &path,
                                          const std::string &output,
                                          const TrainedWeights &weights,
                                          const ExportOptions &options) {
  return guarded(path, [&] {
    std::unique_ptr<ModelFile> file = readModelFile(path);
    ExportedModel exported;
    exported.weights =
        placeWeights(*file, output.substr(output.find_last_of('/') + 1),
                     weights, exported.data, exported.notes);
    if (options.inference) {
      makeInference(*file, options, exported.notes);
    }
    exported.bytes = serialize(file->model);
    return exported;
  });
}

} // namespace zerograph::frontend
