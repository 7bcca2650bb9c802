//===- ElementType.cpp - types of elements, and numbers in them -----------===//

#include "frontend/base/ElementType.h"

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>
#include <limits>

using onnx::TensorProto;

namespace zerograph::frontend {

bool isFloatType(int32_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
         isHalfType(type);
}

bool isHalfType(int32_t type) {
  return type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

int64_t typeBytes(int32_t type) {
  switch (type) {
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
    return 8;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
    return 4;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
    return 2;
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return 1;
  default:
    return 0;
  }
}

std::string typeName(int32_t type) {
  return TensorProto::DataType_IsValid(type)
             ? TensorProto::DataType_Name(
                   static_cast<TensorProto::DataType>(type))
             : absl::StrCat("type ", type);
}

const char *safetensorsName(int32_t type) {
  switch (type) {
  case TensorProto::FLOAT:
    return "F32";
  case TensorProto::DOUBLE:
    return "F64";
  case TensorProto::FLOAT16:
    return "F16";
  case TensorProto::BFLOAT16:
    return "BF16";
  case TensorProto::INT64:
    return "I64";
  case TensorProto::INT32:
    return "I32";
  case TensorProto::INT16:
    return "I16";
  case TensorProto::INT8:
    return "I8";
  case TensorProto::UINT8:
    return "U8";
  case TensorProto::BOOL:
    return "BOOL";
  default:
    return nullptr;
  }
}

double roundTo(int32_t type, double value) {
  if (type == TensorProto::DOUBLE) {
    return value;
  }
  if (type == TensorProto::FLOAT) {
    return static_cast<float>(value);
  }
  llvm::APFloat exact(value);
  bool lost;
  exact.convert(type == TensorProto::FLOAT16 ? llvm::APFloat::IEEEhalf()
                                             : llvm::APFloat::BFloat(),
                llvm::APFloat::rmNearestTiesToEven, &lost);
  return exact.convertToDouble();
}

int64_t wrapTo(int32_t type, int64_t value) {
  switch (type) {
  case TensorProto::INT32:
    return static_cast<int32_t>(value);
  case TensorProto::INT16:
    return static_cast<int16_t>(value);
  case TensorProto::INT8:
    return static_cast<int8_t>(value);
  case TensorProto::UINT8:
    return static_cast<uint8_t>(value);
  case TensorProto::BOOL:
    return value != 0;
  default:
    return value;
  }
}

template <typename T>
static int64_t clampTo(int64_t value) {
  return std::clamp<int64_t>(value, std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max());
}

int64_t saturateTo(int32_t type, double value) {
  int64_t whole = toInteger(value);
  switch (type) {
  case TensorProto::INT32:
    return clampTo<int32_t>(whole);
  case TensorProto::INT16:
    return clampTo<int16_t>(whole);
  case TensorProto::INT8:
    return clampTo<int8_t>(whole);
  case TensorProto::UINT8:
    return clampTo<uint8_t>(whole);
  case TensorProto::BOOL:
    return value != 0;
  default:
    return whole;
  }
}

int64_t toInteger(double value) {
  constexpr double limit = 0x1p63;
  if (value != value) {
    return 0;
  }
  return value >= limit   ? std::numeric_limits<int64_t>::max()
         : value < -limit ? std::numeric_limits<int64_t>::min()
                          : static_cast<int64_t>(value);
}

double maximum(double a, double b) {
  if (a != a || b != b) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return a == b && std::signbit(a) ? b : std::max(a, b);
}

double minimum(double a, double b) { return -maximum(-a, -b); }

} // namespace zerograph::frontend
