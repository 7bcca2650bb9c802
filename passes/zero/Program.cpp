//===- Program.cpp - a program that passes extend -------------------------===//

#include "passes/zero/Program.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

Program::Program(nn::ProgramOp function) : func(function) { collect(); }

FailureOr<Program> Program::find(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<nn::ProgramOp>(name);
  if (!function) {
    return module.emitError("has no program @") << name << "; run zero-layout";
  }
  return Program(function);
}

Program Program::create(ModuleOp module, StringRef name, Location location) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  if (LayoutOp layout = layoutOf(module)) {
    builder.setInsertionPoint(layout);
  }
  auto function = builder.create<nn::ProgramOp>(
      location, name, builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  builder.create<nn::ReturnOp>(location);
  return Program(function);
}

void Program::collect() {
  arguments.clear();
  for (BlockArgument argument : func.getArguments()) {
    unsigned index = argument.getArgNumber();
    for (StringRef name : {StringRef(kStateAttr), StringRef(nn::kInputAttr),
                           StringRef(nn::kScalarAttr)}) {
      if (Attribute attribute = func.getArgAttr(index, name)) {
        arguments[attribute] = argument;
      }
    }
  }
}

/// Returns what is printed as the name of the argument that has `attribute`.
StringAttr Program::nameOf(Attribute attribute) {
  if (auto state = dyn_cast<StateAttr>(attribute)) {
    return StringAttr::get(func.getContext(),
                           printedName(state, unitsOf(func)));
  }
  if (auto input = dyn_cast<nn::InputAttr>(attribute)) {
    return input.getName();
  }
  return StringAttr::get(func.getContext(),
                         cast<nn::ScalarAttr>(attribute).label());
}

Value Program::argument(Type type, StringRef attributeName,
                        Attribute attribute) {
  Value &value = arguments[attribute];
  if (!value) {
    Builder builder(func.getContext());
    value = body().addArgument(type, NameLoc::get(nameOf(attribute)));
    newArguments.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(attributeName, attribute)));
  }
  return value;
}

nn::ScalarAttr Program::scalarAttr(StringRef name, int64_t group) {
  MLIRContext *context = func.getContext();
  return nn::ScalarAttr::get(context, StringAttr::get(context, name), group);
}

Value Program::scalar(StringRef name, RankedTensorType type, int64_t group) {
  return argument(type, nn::kScalarAttr, scalarAttr(name, group));
}

Value Program::findScalar(StringRef name) {
  return arguments.lookup(scalarAttr(name, /*group=*/0));
}

void Program::result(Value value, StringRef attributeName,
                     Attribute attribute) {
  Builder builder(func.getContext());
  newResults.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr(attributeName, attribute)));
  terminator()->insertOperands(terminator()->getNumOperands(), value);
}

void Program::declare() {
  if (newArguments.empty() && newResults.empty()) {
    return;
  }
  SmallVector<DictionaryAttr> ofArguments, ofResults;
  func.getAllArgAttrs(ofArguments);
  func.getAllResultAttrs(ofResults);
  llvm::append_range(ofArguments, newArguments);
  llvm::append_range(ofResults, newResults);
  newArguments.clear();
  newResults.clear();
  func.setType(FunctionType::get(func.getContext(), body().getArgumentTypes(),
                                 terminator()->getOperandTypes()));
  func.setAllArgAttrs(ofArguments);
  func.setAllResultAttrs(ofResults);
}

void Program::eraseArguments(function_ref<bool(BlockArgument)> selected) {
  declare();
  llvm::BitVector erased(func.getNumArguments());
  for (BlockArgument argument : func.getArguments()) {
    erased[argument.getArgNumber()] = selected(argument);
  }
  func.eraseArguments(erased);
  collect();
}

void Program::eraseResults(function_ref<bool(unsigned)> selected) {
  declare();
  llvm::BitVector erased(func.getNumResults());
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    erased[i] = selected(i);
  }
  func.eraseResults(erased);
  terminator()->eraseOperands(erased);
}
