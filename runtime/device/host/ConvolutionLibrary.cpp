//===- ConvolutionLibrary.cpp - convolutions by oneDNN --------------------===//

#include "runtime/device/host/ConvolutionLibrary.h"

#include "runtime/device/host/OneDnn.h"

#include <algorithm>
#include <array>

using namespace zerograph;
using namespace zerograph::onednn;

namespace {

using Dims = dnnl::memory::dims;
using dnnl::memory;

constexpr uint64_t kMostParts = 8;
constexpr double kFlopsOfPart = 8e6;
constexpr uint64_t kFeatures = 16; // a vector of them

bool ofWeights(const plan::Convolution &c) {
  return c.kind() == plan::WEIGHTS_GRADIENT;
}

template <typename Field>
Dims dimsOf(std::initializer_list<uint64_t> first, const Field &places) {
  Dims dims(first.begin(), first.end());
  dims.insert(dims.end(), places.begin(), places.end());
  return dims;
}

/// What a part's primitives depend on: the convolution with the part's samples,
/// or features and groups, in the place of all, and the features of the whole,
/// whose rows the output's are among. Serialized, it is the key of the cache.
struct PartShape {
  plan::Convolution c;
  uint64_t all_features = 0;
  bool whole_channels = true; // else those of the part's groups
};

/// With `size` samples or features.
PartShape partOf(const plan::Convolution &whole, uint64_t size) {
  PartShape shape{whole, whole.features(), whole.groups() == 1};
  if (!ofWeights(whole)) {
    shape.c.set_samples(size);
  } else {
    shape.c.set_features(size);
    if (whole.groups() > 1) {
      uint64_t groups = size / (whole.features() / whole.groups());
      shape.c.set_channels(whole.channels() / whole.groups() * groups);
      shape.c.set_groups(groups);
    }
  }
  return shape;
}

uint64_t productOf(const google::protobuf::RepeatedField<uint64_t> &sizes) {
  uint64_t all = 1;
  for (uint64_t size : sizes) {
    all *= size;
  }
  return all;
}

Dims denseStrides(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * dims[i];
  }
  return strides;
}

/// Input, weights or output: how it lies in the arena, and how the library
/// wants it.
struct Tensor {
  memory::desc outside, inside;
  bool moves() const { return outside != inside; }
  uint64_t bytes() const { return moves() ? roundUp(inside.get_size()) : 0; }
};

enum { kInput, kWeights, kOutput };

/// The primitives of a part, shared by all convolutions of its shape.
struct PartPrimitive {
  std::array<Tensor, 3> tensors;
  std::array<dnnl::reorder, 3> moves; // where a tensor moves
  std::array<memory::desc, 3> move_scratch;
  dnnl::primitive compute;
  memory::desc scratch;

  /// Of moved tensors, and of the calls, which come one after the other.
  uint64_t movedBytes() const {
    uint64_t bytes = 0;
    for (const Tensor &tensor : tensors) {
      bytes += tensor.bytes();
    }
    return bytes;
  }
  uint64_t scratchBytes() const {
    uint64_t calls = scratch.get_size();
    for (int i = 0; i < 3; ++i) {
      if (tensors[i].moves()) {
        calls = std::max<uint64_t>(calls, move_scratch[i].get_size());
      }
    }
    return movedBytes() + roundUp(calls);
  }
};

/// The tensor that a kind writes, as the index of its tensor.
int resultOf(plan::ConvolutionKind kind) {
  return kind == plan::CONVOLVE         ? kOutput
         : kind == plan::INPUT_GRADIENT ? kInput
                                        : kWeights;
}

std::array<memory::desc, 3> outsideOf(const PartShape &shape) {
  const plan::Convolution &c = shape.c;
  auto f32 = memory::data_type::f32;
  Dims input = dimsOf({c.samples(), c.channels()}, c.input());
  Dims output = dimsOf({c.samples(), c.features()}, c.output());
  uint64_t channels = c.channels() / c.groups();
  Dims weights = c.groups() == 1
                     ? dimsOf({c.features(), channels}, c.window())
                     : dimsOf({c.groups(), c.features() / c.groups(), channels},
                              c.window());
  // A part of the features is a part of each sample's rows, and so of the
  // channels that belong to it.
  Dims in = denseStrides(input), out = denseStrides(output);
  if (c.features() != shape.all_features) {
    auto ofAll = [&](int64_t stride) {
      return stride * int64_t(shape.all_features) / int64_t(c.features());
    };
    out[0] = ofAll(out[0]);
    in[0] = shape.whole_channels ? in[0] : ofAll(in[0]);
  }
  return {memory::desc(input, f32, in),
          memory::desc(weights, f32, denseStrides(weights)),
          memory::desc(output, f32, out)};
}

std::shared_ptr<const PartPrimitive> makePrimitive(const PartShape &shape) {
  const plan::Convolution &c = shape.c;
  auto part = std::make_shared<PartPrimitive>();
  std::array<memory::desc, 3> outside = outsideOf(shape), any;
  for (int i = 0; i < 3; ++i) {
    any[i] = memory::desc(outside[i].dims(), memory::data_type::f32,
                          memory::format_tag::any);
  }
  Dims strides = dimsOf({}, c.strides()), low = dimsOf({}, c.low());
  Dims dilations, high;
  for (int i = 0; i < c.input_size(); ++i) {
    dilations.push_back(int64_t(c.dilations(i)) - 1);
    int64_t last = int64_t((c.output(i) - 1) * c.strides(i) +
                           (c.window(i) - 1) * c.dilations(i) + 1);
    high.push_back(
        std::max<int64_t>(0, last - int64_t(c.low(i)) - int64_t(c.input(i))));
  }
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  auto algorithm = dnnl::algorithm::convolution_direct;
  dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, any[kInput], any[kWeights],
       any[kOutput], strides, dilations, low, high},
      attributes, engine());
  auto take = [&](const auto &description, const memory::desc &input,
                  const memory::desc &weights, const memory::desc &output) {
    std::array<memory::desc, 3> inside = {input, weights, output};
    for (int i = 0; i < 3; ++i) {
      part->tensors[i] = {outside[i], inside[i]};
    }
    part->scratch = description.scratchpad_desc();
  };
  switch (c.kind()) {
  case plan::CONVOLVE:
    part->compute = dnnl::convolution_forward(forward);
    take(forward, forward.src_desc(), forward.weights_desc(),
         forward.dst_desc());
    break;
  case plan::INPUT_GRADIENT: {
    dnnl::convolution_backward_data::primitive_desc backward(
        {algorithm, any[kInput], any[kWeights], any[kOutput], strides,
         dilations, low, high},
        attributes, engine(), forward);
    part->compute = dnnl::convolution_backward_data(backward);
    take(backward, backward.diff_src_desc(), backward.weights_desc(),
         backward.diff_dst_desc());
    break;
  }
  default: {
    dnnl::convolution_backward_weights::primitive_desc backward(
        {algorithm, any[kInput], any[kWeights], any[kOutput], strides,
         dilations, low, high},
        attributes, engine(), forward);
    part->compute = dnnl::convolution_backward_weights(backward);
    take(backward, backward.src_desc(), backward.diff_weights_desc(),
         backward.diff_dst_desc());
    break;
  }
  }
  for (int i = 0; i < 3; ++i) {
    const Tensor &tensor = part->tensors[i];
    if (tensor.moves()) {
      bool back = i == resultOf(c.kind());
      dnnl::reorder::primitive_desc move(
          engine(), back ? tensor.inside : tensor.outside, engine(),
          back ? tensor.outside : tensor.inside, attributes);
      part->moves[i] = dnnl::reorder(move);
      part->move_scratch[i] = move.scratchpad_desc();
    }
  }
  return part;
}

absl::Status check(const plan::Convolution &c) {
  if (c.element_type() != plan::F32) {
    return absl::UnimplementedError(
        absl::StrCat("oneDNN's convolutions are of F32 here, found ",
                     plan::ElementType_Name(c.element_type())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const PartPrimitive>>
primitiveOf(const PartShape &shape) {
  static auto *cache = new PrimitiveCache<std::string, PartPrimitive>;
  std::string key =
      absl::StrCat(shape.all_features, shape.whole_channels ? " " : " of ",
                   shape.c.SerializeAsString());
  return cache->find(
      key, [&] { return makePrimitive(shape); },
      [&](const char *error) {
        return absl::StrCat(libraryVersion(),
                            " cannot make this convolution: ", error, " (",
                            shape.c.ShortDebugString(), ")");
      });
}

/// Where a convolution is cut, and the scratch of the part that needs most.
struct CutConvolution {
  std::vector<uint64_t> cuts;
  std::vector<std::shared_ptr<const PartPrimitive>> primitives; // by part
  uint64_t scratch = 0;

  uint64_t allScratch() const { return scratch * primitives.size(); }
};

absl::StatusOr<CutConvolution> cut(const plan::Convolution &c) {
  ZG_RETURN_IF_ERROR(check(c));
  CutConvolution all;
  all.cuts = cutConvolution(c);
  for (size_t i = 0; i + 1 < all.cuts.size(); ++i) {
    ZG_ASSIGN_OR_RETURN(auto primitive,
                        primitiveOf(partOf(c, all.cuts[i + 1] - all.cuts[i])));
    all.scratch = std::max(all.scratch, primitive->scratchBytes());
    all.primitives.push_back(std::move(primitive));
  }
  return all;
}

/// A part's calls in order: moves in, the convolution, the move out.
struct BoundPart {
  std::shared_ptr<const PartPrimitive> primitive;
  int result = kOutput;
  std::array<Arguments, 3> moves;
  Arguments compute;

  absl::Status run() const {
    for (int i = 0; i < 3; ++i) {
      if (i != result && primitive->tensors[i].moves()) {
        ZG_RETURN_IF_ERROR(moves[i].execute(primitive->moves[i], "copy"));
      }
    }
    ZG_RETURN_IF_ERROR(compute.execute(primitive->compute, "convolution"));
    return primitive->tensors[result].moves()
               ? moves[result].execute(primitive->moves[result], "copy")
               : absl::OkStatus();
  }
};

class BoundConvolution final : public LibraryCall {
public:
  std::vector<BoundPart> bound;

  unsigned parts() const override { return unsigned(bound.size()); }
  absl::Status run(unsigned part) override { return bound[part].run(); }
};

/// The names of input, weights and output in a call of each kind.
std::array<int, 3> argumentsOf(plan::ConvolutionKind kind) {
  switch (kind) {
  case plan::CONVOLVE:
    return {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
  case plan::INPUT_GRADIENT:
    return {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
  default:
    return {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
  }
}

void bindPart(BoundPart &bound, plan::ConvolutionKind kind,
              const std::array<std::byte *, 3> &addresses, std::byte *scratch) {
  const PartPrimitive &primitive = *bound.primitive;
  bound.result = resultOf(kind);
  std::byte *calls = scratch + primitive.movedBytes();
  std::array<int, 3> names = argumentsOf(kind);
  for (int i = 0; i < 3; ++i) {
    const Tensor &tensor = primitive.tensors[i];
    std::byte *inside = addresses[i];
    if (tensor.moves()) {
      inside = scratch;
      scratch += tensor.bytes();
      bool back = i == bound.result;
      Arguments &move = bound.moves[i];
      move.add(back ? DNNL_ARG_TO : DNNL_ARG_FROM, tensor.outside,
               addresses[i]);
      move.add(back ? DNNL_ARG_FROM : DNNL_ARG_TO, tensor.inside, inside);
      if (primitive.move_scratch[i].get_size() > 0) {
        move.add(DNNL_ARG_SCRATCHPAD, primitive.move_scratch[i], calls);
      }
    }
    bound.compute.add(names[i], tensor.inside, inside);
  }
  if (primitive.scratch.get_size() > 0) {
    bound.compute.add(DNNL_ARG_SCRATCHPAD, primitive.scratch, calls);
  }
}

/// Where input, weights and output of the part from `cut` on begin.
std::array<std::byte *, 3> addressesOf(const plan::Convolution &c, uint64_t cut,
                                       std::array<std::byte *, 3> whole) {
  constexpr uint64_t kBytes = 4;
  uint64_t begin = cut * kBytes;
  uint64_t input = productOf(c.input()), output = productOf(c.output());
  if (!ofWeights(c)) {
    whole[kInput] += begin * c.channels() * input;
    whole[kOutput] += begin * c.features() * output;
    return whole;
  }
  uint64_t channels = c.channels() / c.groups();
  whole[kWeights] += begin * channels * productOf(c.window());
  whole[kOutput] += begin * output;
  if (c.groups() > 1) {
    uint64_t group = cut / (c.features() / c.groups());
    whole[kInput] += group * channels * input * kBytes;
  }
  return whole;
}

} // namespace

std::vector<uint64_t> zerograph::cutConvolution(const plan::Convolution &c) {
  double flops = 2.0 * double(c.samples()) * double(c.features()) *
                 double(c.channels() / c.groups()) *
                 double(productOf(c.window())) * double(productOf(c.output()));
  uint64_t extent = ofWeights(c) ? c.features() : c.samples();
  uint64_t grain = !ofWeights(c)    ? 1
                   : c.groups() > 1 ? c.features() / c.groups()
                                    : kFeatures;
  uint64_t grains = (extent + grain - 1) / grain;
  uint64_t wanted =
      uint64_t(std::clamp(flops / kFlopsOfPart, 1.0, double(kMostParts)));
  uint64_t parts = std::min(wanted, grains);
  std::vector<uint64_t> cuts;
  for (uint64_t i = 0; i <= parts; ++i) {
    cuts.push_back(std::min(extent, grains * i / parts * grain));
  }
  return cuts;
}

absl::StatusOr<uint64_t>
zerograph::scratchBytes(const plan::Convolution &convolution) {
  ZG_ASSIGN_OR_RETURN(CutConvolution all, cut(convolution));
  return all.allScratch();
}

absl::StatusOr<std::unique_ptr<LibraryCall>>
zerograph::bindConvolution(const plan::Convolution &convolution, void *a,
                           void *b, void *c, void *scratch,
                           uint64_t scratch_bytes) {
  ZG_ASSIGN_OR_RETURN(CutConvolution all, cut(convolution));
  ZG_RETURN_IF_ERROR(
      checkScratch("convolution", all.allScratch(), scratch_bytes));
  auto *lhs = static_cast<std::byte *>(a), *rhs = static_cast<std::byte *>(b);
  auto *result = static_cast<std::byte *>(c);
  std::array<std::byte *, 3> whole; // input, weights, output
  switch (convolution.kind()) {
  case plan::CONVOLVE:
    whole = {lhs, rhs, result};
    break;
  case plan::INPUT_GRADIENT:
    whole = {result, rhs, lhs};
    break;
  default:
    whole = {lhs, result, rhs};
    break;
  }
  auto call = std::make_unique<BoundConvolution>();
  call->bound.resize(all.primitives.size());
  auto *part_scratch = static_cast<std::byte *>(scratch);
  for (size_t i = 0; i < call->bound.size(); ++i) {
    BoundPart &bound = call->bound[i];
    bound.primitive = all.primitives[i];
    try {
      bindPart(bound, convolution.kind(),
               addressesOf(convolution, all.cuts[i], whole), part_scratch);
    } catch (const dnnl::error &error) {
      return absl::InternalError(
          absl::StrCat("oneDNN refuses an operand: ", error.what()));
    }
    if (part_scratch) {
      part_scratch += all.scratch;
    }
  }
  return call;
}
