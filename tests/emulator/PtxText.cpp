//===- PtxText.cpp - PTX as the driver is given it ------------------------===//

#include "tests/emulator/PtxText.h"

#include "runtime/base/Status.h"

#include "llvm/ADT/StringExtras.h"

using namespace zerograph;
using namespace zerograph::emulator;
using namespace zerograph::emulator::ptx;
using llvm::StringRef;

namespace {

/// Gives the words and signs of a text one by one.
class Lexer {
public:
  explicit Lexer(StringRef text) : rest(text) { advance(); }

  /// The next token; empty at the end.
  StringRef peek() const { return token; }
  unsigned line() const { return tokenLine; }
  StringRef take() {
    StringRef taken = token;
    advance();
    return taken;
  }
  bool takeIf(StringRef expected) {
    bool found = token == expected;
    if (found) {
      advance();
    }
    return found;
  }

private:
  static bool isOfWord(char c) {
    return llvm::isAlnum(c) || c == '_' || c == '$' || c == '%' || c == '.';
  }
  void skipSpace() {
    for (;;) {
      size_t space = rest.find_if_not(llvm::isSpace);
      lines += unsigned(rest.take_front(space).count('\n'));
      rest = rest.drop_front(std::min(space, rest.size()));
      if (!rest.starts_with("//")) {
        return;
      }
      rest = rest.drop_until([](char c) { return c == '\n'; });
    }
  }
  void advance() {
    skipSpace();
    tokenLine = lines;
    bool sign = rest.starts_with("-");
    StringRef word = rest.drop_front(sign).take_while(isOfWord);
    size_t length = word.empty() ? !rest.empty() : word.size() + sign;
    token = rest.take_front(length);
    rest = rest.drop_front(length);
  }

  StringRef rest, token;
  unsigned lines = 1, tokenLine = 1;
};

class Parser {
public:
  explicit Parser(StringRef text) : tokens(text) {}

  absl::StatusOr<Text> run() {
    while (!tokens.peek().empty()) {
      ZG_RETURN_IF_ERROR(parseTop());
    }
    return std::move(text);
  }

private:
  absl::Status unexpected(StringRef wanted) const {
    return absl::InvalidArgumentError(
        absl::StrCat("PTX, line ", tokens.line(), ": expected ", wanted.str(),
                     ", found '", tokens.peek().str(), "'"));
  }
  absl::Status expect(StringRef token) {
    return tokens.takeIf(token) ? absl::OkStatus() : unexpected(token);
  }
  absl::StatusOr<uint64_t> takeNumber() {
    uint64_t number = 0;
    if (tokens.peek().getAsInteger(10, number)) {
      return unexpected("a number");
    }
    tokens.take();
    return number;
  }

  absl::Status parseTop() {
    StringRef directive = tokens.take();
    if (directive == ".version" || directive == ".address_size") {
      tokens.take();
      return absl::OkStatus();
    }
    if (directive == ".target") {
      StringRef name = tokens.peek();
      if (!name.consume_front("sm_") || name.getAsInteger(10, text.target)) {
        return unexpected("sm_N");
      }
      tokens.take();
      return absl::OkStatus();
    }
    if (directive == ".global") {
      return parseArray(text.global);
    }
    if (directive == ".shared") {
      return parseArray(text.shared);
    }
    if (directive == ".visible" && tokens.takeIf(".entry")) {
      return parseKernel();
    }
    return unexpected("something that LLVM writes for our kernels");
  }

  /// Parses `.align 16 .b8 name[4] = {1, 2, 3, 4};`.
  absl::Status parseArray(std::vector<Array> &arrays) {
    Array array;
    ZG_RETURN_IF_ERROR(expect(".align"));
    // The emulator aligns to 16 bytes, and no access is wider.
    ZG_RETURN_IF_ERROR(takeNumber().status());
    ZG_RETURN_IF_ERROR(expect(".b8"));
    array.name = tokens.take();
    ZG_RETURN_IF_ERROR(expect("["));
    ZG_ASSIGN_OR_RETURN(array.bytes, takeNumber());
    ZG_RETURN_IF_ERROR(expect("]"));
    if (tokens.takeIf("=")) {
      ZG_RETURN_IF_ERROR(expect("{"));
      do {
        ZG_ASSIGN_OR_RETURN(uint64_t value, takeNumber());
        array.values.push_back(uint8_t(value));
      } while (tokens.takeIf(","));
      ZG_RETURN_IF_ERROR(expect("}"));
    }
    arrays.push_back(std::move(array));
    return expect(";");
  }

  absl::Status parseKernel() {
    kernel = Kernel();
    kernel.name = tokens.take();
    ZG_RETURN_IF_ERROR(expect("("));
    while (tokens.takeIf(".param")) {
      ZG_RETURN_IF_ERROR(expect(".u64"));
      kernel.parameters.push_back(tokens.take());
      tokens.takeIf(",");
    }
    ZG_RETURN_IF_ERROR(expect(")"));
    while (tokens.peek() != "{") {
      ZG_RETURN_IF_ERROR(parseTuning());
    }
    ZG_RETURN_IF_ERROR(parseBlock());
    text.kernels.push_back(std::move(kernel));
    return absl::OkStatus();
  }

  /// Parses `.reqntid 128, 1, 1` and `.minnctapersm 2`.
  absl::Status parseTuning() {
    bool threads = tokens.peek() == ".reqntid";
    if (!threads && tokens.peek() != ".minnctapersm") {
      return unexpected("'{'");
    }
    tokens.take();
    ZG_ASSIGN_OR_RETURN(uint64_t first, takeNumber());
    if (threads) {
      kernel.threads = uint32_t(first);
    }
    while (tokens.takeIf(",")) {
      ZG_RETURN_IF_ERROR(expect("1"));
    }
    return absl::OkStatus();
  }

  absl::Status parseBlock() {
    ZG_RETURN_IF_ERROR(expect("{"));
    while (!tokens.takeIf("}")) {
      if (tokens.peek().empty()) {
        return unexpected("'}'");
      }
      if (tokens.peek() == "{") {
        ZG_RETURN_IF_ERROR(parseBlock());
      } else if (tokens.takeIf(".reg")) {
        ZG_RETURN_IF_ERROR(parseRegisters());
      } else if (tokens.takeIf(".shared")) {
        ZG_RETURN_IF_ERROR(parseArray(kernel.shared));
      } else {
        ZG_RETURN_IF_ERROR(parseStatement());
      }
    }
    return absl::OkStatus();
  }

  /// Parses `.b32 %r<12>;`, which are %r0 to %r11, and `.b16 tmp;`.
  absl::Status parseRegisters() {
    unsigned bits = 1;
    StringRef type = tokens.peek();
    if (type != ".pred" &&
        (type.size() < 3 || type.drop_front(2).getAsInteger(10, bits))) {
      return unexpected("the type of registers");
    }
    tokens.take();
    Statement statement;
    statement.line = tokens.line();
    statement.opcode = ".reg";
    Operand name, width;
    name.name = tokens.take();
    width.kind = Operand::Kind::kNumber;
    width.bits = bits;
    statement.operands = {name, width};
    kernel.statements.push_back(std::move(statement));
    if (tokens.takeIf("<")) {
      ZG_RETURN_IF_ERROR(takeNumber().status());
      ZG_RETURN_IF_ERROR(expect(">"));
    }
    return expect(";");
  }

  absl::Status parseStatement() {
    Statement statement;
    statement.line = tokens.line();
    if (tokens.takeIf("@")) {
      statement.guardNegated = tokens.takeIf("!");
      statement.guard = tokens.take();
    }
    StringRef word = tokens.take();
    if (statement.guard.empty() && tokens.takeIf(":")) {
      statement.label = word;
      kernel.statements.push_back(std::move(statement));
      return absl::OkStatus();
    }
    statement.opcode = word;
    while (!tokens.takeIf(";")) {
      ZG_ASSIGN_OR_RETURN(Operand operand, parseOperand());
      statement.operands.push_back(std::move(operand));
      if (!tokens.takeIf(",") && tokens.peek() != ";") {
        return unexpected("',' or ';'");
      }
    }
    kernel.statements.push_back(std::move(statement));
    return absl::OkStatus();
  }

  absl::StatusOr<Operand> parseOperand() {
    Operand operand;
    if (tokens.takeIf("{")) {
      operand.kind = Operand::Kind::kVector;
      do {
        ZG_ASSIGN_OR_RETURN(Operand part, parseOperand());
        operand.parts.push_back(std::move(part));
      } while (tokens.takeIf(","));
      ZG_RETURN_IF_ERROR(expect("}"));
      return operand;
    }
    if (tokens.takeIf("[")) {
      ZG_ASSIGN_OR_RETURN(operand, parseOperand());
      operand.kind = Operand::Kind::kAddress;
      if (tokens.takeIf("+")) {
        ZG_ASSIGN_OR_RETURN(Operand offset, parseOperand());
        operand.offset = int64_t(offset.bits);
      }
      ZG_RETURN_IF_ERROR(expect("]"));
      return operand;
    }
    return parsePlain();
  }

  /// Parses a name; or `-1`, `0x3C00`, `0f3F800000`, `0d3FF0000000000000`.
  absl::StatusOr<Operand> parsePlain() {
    Operand operand;
    StringRef token = tokens.peek();
    if (token.empty() || llvm::StringRef(",;:[]{}()<>+=@!").contains(token)) {
      return unexpected("an operand");
    }
    bool number = token.starts_with("-") || llvm::isDigit(token[0]);
    if (number) {
      operand.kind = Operand::Kind::kNumber;
      StringRef digits = token;
      bool isHex = digits.consume_front("0x") || digits.consume_front("0f") ||
                   digits.consume_front("0d");
      int64_t value = 0;
      bool wrong = isHex ? digits.getAsInteger(16, operand.bits)
                         : token.getAsInteger(10, value) &&
                               token.getAsInteger(10, operand.bits);
      if (wrong) {
        return unexpected("a number");
      }
      operand.bits = value != 0 ? uint64_t(value) : operand.bits;
    } else {
      operand.name = token;
    }
    tokens.take();
    return operand;
  }

  Lexer tokens;
  Text text;
  Kernel kernel;
};

} // namespace

absl::StatusOr<Text> ptx::parse(StringRef text) { return Parser(text).run(); }
