//===- LibraryMutations.cpp - library calls and collectives ---------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Matrices.h"
#include "runtime/plan/steps/Step.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

/// Changes the first step, in random order, that `change` can change.
template <typename Make>
Change first(plan::Plan &plan, Random &random, const char *what,
             const Make &change) {
  for (At where : steps(plan, random, [](auto &) { return true; })) {
    if (change(at(plan, where))) {
      return absl::StrCat(what, " of ", nameOf(plan, where));
    }
  }
  return std::nullopt;
}

Change matmulSize(plan::Plan &plan, Random &random) {
  uint64_t which = random.below(4);
  return first(plan, random, "a dimension", [&](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    plan::Matmul &matmul = *step.mutable_matmul();
    switch (which) {
    case 0:
      matmul.set_m(matmul.m() + 1);
      break;
    case 1:
      matmul.set_n(matmul.n() + 1);
      break;
    case 2:
      matmul.set_k(matmul.k() + 1);
      break;
    default:
      matmul.set_batch(matmul.batch() + 1);
    }
    return true;
  });
}

/// Rows that begin elsewhere than the kernels that make or read them say.
Change matmulRows(plan::Plan &plan, Random &random) {
  uint64_t which = random.below(3);
  return first(plan, random, "the rows", [&](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    plan::Matmul &matmul = *step.mutable_matmul();
    StoredMatrices matrices = matricesOf(matmul);
    if (which == 0) {
      matmul.set_lda(matrices.a.leading + 1);
    } else if (which == 1) {
      matmul.set_ldb(matrices.b.leading + 1);
    } else {
      matmul.set_ldc(matrices.c.leading + 1);
    }
    return true;
  });
}

/// Products that are added to what their result had, and now are not, or the
/// other way round.
Change matmulSum(plan::Plan &plan, Random &random) {
  return first(plan, random, "the sum", [](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    plan::Matmul &matmul = *step.mutable_matmul();
    matmul.set_accumulate(!matmul.accumulate());
    return true;
  });
}

/// Products without their bias, or with one that they have not.
Change matmulBias(plan::Plan &plan, Random &random) {
  return first(plan, random, "the bias", [](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    plan::Matmul &matmul = *step.mutable_matmul();
    matmul.set_bias(!matmul.bias());
    return true;
  });
}

Change scratch(plan::Plan &plan, Random &random) {
  return first(plan, random, "scratch", [](plan::Step &step) {
    if (!step.has_matmul() && !step.has_convolution()) {
      return false;
    }
    plan::Access &last = *step.mutable_accesses()->rbegin();
    if (last.mode() == plan::READ || step.accesses_size() == 3 ||
        last.bytes() <= 64) {
      return false;
    }
    last.set_bytes(last.bytes() - 64);
    return true;
  });
}

/// bf16 of what is float32, and the other way round: which products a plan has
/// in bf16 depends on the processor it was compiled for.
Change products(plan::Plan &plan, Random &random) {
  return first(plan, random, "the type", [](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    plan::Matmul &matmul = *step.mutable_matmul();
    matmul.set_element_type(matmul.element_type() == plan::BF16 ? plan::F32
                                                                : plan::BF16);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

template <typename Make>
Change convolution(plan::Plan &plan, Random &random, const char *what,
                   const Make &change) {
  return first(plan, random, what, [&](plan::Step &step) {
    return step.has_convolution() && change(*step.mutable_convolution());
  });
}

Change convolutionSize(plan::Plan &plan, Random &random) {
  bool channels = random.below(2) == 0;
  return convolution(plan, random, "a size", [&](plan::Convolution &c) {
    channels ? c.set_channels(2 * c.channels())
             : c.set_features(2 * c.features());
    return true;
  });
}

Change window(plan::Plan &plan, Random &random) {
  return convolution(plan, random, "the window", [](plan::Convolution &c) {
    c.set_window(0, c.window(0) + 1);
    return true;
  });
}

/// Changes the kind of a convolution whose weights and output differ in size.
Change convolutionKind(plan::Plan &plan, Random &random) {
  return first(plan, random, "the kind", [](plan::Step &step) {
    if (!step.has_convolution() ||
        step.convolution().kind() == plan::INPUT_GRADIENT ||
        step.accesses(1).bytes() == step.accesses(2).bytes()) {
      return false;
    }
    plan::Convolution &c = *step.mutable_convolution();
    c.set_kind(c.kind() == plan::CONVOLVE ? plan::WEIGHTS_GRADIENT
                                          : plan::CONVOLVE);
    return true;
  });
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Change otherUnit(plan::Plan &plan, Random &random) {
  if (plan.units_size() < 2) {
    return std::nullopt;
  }
  return first(plan, random, "the unit", [&](plan::Step &step) {
    if (step.has_all_gather()) {
      plan::AllGather &gather = *step.mutable_all_gather();
      gather.set_unit((gather.unit() + 1) % plan.units_size());
      return true;
    }
    if (step.has_reduce_scatter()) {
      plan::ReduceScatter &reduce = *step.mutable_reduce_scatter();
      reduce.set_unit((reduce.unit() + 1) % plan.units_size());
      return true;
    }
    return false;
  });
}

Change otherSegment(plan::Plan &plan, Random &random) {
  return first(plan, random, "the segment", [&](plan::Step &step) {
    if (!step.has_reduce_scatter()) {
      return false;
    }
    plan::ReduceScatter &reduce = *step.mutable_reduce_scatter();
    int count = plan.units(reduce.unit()).segments_size();
    reduce.set_segment(count == 1 ? 1 : (reduce.segment() + 1) % count);
    return true;
  });
}

/// The sum over micro-batches begun anew by each, or the other way round.
Change accumulates(plan::Plan &plan, Random &random) {
  return first(plan, random, "whether it adds", [](plan::Step &step) {
    if (!step.has_reduce_scatter()) {
      return false;
    }
    bool adds = !step.reduce_scatter().accumulate();
    step.mutable_reduce_scatter()->set_accumulate(adds);
    step.mutable_accesses(1)->set_mode(adds ? plan::READ_WRITE : plan::WRITE);
    return true;
  });
}

Change chunks(plan::Plan &plan, Random &random) {
  return first(plan, random, "the chunks", [](plan::Step &step) {
    if (!step.has_reduce_scatter()) {
      return false;
    }
    step.mutable_reduce_scatter()->set_chunk_bytes(step.accesses(2).bytes() +
                                                   4);
    return true;
  });
}

Change collectiveType(plan::Plan &plan, Random &random) {
  return first(plan, random, "the type", [](plan::Step &step) {
    if (step.has_all_gather()) {
      step.mutable_all_gather()->set_element_type(plan::I32);
    } else if (step.has_reduce_scatter()) {
      step.mutable_reduce_scatter()->set_wire(plan::F64);
      step.mutable_reduce_scatter()->set_accumulator(plan::F64);
    } else if (step.has_all_reduce()) {
      step.mutable_all_reduce()->set_wire(plan::I32);
      step.mutable_all_reduce()->set_accumulator(plan::I32);
    } else {
      return false;
    }
    return true;
  });
}

Change wireType(plan::Plan &plan, Random &random) {
  return first(plan, random, "the type on the wire", [](plan::Step &step) {
    if (!step.has_reduce_scatter()) {
      return false;
    }
    step.mutable_reduce_scatter()->set_wire(plan::BF16);
    return true;
  });
}

Change group(plan::Plan &plan, Random &random) {
  bool none = random.below(2) == 0;
  return first(plan, random, "the group", [&](plan::Step &step) {
    if (!isCollective(step)) {
      return false;
    }
    step.clear_axes();
    if (!none) {
      step.add_axes(1);
    }
    return true;
  });
}

} // namespace

std::vector<Mutation> libraryMutations() {
  return {
      {"products", "a dimension", matmulSize, {kInvalidStep}},
      {"products", "rows", matmulRows, {kInvalidStep}},
      {"products", "sum", matmulSum, {kInvalidStep}},
      {"products", "bias", matmulBias, {kInvalidStep}},
      {"products", "type", products, {kInvalidStep}},
      {"library calls", "scratch", scratch, {"bytes of scratch here"}},
      {"convolutions", "window", window, {kInvalidStep}},
      {"convolutions", "channels or features", convolutionSize, {kInvalidStep}},
      {"convolutions", "kind", convolutionKind, {kInvalidStep}},
      {"collectives", "another unit", otherUnit, {kWrongUnit, kInvalidStep}},
      {"collectives",
       "another segment",
       otherSegment,
       {kWrongUnit, kInvalidStep}},
      {"collectives",
       "adding or not",
       accumulates,
       {kLostGradients, kReadBeforeItIsWritten, kInvalidStep}},
      {"collectives", "chunks above staging", chunks, {kInvalidStep}},
      {"collectives",
       "element type",
       collectiveType,
       {kWrongType, kInvalidStep}},
      {"collectives", "type on the wire", wireType, {kInvalidStep}},
      {"collectives", "group", group, {kInvalidStep}},
  };
}

} // namespace zerograph::testing
