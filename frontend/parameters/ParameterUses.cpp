//===- ParameterUses.cpp - what a graph uses its initializers for ---------===//

#include "frontend/parameters/ParameterUses.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

#include <optional>

namespace zerograph::frontend {

using mlir::zg::nn::InitKind;

void ParameterUses::visitBodies(int node, const std::string &name,
                                Visitor visit) const {
  if (auto bodies = graph.bodies.find(node); bodies != graph.bodies.end()) {
    for (const Graph &body : bodies->second) {
      if (body.captured.count(name) != 0) {
        ParameterUses(body).each(name, visit);
      }
    }
  }
}

void ParameterUses::each(const std::string &name, Visitor visit) const {
  static const std::set<std::string> transparent = {
      "Identity", "Cast",    "CastLike",  "Reshape",
      "Squeeze",  "Flatten", "Unsqueeze", "Expand"};
  std::vector<std::string> work = {name};
  std::set<std::string> seen = {name};
  while (!work.empty()) {
    std::string value = std::move(work.back());
    work.pop_back();
    auto found = graph.users.find(value);
    if (found == graph.users.end()) {
      continue;
    }
    for (int n : found->second) {
      const onnx::NodeProto &node = graph.proto.node(n);
      visitBodies(n, value, visit);
      for (int i = 0; i < node.input_size(); ++i) {
        if (node.input(i) != value) {
          continue;
        }
        if (i != 0 || transparent.count(node.op_type()) == 0) {
          visit(node, i);
          continue;
        }
        for (const std::string &output : node.output()) {
          if (seen.insert(output).second) {
            work.push_back(output);
          }
        }
      }
    }
  }
}

/// By one use: input `i` of `node`; `vector`: at most one dim is longer than 1.
static InitKind initOfUse(const onnx::NodeProto &node, int i, bool vector) {
  const std::string &op = node.op_type();
  if (absl::EndsWith(op, "Normalization")) {
    // scale, bias, mean, variance
    return i == 1 || i == 4 ? InitKind::ones : InitKind::zeros;
  }
  if ((op == "Gemm" || op == "Conv" || op == "ConvTranspose") && i == 2) {
    return InitKind::zeros;
  }
  if ((op == "Add" || op == "Sub") && vector) {
    return InitKind::zeros;
  }
  if ((op == "Mul" || op == "Div") && vector) {
    return InitKind::ones;
  }
  return InitKind::normal;
}

InitKind ParameterUses::initOf(const onnx::TensorProto &tensor) const {
  std::optional<InitKind> init;
  int64_t longDims = 0;
  for (int64_t dim : tensor.dims()) {
    longDims += dim > 1;
  }
  each(tensor.name(), [&](const onnx::NodeProto &node, int i) {
    InitKind found = initOfUse(node, i, longDims <= 1);
    init = !init || *init == found ? found : InitKind::normal;
  });
  return init.value_or(InitKind::normal);
}

/// The module that a node was exported from: by its metadata ("['', 'h.0',
/// 'h.0.fc', 'linear']"), else by its name ("/h.0/fc/Gemm"); "" if neither
/// says.
static std::string moduleOfNode(const onnx::NodeProto &node) {
  for (const auto &entry : node.metadata_props()) {
    if (entry.key() == "pkg.torch.onnx.name_scopes") {
      std::vector<std::string> scopes = absl::StrSplit(
          entry.value(), absl::ByAnyChar("[]', "), absl::SkipEmpty());
      return scopes.size() >= 2 ? scopes[scopes.size() - 2] : "";
    }
  }
  size_t end = node.name().find_last_of('/');
  if (absl::StartsWith(node.name(), "/") && end > 1) {
    return absl::StrReplaceAll(node.name().substr(1, end - 1), {{"/", "."}});
  }
  return "";
}

std::string ParameterUses::moduleOf(const std::string &name) const {
  if (size_t dot = name.find_last_of('.');
      dot != std::string::npos && !absl::StrContains(name, "::")) {
    return name.substr(0, dot);
  }
  // The exporter renamed it: the module of the first node that uses it.
  std::string module;
  each(name, [&](const onnx::NodeProto &node, int) {
    if (module.empty()) {
      module = moduleOfNode(node);
    }
  });
  return module;
}

} // namespace zerograph::frontend
