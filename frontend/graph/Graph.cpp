//===- Graph.cpp - the nodes of a graph and their order -------------------===//

#include "frontend/graph/Graph.h"

#include "frontend/base/Error.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace zerograph::frontend {

std::string nodeName(const onnx::NodeProto &node) {
  if (!node.name().empty()) {
    return node.name();
  }
  for (const std::string &output : node.output()) {
    if (!output.empty()) {
      return output;
    }
  }
  return node.op_type();
}

Graph::Graph(const onnx::GraphProto &graph, bool isBody) : proto(graph) {
  index(isBody);
  sort();
}

std::vector<std::string> Graph::reads(int n) const {
  std::vector<std::string> names;
  for (const std::string &input : proto.node(n).input()) {
    if (!input.empty()) {
      names.push_back(input);
    }
  }
  if (auto found = bodies.find(n); found != bodies.end()) {
    for (const Graph &body : found->second) {
      names.insert(names.end(), body.captured.begin(), body.captured.end());
    }
  }
  return names;
}

void Graph::index(bool isBody) {
  std::set<std::string> defined;
  indexInitializers(defined);
  indexInputs(defined);
  indexNodes(defined);
  indexBodies();
  indexReads(defined, isBody);
}

void Graph::indexInitializers(std::set<std::string> &defined) {
  for (const auto &tensor : proto.initializer()) {
    if (tensor.name().empty()) {
      fail("an initializer has no name");
    }
    if (!initializers.emplace(tensor.name(), &tensor).second) {
      fail("initializer '", tensor.name(), "' is there twice");
    }
    defined.insert(tensor.name());
  }
}

void Graph::indexInputs(std::set<std::string> &defined) {
  std::set<std::string> inputs;
  for (const auto &input : proto.input()) {
    if (input.name().empty() || !inputs.insert(input.name()).second) {
      fail("graph input '", input.name(), "' has no name or is there twice");
    }
    defined.insert(input.name());
  }
}

void Graph::indexNodes(std::set<std::string> &defined) {
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string &output : proto.node(n).output()) {
      if (!output.empty() && !defined.insert(output).second) {
        fail(
            "node '", nodeName(proto.node(n)), "' defines '", output,
            "', which is defined already: a value has one name. PyTorch's "
            "exporter makes such a file of a parameter or an argument that is "
            "called as its functions are; call it otherwise, and export again");
      }
      if (!output.empty()) {
        producer.emplace(output, n);
      }
    }
  }
}

void Graph::indexBodies() {
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const auto &attribute : proto.node(n).attribute()) {
      if (attribute.has_g()) {
        try {
          bodies[n].emplace_back(attribute.g(), /*isBody=*/true);
        } catch (const ImportError &error) {
          fail("node '", nodeName(proto.node(n)), "', attribute '",
               attribute.name(), "': ", error.what());
        }
      }
    }
  }
}

void Graph::indexReads(const std::set<std::string> &defined, bool isBody) {
  std::vector<std::string> missing;
  auto use = [&](const std::string &name, const std::string &where) {
    if (defined.count(name) == 0) {
      if (isBody) {
        captured.insert(name);
      } else {
        missing.push_back(absl::StrCat(where, "'", name, "'"));
      }
    }
  };
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string &name : reads(n)) {
      users[name].push_back(n);
      use(name, absl::StrCat("node '", nodeName(proto.node(n)), "' reads "));
    }
  }
  for (const auto &output : proto.output()) {
    use(output.name(), "graph output ");
  }
  if (!missing.empty()) {
    fail("values that no node, input or initializer defines:\n  ",
         linesOf(missing));
  }
}

void Graph::sort() {
  order = depthFirst();
  // The file's own order if it is one, so that programs read alike.
  std::vector<int> byFile = order;
  std::sort(byFile.begin(), byFile.end());
  if (isOrder(byFile)) {
    order = byFile;
  }
}

std::vector<int> Graph::depthFirst() const {
  // With a stack of its own: a chain of nodes may be longer than the call
  // stack.
  enum { unseen, open, done };
  std::vector<char> state(proto.node_size(), unseen);
  struct Visit {
    int node;
    std::vector<std::string> reads;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  std::vector<int> nodes;
  auto enter = [&](const std::string &name) {
    auto found = producer.find(name);
    if (found == producer.end() || state[found->second] == done) {
      return;
    }
    if (state[found->second] == open) {
      fail("the graph has a cycle through node '",
           nodeName(proto.node(found->second)), "'");
    }
    state[found->second] = open;
    stack.push_back({found->second, reads(found->second)});
  };
  for (const auto &output : proto.output()) {
    enter(output.name());
    while (!stack.empty()) {
      Visit &visit = stack.back();
      if (visit.next < visit.reads.size()) {
        enter(std::string(visit.reads[visit.next++]));
      } else {
        state[visit.node] = done;
        nodes.push_back(visit.node);
        stack.pop_back();
      }
    }
  }
  return nodes;
}

bool Graph::isOrder(const std::vector<int> &nodes) const {
  std::vector<bool> seen(proto.node_size(), false);
  for (int node : nodes) {
    for (const std::string &name : reads(node)) {
      auto found = producer.find(name);
      if (found != producer.end() && !seen[found->second]) {
        return false;
      }
    }
    seen[node] = true;
  }
  return true;
}

const onnx::AttributeProto *findAttribute(const onnx::NodeProto &node,
                                          const std::string &name) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() == name) {
      return &attribute;
    }
  }
  return nullptr;
}

bool isMeasure(const onnx::NodeProto &node) {
  return node.op_type() == "Shape" || node.op_type() == "Size";
}

std::string Graph::onlyReader(const std::string &name) const {
  auto readers = users.find(name);
  return readers != users.end() && readers->second.size() == 1
             ? proto.node(readers->second.front()).op_type()
             : "";
}

std::set<std::string> Graph::originsOf(const std::string &name) const {
  std::set<std::string> origins, seen = {name};
  std::vector<std::string> work = {name};
  while (!work.empty()) {
    std::string value = std::move(work.back());
    work.pop_back();
    auto found = producer.find(value);
    if (found == producer.end()) {
      origins.insert(value);
      continue;
    }
    const auto &node = proto.node(found->second);
    // A shape is known whatever the values are.
    if (isMeasure(node)) {
      continue;
    }
    for (const std::string &name : reads(found->second)) {
      if (seen.insert(name).second) {
        work.push_back(name);
      }
    }
  }
  return origins;
}

} // namespace zerograph::frontend
