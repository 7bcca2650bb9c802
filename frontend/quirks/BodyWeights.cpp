//===- BodyWeights.cpp - weights within loops and branches ----------------===//
//
// A body may have initializers of its own. As they are the same in each turn,
// they are made initializers of the graph, which are what training looks at.
//
//===----------------------------------------------------------------------===//

#include "frontend/quirks/BodyWeights.h"

#include "frontend/base/ElementType.h"
#include "frontend/graph/Graph.h"
#include "frontend/quirks/Quirks.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <vector>

namespace zerograph::frontend {

namespace {

/// Visits the initializers of bodies, and removes those for which `visit`
/// returns true.
class Walker {
public:
  using Visit =
      llvm::function_ref<bool(onnx::GraphProto &body, onnx::TensorProto &tensor,
                              const std::string &name)>;

  explicit Walker(Visit visit) : visit(visit) {}

  void visitBodiesOf(onnx::GraphProto &graph, const std::string &outer) {
    for (onnx::NodeProto &node : *graph.mutable_node()) {
      std::string place =
          outer + (node.output_size() > 0 ? node.output(0) : nodeName(node));
      for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) {
          visitBody(*attribute.mutable_g(),
                    absl::StrCat(place, ".", attribute.name(), "."));
        }
      }
    }
  }

private:
  void visitBody(onnx::GraphProto &body, const std::string &place) {
    auto isInput = [&](const std::string &name) {
      return std::any_of(
          body.input().begin(), body.input().end(),
          [&](const auto &input) { return input.name() == name; });
    };
    auto &tensors = *body.mutable_initializer();
    auto kept = std::remove_if(
        tensors.begin(), tensors.end(), [&](onnx::TensorProto &tensor) {
          return isFloatType(tensor.data_type()) && !tensor.name().empty() &&
                 !isInput(tensor.name()) &&
                 visit(body, tensor, place + tensor.name());
        });
    tensors.erase(kept, tensors.end());
    visitBodiesOf(body, place);
  }

  Visit visit;
};

bool defines(const onnx::GraphProto &body, const std::string &name) {
  auto isIt = [&](const auto &value) { return value.name() == name; };
  auto makesIt = [&](const onnx::NodeProto &node) {
    return std::count(node.output().begin(), node.output().end(), name) > 0;
  };
  return std::any_of(body.input().begin(), body.input().end(), isIt) ||
         std::any_of(body.initializer().begin(), body.initializer().end(),
                     isIt) ||
         std::any_of(body.node().begin(), body.node().end(), makesIt);
}

/// Gives another name to what the nodes of a body read, and those of bodies
/// within it that have no such value of their own.
void rename(onnx::GraphProto &body, const std::string &from,
            const std::string &to) {
  for (onnx::NodeProto &node : *body.mutable_node()) {
    for (std::string &input : *node.mutable_input()) {
      input = input == from ? to : input;
    }
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && !defines(attribute.g(), from)) {
        rename(*attribute.mutable_g(), from, to);
      }
    }
  }
  for (auto &output : *body.mutable_output()) {
    if (output.name() == from) {
      output.set_name(to);
    }
  }
}

void moveOut(ModelFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  std::vector<onnx::TensorProto> moved;
  auto move = [&](onnx::GraphProto &body, onnx::TensorProto &tensor,
                  const std::string &name) {
    rename(body, tensor.name(), name);
    moved.push_back(std::move(tensor));
    moved.back().set_name(name);
    return true;
  };
  Walker(move).visitBodiesOf(graph, "");
  for (onnx::TensorProto &tensor : moved) {
    *graph.add_initializer() = std::move(tensor);
  }
}

} // namespace

void eachBodyWeight(
    onnx::GraphProto &graph,
    llvm::function_ref<void(onnx::TensorProto &tensor, const std::string &name)>
        visit) {
  auto look = [&](onnx::GraphProto &, onnx::TensorProto &tensor,
                  const std::string &name) {
    visit(tensor, name);
    return false;
  };
  Walker(look).visitBodiesOf(graph, "");
}

const Quirk kBodyWeights = {.repair = moveOut};

} // namespace zerograph::frontend
