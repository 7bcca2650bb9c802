//===- ExporterMetadata.cpp - what PyTorch's exporters say of a model -----===//

#include "frontend/parameters/ExporterMetadata.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <optional>
#include <set>

using mlir::zg::nn::CodePlace;

namespace zerograph::frontend {

namespace {

constexpr char kSignature[] =
    "pkg.torch.export.ExportedProgram.graph_signature";

/// All `%name` in the text of an fx node.
void collectNames(absl::string_view text, std::set<std::string> &names) {
  for (size_t at = text.find('%'); at != absl::string_view::npos;
       at = text.find('%', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() &&
           (absl::ascii_isalnum(text[end]) || text[end] == '_')) {
      ++end;
    }
    names.emplace(text.substr(at + 1, end - at - 1));
  }
}

/// The names of all values that a node was made from. Nothing if no node says
/// what it was made from.
std::optional<std::set<std::string>> mentionedNames(const Graph &graph) {
  std::optional<std::set<std::string>> names;
  for (const auto &node : graph.proto.node()) {
    if (const std::string *fx = fxNodeOf(node)) {
      if (!names) {
        names.emplace();
      }
      collectNames(*fx, *names);
    }
  }
  return names;
}

std::optional<SignatureEntry> entryOf(absl::string_view line) {
  constexpr absl::string_view kTarget = " target='";
  std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(line, absl::MaxSplits(": ", 1));
  size_t begin = halves.second.find(kTarget);
  size_t end = halves.second.rfind('\'');
  if (begin == absl::string_view::npos || end < begin + kTarget.size()) {
    return std::nullopt;
  }
  std::string kind(halves.second.substr(0, begin));
  begin += kTarget.size();
  return SignatureEntry{std::string(halves.first), kind,
                        std::string(halves.second.substr(begin, end - begin))};
}

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

bool hasSignature(const onnx::GraphProto &graph) {
  return metadata(graph, kSignature) != nullptr;
}

bool isOfTorchScript(const onnx::ModelProto &model) {
  return model.producer_name() == "pytorch" && !hasSignature(model.graph());
}

std::vector<SignatureEntry> signatureEntries(const Graph &graph) {
  std::vector<SignatureEntry> entries;
  if (const std::string *text = metadata(graph.proto, kSignature)) {
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      if (std::optional<SignatureEntry> entry = entryOf(line)) {
        entries.push_back(*std::move(entry));
      }
    }
  }
  return entries;
}

ExporterSignature readSignature(const Graph &graph) {
  ExporterSignature signature;
  std::optional<std::set<std::string>> mentioned = mentionedNames(graph);
  for (const auto &[placeholder, kind, target] : signatureEntries(graph)) {
    signature.present = true;
    signature.kinds[target] = kind;
    if (kind != "PARAMETER" || graph.initializers.count(target) != 0) {
      continue;
    }
    // Nodes name a tied parameter by one of its names, so the others are
    // mentioned nowhere. A parameter that a node was made from, but that is
    // gone, was merged or dropped.
    bool made = !mentioned || mentioned->count(placeholder) != 0;
    (made ? signature.damaged : signature.absent).push_back(target);
  }
  return signature;
}

const std::string *fxNodeOf(const onnx::NodeProto &node) {
  return metadata(node, "pkg.torch.onnx.fx_node");
}

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

/// Reads the call from the text of a node of torch.fx:
///
///   %y : [num_users=1] =
///   call_function[target=torch.ops.aten.embedding.default] (args = (%weight,
///   %ids, 1), kwargs = {})
///
/// in one line.
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
