//===- ControlPlane.cpp - what ranks compare before they run --------------===//

#include "runtime/comm/ControlPlane.h"

#include "runtime/comm/ParseMessage.h"
#include "runtime/comm/settings.pb.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>

using namespace zerograph;

namespace {

absl::Status quiet() { return absl::CancelledError("rank 0 says why"); }

} // namespace

absl::StatusOr<std::string> ControlPlane::broadcast(const std::string &what,
                                                    const std::string &text) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                      exchange(what, rank() == 0 ? text : ""));
  return std::move(texts[0]);
}

absl::Status zerograph::agree(ControlPlane &control, const std::string &what,
                              const absl::Status &own) {
  // A first letter tells an error without a message from none.
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      control.exchange(what, own.ok() ? "" : absl::StrCat("!", own.message())));
  std::set<std::string> different(texts.begin(), texts.end());
  if (different.size() == 1 && texts[0].empty()) {
    return absl::OkStatus();
  }
  if (control.rank() != 0) {
    return quiet();
  }
  if (different.size() == 1 ||
      std::all_of(texts.begin() + 1, texts.end(),
                  [](const std::string &text) { return text.empty(); })) {
    return own;
  }
  std::vector<std::string> problems;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (!texts[rank].empty()) {
      problems.push_back(absl::StrCat(
          "rank ", rank, ": ", absl::string_view(texts[rank]).substr(1)));
    }
  }
  return absl::FailedPreconditionError(absl::StrJoin(problems, "\n  "));
}

absl::Status
zerograph::compareSettings(ControlPlane &control,
                           const std::map<std::string, std::string> &values) {
  comm::Settings own;
  own.mutable_values()->insert(values.begin(), values.end());
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      control.exchange("comparing options", own.SerializeAsString()));
  std::vector<std::map<std::string, std::string>> all;
  for (const std::string &text : texts) {
    ZG_ASSIGN_OR_RETURN(auto settings, parseMessage<comm::Settings>(text));
    std::map<std::string, std::string> &found = all.emplace_back();
    for (const auto &[name, value] : settings.values()) {
      found[name] = value;
    }
  }
  const std::map<std::string, std::string> &expected = all[0];
  std::vector<std::string> problems;
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::map<std::string, std::string> &found = all[rank];
    std::map<std::string, std::string> names = expected;
    names.insert(found.begin(), found.end());
    for (const auto &[name, ignored] : names) {
      auto a = expected.find(name), b = found.find(name);
      if (a != expected.end() && b != found.end() && a->second == b->second) {
        continue;
      }
      auto text = [&](auto value, const auto &all) {
        return value == all.end() ? std::string("not given") : value->second;
      };
      problems.push_back(absl::StrCat(name, ": ", text(a, expected),
                                      " on rank 0, ", text(b, found),
                                      " on rank ", rank));
    }
  }
  if (problems.empty()) {
    return absl::OkStatus();
  }
  return control.rank() == 0 ? absl::FailedPreconditionError(absl::StrCat(
                                   "the ranks were started differently: ",
                                   absl::StrJoin(problems, "; ")))
                             : quiet();
}

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

/// Returns an error on every rank, `begin` and `end` around what differs,
/// unless all of them have the same text.
static absl::Status needAlike(ControlPlane &control, const std::string &what,
                              const std::string &text, absl::string_view begin,
                              absl::string_view end) {
  ZG_ASSIGN_OR_RETURN(std::string found, differences(control, what, text));
  return found.empty() ? absl::OkStatus()
                       : absl::FailedPreconditionError(
                             absl::StrCat(begin, ": ", found, ". ", end));
}

absl::Status zerograph::compareHashes(ControlPlane &control,
                                      const std::string &hash_hex) {
  return needAlike(control, "comparing plans", hash_hex,
                   "the ranks have different plans",
                   "Give every rank the same plan file, or the same model with "
                   "the same weights, seeded alike, and the same options");
}

absl::Status zerograph::compareArrays(ControlPlane &control,
                                      const std::string &digest) {
  return needAlike(control, "comparing arrays", digest,
                   "nothing was written: the ranks give different arrays, by "
                   "their digests",
                   "Give the same in every process");
}

absl::Status zerograph::comparePlans(ControlPlane &control,
                                     std::optional<size_t> number) {
  absl::Status status = needAlike(
      control, "comparing batches",
      number ? absl::StrCat("one of plan ", *number + 1) : "one of no plan",
      "nothing was trained: the ranks give batches of different shapes",
      "Give those of one plan in every process");
  return absl::IsFailedPrecondition(status)
             ? absl::InvalidArgumentError(status.message())
             : status;
}

absl::Status zerograph::compareChoices(ControlPlane &control,
                                       const std::string &choices) {
  return needAlike(control, "comparing libraries", choices,
                   "the ranks would compute the same differently",
                   "Give every rank the same version of the library and the "
                   "same kind of GPU");
}
