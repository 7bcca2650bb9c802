//===- Signature.cpp - the metadata of PyTorch's exporter -----------------===//

#include "frontend/exporter/Signature.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <optional>
#include <set>

namespace zerograph::frontend {

namespace {

constexpr char kSignature[] =
    "pkg.torch.export.ExportedProgram.graph_signature";

/// The kind of a value that becomes a buffer.
constexpr char kChanges[] = "BUFFER_MUTATION";

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

/// PyTorch's older exporter writes no list of parameters. But outside of its
/// training mode it leaves traces: a parameter that was equal to another is an
/// Identity of it, and a transposed weight has a new name. A tied weight, which
/// is right, has neither.
void findTraces(const Graph &graph, ExporterSignature &signature) {
  for (const auto &node : graph.proto.node()) {
    if (node.op_type() == "Identity" && node.input_size() == 1 &&
        node.output_size() == 1 && graph.initializers.count(node.input(0)) &&
        absl::StrContains(node.output(0), '.') &&
        !absl::StrContains(node.output(0), '/')) {
      signature.merged.push_back(
          {node.input(0),
           absl::StrCat(node.output(0), " (merged with ", node.input(0), ")")});
    }
  }
  for (const auto &tensor : graph.proto.initializer()) {
    if (absl::StartsWith(tensor.name(), "onnx::") && tensor.dims_size() > 1) {
      signature.merged.push_back(
          {tensor.name(),
           absl::StrCat(tensor.name(), " (a weight that was transposed, or "
                                       "changed with a norm behind it)")});
    }
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

/// A line "p_fc_weight: PARAMETER target='fc.weight'" of the signature.
struct Entry {
  std::string placeholder, kind, target;
};

std::optional<Entry> entryOf(absl::string_view line) {
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
  return Entry{std::string(halves.first), kind,
               std::string(halves.second.substr(begin, end - begin))};
}

} // namespace

std::map<std::string, std::string> changedBuffers(const Graph &graph) {
  std::map<std::string, std::string> changed;
  const std::string *text = metadata(graph.proto, kSignature);
  if (text == nullptr || !absl::StrContains(*text, kChanges)) {
    return changed;
  }
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    std::optional<Entry> entry = entryOf(line);
    if (entry && entry->kind == kChanges &&
        graph.producer.count(entry->placeholder) != 0 &&
        graph.initializers.count(entry->target) != 0) {
      changed[entry->placeholder] = entry->target;
    }
  }
  return changed;
}

ExporterSignature readSignature(const Graph &graph) {
  ExporterSignature signature;
  const std::string *text = metadata(graph.proto, kSignature);
  if (text == nullptr) {
    findTraces(graph, signature);
    return signature;
  }
  std::optional<std::set<std::string>> mentioned = mentionedNames(graph);
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    std::optional<Entry> entry = entryOf(line);
    if (!entry) {
      continue;
    }
    signature.present = true;
    signature.kinds[entry->target] = entry->kind;
    if (entry->kind != "PARAMETER" ||
        graph.initializers.count(entry->target) != 0) {
      continue;
    }
    // Nodes name a tied parameter by one of its names, so the others are
    // mentioned nowhere. A parameter that a node was made from, but that is
    // gone, was merged or dropped.
    bool made = !mentioned || mentioned->count(entry->placeholder) != 0;
    (made ? signature.damaged : signature.absent).push_back(entry->target);
  }
  return signature;
}

const std::string *fxNodeOf(const onnx::NodeProto &node) {
  return metadata(node, "pkg.torch.onnx.fx_node");
}

bool isOfTorchScript(const onnx::ModelProto &model) {
  return model.producer_name() == "pytorch" &&
         metadata(model.graph(), kSignature) == nullptr;
}

} // namespace zerograph::frontend
