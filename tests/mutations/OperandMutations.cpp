//===- OperandMutations.cpp - kernels, accesses, collectives --------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
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

bool ofUnit(const plan::Plan &plan, const plan::Access &access) {
  plan::SliceClass of = plan.slices(int(access.slice())).slice_class();
  return of == plan::PARAM_SHARD || of == plan::OPTIMIZER ||
         of == plan::GATHERED || of == plan::GRAD || of == plan::GRAD_SHARD;
}

/// Returns whether ranks touch different bytes.
bool isPart(const plan::Plan &plan, const plan::Access &access) {
  return Mesh(plan).strides(access) != Strides{};
}

/// An update reads a state or gradients of another unit, of the same size.
Change otherRange(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         return updates(plan, step) && reads(step, index) &&
                ofUnit(plan, step.accesses(index));
       })) {
    plan::Access &access = at(plan, operand);
    const plan::Slice &slice = plan.slices(int(access.slice()));
    for (int i = 0; i < plan.slices_size(); ++i) {
      const plan::Slice &other = plan.slices(i);
      if (unitOf(plan, i) != unitOf(plan, int(access.slice())) &&
          other.bytes() == slice.bytes() &&
          other.slice_class() == slice.slice_class()) {
        std::string text =
            absl::StrCat(nameOf(plan, operand), " is ", describeSlice(plan, i),
                         " and not ", describeSlice(plan, access.slice()));
        access.set_slice(uint32_t(i));
        restate(plan);
        return text;
      }
    }
  }
  return std::nullopt;
}

/// Shifts what collectives and updates touch of a unit.
Change shiftOffset(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         const plan::Access &access = step.accesses(index);
         return (isCollective(step) || updates(plan, step)) &&
                ofUnit(plan, access) &&
                access.offset() + access.bytes() +
                        Mesh(plan).lastOffset(Mesh(plan).strides(access)) +
                        64 <=
                    plan.slices(int(access.slice())).bytes();
       })) {
    at(plan, operand).set_offset(at(plan, operand).offset() + 64);
    return absl::StrCat(nameOf(plan, operand), " 64 bytes further");
  }
  return std::nullopt;
}

Change beyondSlice(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [](auto &, int) { return true; })) {
    plan::Access &access = at(plan, operand);
    access.set_offset(plan.slices(int(access.slice())).bytes() -
                      access.bytes() + 64 * (1 + random.below(4)));
    return absl::StrCat(nameOf(plan, operand), " moved out of its slice");
  }
  return std::nullopt;
}

/// Returns whether an access is of scratch: only the device knows how much is
/// needed. It follows two operands, a result and a bias.
bool isScratch(const plan::Step &step, int index) {
  return step.has_matmul() ? index == 3 + int(step.matmul().bias())
                           : step.has_convolution() && index == 3;
}

Change halveBytes(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [](const plan::Step &step, int index) {
         return !isScratch(step, index) && step.accesses(index).bytes() >= 2;
       })) {
    plan::Access &access = at(plan, operand);
    access.set_bytes(access.bytes() >= 8 ? access.bytes() / 8 * 4
                                         : access.bytes() / 2);
    return absl::StrCat("half the bytes for ", nameOf(plan, operand));
  }
  return std::nullopt;
}

/// The last rank's part, on every rank.
Change othersShard(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         return isPart(plan, step.accesses(index));
       })) {
    plan::Access &access = at(plan, operand);
    Mesh mesh(plan);
    access.set_offset(access.offset() + mesh.lastOffset(mesh.strides(access)));
    access.clear_strides();
    return absl::StrCat(nameOf(plan, operand), " is the last rank's shard");
  }
  return std::nullopt;
}

/// Puts what each rank has of its own apart by another distance.
Change otherStride(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         return isPart(plan, step.accesses(index)) &&
                step.accesses(index).strides(0) > 64;
       })) {
    plan::Access &access = at(plan, operand);
    access.set_strides(0, access.strides(0) - 64);
    return absl::StrCat(nameOf(plan, operand), " overlaps the next rank's");
  }
  return std::nullopt;
}

Change otherMode(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [](const plan::Step &step, int index) {
         return !isScratch(step, index) &&
                !(step.has_reduce_scatter() && index == 2);
       })) {
    plan::Access &access = at(plan, operand);
    access.set_mode(access.mode() == plan::READ ? plan::WRITE : plan::READ);
    return absl::StrCat(nameOf(plan, operand), " is ",
                        zerograph::nameOf(access.mode()));
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

plan::Kernel &anyKernel(plan::Plan &plan, Random &random) {
  return *plan.mutable_kernels(int(random.below(plan.kernels_size())));
}

Change kernelOperand(plan::Plan &plan, Random &random) {
  plan::Kernel &kernel = anyKernel(plan, random);
  plan::Operand &operand =
      *kernel.mutable_operands(int(random.below(kernel.operands_size())));
  operand.set_bytes(operand.bytes() + 64);
  return absl::StrCat("an operand of kernel ", kernel.symbol(), " has ",
                      operand.bytes(), " bytes");
}

/// A kernel that adds to a sum of gradients, which is kept, does something
/// else.
Change otherFunction(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         const plan::Slice &slice =
             plan.slices(int(step.accesses(index).slice()));
         return step.has_launch() && writes(step, index) && slice.carried() &&
                (slice.slice_class() == plan::GRAD ||
                 slice.slice_class() == plan::GRAD_SHARD);
       })) {
    const plan::Step &step = at(plan, operand.of);
    plan::Kernel &kernel = *plan.mutable_kernels(int(step.launch().kernel()));
    plan::Operand &made = *kernel.mutable_operands(operand.index);
    for (uint32_t read : made.linear_in()) {
      if (step.accesses(int(read)).slice() ==
          step.accesses(operand.index).slice()) {
        made.clear_linear_in();
        return absl::StrCat("kernel ", kernel.symbol(), " does not add");
      }
    }
  }
  return std::nullopt;
}

/// Changes a type to one of the same size, where a unit or an input says what
/// the bytes are.
Change kernelType(plan::Plan &plan, Random &random) {
  for (const Operand &operand :
       operands(plan, random, [&](const plan::Step &step, int index) {
         const plan::Access &access = step.accesses(index);
         return step.has_launch() &&
                (ofUnit(plan, access) ||
                 plan.slices(int(access.slice())).slice_class() == plan::INPUT);
       })) {
    plan::Kernel &kernel =
        *plan.mutable_kernels(int(at(plan, operand.of).launch().kernel()));
    plan::Operand &changed = *kernel.mutable_operands(operand.index);
    plan::ElementType type = changed.type();
    if (type != plan::F32 && type != plan::I64) {
      continue;
    }
    changed.set_type(type == plan::F32 ? plan::I32 : plan::F64);
    for (plan::Operand &other : *kernel.mutable_operands()) {
      other.clear_in_place();
    }
    return absl::StrCat("operand ", operand.index, " of kernel ",
                        kernel.symbol(), " is ",
                        zerograph::nameOf(changed.type()));
  }
  return std::nullopt;
}

} // namespace

std::vector<Mutation> operandMutations() {
  return {
      {"operands",
       "of another unit in an update",
       otherRange,
       {kWrongUnit, kWrongCopy}},
      {"operands",
       "shifted in its slice",
       shiftOffset,
       {kWrongUnit, kInvalidStep},
       {"all_gather", "reduce_scatter"}},
      {"operands", "out of its slice", beyondSlice, {kInvalidStep}, kEveryKind},
      {"operands",
       "half the bytes",
       halveBytes,
       {kInvalidStep, kReadBeforeItIsWritten, kGradientsNotZeroed},
       kEveryKind},
      {"operands", "another mode", otherMode, {kInvalidStep}, kEveryKind},
      {"ranks",
       "another rank's shard",
       othersShard,
       {kInvalidStep, kWrongUnit},
       {"launch", "all_gather", "reduce_scatter"}},
      {"ranks",
       "shards apart by less",
       otherStride,
       {kInvalidStep, kWrongUnit},
       {"launch", "all_gather", "reduce_scatter"}},
      {"kernels",
       "size of an operand",
       kernelOperand,
       {kInvalidStep, kInvalidKernel}},
      {"kernels", "another function", otherFunction, {kNotLinear}},
      {"kernels", "type of an operand", kernelType, {kWrongType, kInvalidStep}},
  };
}

} // namespace zerograph::testing
