//===- Placeholders.cpp - what stands for what a failed node gives --------===//
//
// One error should list everything in a model that cannot be imported. So the
// walk goes on after a node that failed. For its outputs it takes zeros of the
// types that ONNX infers, just to find the problems of the nodes after it.
// Integer outputs stay unknown: they may decide shapes, and zeros would make
// problems that the model does not have.
//
//===----------------------------------------------------------------------===//

#include "frontend/base/Error.h"
#include "frontend/walk/Importer.h"

#include "absl/strings/match.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

namespace zerograph::frontend {

namespace {

/// Constants of at most so many elements may decide a shape.
constexpr int64_t kMaxShapeElements = 64;

void describe(onnx::ValueInfoProto &info, const std::string &name, int32_t type,
              const Shape &shape) {
  info.set_name(name);
  auto *tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (int64_t size : shape) {
    tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
}

onnx::TensorProto toProto(const HostTensor &host, const std::string &name) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (int64_t size : host.shape()) {
    tensor.add_dims(size);
  }
  for (int64_t i = 0; i < host.size(); ++i) {
    tensor.add_int64_data(host.intAt(i));
  }
  return tensor;
}

/// Returns whether ONNX's inference would crash: it divides by the number of
/// heads, and indexes dims by the axis, as the file has them.
bool breaksInference(const onnx::NodeProto &node, int64_t rank) {
  return llvm::any_of(node.attribute(), [&](const auto &attribute) {
    return absl::EndsWith(attribute.name(), "num_heads")
               ? attribute.i() == 0
               : attribute.name() == "axis" &&
                     (attribute.i() < -rank || attribute.i() >= rank);
  });
}

/// The shape that was inferred for an output, if it is known and possible.
std::optional<Shape> inferredShape(const onnx::ValueInfoProto &info) {
  const auto &tensor = info.type().tensor_type();
  if (!info.type().has_tensor_type() || !tensor.has_shape()) {
    return std::nullopt;
  }
  Shape shape;
  for (const auto &dim : tensor.shape().dim()) {
    if (!dim.has_dim_value()) {
      return std::nullopt;
    }
    shape.push_back(dim.dim_value());
  }
  try {
    elementCount(shape);
  } catch (const ImportError &) {
    return std::nullopt;
  }
  return shape;
}

} // namespace

/// Adds the inputs of `node`, as they are known, to the graph `single`. False
/// if ONNX's inference should not see them.
bool Importer::describeInputs(const onnx::NodeProto &node,
                              onnx::GraphProto &single) {
  Op op(*this, node, locationOf(node));
  for (int i = 0; i < node.input_size(); ++i) {
    if (!op.hasInput(i)) {
      continue;
    }
    if (op.slot(i).failed || op.slot(i).isSequence) {
      return false;
    }
    if (!isFloatType(op.type(i)) && op.shape(i).size() == 1 &&
        op.shape(i)[0] > kMaxShapeElements) {
      return false; // inference might make that many dims
    }
    describe(*single.add_input(), node.input(i), op.type(i), op.shape(i));
    const HostTensor *host = op.host(i);
    if (host != nullptr && op.type(i) == onnx::TensorProto::INT64 &&
        host->size() <= kMaxShapeElements) {
      *single.add_initializer() = toProto(*host, node.input(i));
    }
  }
  return !op.hasInput(0) || !breaksInference(node, op.shape(0).size());
}

std::vector<onnx::ValueInfoProto>
Importer::inferOutputs(const onnx::NodeProto &node) {
  try {
    const onnx::OpSchema *schema = schemaOf(node);
    if (schema == nullptr) {
      return {};
    }
    schema->Verify(node); // inference trusts the node
    onnx::ModelProto model;
    model.set_ir_version(onnx::IR_VERSION);
    model.add_opset_import()->set_version(file.opset);
    onnx::GraphProto &single = *model.mutable_graph();
    *single.add_node() = node;
    if (!describeInputs(node, single)) {
      return {};
    }
    onnx::shape_inference::InferShapes(model);
    return {single.value_info().begin(), single.value_info().end()};
  } catch (const std::exception &) {
    return {};
  }
}

bool Importer::setEmpty(const onnx::NodeProto &node) {
  std::map<std::string, HostTensor> found;
  for (const onnx::ValueInfoProto &info : inferOutputs(node)) {
    std::optional<Shape> shape = inferredShape(info);
    int32_t type = info.type().tensor_type().elem_type();
    if (shape && elementCount(*shape) == 0 && typeBytes(type) != 0) {
      found.emplace(info.name(), HostTensor(type, *shape));
    }
  }
  for (const std::string &output : node.output()) {
    if (!output.empty() && found.count(output) == 0) {
      return false;
    }
  }
  for (auto &[name, tensor] : found) {
    slotOf(name) = Slot();
    slotOf(name).host = share(std::move(tensor));
  }
  return true;
}

/// Nodes that need an output of which nothing is known are not checked.
void Importer::addPlaceholders(const onnx::NodeProto &node) {
  for (const std::string &output : node.output()) {
    if (!output.empty()) {
      slotOf(output) = Slot();
      slotOf(output).failed = true;
    }
  }
  Emitter emit(builder, locationOf(node));
  for (const onnx::ValueInfoProto &info : inferOutputs(node)) {
    std::optional<Shape> shape = inferredShape(info);
    int32_t type = info.type().tensor_type().elem_type();
    if (shape && isFloatType(type) && elementCount(*shape) != 0) {
      Slot &slot = slotOf(info.name());
      slot.value =
          emit.splat(0, *shape, elementTypeOf(&context, computedType(type)));
      slot.failed = false;
    }
  }
}

} // namespace zerograph::frontend
