//===- Halves.cpp - models whose parameters have 16 bits ------------------===//
//
// A parameter that is trained needs more than 16 bits, or small updates are
// lost. So where the file has one in float16 or bfloat16, the program is that
// of the same model in float32: all numbers of 16 bits are float32, and casts
// between them are nothing. What is rounded to 16 bits again is up to
// --precision. Only the bytes of parameters and of data stay as they are.
//
//===----------------------------------------------------------------------===//

#include "frontend/walk/Importer.h"

using namespace mlir;
using onnx::TensorProto;

namespace zerograph::frontend {

int32_t Importer::computedType(int32_t type) const {
  return widensHalves && isHalfType(type) ? int32_t(TensorProto::FLOAT) : type;
}

HostTensor Importer::read(const TensorProto &tensor, bool inNode) const {
  HostTensor values = readTensor(tensor, inNode ? nullptr : &file);
  if (widensHalves) {
    values.widen();
  }
  return values;
}

void Importer::decideHalves() {
  std::map<int32_t, int64_t> elements; // trained, by type
  int64_t halves = 0, all = 0;
  for (const Parameter &parameter : parameters) {
    if (parameter.isTrained()) {
      const TensorProto &tensor = *parameter.tensor;
      elements[tensor.data_type()] +=
          elementCount(Shape(tensor.dims().begin(), tensor.dims().end()));
      halves += isHalfType(tensor.data_type());
      ++all;
    }
  }
  widensHalves = halves > 0;
  if (!widensHalves) {
    return;
  }
  auto most = llvm::max_element(elements, [](const auto &a, const auto &b) {
    return a.second < b.second;
  });
  if (isHalfType(most->first)) {
    report.precision = most->first == TensorProto::BFLOAT16 ? "bf16" : "fp16";
  }
  note(absl::StrCat(halves, " of ", all,
                    " trained parameters have 16 bits in the file: they begin "
                    "with these values, and are trained in float32"));
  widenInputs();
}

/// Data has the type that the file says.
void Importer::widenInputs() {
  for (const auto &[name, value] : options.inputs) {
    Slot &slot = slots[name];
    HostTensor wide = *slot.host;
    wide.widen();
    slot.host = share(std::move(wide));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    Value input = body->getArgument(i);
    if (nn::isHalf(Emitter::elementOf(input))) {
      slots[inputs[i].name].value =
          Emitter(builder, input.getLoc()).convert(input, builder.getF32Type());
    }
  }
}

} // namespace zerograph::frontend
