//===- FuzzTorch.cpp - bytes as a file of torch.save ----------------------===//

#include "runtime/io/torch/TorchFile.h"
#include "tests/fuzz/MemoryFile.h"
#include "tests/fuzz/ReadBack.h"
#include "tests/fuzz/Require.h"

using namespace zerograph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A pickle alone is found sooner than one in a ZIP file.
  std::string bytes(reinterpret_cast<const char *>(data), size);
  fuzz::requireReason(
      Pickle::parse("f", 0, bytes,
                    {kOrderedDictionary, "torch.Size", "torch.FloatStorage",
                     "torch._utils._rebuild_tensor_v2"})
          .status());
  fuzz::MemoryFile file(data, size);
  fuzz::requireReadable(readTorch(file.path()));
  return 0;
}
