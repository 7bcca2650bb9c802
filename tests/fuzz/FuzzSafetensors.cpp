//===- FuzzSafetensors.cpp - bytes as a .safetensors file -----------------===//

#include "runtime/io/TensorFile.h"
#include "tests/fuzz/MemoryFile.h"

#include <cstdio>
#include <cstdlib>

using namespace zerograph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::MemoryFile file(data, size);
  auto tensors = readSafetensors(file.path());
  if (!tensors.ok()) {
    if (tensors.status().message().empty()) {
      std::abort();
    }
    return 0;
  }
  // What was promised can be read.
  for (const auto &[name, extent] : *tensors) {
    std::string bytes(extent.bytes, '\0');
    if (!extent.file->read(extent.offset, extent.bytes, bytes.data()).ok()) {
      std::fprintf(stderr, "'%s' cannot be read\n", name.c_str());
      std::abort();
    }
  }
  return 0;
}
