//===- ModelFile.h - an ONNX file and where its weights lie ---------------===//

#ifndef ZEROGRAPH_FRONTEND_FILE_MODELFILE_H
#define ZEROGRAPH_FRONTEND_FILE_MODELFILE_H

#include "frontend/base/HostTensor.h"

#include "onnx/onnx_pb.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace zerograph::frontend {

/// Operator sets of ai.onnx that are read.
constexpr int64_t kMinOpset = 7, kMaxOpset = 27;

/// Returns whether operators of the domain are ONNX's own.
inline bool isOnnxDomain(const std::string &domain) {
  return domain.empty() || domain == "ai.onnx";
}

/// `length` bytes from `offset` of `file`, a path relative to the model.
struct ByteRange {
  std::string file;
  int64_t offset = 0;
  int64_t length = 0;
};

/// A parsed model, its versions checked.
struct ModelFile {
  onnx::ModelProto model;
  std::string folder;   ///< "" or ends with "/"
  std::string fileName; ///< the .onnx itself, without the folder
  int64_t opset = 0;    ///< the version of ai.onnx
  /// The places of the bytes of each embedded initializer that is raw data.
  std::map<std::string, ByteRange> embedded;
  std::vector<std::string> notes; ///< say what of the file was left out

  const onnx::GraphProto &graph() const { return model.graph(); }
};

/// Reads the model as it stands in the file; throws ImportError.
std::unique_ptr<ModelFile> readModelFile(const std::string &path);

/// Puts the bodies of the model's own functions in place of their calls. Throws
/// ImportError if one is of another operator set, in which its operators
/// differ.
void inlineFunctions(onnx::ModelProto &model);

/// Leaves out outputs that need operators of other domains than ai.onnx, and
/// the nodes that make them; an output that ZipMap makes is the tensor that it
/// makes it of. Throws ImportError if all outputs do.
void leaveForeignOut(ModelFile &file);

/// Reads a model, its functions inlined, without what is not of ai.onnx; throws
/// ImportError.
std::unique_ptr<ModelFile> loadModel(const std::string &path);

/// Throws ImportError where the shape of an initializer has a negative dim or
/// too many elements. What meets the shape later cannot name the initializer.
void checkShapes(const onnx::GraphProto &graph);

/// Returns where the bytes of an initializer lie, plain and little-endian;
/// nothing if the file holds them in another encoding, or not at all. Checks
/// external locations, and the size of the files that exist.
std::optional<ByteRange> locate(const ModelFile &file,
                                const onnx::TensorProto &tensor);

/// The values of a tensor of the model. `file` null: it must be embedded.
/// Throws TooLarge above HostTensor::kMaxElements.
HostTensor readTensor(const onnx::TensorProto &tensor, const ModelFile *file);

/// The little-endian bytes of a tensor of the model, of any size. `file` null:
/// it must be embedded.
std::string readBytes(const onnx::TensorProto &tensor, const ModelFile *file);

/// Notes for the user: what external data says and the importer ignores.
std::vector<std::string> externalNotes(const ModelFile &file);

/// Returns whether readTensor may succeed: the bytes are embedded, or their
/// file exists. False also of a model that was exported without weights.
bool isReadable(const ModelFile &file, const onnx::TensorProto &tensor);

/// Little-endian bytes of an embedded tensor in any encoding.
std::string littleEndianBytes(const onnx::TensorProto &tensor);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_FILE_MODELFILE_H
