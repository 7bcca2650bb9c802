//===- LibraryMutations.cpp - library calls and collectives ---------------===//

#include "runtime/plan/Describe.h"
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

/// Of a square operand, so that all sizes stay as they are.
Change transpose(plan::Plan &plan, Random &random) {
  return first(plan, random, "transposition", [](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    plan::Matmul &matmul = *step.mutable_matmul();
    if (matmul.m() == matmul.k()) {
      matmul.set_transpose_a(!matmul.transpose_a());
      return true;
    }
    if (matmul.n() == matmul.k()) {
      matmul.set_transpose_b(!matmul.transpose_b());
      return true;
    }
    return false;
  });
}

/// Rows closer together, and more of them.
Change leading(plan::Plan &plan, Random &random) {
  return first(plan, random, "the distance of rows", [](plan::Step &step) {
    const plan::Matmul &matmul = step.matmul();
    if (!step.has_matmul() ||
        (matmul.transpose_a() ? matmul.k() : matmul.m()) == 1) {
      return false; // one row is nowhere else
    }
    step.mutable_matmul()->set_lda(matmul.lda() + 16);
    return true;
  });
}

Change parts(plan::Plan &plan, Random &random) {
  bool twice = random.below(2) == 0;
  return first(plan, random, "the parts", [&](plan::Step &step) {
    if (!step.has_matmul() || step.matmul().parts_size() == 0) {
      return false;
    }
    auto &all = *step.mutable_matmul()->mutable_parts();
    if (twice) {
      plan::MatmulPart again = all[0];
      all.Add(std::move(again));
    } else {
      all.RemoveLast();
    }
    return true;
  });
}

Change scratch(plan::Plan &plan, Random &random) {
  return first(plan, random, "scratch", [](plan::Step &step) {
    if (step.has_matmul() && step.accesses_size() == 4) {
      step.mutable_matmul()->set_scratch_stride(step.matmul().scratch_stride() +
                                                step.accesses(3).bytes() + 64);
      return true;
    }
    return false;
  });
}

Change products(plan::Plan &plan, Random &random) {
  return first(plan, random, "the type", [](plan::Step &step) {
    if (!step.has_matmul()) {
      return false;
    }
    step.mutable_matmul()->set_type(plan::BF16);
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

Change strides(plan::Plan &plan, Random &random) {
  return convolution(plan, random, "the strides", [](plan::Convolution &c) {
    c.set_strides(0, c.strides(0) + 1);
    return true;
  });
}

Change padding(plan::Plan &plan, Random &random) {
  return convolution(plan, random, "the padding", [](plan::Convolution &c) {
    c.set_low(0, c.low(0) == 0 ? 1 : c.low(0) - 1);
    return true;
  });
}

Change dilations(plan::Plan &plan, Random &random) {
  return convolution(plan, random, "the dilations", [](plan::Convolution &c) {
    if (c.window(0) == 1) {
      return false; // a window of one has none
    }
    c.set_dilations(0, c.dilations(0) + 1);
    return true;
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

Change convolutionKind(plan::Plan &plan, Random &random) {
  return convolution(plan, random, "the kind", [](plan::Convolution &c) {
    c.set_kind(c.kind() == plan::FORWARD ? plan::WEIGHTS_GRADIENT
                                         : plan::FORWARD);
    return true;
  });
}

Change cuts(plan::Plan &plan, Random &random) {
  return convolution(plan, random, "the cuts", [](plan::Convolution &c) {
    c.set_cuts(0, 1);
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
      step.mutable_all_gather()->set_type(plan::I32);
    } else if (step.has_reduce_scatter()) {
      step.mutable_reduce_scatter()->set_type(plan::F64);
    } else if (step.has_all_reduce()) {
      step.mutable_all_reduce()->set_type(plan::I32);
    } else {
      return false;
    }
    return true;
  });
}

Change stay(plan::Plan &plan, Random &random) {
  return first(plan, random, "the stay", [](plan::Step &step) {
    if (!step.has_all_gather()) {
      return false;
    }
    plan::AllGather &gather = *step.mutable_all_gather();
    gather.set_stay(gather.stay() == plan::STAY_NONE ? plan::STAY_KEPT
                                                     : plan::STAY_NONE);
    return true;
  });
}

} // namespace

std::vector<Mutation> libraryMutations() {
  const std::vector<std::string> wrongUnit = {
      "wrong unit: ",  "a segment has",       "accesses and needs",
      "names segment", "doubled reduction: ", "has the stay"};
  const std::vector<std::string> geometry = {
      "which do not fit", "which is not the", "do not ascend", kNotAsStated};
  return {
      {"products",
       "a dimension",
       matmulSize,
       {"are not the", "elements and begin"}},
      {"products", "transposition", transpose, {kNotAsStated, "are not the"}},
      {"products", "distance of rows", leading, {"are not the", kNotAsStated}},
      {"products",
       "parts",
       parts,
       {"parts do not cover the result exactly once"}},
      {"products", "scratch", scratch, {"of scratch do not fit"}},
      {"products", "type", products, {"are not the", "wrong type: "}},
      {"convolutions", "strides", strides, geometry},
      {"convolutions", "padding", padding, geometry},
      {"convolutions", "dilations", dilations, geometry},
      {"convolutions",
       "channels or features",
       convolutionSize,
       {"which is not the"}},
      {"convolutions",
       "kind",
       convolutionKind,
       {"which is not the", "do not ascend", kNotAsStated}},
      {"convolutions", "cuts", cuts, {"do not ascend"}},
      {"collectives", "another unit", otherUnit, wrongUnit},
      {"collectives", "another segment", otherSegment, wrongUnit},
      {"collectives",
       "adding or not",
       accumulates,
       {"lost gradients: ", "read before it is written: ",
        "accesses 0 and 1 share bytes", kNotAsStated}},
      {"collectives", "chunks above staging", chunks, {"exchanges chunks"}},
      {"collectives",
       "element type",
       collectiveType,
       {"wrong type: ", "adds up elements of type", "a segment has"}},
      {"collectives", "stay", stay, {"has the stay"}},
  };
}

} // namespace zerograph::testing
