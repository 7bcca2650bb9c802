//===- ProgramBuilder.cpp - a program whose arguments are found on the way ===//

#include "passes/zero/ProgramBuilder.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

ProgramBuilder::ProgramBuilder(ModuleOp module, StringRef name,
                               Location location)
    : body(module.getContext()) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  function = builder.create<func::FuncOp>(location, name,
                                          builder.getFunctionType({}, {}));
  body.setInsertionPointToEnd(&function.getBody().emplaceBlock());
}

Value ProgramBuilder::argument(Type type, StringRef attributeName,
                               Attribute attribute, Location location) {
  Value &value = arguments[attribute];
  if (!value) {
    value = function.front().addArgument(type, location);
    argumentAttributes.push_back(
        body.getDictionaryAttr(body.getNamedAttr(attributeName, attribute)));
  }
  return value;
}

Value ProgramBuilder::input(Type type, nn::InputAttr attribute,
                            Location location) {
  return argument(type, nn::kInputAttr, attribute, location);
}

Value ProgramBuilder::scalar(StringRef name, RankedTensorType type) {
  return argument(type, nn::kScalarAttr, body.getStringAttr(name), location());
}

Value ProgramBuilder::state(StateAttr attribute, RankedTensorType type) {
  return argument(type, kStateAttr, attribute, location());
}

void ProgramBuilder::result(Value value, StringRef attributeName,
                            Attribute attribute) {
  results.push_back(value);
  resultAttributes.push_back(
      body.getDictionaryAttr(body.getNamedAttr(attributeName, attribute)));
}

void ProgramBuilder::update(Value value, StateAttr attribute) {
  result(value, kUpdatesAttr, attribute);
}

void ProgramBuilder::output(Value value, OutputAttr attribute) {
  result(value, kOutputAttr, attribute);
}

void ProgramBuilder::finish() {
  body.create<func::ReturnOp>(location(), results);
  function.setType(body.getFunctionType(
      function.front().getArgumentTypes(),
      llvm::to_vector(llvm::map_range(
          results, [](Value value) { return value.getType(); }))));
  function.setAllArgAttrs(argumentAttributes);
  function.setAllResultAttrs(resultAttributes);
}
