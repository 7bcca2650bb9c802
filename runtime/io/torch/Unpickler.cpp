//===- Unpickler.cpp - the machine that a pickle is written for -----------===//

#include "runtime/base/LittleEndian.h"
#include "runtime/io/torch/Opcodes.h"
#include "runtime/io/torch/Pickle.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <unordered_map>

using namespace zerograph;
using Kind = PickleValue::Kind;

namespace {

/// Values of one pickle: with the longest texts of a file, less than 1 GiB.
constexpr size_t kMostValues = 1 << 22;
/// Marks that are open at once: deeper than any value is nested.
constexpr size_t kMostMarks = 1000;

struct Named {
  uint8_t opcode;
  const char *name;
};

/// The operations that are refused.
constexpr Named kOthers[] = {
    {'0', "POP"},           {'1', "POP_MARK"},       {'2', "DUP"},
    {'B', "BINBYTES"},      {'C', "SHORT_BINBYTES"}, {'F', "FLOAT"},
    {'I', "INT"},           {'L', "LONG"},           {'P', "PERSID"},
    {'S', "STRING"},        {'T', "BINSTRING"},      {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},       {'d', "DICT"},           {'g', "GET"},
    {'i', "INST"},          {'l', "LIST"},           {'o', "OBJ"},
    {'p', "PUT"},           {0x82, "EXT1"},          {0x83, "EXT2"},
    {0x84, "EXT4"},         {0x8b, "LONG4"},         {0x8c, "SHORT_BINUNICODE"},
    {0x8d, "BINUNICODE8"},  {0x8e, "BINBYTES8"},     {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},     {0x91, "FROZENSET"},     {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"}, {0x94, "MEMOIZE"},       {0x95, "FRAME"},
    {0x96, "BYTEARRAY8"},   {0x97, "NEXT_BUFFER"},   {0x98, "READONLY_BUFFER"},
};

/// Returns "STACK_GLOBAL (0x93)", of any byte; for errors.
std::string opcodeText(uint8_t opcode) {
  const auto *found =
      std::find_if(std::begin(kOthers), std::end(kOthers),
                   [&](const Named &other) { return other.opcode == opcode; });
  return found == std::end(kOthers)
             ? absl::StrFormat("0x%02x", opcode)
             : absl::StrFormat("%s (0x%02x)", found->name, opcode);
}

} // namespace

namespace zerograph {

/// Has a stack, and values by number. An operation takes values from the stack
/// and puts what it makes of them there.
class Unpickler {
public:
  Unpickler(const std::string &path, uint64_t offset, absl::string_view bytes,
            const std::set<std::string> &globals)
      : path(path), offset(offset), bytes(bytes), globals(globals),
        pickle(new Pickle) {}

  /// All of it; once.
  absl::StatusOr<std::unique_ptr<Pickle>> run();

private:
  using Popped = absl::StatusOr<PickleValue *>;
  using Parts = std::vector<const PickleValue *>;

  absl::Status bad(const std::string &what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": byte ", offset + begun, ": ", what));
  }

  absl::StatusOr<absl::string_view> take(uint64_t count);
  absl::StatusOr<uint64_t> number(size_t count) {
    ZG_ASSIGN_OR_RETURN(absl::string_view taken, take(count));
    return littleEndian(taken.data(), count);
  }
  absl::StatusOr<std::string> line();

  PickleValue *make(PickleValue::Kind kind) {
    PickleValue *value = &pickle->values.emplace_back();
    value->kind = kind;
    return value;
  }
  PickleValue *push(PickleValue::Kind kind) { return push(make(kind)); }
  PickleValue *push(PickleValue *value) {
    stack.push_back(value);
    return value;
  }

  /// Returns how much lies above the last mark, as far as there is one.
  size_t height() const {
    return stack.size() - (marks.empty() ? 0 : marks.back());
  }
  Popped pop();
  /// Pops what is to become a part of another.
  Popped popPart() {
    ZG_ASSIGN_OR_RETURN(PickleValue * value, pop());
    value->closed = true;
    return value;
  }
  absl::StatusOr<Parts> popParts(size_t count);
  absl::StatusOr<Parts> popToMark();

  absl::Status step(uint8_t opcode);
  absl::Status simple(uint8_t opcode, bool &known);
  absl::Status pushInteger(size_t count, bool is_signed);
  absl::Status pushReal();
  absl::Status pushGlobal();
  absl::Status get(size_t count);
  absl::Status put(size_t count);
  absl::Status pushTuple(Parts parts);
  absl::Status add(Parts parts, bool pairs);
  absl::Status makeObject();
  absl::Status build();

  const std::string &path;
  const uint64_t offset;
  const absl::string_view bytes;
  const std::set<std::string> &globals;
  std::unique_ptr<Pickle> pickle;
  uint64_t at = 0, begun = 0; // of the operation
  std::vector<PickleValue *> stack;
  std::vector<size_t> marks;
  std::unordered_map<uint64_t, PickleValue *> memo;
};

} // namespace zerograph

absl::StatusOr<std::unique_ptr<Pickle>> Unpickler::run() {
  ZG_ASSIGN_OR_RETURN(absl::string_view begin, take(2));
  if (uint8_t(begin[0]) != pickle::kProtocol ||
      uint8_t(begin[1]) != pickle::kProtocolNumber) {
    return bad("it is no pickle of protocol 2");
  }
  while (pickle->top == nullptr) {
    ZG_ASSIGN_OR_RETURN(absl::string_view opcode, take(1));
    begun = at - 1;
    ZG_RETURN_IF_ERROR(step(uint8_t(opcode[0])));
    if (pickle->values.size() > kMostValues) {
      return bad(absl::StrCat("it has more than ", kMostValues, " values"));
    }
  }
  if (at != bytes.size()) {
    return bad(
        absl::StrCat("it ends ", bytes.size() - at, " bytes before its end"));
  }
  return std::move(pickle);
}

absl::StatusOr<absl::string_view> Unpickler::take(uint64_t count) {
  if (count > bytes.size() - at) {
    return bad(absl::StrCat("it is cut short: ", count, " bytes of ",
                            bytes.size() - at, " are wanted"));
  }
  absl::string_view taken = bytes.substr(at, count);
  at += count;
  return taken;
}

absl::StatusOr<std::string> Unpickler::line() {
  size_t end = bytes.find('\n', at);
  if (end == absl::string_view::npos) {
    return bad("it is cut short: a name does not end");
  }
  std::string text(bytes.substr(at, end - at));
  at = end + 1;
  return text;
}

Unpickler::Popped Unpickler::pop() {
  if (height() == 0) {
    return bad("an operation lacks a value");
  }
  PickleValue *value = stack.back();
  stack.pop_back();
  return value;
}

absl::StatusOr<Unpickler::Parts> Unpickler::popParts(size_t count) {
  if (height() < count) {
    return bad("an operation lacks a value");
  }
  Parts parts;
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    stack[i]->closed = true;
    parts.push_back(stack[i]);
  }
  stack.resize(stack.size() - count);
  return parts;
}

absl::StatusOr<Unpickler::Parts> Unpickler::popToMark() {
  if (marks.empty()) {
    return bad("an operation lacks a mark");
  }
  ZG_ASSIGN_OR_RETURN(auto parts, popParts(height()));
  marks.pop_back();
  return parts;
}

absl::Status Unpickler::pushInteger(size_t count, bool is_signed) {
  ZG_ASSIGN_OR_RETURN(uint64_t value, number(count));
  if (is_signed && count > 0 && count < 8 &&
      (value >> (8 * count - 1) & 1) != 0) {
    value |= ~uint64_t(0) << (8 * count);
  }
  push(Kind::Integer)->integer = int64_t(value);
  return absl::OkStatus();
}

/// The only number whose first byte is the highest.
absl::Status Unpickler::pushReal() {
  ZG_ASSIGN_OR_RETURN(absl::string_view taken, take(8));
  std::string reversed(taken.rbegin(), taken.rend());
  uint64_t bits = littleEndian(reversed.data(), 8);
  std::memcpy(&push(Kind::Real)->real, &bits, sizeof(bits));
  return absl::OkStatus();
}

absl::Status Unpickler::pushGlobal() {
  ZG_ASSIGN_OR_RETURN(std::string module, line());
  ZG_ASSIGN_OR_RETURN(std::string name, line());
  std::string full = absl::StrCat(module, ".", name);
  if (globals.count(full) == 0) {
    return bad(absl::StrCat(
        "it names ", full,
        ", which is none of the functions and classes that are known here. "
        "Nothing in the file was executed"));
  }
  push(Kind::Global)->text = std::move(full);
  return absl::OkStatus();
}

absl::Status Unpickler::get(size_t count) {
  ZG_ASSIGN_OR_RETURN(uint64_t index, number(count));
  auto found = memo.find(index);
  if (found == memo.end()) {
    return bad(absl::StrCat("there is no value of number ", index));
  }
  push(found->second);
  return absl::OkStatus();
}

absl::Status Unpickler::put(size_t count) {
  ZG_ASSIGN_OR_RETURN(uint64_t index, number(count));
  if (height() == 0) {
    return bad("an operation lacks a value");
  }
  memo[index] = stack.back();
  return absl::OkStatus();
}

absl::Status Unpickler::pushTuple(Parts parts) {
  push(Kind::Tuple)->items = std::move(parts);
  return absl::OkStatus();
}

/// Adds what was above the container to it.
absl::Status Unpickler::add(Parts parts, bool pairs) {
  if (height() == 0) {
    return bad("an operation lacks a value");
  }
  PickleValue *container = stack.back();
  bool fits = pairs ? container->isMapping() : container->kind == Kind::List;
  if (!fits || (pairs && parts.size() % 2 != 0)) {
    return bad(
        absl::StrCat("nothing can be put so into ", container->describe()));
  }
  if (container->closed) {
    return bad(absl::StrCat(container->describe(),
                            " changes when it is a part of another already"));
  }
  container->items.insert(container->items.end(), parts.begin(), parts.end());
  return absl::OkStatus();
}

/// Makes what a function returns, or a class makes, of a tuple of arguments.
absl::Status Unpickler::makeObject() {
  ZG_ASSIGN_OR_RETURN(PickleValue * arguments, popPart());
  ZG_ASSIGN_OR_RETURN(PickleValue * callable, pop());
  if (callable->kind != Kind::Global || arguments->kind != Kind::Tuple) {
    return bad(absl::StrCat(callable->describe(), " is called with ",
                            arguments->describe()));
  }
  PickleValue *object = push(Kind::Object);
  object->text = callable->text;
  object->arguments = arguments;
  return absl::OkStatus();
}

absl::Status Unpickler::build() {
  ZG_ASSIGN_OR_RETURN(PickleValue * state, popPart());
  if (height() == 0 || stack.back()->kind != Kind::Object ||
      stack.back()->closed) {
    return bad("there is no new object whose state could be set");
  }
  stack.back()->state = state;
  return absl::OkStatus();
}

/// Operations that take nothing from the stack.
absl::Status Unpickler::simple(uint8_t opcode, bool &known) {
  known = true;
  switch (opcode) {
  case pickle::kMark:
    marks.push_back(stack.size());
    return marks.size() <= kMostMarks ? absl::OkStatus()
                                      : bad("it is nested too deep");
  case pickle::kNone:
    push(Kind::None);
    return absl::OkStatus();
  case pickle::kTrue:
  case pickle::kFalse:
    push(Kind::Boolean)->integer = opcode == pickle::kTrue;
    return absl::OkStatus();
  case pickle::kBinInt:
    return pushInteger(4, true);
  case pickle::kBinInt1:
    return pushInteger(1, false);
  case pickle::kBinInt2:
    return pushInteger(2, false);
  case pickle::kLong1: {
    ZG_ASSIGN_OR_RETURN(uint64_t count, number(1));
    return count <= 8 ? pushInteger(count, true)
                      : bad(absl::StrCat("a number of ", count, " bytes"));
  }
  case pickle::kBinFloat:
    return pushReal();
  case pickle::kBinUnicode: {
    ZG_ASSIGN_OR_RETURN(uint64_t count, number(4));
    ZG_ASSIGN_OR_RETURN(absl::string_view text, take(count));
    push(Kind::Text)->text = std::string(text);
    return absl::OkStatus();
  }
  case pickle::kGlobal:
    return pushGlobal();
  case pickle::kEmptyDictionary:
    push(Kind::Dictionary);
    return absl::OkStatus();
  case pickle::kEmptyList:
    push(Kind::List);
    return absl::OkStatus();
  case pickle::kEmptyTuple:
    push(Kind::Tuple);
    return absl::OkStatus();
  case pickle::kBinGet:
    return get(1);
  case pickle::kLongBinGet:
    return get(4);
  case pickle::kBinPut:
    return put(1);
  case pickle::kLongBinPut:
    return put(4);
  default:
    known = false;
    return absl::OkStatus();
  }
}

absl::Status Unpickler::step(uint8_t opcode) {
  bool known = false;
  ZG_RETURN_IF_ERROR(simple(opcode, known));
  if (known) {
    return absl::OkStatus();
  }
  switch (opcode) {
  case pickle::kTuple1:
  case pickle::kTuple2:
  case pickle::kTuple3: {
    ZG_ASSIGN_OR_RETURN(auto parts, popParts(opcode - pickle::kTuple1 + 1));
    return pushTuple(std::move(parts));
  }
  case pickle::kTuple: {
    ZG_ASSIGN_OR_RETURN(auto parts, popToMark());
    return pushTuple(std::move(parts));
  }
  case pickle::kAppend: {
    ZG_ASSIGN_OR_RETURN(auto parts, popParts(1));
    return add(std::move(parts), /*pairs=*/false);
  }
  case pickle::kSetItem: {
    ZG_ASSIGN_OR_RETURN(auto parts, popParts(2));
    return add(std::move(parts), /*pairs=*/true);
  }
  case pickle::kAppends:
  case pickle::kSetItems: {
    ZG_ASSIGN_OR_RETURN(auto parts, popToMark());
    return add(std::move(parts), opcode == pickle::kSetItems);
  }
  case pickle::kReduce:
  case pickle::kNewObject:
    return makeObject();
  case pickle::kBuild:
    return build();
  case pickle::kBinPersistent: {
    ZG_ASSIGN_OR_RETURN(PickleValue * id, popPart());
    push(Kind::Persistent)->arguments = id;
    return absl::OkStatus();
  }
  case pickle::kStop: {
    ZG_ASSIGN_OR_RETURN(pickle->top, pop());
    return stack.empty() && marks.empty()
               ? absl::OkStatus()
               : bad("it ends with more than one value");
  }
  default:
    return bad(absl::StrCat("it has the operation ", opcodeText(opcode),
                            ", which torch.save does not write by default"));
  }
}

absl::StatusOr<std::unique_ptr<Pickle>>
Pickle::parse(const std::string &path, uint64_t offset, absl::string_view bytes,
              const std::set<std::string> &globals) {
  return Unpickler(path, offset, bytes, globals).run();
}
