//===- SchedOps.cpp - syntax of the ops of the sched dialect --------------===//

#include "passes/ir/sched/SchedDialect.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

// An enum without the space that its own printer puts before it.
template <typename EnumAttr>
static ParseResult parseBare(OpAsmParser &parser, EnumAttr &attribute) {
  auto value = FieldParser<decltype(attribute.getValue())>::parse(parser);
  if (failed(value)) {
    return failure();
  }
  attribute = EnumAttr::get(parser.getContext(), *value);
  return success();
}

template <typename EnumAttr>
static void printBare(OpAsmPrinter &printer, Operation *, EnumAttr attribute) {
  printer << stringifyEnum(attribute.getValue());
}

// (read %x[0 for 128], write %y[64 for 32 by 32])
static ParseResult
parseAccesses(OpAsmParser &parser,
              SmallVectorImpl<OpAsmParser::UnresolvedOperand> &slices,
              ArrayAttr &accesses) {
  SmallVector<Attribute> attributes;
  auto parseOne = [&]() -> ParseResult {
    StringRef keyword;
    int64_t offset, bytes, stride = 0;
    SMLoc location = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword)) {
      return failure();
    }
    std::optional<Mode> mode = symbolizeMode(keyword);
    if (!mode) {
      return parser.emitError(location)
             << "expected read, write or read_write, not '" << keyword << "'";
    }
    if (parser.parseOperand(slices.emplace_back()) || parser.parseLSquare() ||
        parser.parseInteger(offset) || parser.parseKeyword("for") ||
        parser.parseInteger(bytes)) {
      return failure();
    }
    if (succeeded(parser.parseOptionalKeyword("by")) &&
        parser.parseInteger(stride)) {
      return failure();
    }
    attributes.push_back(
        AccessAttr::get(parser.getContext(), *mode, offset, bytes, stride));
    return parser.parseRSquare();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne)) {
    return failure();
  }
  accesses = parser.getBuilder().getArrayAttr(attributes);
  return success();
}

static void printAccesses(OpAsmPrinter &printer, Operation *,
                          OperandRange slices, ArrayAttr accesses) {
  printer << '(';
  llvm::interleaveComma(llvm::zip(slices, accesses.getAsRange<AccessAttr>()),
                        printer, [&](auto pair) {
                          auto [slice, access] = pair;
                          printer << stringifyMode(access.getMode()) << ' '
                                  << slice << '[' << access.getOffset()
                                  << " for " << access.getBytes();
                          if (access.getRankStride() != 0) {
                            printer << " by " << access.getRankStride();
                          }
                          printer << ']';
                        });
  printer << ')';
}

//===----------------------------------------------------------------------===//
// sched.kernel
//===----------------------------------------------------------------------===//

// sched.kernel @k0(%x: type, ...) attributes {...} { body }
void sched::KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) {
                          printer << argument << ": " << argument.getType();
                        });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSymNameAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

ParseResult sched::KernelOp::parse(OpAsmParser &parser,
                                   OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseSymbolName(name, getSymNameAttrName(result.name),
                                        result.attributes) ||
                 parser.parseArgumentList(arguments,
                                          AsmParser::Delimiter::Paren,
                                          /*allowType=*/true) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes) ||
                 parser.parseRegion(*result.addRegion(), arguments));
}

#define GET_OP_CLASSES
#include "passes/ir/sched/SchedOps.cpp.inc"
