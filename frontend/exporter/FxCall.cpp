//===- FxCall.cpp - the call that a node was made from --------------------===//
//
// torch.fx writes a call as
//
//   %y : [num_users=1] = call_function[target=torch.ops.aten.embedding.default]
//   (args = (%weight, %ids, 1), kwargs = {})
//
// in one line.
//
//===----------------------------------------------------------------------===//

#include "frontend/exporter/FxCall.h"

#include "frontend/exporter/Signature.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace zerograph::frontend {

namespace {

/// Returns what follows `mark` in `text`; empty if the mark is not there.
absl::string_view after(absl::string_view text, absl::string_view mark) {
  size_t at = text.find(mark);
  return at == absl::string_view::npos ? "" : text.substr(at + mark.size());
}

/// Splits "a, [b, c], d), ..." at the commas that no bracket encloses, up to
/// the bracket that is closed but was not opened.
std::vector<std::string> splitArguments(absl::string_view text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (depth < 0 || (depth == 0 && c == ',')) {
      absl::string_view stripped = absl::StripAsciiWhitespace(part);
      if (!stripped.empty()) {
        parts.emplace_back(stripped);
      }
      part.clear();
    } else {
      part += c;
    }
    if (depth < 0) {
      break;
    }
  }
  return parts;
}

} // namespace

bool FxCall::isOf(const std::string &name) const {
  return absl::StartsWith(target, absl::StrCat("aten.", name, "."));
}

int64_t FxCall::number(size_t i, int64_t otherwise) const {
  int64_t value = 0;
  return i < arguments.size() && absl::SimpleAtoi(arguments[i], &value)
             ? value
             : otherwise;
}

bool FxCall::isTrue(size_t i) const {
  return i < arguments.size() && arguments[i] == "True";
}

FxCall fxCallOf(const onnx::NodeProto &node) {
  FxCall call;
  const std::string *text = fxNodeOf(node);
  if (text == nullptr) {
    return call;
  }
  absl::string_view target = after(*text, "[target=torch.ops.");
  call.target = std::string(target.substr(0, target.find(']')));
  call.arguments = splitArguments(after(target, "](args = ("));
  return call;
}

} // namespace zerograph::frontend
