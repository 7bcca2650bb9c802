//===- NNProgramOps.cpp - syntax of programs, and their verifier ----------===//

#include "passes/ir/nn/NNDialect.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::zg::nn;

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                      FunctionType type) {
  state.addAttribute(getSymNameAttrName(state.name),
                     builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// A signature's lines are broken before this column.
static constexpr size_t kColumns = 100;

/// Entries, apart by ", ", on as many lines as it takes; the first begins at
/// `column`.
static void printWrapped(OpAsmPrinter &printer, size_t column,
                         ArrayRef<std::string> entries) {
  for (auto [i, entry] : llvm::enumerate(entries)) {
    if (i > 0) {
      printer << ",";
      column += entry.size() + 2;
      if (column > kColumns) {
        printer.printNewline();
        printer << "   ";
        column = entry.size() + 6;
      }
      printer << " ";
    } else {
      column += entry.size();
    }
    printer << entry;
  }
}

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static bool hasAny(std::optional<ArrayAttr> dictionaries) {
  return dictionaries && llvm::any_of(*dictionaries, [](Attribute attribute) {
           return !cast<DictionaryAttr>(attribute).empty();
         });
}

static void printSignature(OpAsmPrinter &printer, ProgramOp op) {
  SmallVector<std::string> arguments;
  for (BlockArgument argument : op.getArguments()) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    printer.printOperand(argument, stream);
    stream << ": " << argument.getType();
    arguments.push_back(text);
  }
  printer << '(';
  printWrapped(printer, op.getName().size() + 16, arguments);
  printer << ')';
  if (op.getNumResults() > 0 && !hasAny(op.getResAttrs())) {
    SmallVector<std::string> results(
        llvm::map_range(op.getResultTypes(), textOf));
    printer << " -> ";
    printer << (results.size() > 1 ? "(" : "");
    printWrapped(printer, kColumns / 2, results);
    printer << (results.size() > 1 ? ")" : "");
  }
}

/// An entry a line, in parentheses.
template <typename Entries, typename Print>
static void printTable(OpAsmPrinter &printer, Entries &&entries, Print print) {
  printer << '(';
  printer.increaseIndent();
  llvm::interleave(
      entries, printer.getStream(),
      [&](auto &&entry) {
        printer.printNewline();
        print(entry);
      },
      ",");
  printer.decreaseIndent();
  printer.printNewline();
  printer << ')';
}

/// Prints what arguments and results mean.
static void printMeanings(OpAsmPrinter &printer, ProgramOp op) {
  bool arguments = hasAny(op.getArgAttrs());
  bool results = hasAny(op.getResAttrs());
  if (!arguments && !results) {
    return;
  }
  SmallVector<unsigned> known;
  for (unsigned i = 0; arguments && i < op.getNumArguments(); ++i) {
    if (!function_interface_impl::getArgAttrs(op, i).empty()) {
      known.push_back(i);
    }
  }
  printer << " where ";
  printTable(printer, known, [&](unsigned i) {
    printer.printOperand(op.getArgument(i));
    printer.printOptionalAttrDict(function_interface_impl::getArgAttrs(op, i));
  });
  if (results) {
    printer << " -> ";
    printTable(printer, llvm::seq(0u, op.getNumResults()), [&](unsigned i) {
      printer << op.getResultTypes()[i];
      printer.printOptionalAttrDict(
          function_interface_impl::getResultAttrs(op, i));
    });
  }
}

void ProgramOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printSignature(printer, *this);
  function_interface_impl::printFunctionAttributes(printer, *this,
                                                   {getFunctionTypeAttrName(),
                                                    getArgAttrsAttrName(),
                                                    getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printMeanings(printer, *this);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// `where (%x {...}, ...)`, of some of the arguments.
static ParseResult
parseMeanings(OpAsmParser &parser,
              MutableArrayRef<OpAsmParser::Argument> arguments) {
  llvm::StringMap<OpAsmParser::Argument *> byName;
  for (OpAsmParser::Argument &argument : arguments) {
    byName[argument.ssaName.name] = &argument;
  }
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Paren, [&]() -> ParseResult {
        OpAsmParser::UnresolvedOperand name;
        NamedAttrList attributes;
        if (parser.parseOperand(name, /*allowResultNumber=*/false) ||
            parser.parseOptionalAttrDict(attributes)) {
          return failure();
        }
        OpAsmParser::Argument *argument = byName.lookup(name.name);
        if (!argument) {
          return parser.emitError(name.location)
                 << "the program has no argument " << name.name;
        }
        argument->attrs = attributes.getDictionary(parser.getContext());
        return success();
      });
}

/// `-> (type {...}, ...)`, of all of the results.
static ParseResult
parseResultMeanings(OpAsmParser &parser, SmallVectorImpl<Type> &types,
                    SmallVectorImpl<DictionaryAttr> &dictionaries) {
  types.clear();
  dictionaries.clear();
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&]() {
    NamedAttrList attributes;
    if (parser.parseType(types.emplace_back()) ||
        parser.parseOptionalAttrDict(attributes)) {
      return failure();
    }
    dictionaries.push_back(attributes.getDictionary(parser.getContext()));
    return success();
  });
}

/// Arguments are named in the text: that becomes their location, as it is where
/// the compiler makes them.
static void nameArguments(MLIRContext *context,
                          MutableArrayRef<OpAsmParser::Argument> arguments) {
  for (OpAsmParser::Argument &argument : arguments) {
    StringRef name = argument.ssaName.name.drop_front();
    if (!argument.sourceLoc && !llvm::all_of(name, llvm::isDigit)) {
      argument.sourceLoc = NameLoc::get(StringAttr::get(context, name));
    }
  }
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Type> resultTypes;
  SmallVector<DictionaryAttr> resultAttributes;
  bool isVariadic = false;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name),
                             result.attributes) ||
      function_interface_impl::parseFunctionSignature(
          parser, /*allowVariadic=*/false, arguments, isVariadic, resultTypes,
          resultAttributes) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes)) {
    return failure();
  }
  nameArguments(parser.getContext(), arguments);
  if (parser.parseRegion(*result.addRegion(), arguments)) {
    return failure();
  }
  if (succeeded(parser.parseOptionalKeyword("where"))) {
    if (parseMeanings(parser, arguments) ||
        (succeeded(parser.parseOptionalArrow()) &&
         parseResultMeanings(parser, resultTypes, resultAttributes))) {
      return failure();
    }
  }
  SmallVector<Type> argumentTypes;
  for (const OpAsmParser::Argument &argument : arguments) {
    argumentTypes.push_back(argument.type);
  }
  result.addAttribute(getFunctionTypeAttrName(result.name),
                      TypeAttr::get(parser.getBuilder().getFunctionType(
                          argumentTypes, resultTypes)));
  function_interface_impl::addArgAndResultAttrs(
      parser.getBuilder(), result, arguments, resultAttributes,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
  return success();
}

//===----------------------------------------------------------------------===//
// nn.return
//===----------------------------------------------------------------------===//

LogicalResult ReturnOp::verify() {
  auto program = cast<ProgramOp>((*this)->getParentOp());
  if (program.getResultTypes() != getOperandTypes()) {
    return emitOpError("gives (")
           << getOperandTypes() << "), but the program's results are ("
           << program.getResultTypes() << ")";
  }
  return success();
}
