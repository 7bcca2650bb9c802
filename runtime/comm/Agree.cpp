//===- Agree.cpp - one error for all ranks --------------------------------===//

#include "runtime/comm/ControlPlane.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <set>

using namespace zerograph;

namespace {

/// Writes pairs as one text: each part comes after its length.
std::string pack(const std::map<std::string, std::string> &values) {
  std::string text;
  for (const auto &[name, value] : values) {
    absl::StrAppend(&text, name.size(), " ", name, value.size(), " ", value);
  }
  return text;
}

std::map<std::string, std::string> unpack(const std::string &text) {
  std::map<std::string, std::string> values;
  size_t at = 0;
  auto next = [&] {
    size_t size = std::strtoull(text.c_str() + at, nullptr, 10);
    at = std::min(text.size(), text.find(' ', at)) + 1;
    std::string part = at < text.size() ? text.substr(at, size) : "";
    at += size;
    return part;
  };
  while (at < text.size()) {
    std::string name = next();
    values[name] = next();
  }
  return values;
}

absl::Status quiet() { return absl::CancelledError("rank 0 says why"); }

} // namespace

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
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                      control.exchange("comparing options", pack(values)));
  std::map<std::string, std::string> expected = unpack(texts[0]);
  std::vector<std::string> problems;
  for (size_t rank = 1; rank < texts.size(); ++rank) {
    std::map<std::string, std::string> found = unpack(texts[rank]);
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
