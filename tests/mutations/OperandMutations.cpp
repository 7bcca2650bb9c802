//===- OperandMutations.cpp - kernels, accesses, collectives --------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/KernelSymbol.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

/// An access of a step.
struct Operand {
  At of;
  int index;
};

std::vector<Operand>
operands(const plan::Plan &plan, Random &random,
         const std::function<bool(const plan::Step &, int)> &test) {
  std::vector<Operand> found;
  for (At where : steps(plan, random, [](auto &) { return true; })) {
    for (int i = 0; i < at(plan, where).accesses_size(); ++i) {
      if (test(at(plan, where), i)) {
        found.push_back({where, i});
      }
    }
  }
  return random.shuffled(std::move(found));
}

std::string nameOf(const plan::Plan &plan, const Operand &operand) {
  return absl::StrCat("access ", operand.index, " of ",
                      nameOf(plan, operand.of));
}

plan::Access &at(plan::Plan &plan, const Operand &operand) {
  return *at(plan, operand.of).mutable_accesses(operand.index);
}

/// Reads another slice of the same size and class, which is alive.
Change otherRange(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [](const plan::Step &step, int index) {
         return !isCollective(step) && reads(step, index) &&
                !writes(step, index);
       })) {
    plan::Access &access = at(plan, operand);
    const plan::Slice &slice = plan.slices(access.slice());
    for (int i = 0; i < plan.slices_size(); ++i) {
      const plan::Slice &other = plan.slices(i);
      bool lives = other.carried();
      for (const plan::Lifetime &life : other.lifetimes()) {
        lives |= int(life.program()) == operand.of.program &&
                 int(life.first()) < operand.of.step &&
                 operand.of.step <= int(life.last());
      }
      if (lives && uint32_t(i) != access.slice() &&
          other.bytes() == slice.bytes() &&
          other.slice_class() == slice.slice_class()) {
        std::string text = absl::StrCat(nameOf(plan, operand), " reads ",
                                        describeSlice(plan, i), " and not ",
                                        describeSlice(plan, access.slice()));
        access.set_slice(uint32_t(i));
        restate(plan);
        return text;
      }
    }
  }
  return std::nullopt;
}

/// Two operands of one step, of the same size.
Change swapOperands(plan::Plan &plan, Random &random) {
  for (const Operand &a :
       operands(plan, random, [](const plan::Step &step, int index) {
         return (step.has_launch() || isLibraryCall(step)) &&
                reads(step, index) && !writes(step, index);
       })) {
    plan::Step &step = at(plan, a.of);
    for (int b = 0; b < step.accesses_size(); ++b) {
      plan::Access &x = at(plan, a), &y = *step.mutable_accesses(b);
      if (reads(step, b) && !writes(step, b) && x.bytes() == y.bytes() &&
          (x.slice() != y.slice() || x.offset() != y.offset())) {
        x.Swap(&y);
        return absl::StrCat("operands ", a.index, " and ", b, " of ",
                            nameOf(plan, a.of), " swapped");
      }
    }
  }
  return std::nullopt;
}

Change shiftOffset(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         const plan::Access &access = step.accesses(index);
         bool scratch = isLibraryCall(step) && index == 3;
         return !scratch && access.offset() + access.bytes() +
                                    access.rank_stride() * (plan.world() - 1) +
                                    64 <=
                                plan.slices(access.slice()).bytes();
       })) {
    at(plan, operand).set_offset(at(plan, operand).offset() + 64);
    return absl::StrCat(nameOf(plan, operand), " 64 bytes further");
  }
  return std::nullopt;
}

Change beyondSlice(plan::Plan &plan, Random &random) {
  Operand operand = operands(plan, random, [](auto &, int) { return true; })[0];
  plan::Access &access = at(plan, operand);
  access.set_offset(plan.slices(access.slice()).bytes() - access.bytes() +
                    64 * (1 + random.below(4)));
  return absl::StrCat(nameOf(plan, operand), " moved out of its slice");
}

Change halveBytes(plan::Plan &plan, Random &random) {
  Operand operand =
      operands(plan, random, [](const plan::Step &step, int index) {
        bool scratch = isLibraryCall(step) && index == 3;
        return !scratch && step.accesses(index).bytes() >= 8;
      })[0];
  plan::Access &access = at(plan, operand);
  access.set_bytes(access.bytes() / 8 * 4);
  return absl::StrCat("half the bytes for ", nameOf(plan, operand));
}

/// The last rank's part, on every rank.
Change othersShard(plan::Plan &plan, Random &random) {
  if (plan.world() == 1) {
    return std::nullopt; // there is no other
  }
  for (const Operand &operand :
       operands(plan, random, [](const plan::Step &step, int index) {
         return step.accesses(index).rank_stride() != 0;
       })) {
    plan::Access &access = at(plan, operand);
    access.set_offset(access.offset() +
                      (plan.world() - 1) * access.rank_stride());
    access.set_rank_stride(0);
    return absl::StrCat(nameOf(plan, operand), " is the last rank's shard");
  }
  return std::nullopt;
}

/// What each rank has of its own, apart by another distance.
Change otherStride(plan::Plan &plan, Random &random) {
  if (plan.world() == 1) {
    return std::nullopt;
  }
  for (const Operand &operand :
       operands(plan, random, [](const plan::Step &step, int index) {
         return step.accesses(index).rank_stride() > 64;
       })) {
    plan::Access &access = at(plan, operand);
    access.set_rank_stride(access.rank_stride() - 64);
    return absl::StrCat(nameOf(plan, operand), " overlaps the next rank's");
  }
  return std::nullopt;
}

Change otherMode(plan::Plan &plan, Random &random) {
  Operand operand =
      operands(plan, random, [](const plan::Step &step, int index) {
        bool scratch = isLibraryCall(step) && index == 3;
        return !scratch && !(step.has_reduce_scatter() && index == 2);
      })[0];
  plan::Access &access = at(plan, operand);
  access.set_mode(access.mode() == plan::READ ? plan::WRITE : plan::READ);
  return absl::StrCat(nameOf(plan, operand), " is ",
                      zerograph::nameOf(access.mode()));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

plan::Kernel &anyKernel(plan::Plan &plan, Random &random) {
  return *plan.mutable_kernels(int(random.below(plan.kernels_size())));
}

Change extent(plan::Plan &plan, Random &random) {
  plan::Kernel &kernel = anyKernel(plan, random);
  kernel.set_extent(kernel.extent() - 1);
  return absl::StrCat("kernel ", kernel.symbol(), " leaves out an item");
}

Change grain(plan::Plan &plan, Random &random) {
  plan::Kernel &kernel = anyKernel(plan, random);
  kernel.set_grain(kernel.grain() + 1 + random.below(5));
  return absl::StrCat("kernel ", kernel.symbol(), " has grain ",
                      kernel.grain());
}

/// And a symbol that says so.
Change extentAndSymbol(plan::Plan &plan, Random &random) {
  plan::Kernel &kernel = anyKernel(plan, random);
  std::string old = kernelSymbol("", kernel.extent(), kernel.grain());
  std::string name =
      kernel.symbol().substr(0, kernel.symbol().size() - old.size());
  kernel.set_grain(kernel.grain() + 1);
  kernel.set_symbol(kernelSymbol(name, kernel.extent(), kernel.grain()));
  return absl::StrCat("kernel ", kernel.symbol());
}

bool alike(const plan::Kernel &a, const plan::Kernel &b) {
  if (a.operands_size() != b.operands_size()) {
    return false;
  }
  for (int i = 0; i < a.operands_size(); ++i) {
    if (a.operands(i).SerializeAsString() !=
        b.operands(i).SerializeAsString()) {
      return false;
    }
  }
  return true;
}

Change otherKernel(plan::Plan &plan, Random &random) {
  for (At where : steps(plan, random, [](const plan::Step &step) {
         return step.has_launch();
       })) {
    uint32_t own = at(plan, where).launch().kernel();
    for (uint32_t k = 0; k < uint32_t(plan.kernels_size()); ++k) {
      if (k != own && alike(plan.kernels(int(own)), plan.kernels(int(k)))) {
        at(plan, where).mutable_launch()->set_kernel(k);
        return absl::StrCat(nameOf(plan, where), " runs ",
                            plan.kernels(int(k)).symbol());
      }
    }
  }
  return std::nullopt;
}

Change kernelOperand(plan::Plan &plan, Random &random) {
  plan::Kernel &kernel = anyKernel(plan, random);
  plan::Operand &operand =
      *kernel.mutable_operands(int(random.below(kernel.operands_size())));
  operand.set_bytes(operand.bytes() + 64);
  return absl::StrCat("an operand of kernel ", kernel.symbol(), " has ",
                      operand.bytes(), " bytes");
}

/// Of the same size, so that only what others say of the bytes gives it away.
Change kernelType(plan::Plan &plan, Random &random) {
  plan::Kernel &kernel = anyKernel(plan, random);
  plan::Operand &operand =
      *kernel.mutable_operands(int(random.below(kernel.operands_size())));
  plan::ElementType type = operand.type();
  operand.set_type(type == plan::F32   ? plan::I32
                   : type == plan::I64 ? plan::F64
                   : type == plan::F64 ? plan::I64
                                       : plan::U8);
  if (operand.type() == type) {
    operand.set_type(plan::BOOL);
  }
  for (plan::Operand &other : *kernel.mutable_operands()) {
    other.clear_in_place();
  }
  return absl::StrCat("an operand of kernel ", kernel.symbol(), " is ",
                      zerograph::nameOf(operand.type()));
}

Change machineCode(plan::Plan &plan, Random &random) {
  std::string &code = *plan.mutable_kernel_module();
  size_t byte = random.below(code.size());
  code[byte] = char(code[byte] ^ (1 << random.below(8)));
  return absl::StrCat("a bit of byte ", byte, " of the machine code");
}

} // namespace

std::vector<Mutation> operandMutations() {
  const std::vector<std::string> shard = {"wrong unit: ",
                                          "without being the rank's own part",
                                          "missing update: ",
                                          "missing gather: ",
                                          "accesses ",
                                          "doubled update: ",
                                          "shares bytes with access"};
  return {
      {"operands",
       "another live range of the size",
       otherRange,
       {"wrong unit: ", "wrong type: ", "shares bytes", "share bytes",
        "missing wait: ", "race: ", "needless step: ", "unused gradients: ",
        kNotAsStated}},
      {"operands",
       "two swapped",
       swapOperands,
       {"wrong unit: ", "wrong type: ", "shares bytes", kNotAsStated}},
      {"operands",
       "shifted in its slice",
       shiftOffset,
       {"read before it is written: ", "wrong unit: ", "missing update: ",
        "without being the rank's own part", "shares bytes", "share bytes",
        "gradients not zeroed: ", kNotAsStated}},
      {"operands", "out of its slice", beyondSlice, {"lie outside its"}},
      {"operands",
       "half the bytes",
       halveBytes,
       {"bytes; operand", "are not the", "which is not the",
        "bytes to it and its shard have", "a segment has", "copies ",
        "values of ", "read before it is written: ", "gradients not zeroed: ",
        "chunks of", kNotAsStated}},
      {"operands",
       "another mode",
       otherMode,
       {"bytes; operand", " and should be "}},
      {"ranks", "another rank's shard", othersShard, shard},
      {"ranks", "shards apart by less", otherStride, shard},
      {"kernels", "extent", extent, {"its symbol is that of machine code"}},
      {"kernels", "grain", grain, {"its symbol is that of machine code"}},
      {"kernels",
       "grain, in the symbol too",
       extentAndSymbol,
       {"has no symbol", kNotAsStated}},
      {"kernels",
       "another one of the same operands",
       otherKernel,
       {kNotAsStated}},
      {"kernels",
       "size of an operand",
       kernelOperand,
       {"bytes; operand", "may lie on operand", "whole elements"}},
      {"kernels",
       "type of an operand",
       kernelType,
       {"wrong type: ", "both must be multiples of", "whole elements",
        "work items", "wants them apart", kNotAsStated}},
      {"kernels", "a bit of the machine code", machineCode, {kNotAsStated}},
  };
}

} // namespace zerograph::testing
