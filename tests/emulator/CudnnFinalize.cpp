//===- CudnnFinalize.cpp - what a finished descriptor of cuDNN must be ----===//

#include "tests/emulator/Cudnn.h"
#include "tests/emulator/CudnnAttributes.h"

#include "absl/strings/str_cat.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

using Sizes = Convolution::Sizes;

/// Reads attributes that are known to be there.
template <typename Descriptor>
struct Read {
  const Descriptor &descriptor;

  template <typename T>
  T one(int name) const {
    T value;
    std::memcpy(&value, descriptor.values.at(name).bytes.data(), sizeof(T));
    return value;
  }
  Sizes sizes(int name) const {
    const auto &value = descriptor.values.at(name);
    Sizes all(size_t(value.count));
    std::memcpy(all.data(), value.bytes.data(), value.bytes.size());
    return all;
  }
  bool isOne(int name, double expected) const {
    return descriptor.values.at(name).type == CUDNN_TYPE_DOUBLE
               ? one<double>(name) == expected
               : double(one<float>(name)) == expected;
  }
};
template <typename Descriptor>
Read(const Descriptor &) -> Read<Descriptor>;

template <typename Descriptor>
std::string wrongTensor(const Descriptor &descriptor) {
  Read read{descriptor};
  Sizes sizes = read.sizes(CUDNN_ATTR_TENSOR_DIMENSIONS);
  Sizes strides = read.sizes(CUDNN_ATTR_TENSOR_STRIDES);
  if (sizes.size() != strides.size()) {
    return "a tensor has as many strides as dimensions";
  }
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0; dense *= sizes[i]) {
    if (sizes[i] < 1 || strides[i] != dense) {
      return "only dense tensors, the last dimension innermost, are emulated";
    }
  }
  int64_t alignment =
      read.template one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  bool power = alignment > 0 && (alignment & (alignment - 1)) == 0;
  return power ? "" : "an alignment is a power of two";
}

template <typename Descriptor>
std::string wrongWindows(const Descriptor &descriptor) {
  Read read{descriptor};
  size_t places =
      size_t(read.template one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  const std::pair<int, int64_t> kLeast[] = {
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, 1},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0}};
  for (const auto &[name, least] : kLeast) {
    Sizes sizes = read.sizes(name);
    if (sizes.size() != places) {
      return absl::StrCat("attribute ", name, " has ", sizes.size(),
                          " values, for ", places, " places");
    }
    for (int64_t size : sizes) {
      if (size < least) {
        return absl::StrCat("attribute ", name, " is at least ", least);
      }
    }
  }
  return read.template one<int32_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) ==
                 CUDNN_CROSS_CORRELATION
             ? ""
             : "only the cross-correlation is emulated";
}

/// What goes with tensors of a type.
struct Types {
  int32_t tensors;
  cudaDataType_t elements;
  int32_t sums, factors;
};

/// Returns the row of tensors that all have one type; null: it is not emulated.
const Types *typesOf(const std::set<int32_t> &tensors) {
  static const Types kRows[] = {
      {CUDNN_DATA_FLOAT, CUDA_R_32F, CUDNN_DATA_FLOAT, CUDNN_TYPE_FLOAT},
      {CUDNN_DATA_DOUBLE, CUDA_R_64F, CUDNN_DATA_DOUBLE, CUDNN_TYPE_DOUBLE},
      {CUDNN_DATA_HALF, CUDA_R_16F, CUDNN_DATA_FLOAT, CUDNN_TYPE_FLOAT},
      {CUDNN_DATA_BFLOAT16, CUDA_R_16BF, CUDNN_DATA_FLOAT, CUDNN_TYPE_FLOAT}};
  for (const Types &row : kRows) {
    if (tensors == std::set<int32_t>{row.tensors}) {
      return &row;
    }
  }
  return nullptr;
}

} // namespace

std::string Cudnn::finishOperation(Descriptor &descriptor) {
  const OperationAttributes &names = *operationOf(descriptor.type);
  Read own{descriptor};
  auto part = [&](int name, int type) -> const Descriptor * {
    auto *of = descriptors.at(own.one<const void *>(name)).get();
    return of->type == type ? of : nullptr;
  };
  const Descriptor *windows =
      part(names.windows, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  Convolution &c = descriptor.convolution;
  c.result = names.result;
  int tensor = 0;
  std::set<int32_t> types;
  for (int name : {names.x, names.w, names.y}) {
    const Descriptor *given = part(name, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    if (!given || !windows) {
      return "an operation is given a descriptor of another type";
    }
    Read read{*given};
    c.tensors[tensor] = read.sizes(CUDNN_ATTR_TENSOR_DIMENSIONS);
    c.ids[tensor] = read.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    c.alignments[tensor++] =
        read.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    types.insert(read.one<int32_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  }
  Read read{*windows};
  const auto sums = read.one<int32_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  c.strides = read.sizes(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  c.low = read.sizes(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  c.high = read.sizes(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  c.dilations = read.sizes(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const Types *known = typesOf(types);
  if (!known || sums != known->sums ||
      descriptor.values.at(names.alpha).type != known->factors ||
      descriptor.values.at(names.beta).type != known->factors) {
    return "only tensors of one type are emulated, with sums and factors of "
           "f64 of f64, else of f32";
  }
  c.type = known->elements;
  if (!own.isOne(names.alpha, 1) || !own.isOne(names.beta, 0) ||
      std::set<int64_t>(std::begin(c.ids), std::end(c.ids)).size() != 3) {
    return "only a result that replaces what was there, of three tensors with "
           "ids of their own, is emulated";
  }
  return c.wrong();
}

/// Gives a descriptor the convolution and the engine of what it is made of.
std::string Cudnn::finish(Descriptor &descriptor) {
  switch (descriptor.type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return wrongTensor(descriptor);
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return wrongWindows(descriptor);
  case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR: {
    Read read{descriptor};
    descriptor.knobs = {{read.one<int32_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE),
                         read.one<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE)}};
    return {};
  }
  default:
    break;
  }
  if (operationOf(descriptor.type)) {
    return finishOperation(descriptor);
  }
  for (int name :
       {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_HANDLE}) {
    if (descriptor.values.contains(name) &&
        !handles.contains(Read{descriptor}.one<const void *>(name))) {
      return "a descriptor is given no handle";
    }
  }
  for (const void *part : descriptor.made_of) {
    const Descriptor &of = *descriptors.at(part);
    if (of.type == CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR) {
      descriptor.knobs.insert(of.knobs.begin(), of.knobs.end());
    } else {
      descriptor.convolution = of.convolution;
      descriptor.engine = of.engine;
      descriptor.knobs.insert(of.knobs.begin(), of.knobs.end());
    }
  }
  return {};
}

cudnnStatus_t Cudnn::finalize(Descriptor &descriptor) {
  if (descriptor.finalized) {
    return refuse("a descriptor is finalized twice");
  }
  for (const AttributeRule &rule : attributesOf(descriptor.type)) {
    if (rule.needed && !descriptor.values.contains(rule.name)) {
      return refuse(absl::StrCat("a descriptor of type ", descriptor.type,
                                 " is finalized without attribute ",
                                 rule.name));
    }
  }
  if (std::string wrong = finish(descriptor); !wrong.empty()) {
    return refuse(wrong);
  }
  if (descriptor.type == CUDNN_BACKEND_ENGINE_DESCRIPTOR) {
    descriptor.engine = CudnnEngineModel::find(
        Read{descriptor}.one<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
    if (!descriptor.engine) { // which is no mistake: files name them
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  }
  if (descriptor.type == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) {
    for (const auto &[type, value] : descriptor.knobs) {
      auto most = descriptor.engine->knobs.find(type);
      if (most == descriptor.engine->knobs.end() || value < 0 ||
          value > most->second) {
        return CUDNN_STATUS_NOT_SUPPORTED;
      }
    }
  }
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    if (gpu.needContext()) {
      return CUDNN_STATUS_NOT_INITIALIZED;
    }
    if (Gpu::isRecording()) {
      return refuse("a plan is made while a graph is recorded");
    }
    cudnnStatus_t status =
        engines_fail ? engines_fail : descriptor.engine->finalized;
    if (status != CUDNN_STATUS_SUCCESS) {
      return status;
    }
  }
  descriptor.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}
