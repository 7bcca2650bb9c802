//===- ReadBack.h - arrays that a file promises can be read ---------------===//

#ifndef ZEROGRAPH_TESTS_FUZZ_READBACK_H
#define ZEROGRAPH_TESTS_FUZZ_READBACK_H

#include "runtime/io/TensorFile.h"
#include "tests/fuzz/Require.h"

namespace zerograph::fuzz {

inline void requireReadable(const absl::StatusOr<TensorFile> &tensors) {
  requireReason(tensors.status());
  if (!tensors.ok()) {
    return;
  }
  for (const auto &[name, extent] : *tensors) {
    std::string bytes(extent.bytes, '\0');
    require(extent.file->read(extent.offset, extent.bytes, bytes.data()).ok(),
            ("'" + name + "' cannot be read").c_str());
  }
}

} // namespace zerograph::fuzz

#endif // ZEROGRAPH_TESTS_FUZZ_READBACK_H
