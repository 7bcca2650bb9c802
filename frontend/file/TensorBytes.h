//===- TensorBytes.h - a tensor of the file and its bytes -----------------===//

#ifndef ZEROGRAPH_FRONTEND_FILE_TENSORBYTES_H
#define ZEROGRAPH_FRONTEND_FILE_TENSORBYTES_H

#include "frontend/base/HostTensor.h"

#include <string>
#include <vector>

namespace zerograph::frontend {

Shape shapeOf(const onnx::TensorProto &tensor);
/// Counts the dims above 1: none of one number, one of a vector.
int64_t longDims(const onnx::TensorProto &tensor);
/// Bytes that its shape and type need; fails on an unsupported type.
int64_t byteCount(const onnx::TensorProto &tensor);
/// Returns whether a tensor that has elements comes without their values, as of
/// a model that was exported without weights.
bool hasNoData(const onnx::TensorProto &tensor);
/// The elements that little-endian `bytes`, byteCount of them, stand for.
HostTensor decode(const onnx::TensorProto &tensor, const std::string &bytes);

/// Returns whether the bytes `copy`, of `shape`, are Transpose(original, order)
/// of those of shape `from`; an element has `element` bytes.
bool isTransposed(const std::string &copy, const Shape &shape,
                  const std::string &original, const Shape &from,
                  const std::vector<size_t> &order, size_t element);
/// Returns whether all elements are the same: they tell nothing of where they
/// are from.
bool isSplat(const std::string &bytes, size_t element);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_FILE_TENSORBYTES_H
