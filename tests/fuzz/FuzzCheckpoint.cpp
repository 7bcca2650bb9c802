//===- FuzzCheckpoint.cpp - bytes as the index of a checkpoint ------------===//

#include "runtime/checkpoint/Index.h"
#include "tests/fuzz/Require.h"

using namespace zerograph;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string body(reinterpret_cast<const char *>(data), size);
  fuzz::requireReason(parseIndex("f", body).status());
  // Nobody guesses a checksum, but who writes a file by hand has it.
  std::string text = absl::StrCat(body, kChecksumBegin,
                                  hexOf(checksumOf(data, size)), kChecksumEnd);
  absl::StatusOr<CheckpointIndex> part = parseIndexPart("f", text);
  fuzz::requireReason(part.status());
  if (part.ok()) {
    absl::StatusOr<CheckpointIndex> again = parseIndexPart("f", textOf(*part));
    fuzz::require(again.ok() && *again == *part,
                  "an index is not read as it was written");
  }
  fuzz::requireReason(parseIndex("f", text).status());
  return 0;
}
