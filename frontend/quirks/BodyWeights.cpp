//===- BodyWeights.cpp - weights within loops and branches ----------------===//
//
// A body may have initializers of its own. As they are the same in each turn,
// they are made initializers of the graph, which are what training looks at.
//
//===----------------------------------------------------------------------===//

#include "frontend/quirks/BodyWeights.h"

#include "frontend/base/ElementType.h"
#include "frontend/file/Nodes.h"
#include "frontend/quirks/Quirks.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <set>
#include <vector>

namespace zerograph::frontend {

namespace {

void addNames(const onnx::GraphProto &graph, std::set<std::string> &names) {
  for (const auto &input : graph.input()) {
    names.insert(input.name());
  }
  for (const auto &tensor : graph.initializer()) {
    names.insert(tensor.name());
  }
  for (const onnx::NodeProto &node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
  }
}

class Walker {
public:
  /// Returns true to remove the tensor.
  using Visit =
      llvm::function_ref<bool(onnx::GraphProto &body, onnx::TensorProto &tensor,
                              const std::string &name)>;

  Walker(onnx::GraphProto &graph, Visit visit) : visit(visit) {
    addNames(graph, names);
    visitBodiesOf(graph);
  }

private:
  void visitBodiesOf(onnx::GraphProto &graph) {
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      eachBody(node, [&](onnx::GraphProto &body) {
        auto &tensors = *body.mutable_initializer();
        auto kept = std::remove_if(
            tensors.begin(), tensors.end(), [&](onnx::TensorProto &tensor) {
              return isFloatType(tensor.data_type()) &&
                     !tensor.name().empty() &&
                     visit(body, tensor, uniqueName(tensor.name()));
            });
        tensors.erase(kept, tensors.end());
        visitBodiesOf(body);
      });
    }
  }

  std::string uniqueName(const std::string &name) {
    std::string unique = name;
    for (int number = 1; !names.insert(unique).second; ++number) {
      unique = absl::StrCat(name, "_", number);
    }
    return unique;
  }

  Visit visit;
  std::set<std::string> names;
};

/// Gives another name to what the nodes of a body, and of its bodies, read.
void rename(onnx::GraphProto &body, const std::string &from,
            const std::string &to) {
  eachNodes(*body.mutable_node(), [&](Nodes &nodes) {
    for (onnx::NodeProto &node : nodes) {
      for (std::string &input : *node.mutable_input()) {
        input = input == from ? to : input;
      }
    }
  });
  for (auto &output : *body.mutable_output()) {
    if (output.name() == from) {
      output.set_name(to);
    }
  }
}

void moveOut(ModelFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  std::vector<onnx::TensorProto> moved;
  Walker(graph, [&](onnx::GraphProto &body, onnx::TensorProto &tensor,
                    const std::string &name) {
    if (name != tensor.name()) {
      rename(body, tensor.name(), name);
    }
    moved.push_back(std::move(tensor));
    moved.back().set_name(name);
    return true;
  });
  for (onnx::TensorProto &tensor : moved) {
    *graph.add_initializer() = std::move(tensor);
  }
}

} // namespace

void eachBodyWeight(
    onnx::GraphProto &graph,
    llvm::function_ref<void(onnx::TensorProto &tensor, const std::string &name)>
        visit) {
  Walker(graph, [&](onnx::GraphProto &, onnx::TensorProto &tensor,
                    const std::string &name) {
    visit(tensor, name);
    return false;
  });
}

const Quirk kBodyWeights = {.repair = moveOut};

} // namespace zerograph::frontend
