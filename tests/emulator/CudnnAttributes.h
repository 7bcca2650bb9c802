//===- CudnnAttributes.h - what cuDNN's descriptors are told --------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CUDNNATTRIBUTES_H
#define ZEROGRAPH_TESTS_EMULATOR_CUDNNATTRIBUTES_H

#include "runtime/device/cuda/CudnnApi.h"

#include <vector>

namespace zerograph::emulator {

/// An attribute that a descriptor has: its type, how many values, and whether
/// there is none without it.
struct AttributeRule {
  int name;
  int type;
  int64_t least = 1, most = 1;
  bool needed = true;
};

/// Returns the attributes of a type of descriptor; empty where that is not
/// emulated, or has none that are set.
std::vector<AttributeRule> attributesOf(int descriptor_type);

/// Returns the bytes of the value of an attribute; 0 of a type that is not
/// emulated.
size_t bytesOf(int attribute_type);

/// Names of an operation's attributes.
struct OperationAttributes {
  int result; ///< of Convolution
  int windows, x, w, y, alpha, beta;
};
/// Null where the descriptor is of no convolution.
const OperationAttributes *operationOf(int descriptor_type);

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CUDNNATTRIBUTES_H
