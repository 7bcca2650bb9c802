//===- ParameterNames.h - what names tell of initializers -----------------===//

#ifndef ZEROGRAPH_FRONTEND_EXPORTER_PARAMETERNAMES_H
#define ZEROGRAPH_FRONTEND_EXPORTER_PARAMETERNAMES_H

#include "onnx/onnx_pb.h"

#include <string>

namespace zerograph::frontend {

/// Names that frameworks give to state that is not trained.
bool isBufferName(const std::string &name);

/// Returns whether the name is one of a mask, "attn.mask" or "causal_masks",
/// which a parameter may be called too. A "mask_token" is one.
bool isMaskName(const std::string &name);

/// Returns whether PyTorch's own modules give a parameter this name:
/// "fc.weight", "rnn.bias_hh_l0", "attn.in_proj_weight".
bool isParameterName(const std::string &name);

/// Returns whether the initializer is one number with a name such as nodes
/// have, "/head/Constant_1" or "onnx::Mul_7", and not a parameter's,
/// "head.scale": then an exporter made it of a constant.
bool looksLikeConstant(const onnx::TensorProto &tensor);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EXPORTER_PARAMETERNAMES_H
