//===- Signature.cpp - the metadata of PyTorch's exporter -----------------===//

#include "frontend/exporter/Parameters.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <set>

namespace zerograph::frontend {

namespace {

template <typename Proto>
const std::string *metadata(const Proto &proto, absl::string_view key) {
  for (const auto &entry : proto.metadata_props()) {
    if (entry.key() == key) {
      return &entry.value();
    }
  }
  return nullptr;
}

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

/// PyTorch's older exporter leaves no list of parameters, but traces of what it
/// does outside of its training mode: a parameter that was equal to another is
/// an Identity of it, and a transposed weight has a new name. A tied weight is
/// one initializer without either.
void findTraces(const Graph &graph, ExporterSignature &signature) {
  for (const auto &node : graph.proto.node()) {
    if (node.op_type() == "Identity" && node.input_size() == 1 &&
        node.output_size() == 1 && graph.initializers.count(node.input(0)) &&
        absl::StrContains(node.output(0), '.') &&
        !absl::StrContains(node.output(0), '/')) {
      signature.merged.push_back(
          absl::StrCat(node.output(0), " (merged with ", node.input(0), ")"));
    }
  }
  for (const auto &tensor : graph.proto.initializer()) {
    if (absl::StartsWith(tensor.name(), "onnx::") && tensor.dims_size() > 1) {
      signature.merged.push_back(
          absl::StrCat(tensor.name(), " (a weight that was transposed, or "
                                      "changed with a norm behind it)"));
    }
  }
}

} // namespace

ExporterSignature readSignature(const Graph &graph) {
  ExporterSignature signature;
  const std::string *text =
      metadata(graph.proto, "pkg.torch.export.ExportedProgram.graph_signature");
  if (text == nullptr) {
    findTraces(graph, signature);
    return signature;
  }
  std::set<std::string> mentioned;
  bool anyNode = false;
  for (const auto &node : graph.proto.node()) {
    if (const std::string *fx = metadata(node, "pkg.torch.onnx.fx_node")) {
      anyNode = true;
      collectNames(*fx, mentioned);
    }
  }
  // Lines of the form "p_fc_weight: PARAMETER target='fc.weight'".
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    size_t begin = halves.second.find(" target='");
    size_t end = halves.second.rfind('\'');
    if (begin == absl::string_view::npos || end < begin + 9) {
      continue;
    }
    std::string kind(halves.second.substr(0, begin));
    std::string target(halves.second.substr(begin + 9, end - begin - 9));
    signature.present = true;
    signature.kinds[target] = kind;
    if (kind != "PARAMETER" || graph.initializers.count(target) != 0) {
      continue;
    }
    // The exporter states each node's origin. A tied parameter stands in all
    // of them under one name, so the other is mentioned nowhere; a parameter
    // that a node was made from but that is gone was merged or dropped.
    std::string placeholder(halves.first);
    if (!anyNode || mentioned.count(placeholder) != 0) {
      signature.damaged.push_back(target);
    } else {
      signature.absent.push_back(target);
    }
  }
  return signature;
}

} // namespace zerograph::frontend
