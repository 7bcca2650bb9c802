//===- Program.cpp - a program that passes extend -------------------------===//

#include "passes/zero/Program.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

Program::Program(func::FuncOp function) : func(function) { collect(); }

FailureOr<Program> Program::find(ModuleOp module, StringRef name) {
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    return module.emitError("has no program @") << name << "; run zero-layout";
  }
  return Program(function);
}

Program Program::create(ModuleOp module, StringRef name, Location location) {
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = builder.create<func::FuncOp>(location, name,
                                               builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  builder.create<func::ReturnOp>(location);
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

Value Program::argument(Type type, StringRef attributeName,
                        Attribute attribute) {
  Value &value = arguments[attribute];
  if (!value) {
    Builder builder(func.getContext());
    unsigned index = func.getNumArguments();
    func.insertArgument(index, type,
                        builder.getDictionaryAttr(
                            builder.getNamedAttr(attributeName, attribute)),
                        location());
    value = func.getArgument(index);
  }
  return value;
}

Value Program::scalar(StringRef name, RankedTensorType type) {
  return argument(type, nn::kScalarAttr,
                  StringAttr::get(func.getContext(), name));
}

void Program::result(Value value, StringRef attributeName,
                     Attribute attribute) {
  Builder builder(func.getContext());
  func.insertResult(func.getNumResults(), value.getType(),
                    builder.getDictionaryAttr(
                        builder.getNamedAttr(attributeName, attribute)));
  terminator()->insertOperands(terminator()->getNumOperands(), value);
}

void Program::eraseArguments(function_ref<bool(BlockArgument)> selected) {
  llvm::BitVector erased(func.getNumArguments());
  for (BlockArgument argument : func.getArguments()) {
    erased[argument.getArgNumber()] = selected(argument);
  }
  func.eraseArguments(erased);
  collect();
}

void Program::eraseResults(function_ref<bool(unsigned)> selected) {
  llvm::BitVector erased(func.getNumResults());
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    erased[i] = selected(i);
  }
  func.eraseResults(erased);
  terminator()->eraseOperands(erased);
}
