//===- UnnamedDims.cpp - dims whose size the exporter did not know --------===//
//
// Exporters of Paddle called each dim of an unknown size "?", where two of one
// name have one size.
//
//===----------------------------------------------------------------------===//

#include "frontend/quirks/Quirks.h"

namespace zerograph::frontend {

static void
forgetNames(google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> &values) {
  for (onnx::ValueInfoProto &value : values) {
    if (!value.type().has_tensor_type() ||
        !value.type().tensor_type().has_shape()) {
      continue;
    }
    auto &shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (auto &dim : *shape.mutable_dim()) {
      if (dim.dim_param() == "?") {
        dim.clear_dim_param();
      }
    }
  }
}

static void forgetDims(ModelFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  forgetNames(*graph.mutable_input());
  forgetNames(*graph.mutable_output());
  forgetNames(*graph.mutable_value_info());
}

const Quirk kUnnamedDims = {.repair = forgetDims};

} // namespace zerograph::frontend
