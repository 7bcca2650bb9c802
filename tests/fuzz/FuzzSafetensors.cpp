//===- FuzzSafetensors.cpp - bytes as a .safetensors file -----------------===//

#include "tests/fuzz/MemoryFile.h"
#include "tests/fuzz/ReadBack.h"

using namespace zerograph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::MemoryFile file(data, size);
  fuzz::requireReadable(readSafetensors(file.path()));
  return 0;
}
