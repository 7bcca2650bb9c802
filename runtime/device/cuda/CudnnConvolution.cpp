//===- CudnnConvolution.cpp - how a convolution is told to cuDNN ----------===//

#include "runtime/device/cuda/CudnnConvolution.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

using namespace zerograph;

namespace {

using Sizes = std::vector<int64_t>;

/// The order of names in text too.
enum { kInput, kWeights, kOutput };

/// Returns what the library calls a tensor; 0 may stand for none.
constexpr int64_t idOf(int tensor) { return tensor + 1; }

/// The names that the library has for a kind of convolution, and its parts.
struct OperationNames {
  const char *name;
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t windows, tensors[3], alpha, beta;
};

const OperationNames &namesOf(plan::ConvolutionKind kind) {
  static const OperationNames kForward = {
      "forward",
      CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static const OperationNames kInputGradient = {
      "gradient of the input",
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static const OperationNames kWeightsGradient = {
      "gradient of the weights",
      CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  return kind == plan::CONVOLVE         ? kForward
         : kind == plan::INPUT_GRADIENT ? kInputGradient
                                        : kWeightsGradient;
}

template <typename Field>
Sizes sizesOf(std::initializer_list<uint64_t> first, const Field &places) {
  Sizes sizes(first.begin(), first.end());
  sizes.insert(sizes.end(), places.begin(), places.end());
  return sizes;
}

Sizes tensorOf(const plan::Convolution &shape, int tensor) {
  switch (tensor) {
  case kInput:
    return sizesOf({shape.samples(), shape.channels()}, shape.input());
  case kWeights:
    return sizesOf({shape.features(), shape.channels() / shape.groups()},
                   shape.window());
  default:
    return sizesOf({shape.samples(), shape.features()}, shape.output());
  }
}

/// Zeros after the input that the last window reaches; none where it ends
/// before the input does.
int64_t highOf(const plan::Convolution &c, int place) {
  auto i = [](uint64_t size) { return int64_t(size); };
  int64_t window = (i(c.window(place)) - 1) * i(c.dilations(place)) + 1;
  int64_t last = (i(c.output(place)) - 1) * i(c.strides(place)) + window;
  return std::max<int64_t>(0, last - i(c.low(place)) - i(c.input(place)));
}

/// A line is an image of height 1: the library takes two or three places.
Sizes atLeastTwo(Sizes sizes, size_t at, int64_t of) {
  if (sizes.size() == at + 1) {
    sizes.insert(sizes.begin() + int64_t(at), of);
  }
  return sizes;
}

Sizes denseStrides(const Sizes &sizes) {
  Sizes strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * sizes[i];
  }
  return strides;
}

/// The names that the library has for the type of tensors, and of their sums.
struct Types {
  int32_t tensors, sums;
};

absl::StatusOr<Types> typesOf(plan::ElementType type) {
  switch (type) {
  case plan::F32:
    return Types{CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT};
  case plan::F64:
    return Types{CUDNN_DATA_DOUBLE, CUDNN_DATA_DOUBLE};
  case plan::F16:
    return Types{CUDNN_DATA_HALF, CUDNN_DATA_FLOAT};
  case plan::BF16:
    return Types{CUDNN_DATA_BFLOAT16, CUDNN_DATA_FLOAT};
  default:
    return absl::UnimplementedError(
        absl::StrCat("cuDNN's convolution takes F32, F64, F16 and BF16, found ",
                     plan::ElementType_Name(type)));
  }
}

absl::StatusOr<CudnnDescriptor> makeTensor(const CudnnApi &api, int64_t id,
                                           const Sizes &sizes, int32_t type) {
  ZG_ASSIGN_OR_RETURN(
      CudnnDescriptor tensor,
      CudnnDescriptor::create(api, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, Sizes{id}));
  ZG_RETURN_IF_ERROR(
      tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type));
  ZG_RETURN_IF_ERROR(tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes));
  ZG_RETURN_IF_ERROR(
      tensor.set(CUDNN_ATTR_TENSOR_STRIDES, denseStrides(sizes)));
  ZG_RETURN_IF_ERROR(tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
                                Sizes{CudnnConvolution::kAlignment}));
  ZG_RETURN_IF_ERROR(tensor.finalize());
  return tensor;
}

/// How windows lie on the input.
absl::StatusOr<CudnnDescriptor>
makeWindows(const CudnnApi &api, const plan::Convolution &shape, int32_t type) {
  ZG_ASSIGN_OR_RETURN(
      CudnnDescriptor windows,
      CudnnDescriptor::create(api, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(windows.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
                                 CUDNN_TYPE_DATA_TYPE, type));
  ZG_RETURN_IF_ERROR(windows.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                                 CUDNN_TYPE_CONVOLUTION_MODE,
                                 CUDNN_CROSS_CORRELATION));
  Sizes high;
  for (int i = 0; i < shape.input_size(); ++i) {
    high.push_back(highOf(shape, i));
  }
  const std::tuple<cudnnBackendAttributeName_t, Sizes, int64_t> kSizes[] = {
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, sizesOf({}, shape.dilations()), 1},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, sizesOf({}, shape.strides()), 1},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, sizesOf({}, shape.low()), 0},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, high, 0}};
  int64_t places = std::max(shape.input_size(), 2);
  ZG_RETURN_IF_ERROR(
      windows.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, Sizes{places}));
  for (const auto &[name, sizes, of_height_1] : kSizes) {
    ZG_RETURN_IF_ERROR(windows.set(name, atLeastTwo(sizes, 0, of_height_1)));
  }
  ZG_RETURN_IF_ERROR(windows.finalize());
  return windows;
}

} // namespace

std::string ConvolutionKind::text() const {
  auto sizes = [&](int tensor) {
    return absl::StrJoin(tensorOf(shape, tensor), " x ");
  };
  std::string text = absl::StrCat(
      namesOf(shape.kind()).name, " ",
      absl::AsciiStrToLower(plan::ElementType_Name(shape.element_type())), " ",
      sizes(kInput), " by ", sizes(kWeights), " to ", sizes(kOutput),
      ", strides ", absl::StrJoin(shape.strides(), " "), ", low ",
      absl::StrJoin(shape.low(), " "), ", dilations ",
      absl::StrJoin(shape.dilations(), " "), ", groups ", shape.groups());
  if (shape.element_type() == plan::F32) {
    absl::StrAppend(&text, allow_tf32 ? ", TF32 allowed" : ", without TF32");
  }
  absl::StrAppend(&text, ", workspace ", workspace);
  return text;
}

absl::StatusOr<std::unique_ptr<CudnnConvolution>>
CudnnConvolution::create(const CudnnDevice &device,
                         const ConvolutionKind &kind) {
  std::unique_ptr<CudnnConvolution> made(new CudnnConvolution(device, kind));
  ZG_RETURN_IF_ERROR(made->describe());
  return made;
}

absl::Status CudnnConvolution::describe() {
  ZG_ASSIGN_OR_RETURN(Types types, typesOf(kind.shape.element_type()));
  for (int i : {kInput, kWeights, kOutput}) {
    ZG_ASSIGN_OR_RETURN(tensors[i],
                        makeTensor(device.api, idOf(i),
                                   atLeastTwo(tensorOf(kind.shape, i), 2, 1),
                                   types.tensors));
  }
  ZG_ASSIGN_OR_RETURN(windows, makeWindows(device.api, kind.shape, types.sums));
  ZG_RETURN_IF_ERROR(describeOperation());
  ZG_ASSIGN_OR_RETURN(
      graph, CudnnDescriptor::create(device.api,
                                     CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  if (device.handle) {
    ZG_RETURN_IF_ERROR(
        graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, device.handle));
  }
  ZG_RETURN_IF_ERROR(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation));
  return graph.finalize();
}

absl::Status CudnnConvolution::describeOperation() {
  const OperationNames &names = namesOf(kind.shape.kind());
  ZG_ASSIGN_OR_RETURN(operation,
                      CudnnDescriptor::create(device.api, names.type));
  ZG_RETURN_IF_ERROR(operation.set(names.windows, windows));
  for (int i : {kInput, kWeights, kOutput}) {
    ZG_RETURN_IF_ERROR(operation.set(names.tensors[i], tensors[i]));
  }
  const float one = 1, zero = 0;
  const double one_f64 = 1, zero_f64 = 0;
  bool wide = kind.shape.element_type() == plan::F64;
  int type = wide ? CUDNN_TYPE_DOUBLE : CUDNN_TYPE_FLOAT;
  ZG_RETURN_IF_ERROR(operation.set(
      names.alpha, type, 1, wide ? static_cast<const void *>(&one_f64) : &one));
  ZG_RETURN_IF_ERROR(
      operation.set(names.beta, type, 1,
                    wide ? static_cast<const void *>(&zero_f64) : &zero));
  return operation.finalize();
}

absl::StatusOr<CudnnDescriptor>
CudnnConvolution::pack(const CUdeviceptr (&addresses)[3],
                       CUdeviceptr workspace) const {
  ZG_ASSIGN_OR_RETURN(CudnnDescriptor made,
                      CudnnDescriptor::create(
                          device.api, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
  ZG_RETURN_IF_ERROR(
      made.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
               Sizes{idOf(kInput), idOf(kWeights), idOf(kOutput)}));
  auto pointer = [](CUdeviceptr address) {
    return reinterpret_cast<void *>(address);
  };
  void *const pointers[] = {pointer(addresses[kInput]),
                            pointer(addresses[kWeights]),
                            pointer(addresses[kOutput])};
  ZG_RETURN_IF_ERROR(made.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                              CUDNN_TYPE_VOID_PTR, std::size(pointers),
                              pointers));
  void *const room = pointer(workspace);
  ZG_RETURN_IF_ERROR(made.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
                              CUDNN_TYPE_VOID_PTR, 1, &room));
  ZG_RETURN_IF_ERROR(made.finalize());
  return made;
}

absl::Status CudnnConvolution::execute(const CudnnDescriptor &pack) const {
  ZG_CUDNN(device.api, cudnnBackendExecute, device.handle, plan.get(),
           pack.get());
  return absl::OkStatus();
}
