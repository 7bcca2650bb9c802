//===- ElementType.h - types of elements, and numbers in them -------------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_ELEMENTTYPE_H
#define ZEROGRAPH_FRONTEND_BASE_ELEMENTTYPE_H

#include <cstdint>
#include <string>

namespace zerograph::frontend {

// A type is a value of onnx::TensorProto::DataType.

bool isFloatType(int32_t type);
/// FLOAT16, BFLOAT16.
bool isHalfType(int32_t type);
/// Bytes of one element; 0 for a type that the importer does not know.
int64_t typeBytes(int32_t type);
/// "FLOAT", "INT64", ...
std::string typeName(int32_t type);
/// "F32", "I64", ..., as .safetensors files name it; null for a type that they
/// cannot have here.
const char *safetensorsName(int32_t type);

/// `value` rounded to the precision of a float type.
double roundTo(int32_t type, double value);
/// `value` modulo the range of an integer type; of BOOL, whether it is not 0.
int64_t wrapTo(int32_t type, int64_t value);
/// `value` without its fraction, or the nearest number of an integer type; 0 if
/// it is NaN. Of BOOL, whether it is not 0.
int64_t saturateTo(int32_t type, double value);
/// The same for int64_t: a model may give infinity or NaN where a number is
/// expected.
int64_t toInteger(double value);

/// The greater or the lesser of two as kernels compute it, in any order: -0 is
/// less than +0, and a NaN wins.
double maximum(double a, double b);
double minimum(double a, double b);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_ELEMENTTYPE_H
