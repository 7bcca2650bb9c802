//===- Body.cpp - imports the body of a node, once for each run -----------===//
//
// The nodes of a body are copied with names of their own, and imported as if
// they stood in the graph. What the body reads from around it keeps its name.
//
//===----------------------------------------------------------------------===//

#include "frontend/walk/Body.h"

#include "frontend/walk/Importer.h"

namespace zerograph::frontend {

namespace {

/// Most nodes that the loops of one node unroll into.
constexpr int64_t kMaxUnrolledNodes = 16384;

void renameCaptured(onnx::GraphProto &body,
                    llvm::function_ref<void(std::string &)> rename) {
  std::set<std::string> own;
  for (const auto &input : body.input()) {
    own.insert(input.name());
  }
  for (const auto &tensor : body.initializer()) {
    own.insert(tensor.name());
  }
  for (const auto &node : body.node()) {
    own.insert(node.output().begin(), node.output().end());
  }
  auto renameOuter = [&](std::string &name) {
    if (own.count(name) == 0) {
      rename(name);
    }
  };
  for (auto &node : *body.mutable_node()) {
    renameNode(node, renameOuter);
  }
  for (auto &output : *body.mutable_output()) {
    renameOuter(*output.mutable_name());
  }
}

} // namespace

void renameNode(onnx::NodeProto &node,
                llvm::function_ref<void(std::string &)> rename) {
  for (auto *names : {node.mutable_input(), node.mutable_output()}) {
    for (std::string &name : *names) {
      if (!name.empty()) {
        rename(name);
      }
    }
  }
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      renameCaptured(*attribute.mutable_g(), rename);
    }
  }
}

void visitNodes(onnx::NodeProto &node,
                llvm::function_ref<void(onnx::NodeProto &)> visit) {
  visit(node);
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      for (auto &inner : *attribute.mutable_g()->mutable_node()) {
        visitNodes(inner, visit);
      }
    }
  }
}

const Graph &Importer::graphOf(const onnx::GraphProto &body) {
  std::unique_ptr<Graph> &known = bodyGraphs[&body];
  if (!known) {
    known = std::make_unique<Graph>(body, /*isBody=*/true);
  }
  return *known;
}

void Importer::countRun(const Graph &body) {
  // A run without nodes counts too: else a loop of them might never end.
  unrolledNodes += 1 + body.order.size();
  if (unrolledNodes > kMaxUnrolledNodes) {
    fail("unrolls into more than ", kMaxUnrolledNodes,
         " nodes: export the model with fewer iterations, or with an operator "
         "for the whole loop");
  }
}

std::set<std::string> Importer::bindBody(const Graph &body,
                                         const std::string &prefix,
                                         const std::vector<NamedSlot> &inputs) {
  std::set<std::string> own;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = body.proto.input(i).name();
    own.insert(name);
    slots[prefix + name] = inputs[i].slot;
    if (!inputs[i].name.empty()) {
      bodyAliases[prefix + name] = inputs[i].name;
    }
  }
  for (const auto &[name, tensor] : body.initializers) {
    if (own.insert(name).second && body.users.count(name) != 0) {
      slots[prefix + name].host = share(read(*tensor));
    }
  }
  for (const auto &[name, node] : body.producer) {
    own.insert(name);
  }
  return own;
}

const onnx::NodeProto &Importer::adopt(onnx::NodeProto node) {
  const onnx::NodeProto &kept = bodyNodes.emplace_back(std::move(node));
  for (const std::string &output : kept.output()) {
    bodyProducer[output] = &kept;
  }
  return kept;
}

std::vector<NamedSlot> Importer::runBody(const onnx::GraphProto &proto,
                                         const std::string &label,
                                         const std::vector<NamedSlot> &inputs) {
  const Graph &body = graphOf(proto);
  if (proto.input_size() != static_cast<int>(inputs.size())) {
    fail("its body takes ", proto.input_size(), " inputs, but ", inputs.size(),
         " are given");
  }
  countRun(body);
  // '\1' keeps inner names apart from those of the graph.
  std::string prefix = absl::StrCat("\1", scopes++, ".");
  std::set<std::string> own = bindBody(body, prefix, inputs);
  auto rename = [&](std::string &name) {
    if (own.count(name) != 0) {
      name = prefix + name;
    }
  };
  for (int n : body.order) {
    onnx::NodeProto inner = proto.node(n);
    inner.set_name(absl::StrCat(label, "/", nodeName(inner)));
    renameNode(inner, rename);
    tryNode(adopt(std::move(inner)));
  }
  std::vector<NamedSlot> outputs;
  for (const auto &output : proto.output()) {
    std::string name = output.name();
    rename(name);
    outputs.push_back({slotOf(name), name});
  }
  return outputs;
}

} // namespace zerograph::frontend
