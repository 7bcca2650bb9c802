//===- CudnnAttributes.cpp - what cuDNN's descriptors are told ------------===//

#include "tests/emulator/CudnnAttributes.h"

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

constexpr int kDescriptor = CUDNN_TYPE_BACKEND_DESCRIPTOR;
constexpr int64_t kMostSizes = 5, kMostPlaces = 3;

std::vector<AttributeRule> ofOperation(const OperationAttributes &names) {
  return {{names.windows, kDescriptor},
          {names.x, kDescriptor},
          {names.w, kDescriptor},
          {names.y, kDescriptor},
          // Or of doubles.
          {names.alpha, CUDNN_TYPE_FLOAT},
          {names.beta, CUDNN_TYPE_FLOAT}};
}

} // namespace

const OperationAttributes *zerograph::emulator::operationOf(int type) {
  static const OperationAttributes kForward = {
      2,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
  static const OperationAttributes kData = {
      0,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  static const OperationAttributes kFilter = {
      1,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  switch (type) {
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    return &kForward;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    return &kData;
  case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
    return &kFilter;
  default:
    return nullptr;
  }
}

std::vector<AttributeRule> zerograph::emulator::attributesOf(int type) {
  if (const OperationAttributes *operation = operationOf(type)) {
    return ofOperation(*operation);
  }
  switch (type) {
  case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
    return {{CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
            {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
            {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
            {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, kMostSizes},
            {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, kMostSizes}};
  case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
    return {
        {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
        {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
        {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
        {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, kMostPlaces},
        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2,
         kMostPlaces},
        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, kMostPlaces},
        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2,
         kMostPlaces}};
  case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
    return {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE},
            {CUDNN_ATTR_OPERATIONGRAPH_OPS, kDescriptor}};
  case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
    return {{CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kDescriptor},
            {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE}};
  case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
    return {{CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kDescriptor},
            {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64}};
  case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
    return {{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE},
            {CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64}};
  case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
    return {{CUDNN_ATTR_ENGINECFG_ENGINE, kDescriptor},
            {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kDescriptor, 1, 64, false}};
  case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
    return {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE},
            {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kDescriptor}};
  case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
    return {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, 3},
            {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, 3},
            {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR}};
  default:
    return {};
  }
}

size_t zerograph::emulator::bytesOf(int type) {
  switch (type) {
  case CUDNN_TYPE_HANDLE:
  case CUDNN_TYPE_INT64:
  case CUDNN_TYPE_DOUBLE:
  case CUDNN_TYPE_VOID_PTR:
  case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    return 8;
  case CUDNN_TYPE_DATA_TYPE:
  case CUDNN_TYPE_FLOAT:
  case CUDNN_TYPE_CONVOLUTION_MODE:
  case CUDNN_TYPE_HEUR_MODE:
  case CUDNN_TYPE_KNOB_TYPE:
  case CUDNN_TYPE_NUMERICAL_NOTE:
  case CUDNN_TYPE_BEHAVIOR_NOTE:
    return 4;
  default:
    return 0;
  }
}
