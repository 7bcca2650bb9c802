//===- NNKernelOps.cpp - verifier and syntax of kernels -------------------===//

#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg::nn;

/// rows, columns, ...
static std::string formNames() {
  std::string names;
  for (unsigned form = 0; form <= getMaxEnumValForKernelForm(); ++form) {
    names += form == 0 ? "" : ", ";
    names += stringifyKernelForm(*symbolizeKernelForm(form));
  }
  return names;
}

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  auto matchDense = [](TypeRange inside, TypeRange outside) {
    return llvm::equal(inside, llvm::map_range(outside, denseType));
  };
  if (!matchDense(body.getArgumentTypes(), getOperandTypes())) {
    return emitOpError("block arguments do not match the operands");
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || !matchDense(yield.getOperandTypes(), getResultTypes())) {
    return emitOpError("yielded values do not match the results");
  }
  return success();
}

// nn.kernel rows (%a = %x, ...) : (types) -> types attr-dict { body }
void KernelOp::print(OpAsmPrinter &printer) {
  Block &body = getBody().front();
  printer << " " << stringifyKernelForm(getForm()) << " (";
  llvm::interleaveComma(
      llvm::zip(body.getArguments(), getOperands()), printer, [&](auto pair) {
        printer << std::get<0>(pair) << " = " << std::get<1>(pair);
      });
  printer << ") : ";
  printer.printFunctionalType(*this);
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"form"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringRef name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  SMLoc nameLocation = parser.getCurrentLocation();
  if (parser.parseKeyword(&name)) {
    return failure();
  }
  std::optional<KernelForm> form = symbolizeKernelForm(name);
  if (!form) {
    return parser.emitError(nameLocation)
           << "has no form '" << name << "'; forms are " << formNames();
  }
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() {
        return failure(parser.parseArgument(arguments.emplace_back()) ||
                       parser.parseEqual() ||
                       parser.parseOperand(operands.emplace_back()));
      })) {
    return failure();
  }
  result.addAttribute("form", KernelFormAttr::get(parser.getContext(), *form));
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), location,
                             result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  for (auto [argument, argumentType] : llvm::zip(arguments, type.getInputs())) {
    argument.type = denseType(argumentType);
  }
  result.addTypes(type.getResults());
  return parser.parseRegion(*result.addRegion(), arguments);
}
