//===- Functions.cpp - the functions that a model brings ------------------===//
//
// ONNX's inliner leaves two things out: attributes that a call does not give
// and the function has defaults of, and functions of another operator set than
// the model's.
//
//===----------------------------------------------------------------------===//

#include "frontend/base/Error.h"
#include "frontend/file/ModelFile.h"
#include "frontend/file/Nodes.h"

#include "onnx/defs/schema.h"
#include "onnx/inliner/inliner.h"

#include <set>
#include <tuple>
#include <vector>

namespace zerograph::frontend {

namespace {

using onnx::FunctionProto;
using onnx::NodeProto;
using Key = std::tuple<std::string, std::string, std::string>;
using Functions = std::map<Key, FunctionProto *>;

/// Calls visit(node) for the nodes, and for those in their bodies.
void eachNode(Nodes &all, llvm::function_ref<void(NodeProto &)> visit) {
  eachNodes(all, [&](Nodes &nodes) {
    for (NodeProto &node : nodes) {
      visit(node);
    }
  });
}

/// Gives a call of a function the attributes that it leaves out.
void addDefaults(NodeProto &call, const FunctionProto &function) {
  std::set<std::string> given;
  for (const auto &attribute : call.attribute()) {
    given.insert(attribute.name());
  }
  for (const auto &attribute : function.attribute_proto()) {
    if (given.count(attribute.name()) == 0) {
      *call.add_attribute() = attribute;
    }
  }
}

/// Throws ImportError unless the node's operator is the same in both sets.
void checkSame(const FunctionProto &function, const NodeProto &node,
               int64_t own, int64_t models) {
  if (!isOnnxDomain(node.domain())) {
    return;
  }
  auto since = [&](int64_t version) {
    const auto *schema = onnx::OpSchemaRegistry::Schema(
        node.op_type(), static_cast<int>(version));
    return schema == nullptr ? 0 : schema->SinceVersion();
  };
  if (since(own) != since(models)) {
    fail("function '", function.domain(), ".", function.name(),
         "' is of ai.onnx ", own, " and the model of ai.onnx ", models,
         ", and operator ", node.op_type(),
         " differs between them: export again with one operator set for both");
  }
}

/// Makes a function of another operator set one of the model's, where none of
/// its operators differs.
void adopt(FunctionProto &function, int64_t models) {
  for (onnx::OperatorSetIdProto &import : *function.mutable_opset_import()) {
    int64_t own = import.version();
    if (!isOnnxDomain(import.domain()) || own == models) {
      continue;
    }
    eachNode(*function.mutable_node(),
             [&](NodeProto &node) { checkSame(function, node, own, models); });
    import.set_version(models);
  }
}

/// Completes the calls of functions from the graph on, and what they call;
/// functions that nothing calls stay as they are.
class Callers {
public:
  explicit Callers(onnx::ModelProto &model) : model(model) {
    for (const auto &import : model.opset_import()) {
      version = isOnnxDomain(import.domain()) ? import.version() : version;
    }
    for (FunctionProto &function : *model.mutable_functions()) {
      functions[{function.domain(), function.name(), function.overload()}] =
          &function;
    }
  }

  void run() {
    visit(*model.mutable_graph()->mutable_node());
    while (!open.empty()) {
      FunctionProto &function = *open.back();
      open.pop_back();
      adopt(function, version);
      visit(*function.mutable_node());
    }
  }

private:
  void visit(Nodes &nodes) {
    eachNode(nodes, [&](NodeProto &node) {
      auto called =
          functions.find({node.domain(), node.op_type(), node.overload()});
      if (called != functions.end()) {
        addDefaults(node, *called->second);
        if (seen.insert(called->second).second) {
          open.push_back(called->second);
        }
      }
    });
  }

  onnx::ModelProto &model;
  int64_t version = 0; ///< of ai.onnx, in the model
  Functions functions;
  std::set<FunctionProto *> seen;
  std::vector<FunctionProto *> open;
};

} // namespace

void inlineFunctions(onnx::ModelProto &model) {
  if (model.functions_size() != 0) {
    Callers(model).run();
    onnx::inliner::InlineLocalFunctions(model, /*convert_version=*/false);
  }
}

} // namespace zerograph::frontend
