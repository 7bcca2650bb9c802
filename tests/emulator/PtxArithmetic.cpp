//===- PtxArithmetic.cpp - what instructions of PTX compute ---------------===//

#include "tests/emulator/PtxArithmetic.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace zerograph::emulator::ptx;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Value;
using Builder = llvm::IRBuilder<>;
using Inputs = ArrayRef<Value *>;
using Predicate = llvm::CmpInst::Predicate;

namespace {

Value *call(Builder &b, llvm::Intrinsic::ID intrinsic, Inputs inputs) {
  return b.CreateIntrinsic(intrinsic, {inputs[0]->getType()}, inputs);
}

Value *add(Builder &b, const Opcode &opcode, Inputs in) {
  return opcode.type.isFloat() ? b.CreateFAdd(in[0], in[1])
                               : b.CreateAdd(in[0], in[1]);
}

Value *subtract(Builder &b, const Opcode &opcode, Inputs in) {
  return opcode.type.isFloat() ? b.CreateFSub(in[0], in[1])
                               : b.CreateSub(in[0], in[1]);
}

/// Returns both halves of a product of integers.
Value *fullProduct(Builder &b, const Type &type, Inputs in) {
  llvm::Type *wide = b.getIntNTy(2 * type.bits);
  auto widen = [&](Value *value) {
    return type.isSigned() ? b.CreateSExt(value, wide)
                           : b.CreateZExt(value, wide);
  };
  return b.CreateMul(widen(in[0]), widen(in[1]));
}

Value *multiply(Builder &b, const Opcode &opcode, Inputs in) {
  if (opcode.type.isFloat()) {
    return b.CreateFMul(in[0], in[1]);
  }
  if (opcode.has("lo")) {
    return b.CreateMul(in[0], in[1]);
  }
  Value *product = fullProduct(b, opcode.type, in);
  return opcode.has("wide")
             ? product
             : b.CreateTrunc(b.CreateLShr(product, opcode.type.bits),
                             b.getIntNTy(opcode.type.bits));
}

Value *multiplyAdd(Builder &b, const Opcode &opcode, Inputs in) {
  return b.CreateAdd(multiply(b, opcode, in), in[2]);
}

Value *fuse(Builder &b, const Opcode &, Inputs in) {
  return call(b, llvm::Intrinsic::fma, in);
}

/// PTX leaves open what a division by zero gives; a processor would trap.
Value *safeDivisor(Builder &b, const Opcode &opcode, Inputs in) {
  Value *wrong = b.CreateIsNull(in[1]);
  if (opcode.type.isSigned()) {
    Value *least = llvm::ConstantInt::get(
        b.getContext(), llvm::APInt::getSignedMinValue(opcode.type.bits));
    Value *minusOne = llvm::Constant::getAllOnesValue(in[1]->getType());
    Value *overflows = b.CreateAnd(b.CreateICmpEQ(in[0], least),
                                   b.CreateICmpEQ(in[1], minusOne));
    wrong = b.CreateOr(wrong, overflows);
  }
  return b.CreateSelect(wrong, llvm::ConstantInt::get(in[1]->getType(), 1),
                        in[1]);
}

Value *divide(Builder &b, const Opcode &opcode, Inputs in) {
  if (opcode.type.isFloat()) {
    return b.CreateFDiv(in[0], in[1]);
  }
  Value *divisor = safeDivisor(b, opcode, in);
  return opcode.type.isSigned() ? b.CreateSDiv(in[0], divisor)
                                : b.CreateUDiv(in[0], divisor);
}

Value *remainder(Builder &b, const Opcode &opcode, Inputs in) {
  Value *divisor = safeDivisor(b, opcode, in);
  return opcode.type.isSigned() ? b.CreateSRem(in[0], divisor)
                                : b.CreateURem(in[0], divisor);
}

/// Without `.NaN` the operand that is a number wins.
Value *extremum(Builder &b, const Opcode &opcode, Inputs in, bool least) {
  if (!opcode.type.isFloat()) {
    bool isSigned = opcode.type.isSigned();
    Predicate first = least
                          ? isSigned ? Predicate::ICMP_SLT : Predicate::ICMP_ULT
                      : isSigned ? Predicate::ICMP_SGT
                                 : Predicate::ICMP_UGT;
    return b.CreateSelect(b.CreateICmp(first, in[0], in[1]), in[0], in[1]);
  }
  Value *found =
      call(b, least ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum, in);
  if (opcode.has("NaN")) {
    return found;
  }
  found = b.CreateSelect(b.CreateFCmpUNO(in[0], in[0]), in[1], found);
  return b.CreateSelect(b.CreateFCmpUNO(in[1], in[1]), in[0], found);
}
Value *minimum(Builder &b, const Opcode &opcode, Inputs in) {
  return extremum(b, opcode, in, true);
}
Value *maximum(Builder &b, const Opcode &opcode, Inputs in) {
  return extremum(b, opcode, in, false);
}

Value *absolute(Builder &b, const Opcode &opcode, Inputs in) {
  return opcode.type.isFloat()
             ? call(b, llvm::Intrinsic::fabs, in)
             : call(b, llvm::Intrinsic::abs, {in[0], b.getFalse()});
}

Value *negate(Builder &b, const Opcode &opcode, Inputs in) {
  return opcode.type.isFloat() ? b.CreateFNeg(in[0]) : b.CreateNeg(in[0]);
}

Value *squareRoot(Builder &b, const Opcode &, Inputs in) {
  return call(b, llvm::Intrinsic::sqrt, in);
}

Value *reciprocal(Builder &b, const Opcode &, Inputs in) {
  return b.CreateFDiv(llvm::ConstantFP::get(in[0]->getType(), 1), in[0]);
}

Value *bitwise(Builder &b, const Opcode &opcode, Inputs in) {
  return opcode.base == "and"  ? b.CreateAnd(in[0], in[1])
         : opcode.base == "or" ? b.CreateOr(in[0], in[1])
                               : b.CreateXor(in[0], in[1]);
}

Value *complement(Builder &b, const Opcode &, Inputs in) {
  return b.CreateNot(in[0]);
}

/// Shifts of more than all bits are as those of all.
Value *shift(Builder &b, const Opcode &opcode, Inputs in) {
  unsigned bits = opcode.type.bits;
  Value *amount = b.CreateZExtOrTrunc(in[1], b.getInt64Ty());
  Value *most = b.getInt64(bits - 1);
  Value *all = b.CreateICmpUGT(amount, most);
  amount = b.CreateTrunc(b.CreateSelect(all, most, amount), b.getIntNTy(bits));
  if (opcode.base == "shr" && opcode.type.isSigned()) {
    return b.CreateAShr(in[0], amount);
  }
  Value *shifted = opcode.base == "shl" ? b.CreateShl(in[0], amount)
                                        : b.CreateLShr(in[0], amount);
  return b.CreateSelect(all, llvm::ConstantInt::get(in[0]->getType(), 0),
                        shifted);
}

/// The operands that say which bits are constants in what LLVM writes.
std::optional<std::pair<unsigned, unsigned>>
fieldOf(unsigned bits, Value *first, Value *length) {
  auto *begin = llvm::dyn_cast<llvm::ConstantInt>(first);
  auto *count = llvm::dyn_cast<llvm::ConstantInt>(length);
  if (!begin || !count || count->isZero() ||
      begin->getZExtValue() + count->getZExtValue() > bits) {
    return std::nullopt;
  }
  return std::pair(unsigned(begin->getZExtValue()),
                   unsigned(count->getZExtValue()));
}

Value *extractBits(Builder &b, const Opcode &opcode, Inputs in) {
  unsigned bits = opcode.type.bits;
  auto field = fieldOf(bits, in[1], in[2]);
  if (!field) {
    return nullptr;
  }
  auto [begin, count] = *field;
  Value *left = b.CreateShl(in[0], bits - begin - count);
  return opcode.type.isSigned() ? b.CreateAShr(left, bits - count)
                                : b.CreateLShr(left, bits - count);
}

Value *insertBits(Builder &b, const Opcode &opcode, Inputs in) {
  unsigned bits = opcode.type.bits;
  auto field = fieldOf(bits, in[2], in[3]);
  if (!field) {
    return nullptr;
  }
  auto [begin, count] = *field;
  Value *mask = b.getInt(llvm::APInt::getBitsSet(bits, begin, begin + count));
  return b.CreateOr(b.CreateAnd(b.CreateShl(in[0], begin), mask),
                    b.CreateAnd(in[1], b.CreateNot(mask)));
}

Value *countBits(Builder &b, const Opcode &, Inputs in) {
  return b.CreateZExtOrTrunc(call(b, llvm::Intrinsic::ctpop, in),
                             b.getInt32Ty());
}

Value *choose(Builder &b, const Opcode &, Inputs in) {
  return b.CreateSelect(in[2], in[0], in[1]);
}

Value *compare(Builder &b, const Opcode &opcode, Inputs in) {
  StringRef how = opcode.words.front();
  const Predicate none = Predicate::BAD_ICMP_PREDICATE;
  if (opcode.type.isFloat()) {
    auto predicate = llvm::StringSwitch<Predicate>(how)
                         .Case("eq", Predicate::FCMP_OEQ)
                         .Case("ne", Predicate::FCMP_ONE)
                         .Case("lt", Predicate::FCMP_OLT)
                         .Case("le", Predicate::FCMP_OLE)
                         .Case("gt", Predicate::FCMP_OGT)
                         .Case("ge", Predicate::FCMP_OGE)
                         .Case("equ", Predicate::FCMP_UEQ)
                         .Case("neu", Predicate::FCMP_UNE)
                         .Case("ltu", Predicate::FCMP_ULT)
                         .Case("leu", Predicate::FCMP_ULE)
                         .Case("gtu", Predicate::FCMP_UGT)
                         .Case("geu", Predicate::FCMP_UGE)
                         .Case("num", Predicate::FCMP_ORD)
                         .Case("nan", Predicate::FCMP_UNO)
                         .Default(none);
    return predicate == none ? nullptr : b.CreateFCmp(predicate, in[0], in[1]);
  }
  bool isSigned = opcode.type.isSigned();
  auto order = [&](Predicate ofSigned, Predicate ofUnsigned) {
    return isSigned ? ofSigned : ofUnsigned;
  };
  auto predicate =
      llvm::StringSwitch<Predicate>(how)
          .Case("eq", Predicate::ICMP_EQ)
          .Case("ne", Predicate::ICMP_NE)
          .Case("lt", order(Predicate::ICMP_SLT, Predicate::ICMP_ULT))
          .Case("le", order(Predicate::ICMP_SLE, Predicate::ICMP_ULE))
          .Case("gt", order(Predicate::ICMP_SGT, Predicate::ICMP_UGT))
          .Case("ge", order(Predicate::ICMP_SGE, Predicate::ICMP_UGE))
          .Case("lo", Predicate::ICMP_ULT)
          .Case("ls", Predicate::ICMP_ULE)
          .Case("hi", Predicate::ICMP_UGT)
          .Case("hs", Predicate::ICMP_UGE)
          .Default(none);
  return predicate == none ? nullptr : b.CreateICmp(predicate, in[0], in[1]);
}

/// Rounds to the nearest, down, up or towards zero; 0: no such word.
llvm::Intrinsic::ID roundingOf(const Opcode &opcode) {
  return llvm::StringSwitch<llvm::Intrinsic::ID>(opcode.words.front())
      .Case("rni", llvm::Intrinsic::roundeven)
      .Case("rmi", llvm::Intrinsic::floor)
      .Case("rpi", llvm::Intrinsic::ceil)
      .Case("rzi", llvm::Intrinsic::trunc)
      .Default(llvm::Intrinsic::not_intrinsic);
}

/// The integer next to a float within the integer's range. No number becomes 0
/// of up to 32 bits of an f32, else the sign's bit ("cvt" of PTX ISA).
Value *toInteger(Builder &b, const Type &from, const Type &to, Value *value) {
  llvm::Type *result = b.getIntNTy(to.bits);
  Value *integer = b.CreateIntrinsic(
      to.isSigned() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
      {result, value->getType()}, {value});
  llvm::APInt none = from.bits == 64 || to.bits == 64
                         ? llvm::APInt::getSignedMinValue(to.bits)
                         : llvm::APInt(to.bits, 0);
  return b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt(none), integer);
}

/// `cvt.ROUNDING.TO.FROM`.
Value *convert(Builder &b, const Opcode &opcode, Inputs in) {
  const Type &from = opcode.type;
  Type to = *parseType(opcode.words[opcode.words.size() - 2]);
  llvm::Type *result = typeOf(b, to);
  if (!from.isFloat()) {
    if (to.isFloat()) {
      return from.isSigned() ? b.CreateSIToFP(in[0], result)
                             : b.CreateUIToFP(in[0], result);
    }
    return from.isSigned() ? b.CreateSExtOrTrunc(in[0], result)
                           : b.CreateZExtOrTrunc(in[0], result);
  }
  Value *value = in[0];
  if (llvm::Intrinsic::ID rounding = roundingOf(opcode)) {
    value = call(b, rounding, {value});
  }
  return to.isFloat() ? b.CreateFPCast(value, result)
                      : toInteger(b, from, to, value);
}

struct Known {
  const char *base;
  unsigned inputs;
  /// The words besides types that change nothing of what is computed here, or
  /// that `compute` looks at.
  llvm::StringLiteral words;
  decltype(Operation::compute) compute;
};

constexpr char kComparisons[] = "eq ne lt le gt ge equ neu ltu leu gtu geu num "
                                "nan lo ls hi hs";

constexpr Known kKnown[] = {
    {"abs", 1, "", absolute},
    {"add", 2, "rn", add},
    {"and", 2, "", bitwise},
    {"bfe", 3, "", extractBits},
    {"bfi", 4, "", insertBits},
    {"cvt", 1, "rn rni rmi rpi rzi", convert},
    {"div", 2, "rn", divide},
    {"fma", 3, "rn", fuse},
    {"mad", 3, "lo hi wide", multiplyAdd},
    {"max", 2, "NaN", maximum},
    {"min", 2, "NaN", minimum},
    {"mul", 2, "rn lo hi wide", multiply},
    {"neg", 1, "", negate},
    {"not", 1, "", complement},
    {"or", 2, "", bitwise},
    {"popc", 1, "", countBits},
    {"rcp", 1, "rn", reciprocal},
    {"rem", 2, "", remainder},
    {"selp", 3, "", choose},
    {"setp", 2, kComparisons, compare},
    {"shl", 2, "", shift},
    {"shr", 2, "", shift},
    {"sqrt", 1, "rn", squareRoot},
    {"sub", 2, "rn", subtract},
    {"xor", 2, "", bitwise},
};

/// Sets the types of operands that are not the instruction's.
void setTypes(Operation &operation) {
  const Opcode &opcode = operation.opcode;
  const Type word{Type::Kind::kUnsigned, 32};
  StringRef base = opcode.base;
  if (base == "shl" || base == "shr") {
    operation.inputs[1] = word;
  } else if (base == "bfe" || base == "bfi") {
    *(operation.inputs.end() - 1) = *(operation.inputs.end() - 2) = word;
  } else if (base == "selp") {
    operation.inputs[2] = Type{};
  } else if (base == "setp") {
    operation.result = Type{};
  } else if (base == "popc") {
    operation.result = word;
  } else if (opcode.has("wide")) {
    operation.result = opcode.type.wide();
    if (base == "mad") {
      operation.inputs[2] = operation.result;
    }
  }
}

/// Returns whether the operation is known with all words of the opcode, of
/// types that it has. Halves are only converted.
bool isKnown(const Known &known, const Opcode &opcode) {
  llvm::SmallVector<StringRef> words;
  known.words.split(words, ' ');
  bool conversion = opcode.base == "cvt";
  size_t rest = opcode.words.size() - (conversion ? 2 : 1);
  return (conversion || !opcode.type.isFloat() || opcode.type.bits >= 32) &&
         llvm::all_of(
             llvm::ArrayRef(opcode.words).take_front(rest),
             [&](StringRef word) { return llvm::is_contained(words, word); });
}

} // namespace

std::optional<Operation>
zerograph::emulator::ptx::operationOf(const Opcode &opcode) {
  const auto *known = llvm::find_if(
      kKnown, [&](const Known &entry) { return opcode.base == entry.base; });
  if (known == std::end(kKnown) ||
      (opcode.base == "cvt" && opcode.words.size() < 2) ||
      !isKnown(*known, opcode)) {
    return std::nullopt;
  }
  Operation operation{opcode, {}, opcode.type, known->compute};
  operation.inputs.assign(known->inputs, opcode.type);
  if (opcode.base == "cvt") {
    std::optional<Type> to = parseType(opcode.words[opcode.words.size() - 2]);
    if (!to) {
      return std::nullopt;
    }
    operation.result = *to;
  }
  setTypes(operation);
  return operation;
}
