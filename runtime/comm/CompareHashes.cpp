//===- CompareHashes.cpp - do all ranks run the same ----------------------===//

#include "runtime/comm/ControlPlane.h"

using namespace zerograph;

/// Returns "rank 0 has A, rank 2 has B", for those that differ from rank 0; or
/// empty.
static absl::StatusOr<std::string> differences(ControlPlane &control,
                                               const std::string &what,
                                               const std::string &text) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                      control.exchange(what, text));
  std::string differing;
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[0]) {
      absl::StrAppend(&differing, ", rank ", rank, " has ", texts[rank]);
    }
  }
  return differing.empty() ? differing
                           : absl::StrCat("rank 0 has ", texts[0], differing);
}

absl::Status zerograph::compareHashes(ControlPlane &control,
                                      const std::string &hash_hex) {
  ZG_ASSIGN_OR_RETURN(std::string found,
                      differences(control, "comparing plans", hash_hex));
  return found.empty() ? absl::OkStatus()
                       : absl::FailedPreconditionError(absl::StrCat(
                             "the ranks have different plans: ", found,
                             ". Give every rank the same plan file"));
}

absl::Status zerograph::compareChoices(ControlPlane &control,
                                       const std::string &choices) {
  ZG_ASSIGN_OR_RETURN(std::string found,
                      differences(control, "comparing libraries", choices));
  return found.empty()
             ? absl::OkStatus()
             : absl::FailedPreconditionError(absl::StrCat(
                   "the ranks would compute the same differently: ", found,
                   ". Give every rank the same version of the library and the "
                   "same kind of GPU"));
}
