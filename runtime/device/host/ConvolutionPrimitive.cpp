//===- ConvolutionPrimitive.cpp - oneDNN's calls for a part ---------------===//

#include "runtime/device/host/ConvolutionPrimitive.h"

#include "runtime/device/host/LibraryCall.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::onednn;

namespace {

using dnnl::memory;
using Dims = memory::dims;

std::array<memory::desc, 3> outsideOf(const PartShape &shape) {
  auto part = convolutionTensors(shape.part);
  auto whole = convolutionTensors(shape.whole);
  std::array<memory::desc, 3> outside;
  for (int i = 0; i < 3; ++i) {
    // Weights of a single group have no dim for it.
    Dims strides = whole[i].strides;
    strides.erase(strides.begin(), strides.end() - part[i].sizes.size());
    outside[i] = memory::desc(part[i].sizes, memory::data_type::f32, strides);
  }
  return outside;
}

/// The descriptors that all three kinds have.
struct Description {
  Description(const plan::Convolution &c,
              const std::array<memory::desc, 3> &outside)
      : strides(c.strides().begin(), c.strides().end()),
        low(c.low().begin(), c.low().end()) {
    for (int i = 0; i < 3; ++i) {
      any[i] = memory::desc(outside[i].dims(), memory::data_type::f32,
                            memory::format_tag::any);
    }
    for (int i = 0; i < c.input_size(); ++i) {
      dilations.push_back(int64_t(c.dilations(i)) - 1);
      int64_t last = int64_t((c.output(i) - 1) * c.strides(i) +
                             (c.window(i) - 1) * c.dilations(i) + 1);
      high.push_back(
          std::max<int64_t>(0, last - int64_t(c.low(i)) - int64_t(c.input(i))));
    }
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }

  dnnl::convolution_forward::primitive_desc forward() const {
    return {{dnnl::prop_kind::forward_training, algorithm, any[kInput],
             any[kWeights], any[kOutput], strides, dilations, low, high},
            attributes,
            engine()};
  }
  dnnl::convolution_backward_data::primitive_desc inputGradient() const {
    return {{algorithm, any[kInput], any[kWeights], any[kOutput], strides,
             dilations, low, high},
            attributes,
            engine(),
            forward()};
  }
  dnnl::convolution_backward_weights::primitive_desc weightsGradient() const {
    return {{algorithm, any[kInput], any[kWeights], any[kOutput], strides,
             dilations, low, high},
            attributes,
            engine(),
            forward()};
  }

  dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct;
  std::array<memory::desc, 3> any;
  Dims strides, dilations, low, high;
  dnnl::primitive_attr attributes;
};

/// The convolution itself; gives the layouts that it wants.
std::array<memory::desc, 3> makeCompute(ConvolutionPrimitive &made,
                                        plan::ConvolutionKind kind,
                                        const Description &description) {
  switch (kind) {
  case plan::CONVOLVE: {
    auto forward = description.forward();
    made.compute = dnnl::convolution_forward(forward);
    made.scratch = forward.scratchpad_desc();
    return {forward.src_desc(), forward.weights_desc(), forward.dst_desc()};
  }
  case plan::INPUT_GRADIENT: {
    auto backward = description.inputGradient();
    made.compute = dnnl::convolution_backward_data(backward);
    made.scratch = backward.scratchpad_desc();
    return {backward.diff_src_desc(), backward.weights_desc(),
            backward.diff_dst_desc()};
  }
  default: {
    auto backward = description.weightsGradient();
    made.compute = dnnl::convolution_backward_weights(backward);
    made.scratch = backward.scratchpad_desc();
    return {backward.src_desc(), backward.diff_weights_desc(),
            backward.diff_dst_desc()};
  }
  }
}

std::shared_ptr<const ConvolutionPrimitive>
makePrimitive(const PartShape &shape) {
  plan::ConvolutionKind kind = shape.part.kind();
  auto made = std::make_shared<ConvolutionPrimitive>();
  auto outside = outsideOf(shape);
  Description description(shape.part, outside);
  auto inside = makeCompute(*made, kind, description);
  for (int i = 0; i < 3; ++i) {
    PartTensor &tensor = made->tensors[i];
    tensor = {outside[i], inside[i]};
    if (tensor.moves()) {
      bool back = i == convolutionResult(kind);
      dnnl::reorder::primitive_desc move(
          engine(), back ? tensor.inside : tensor.outside, engine(),
          back ? tensor.outside : tensor.inside, description.attributes);
      made->moves[i] = dnnl::reorder(move);
      made->move_scratch[i] = move.scratchpad_desc();
    }
  }
  return made;
}

} // namespace

uint64_t ConvolutionPrimitive::movedBytes() const {
  uint64_t bytes = 0;
  for (const PartTensor &tensor : tensors) {
    bytes += tensor.bytes();
  }
  return bytes;
}

uint64_t ConvolutionPrimitive::scratchBytes() const {
  uint64_t calls = scratch.get_size();
  for (int i = 0; i < 3; ++i) {
    if (tensors[i].moves()) {
      calls = std::max<uint64_t>(calls, move_scratch[i].get_size());
    }
  }
  return movedBytes() + roundUp(calls);
}

absl::StatusOr<std::shared_ptr<const ConvolutionPrimitive>>
onednn::convolutionPrimitive(const PartShape &shape) {
  using Key = std::pair<std::string, std::string>;
  static auto *cache = new PrimitiveCache<Key, ConvolutionPrimitive>;
  return cache->find(
      Key(shape.part.SerializeAsString(), shape.whole.SerializeAsString()),
      [&] { return makePrimitive(shape); },
      [&](const char *error) {
        return absl::StrCat(libraryVersion(),
                            " cannot make this convolution: ", error, " (",
                            shape.part.ShortDebugString(), ")");
      });
}

int onednn::convolutionResult(plan::ConvolutionKind kind) {
  return kind == plan::CONVOLVE         ? kOutput
         : kind == plan::INPUT_GRADIENT ? kInput
                                        : kWeights;
}
