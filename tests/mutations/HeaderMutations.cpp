//===- HeaderMutations.cpp - inputs, scalars, sizes of the whole ----------===//

#include "runtime/plan/Describe.h"
#include "tests/mutations/Mutation.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

using Change = std::optional<std::string>;

plan::Input &anyInput(plan::Plan &plan, Random &random) {
  return *plan.mutable_inputs(int(random.below(plan.inputs_size())));
}

/// Of the same size, where there is one.
Change inputType(plan::Plan &plan, Random &random) {
  plan::Input &input = anyInput(plan, random);
  input.set_type(input.type() == plan::I64 ? plan::F64 : plan::I32);
  return absl::StrCat("input ", input.name(), " is ",
                      zerograph::nameOf(input.type()));
}

Change perSample(plan::Plan &plan, Random &random) {
  plan::Input &input = anyInput(plan, random);
  input.set_per_sample(!input.per_sample());
  return absl::StrCat("input ", input.name(), " is of samples, or not");
}

Change inputShape(plan::Plan &plan, Random &random) {
  plan::Input &input = anyInput(plan, random);
  if (random.below(2) == 0) {
    input.set_shape(0, input.shape(0) + 1);
    return absl::StrCat("input ", input.name(), " has more samples");
  }
  input.add_shape(1);
  return absl::StrCat("input ", input.name(), " has a dimension more");
}

Change inputRange(plan::Plan &plan, Random &random) {
  for (plan::Input &input : *plan.mutable_inputs()) {
    if (input.has_max()) {
      switch (random.below(4)) {
      case 0:
        input.set_max(input.max() + 1);
        return absl::StrCat(input.name(), " up to ", input.max());
      case 1:
        input.set_min(input.min() - 1);
        return absl::StrCat(input.name(), " from ", input.min());
      case 2:
        input.clear_min();
        return absl::StrCat(input.name(), " without a least value");
      default:
        input.add_ignored(input.max() + 1000);
        return absl::StrCat(input.name(), " may be ", input.max() + 1000);
      }
    }
  }
  return std::nullopt;
}

Change swapInputs(plan::Plan &plan, Random &random) {
  for (plan::Input &a : *plan.mutable_inputs()) {
    for (plan::Input &b : *plan.mutable_inputs()) {
      if (a.name() != b.name() && a.type() == b.type() &&
          plan.slices(int(a.slice())).bytes() ==
              plan.slices(int(b.slice())).bytes()) {
        uint32_t slice = a.slice();
        a.set_slice(b.slice());
        b.set_slice(slice);
        return absl::StrCat("slices of ", a.name(), " and ", b.name(),
                            " swapped");
      }
    }
  }
  return std::nullopt;
}

Change oneInputSlice(plan::Plan &plan, Random &random) {
  if (plan.inputs_size() < 2) {
    return std::nullopt;
  }
  plan.mutable_inputs(1)->set_slice(plan.inputs(0).slice());
  return "two inputs in one slice";
}

Change swapScalars(plan::Plan &plan, Random &random) {
  int count = plan.scalars_size();
  if (count < 2) {
    return std::nullopt;
  }
  int i = int(random.below(count));
  int j = int((i + 1 + random.below(count - 1)) % count);
  plan::Scalar &a = *plan.mutable_scalars(i), &b = *plan.mutable_scalars(j);
  a.mutable_name()->swap(*b.mutable_name());
  return absl::StrCat("scalars ", a.name(), " and ", b.name(), " swapped");
}

Change unknownScalar(plan::Plan &plan, Random &random) {
  plan.mutable_scalars(int(random.below(plan.scalars_size())))
      ->set_name("bogus");
  return "a scalar \"bogus\"";
}

/// One that the step does not use.
Change otherScalar(plan::Plan &plan, Random &random) {
  plan::Scalar &scalar =
      *plan.mutable_scalars(int(random.below(plan.scalars_size())));
  std::string old = scalar.name();
  scalar.set_name(old == "decay" ? "step_size" : "decay");
  return absl::StrCat("scalar ", old, " is ", scalar.name());
}

Change lossIsStop(plan::Plan &plan, Random &random) {
  uint32_t loss = plan.loss_slice();
  plan.set_loss_slice(plan.stop_slice());
  plan.set_stop_slice(loss);
  return "loss and stop count swapped";
}

Change lossElsewhere(plan::Plan &plan, Random &random) {
  uint32_t slice = plan.scalars(int(random.below(plan.scalars_size()))).slice();
  random.below(2) == 0 ? plan.set_loss_slice(slice)
                       : plan.set_stop_slice(slice);
  return absl::StrCat("loss or stop count in ", describeSlice(plan, slice));
}

//===----------------------------------------------------------------------===//
// Predictions and the header
//===----------------------------------------------------------------------===//

Change prediction(plan::Plan &plan, Random &random) {
  plan::Prediction &stated = *plan.mutable_prediction();
  uint64_t more = 1 + random.below(1000);
  switch (random.below(3)) {
  case 0:
    stated.set_gather_bytes(stated.gather_bytes() + more);
    return absl::StrCat(more, " more bytes gathered");
  case 1:
    stated.set_reduce_bytes(stated.reduce_bytes() + more);
    return absl::StrCat(more, " more bytes reduced");
  default:
    stated.set_scalar_bytes(stated.scalar_bytes() + more);
    return absl::StrCat(more, " more bytes of scalars");
  }
}

Change world(plan::Plan &plan, Random &random) {
  const uint32_t worlds[] = {0, 5, plan.world() + 1, 1 << 17};
  plan.set_world(worlds[random.below(4)]);
  return absl::StrCat(plan.world(), " ranks");
}

Change stage(plan::Plan &plan, Random &random) {
  if (plan.world() == 1) {
    return std::nullopt; // all the same
  }
  plan.set_zero_stage(plan.zero_stage() == 3   ? 0
                      : plan.zero_stage() == 0 ? 1 + random.below(3)
                                               : 3 * random.below(2));
  return absl::StrCat("stage ", plan.zero_stage());
}

Change accumulate(plan::Plan &plan, Random &random) {
  plan.set_accumulate(plan.accumulate() + 1 + random.below(3));
  return absl::StrCat(plan.accumulate(), " micro-batches");
}

Change microBatch(plan::Plan &plan, Random &random) {
  const uint64_t sizes[] = {0, plan.micro_batch() + 1, uint64_t(1) << 63};
  plan.set_micro_batch(sizes[random.below(3)]);
  return absl::StrCat(plan.micro_batch(), " samples");
}

Change optimizer(plan::Plan &plan, Random &random) {
  plan::Optimizer &optimizer = *plan.mutable_optimizer();
  switch (random.below(4)) {
  case 0:
    optimizer.set_learning_rate(optimizer.learning_rate() * 2);
    return absl::StrCat("learning rate ", optimizer.learning_rate());
  case 1:
    optimizer.set_beta1(optimizer.beta1() / 2);
    optimizer.set_momentum(optimizer.momentum() + 0.5);
    return "other momentum";
  case 2:
    optimizer.set_kind(optimizer.kind() == "sgd" ? "adam" : "sgd");
    return absl::StrCat("optimizer ", optimizer.kind());
  default:
    optimizer.set_weight_decay(optimizer.weight_decay() + 0.25);
    return absl::StrCat("weight decay ", optimizer.weight_decay());
  }
}

Change dumpGradients(plan::Plan &plan, Random &random) {
  plan.set_dump_gradients(!plan.dump_gradients());
  return plan.dump_gradients() ? "gradients to be dumped"
                               : "no gradients to be dumped";
}

Change target(plan::Plan &plan, Random &random) {
  plan::Target &target = *plan.mutable_target();
  switch (random.below(4)) {
  case 0:
    target.set_device("cuda");
    return "for device cuda";
  case 1:
    target.set_math_library("oneDNN 1.0");
    return "for another library";
  case 2:
    target.set_math_isa("sse41");
    return "for another instruction set of the library";
  default:
    target.add_features("zgbogus");
    return "for a processor with a feature that none has";
  }
}

Change noModule(plan::Plan &plan, Random &random) {
  plan.clear_kernel_module();
  return "no machine code";
}

} // namespace

/// Whole numbers have other slices than f32.
constexpr char kOtherType[] = "does not exist or has not the ";

std::vector<Mutation> headerMutations() {
  return {
      {"inputs", "element type", inputType, {"wrong type: ", "has not the"}},
      {"inputs",
       "per sample or not",
       perSample,
       {"no multiple of the micro-batch", kNotAsStated}},
      {"inputs", "shape", inputShape, {"has not the", kNotAsStated}},
      {"inputs",
       "legal values",
       inputRange,
       {"one bound of its legal values", kNotAsStated}},
      {"inputs", "slices swapped", swapInputs, {kNotAsStated}},
      {"inputs",
       "two in a slice",
       oneInputSlice,
       {"a slice holds one of them", "has not the"}},
      {"scalars",
       "two swapped",
       swapScalars,
       {"no agreement: ", "gradients not reduced: ", kOtherType, kNotAsStated}},
      {"scalars", "unknown", unknownScalar, {"this runtime knows"}},
      {"scalars",
       "another",
       otherScalar,
       {"no agreement: ", kOtherType, kNotAsStated}},
      {"scalars", "loss and stop swapped", lossIsStop, {"no agreement: "}},
      {"scalars",
       "loss or stop elsewhere",
       lossElsewhere,
       {"a slice holds one of them", "no agreement: ", kOtherType}},
      {"predictions", "traffic", prediction, {"wrong prediction: "}},
      {"header",
       "ranks",
       world,
       {"are possible", "256 elements a rank", "a segment has",
        "lie outside its", " elements and ", kNotAsStated}},
      {"header",
       "stage",
       stage,
       {"has the stay",
        "wrong layout: ", "wrong unit: ", "it is each rank's own"}},
      {"header",
       "micro-batches",
       accumulate,
       {"for one micro-batch a step", "wrong prediction: ", kNotAsStated}},
      {"header",
       "samples",
       microBatch,
       {"must be at least 1", "no multiple of the micro-batch",
        "samples; at most"}},
      {"header", "optimizer", optimizer, {kNotAsStated}},
      {"header",
       "dumping of gradients",
       dumpGradients,
       {"no state \"grad\"", "which is not carried", kNotAsStated}},
      {"header", "target", target, {"this machine cannot run the plan"}},
      {"header", "no machine code", noModule, {"no module that holds them"}},
  };
}

} // namespace zerograph::testing
