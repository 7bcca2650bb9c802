//===- ImportNode.cpp - the forward walk over the nodes -------------------===//

#include "frontend/walk/ImportNode.h"

#include "frontend/walk/Op.h"
#include "frontend/walk/Quirk.h"
#include "frontend/walk/Schema.h"

namespace zerograph::frontend {

namespace {

/// Makes the outputs constants without elements. Returns false if ONNX does not
/// infer that all that are used are.
bool setEmpty(ImportContext &context, Op &op) {
  std::map<std::string, HostTensor> found;
  for (const auto &[name, type, shape] : inferOutputs(op)) {
    if (elementCount(shape) == 0 && typeBytes(type) != 0) {
      found.emplace(name, HostTensor(type, shape));
    }
  }
  for (int i = 0; i < op.proto().output_size(); ++i) {
    if (op.wantsOutput(i) && found.count(op.proto().output(i)) == 0) {
      return false;
    }
  }
  for (auto &[name, tensor] : found) {
    context.nodes.define(name).host =
        context.constants.share(std::move(tensor));
  }
  return true;
}

/// Gives each output of a node that failed a placeholder, or marks it as
/// failed.
///
/// One error should list everything in a model that cannot be imported. So the
/// walk goes on with zeros of the types that ONNX infers, just to find the
/// problems of the nodes after it. Integer outputs stay unknown: they may
/// decide shapes, and zeros would make problems that the model does not have.
/// Nodes that need an output of which nothing is known are not checked.
void addPlaceholders(ImportContext &context, const onnx::NodeProto &node) {
  for (const std::string &output : node.output()) {
    if (!output.empty()) {
      context.nodes.define(output).failed = true;
    }
  }
  Op op(context, node);
  for (const auto &[name, type, shape] : inferOutputs(op)) {
    if (isFloatType(type) && elementCount(shape) != 0) {
      context.nodes.define(name).value =
          op.emit.splat(0, shape,
                        elementTypeOf(context.builder.getContext(),
                                      context.constants.computedType(type)));
    }
  }
}

/// Fails if the node has set nothing for an output that others read.
void checkOutputs(ImportContext &context, const onnx::NodeProto &node) {
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string &output = node.output(i);
    if (output.empty()) {
      continue;
    }
    const Slot &slot = context.nodes.slotOf(output);
    if (!slot.value && !slot.host && !slot.isSequence && !slot.failed &&
        context.graph.users.count(output) != 0) {
      fail("output ", i, " ('", output, "') is not supported");
    }
  }
}

} // namespace

void importNode(ImportContext &context, const onnx::NodeProto &node) {
  checkNode(node, context.file.opset);
  for (const std::string &input : node.input()) {
    if (!input.empty() && context.nodes.slotOf(input).failed) {
      for (const std::string &output : node.output()) {
        context.nodes.slotOf(output).failed = true;
      }
      return;
    }
  }
  Op op(context, node);
  checkTypes(op);
  for (const Quirk *quirk : quirks()) {
    if (quirk->checkNode != nullptr) {
      quirk->checkNode(op);
    }
  }
  const OpDef *def = findOp(node.op_type(), context.file.opset);
  if (def == nullptr) {
    context.functions.expand(op);
    return;
  }
  if (def->fold != nullptr && op.allConstant() &&
      context.constants.fold(*def, op)) {
    return;
  }
  try {
    def->emit(op);
  } catch (const EmptyTensor &) {
    if (!setEmpty(context, op)) {
      throw;
    }
  }
  checkOutputs(context, node);
}

void tryNode(ImportContext &context, const onnx::NodeProto &node) {
  try {
    importNode(context, node);
    return;
  } catch (const TooLarge &error) {
    context.log.addProblem(node, error.what());
  } catch (const ImportError &error) {
    context.log.addProblem(node, error.what());
  }
  addPlaceholders(context, node);
}

void importNodes(ImportContext &context,
                 const std::vector<bool> &onGradientPath) {
  for (int n : context.graph.order) {
    context.log.beginNode(n, onGradientPath[n]);
    context.functions.beginNode();
    tryNode(context, context.graph.proto.node(n));
  }
  context.log.failOnProblems();
}

} // namespace zerograph::frontend
