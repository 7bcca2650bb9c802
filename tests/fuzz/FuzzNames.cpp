//===- FuzzNames.cpp - bytes as a map of names ----------------------------===//

#include "runtime/state/StateDictNames.h"
#include "tests/fuzz/MemoryFile.h"
#include "tests/fuzz/Require.h"

#include <set>
#include <string>

using namespace zerograph;

/// Each tensor has a name, and no two the same.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz::MemoryFile file(data, size);
  absl::StatusOr<StateDictNames> names = StateDictNames::read(file.path());
  fuzz::requireReason(names.status());
  if (!names.ok()) {
    return 0;
  }
  std::set<std::string> taken;
  for (const auto &[initializer, name] : names->all()) {
    fuzz::require(!name.name.empty(), "a tensor without a name");
    fuzz::require(taken.insert(name.name).second, "two of one name");
    fuzz::require(name.shapeOf({2}).ok() != name.transposed,
                  "a vector is transposed, or another one is not taken");
  }
  fuzz::require(names->others({}).empty() == names->empty(),
                "names that no tensor has are not said");
  return 0;
}
