//===- CompareHashes.cpp - do all ranks run the same plan -----------------===//

#include "runtime/comm/ControlPlane.h"

using namespace zerograph;

absl::Status zerograph::compareHashes(ControlPlane &control,
                                      const std::string &hash_hex) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> hashes,
                      control.exchange("comparing plans", hash_hex));
  std::string differing;
  for (size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) {
      absl::StrAppend(&differing, ", rank ", rank, " has ", hashes[rank]);
    }
  }
  if (differing.empty()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the ranks have different plans: rank 0 has ", hashes[0],
                   differing, ". Give every rank the same plan file"));
}
