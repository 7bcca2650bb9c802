//===- ExternalData.h - weights in files beside the model -----------------===//

#ifndef ZEROGRAPH_FRONTEND_FILE_EXTERNALDATA_H
#define ZEROGRAPH_FRONTEND_FILE_EXTERNALDATA_H

#include "frontend/file/ModelFile.h"

#include <utility>

namespace zerograph::frontend {

/// External data of a tensor: where it lies, and its file, open for reading; -1
/// if there is no such file.
struct External {
  ByteRange range;
  int file = -1;

  External() = default;
  External(External &&other) noexcept
      : range(std::move(other.range)), file(std::exchange(other.file, -1)) {}
  External &operator=(External &&) = delete;
  ~External();
};

bool isExternal(const onnx::TensorProto &tensor);

/// Throws ImportError if the place is not beneath the model's folder, or the
/// file is too short.
External openExternal(const ModelFile &file, const onnx::TensorProto &tensor);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_FILE_EXTERNALDATA_H
