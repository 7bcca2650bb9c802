//===- NNKernelOps.cpp - verifier and syntax of kernels -----------------===//

#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg::nn;

LogicalResult KernelOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes()) {
    return emitOpError("block arguments do not match the operands");
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (!yield || yield.getOperandTypes() != getResultTypes()) {
    return emitOpError("yielded values do not match the results");
  }
  if (!llvm::is_contained({"rows", "columns", "scan", "scatter"}, getForm())) {
    return emitOpError("has no form '")
           << getForm() << "'; forms are rows, columns, scan, scatter";
  }
  return success();
}

// nn.kernel rows (%a = %x, ...) : (types) -> types attr-dict { body }
void KernelOp::print(OpAsmPrinter &printer) {
  Block &body = getBody().front();
  printer << " " << getForm() << " (";
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
  StringRef form;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  FunctionType type;
  if (parser.parseKeyword(&form) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() {
        return failure(parser.parseArgument(arguments.emplace_back()) ||
                       parser.parseEqual() ||
                       parser.parseOperand(operands.emplace_back()));
      })) {
    return failure();
  }
  result.addAttribute("form", parser.getBuilder().getStringAttr(form));
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), location,
                             result.operands) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  for (auto [argument, argumentType] : llvm::zip(arguments, type.getInputs())) {
    argument.type = argumentType;
  }
  result.addTypes(type.getResults());
  return parser.parseRegion(*result.addRegion(), arguments);
}
