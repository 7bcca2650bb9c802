//===- Place.cpp - where in the user's code a node was made ---------------===//

#include "frontend/exporter/Place.h"

#include "frontend/exporter/Signature.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <vector>

using mlir::zg::nn::CodePlace;

namespace zerograph::frontend {

namespace {

/// The exporter gives this name to the module of nodes that it made by itself.
constexpr char kNoModule[] = "_empty_nn_module_stack";

/// The last but one of "['', 'layers.1', 'layers.1.mlp', 'mul_3']": the last is
/// the node's own name.
std::string moduleOf(absl::string_view scopes) {
  absl::ConsumePrefix(&scopes, "['");
  absl::ConsumeSuffix(&scopes, "']");
  std::vector<absl::string_view> names = absl::StrSplit(scopes, "', '");
  if (names.size() < 2 ||
      absl::StartsWith(names[names.size() - 2], kNoModule)) {
    return "";
  }
  return std::string(names[names.size() - 2]);
}

/// Returns whether a user who reads "linear.py:134" would learn nothing.
bool isOfPyTorch(absl::string_view file) {
  return absl::StrContains(file, "-packages/torch/") ||
         absl::StrContains(file, "/torch/nn/") ||
         absl::StartsWith(file, "torch/") || absl::StartsWith(file, "<");
}

void setLine(CodePlace &place, absl::string_view file, absl::string_view line) {
  unsigned number = 0;
  if (!isOfPyTorch(file) && absl::SimpleAtoi(line, &number)) {
    place.file = std::string(file.substr(file.rfind('/') + 1));
    place.line = number;
  }
}

/// Reads lines `File "/path/model.py", line 61, in forward`, outermost first,
/// with the code between them.
void readTrace(absl::string_view trace, CodePlace &place) {
  for (absl::string_view text : absl::StrSplit(trace, '\n')) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (!absl::ConsumePrefix(&text, "File \"")) {
      continue;
    }
    std::vector<absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits("\", line ", 1));
    if (parts.size() == 2) {
      setLine(place, parts[0], parts[1].substr(0, parts[1].find(',')));
    }
  }
}

/// Reads lines `/path/model.py(61): forward`, innermost first.
void readComment(absl::string_view comment, CodePlace &place) {
  for (absl::string_view text : absl::StrSplit(comment, '\n')) {
    size_t close = text.find("): "), open = text.rfind('(', close);
    if (close == absl::string_view::npos || open == absl::string_view::npos) {
      return; // a comment of another kind
    }
    setLine(place, text.substr(0, open),
            text.substr(open + 1, close - open - 1));
    if (!place.file.empty()) {
      return;
    }
  }
}

} // namespace

CodePlace placeOf(const onnx::NodeProto &node) {
  CodePlace place;
  if (const std::string *scopes =
          metadata(node, "pkg.torch.onnx.name_scopes")) {
    place.module = moduleOf(*scopes);
  }
  if (const std::string *trace = metadata(node, "pkg.torch.onnx.stack_trace")) {
    readTrace(*trace, place);
  } else {
    readComment(node.doc_string(), place);
  }
  return place;
}

} // namespace zerograph::frontend
