//===- SamplePlans.cpp - small valid plans --------------------------------===//

#include "PlanBuilder.h"

namespace zerograph::testing {
namespace {

/// The parts that all three plans have: the slices of the loss, the stop flag
/// and the scalars, and one input.
struct Common {
  uint32_t input, loss_local, loss, stop_local, stop, rate;

  explicit Common(PlanBuilder &builder) {
    input = builder.slice("x", plan::INPUT, 64, false);
    loss_local = builder.slice("loss of this rank", plan::SCALAR, 4, false);
    loss = builder.total(*builder.plan.mutable_loss(), "loss");
    stop_local = builder.scalar(plan::Scalar::STOP);
    stop = builder.total(*builder.plan.mutable_stop(), "stop");
    rate = builder.scalar(plan::Scalar::LEARNING_RATE);
    plan::Input &x = *builder.plan.add_inputs();
    x.set_name("x");
    x.set_type(plan::F32);
    x.add_shape(2);
    x.add_shape(8);
    x.set_per_sample(true);
    x.set_slice(input);
  }

  uint32_t sum(PlanBuilder &b, const std::vector<uint32_t> &waits) const {
    return b.sum({b.all(loss_local, plan::READ), b.all(loss, plan::READ_WRITE),
                  b.all(stop_local, plan::READ), b.all(stop, plan::READ_WRITE)},
                 waits);
  }
};

} // namespace

plan::Plan stageThreePlan() {
  using namespace plan;
  PlanBuilder b(2, 3);
  Common common(b);
  int a = b.unit("a", 512, true);
  int c = b.unit("b", 512, true);
  uint32_t ma = b.state(a, "exp_avg", true);
  uint32_t mb = b.state(c, "exp_avg", true);
  uint32_t pa = b.plan.units(a).states(0).slice();
  uint32_t pb = b.plan.units(c).states(0).slice();
  uint32_t fa = b.slice("a/gathered", GATHERED, 2048, false, a);
  uint32_t fb = b.slice("b/gathered", GATHERED, 2048, false, c);
  uint32_t h = b.slice("h", ACTIVATION, 64, false);
  uint32_t y = b.slice("y", ACTIVATION, 64, false);
  uint32_t dy = b.slice("dy", TRANSIENT, 64, false);
  uint32_t dh = b.slice("dh", TRANSIENT, 64, false);
  uint32_t scratch = b.slice("scratch", TRANSIENT, 128, false);
  uint32_t gb = b.slice("b/gradients", GRAD, 2048, false, c);
  uint32_t ga = b.slice("a/gradients", GRAD, 2048, false, a);
  uint32_t sb = b.slice("b/shard", GRAD_SHARD, 1024, false, c);
  uint32_t sa = b.slice("a/shard", GRAD_SHARD, 1024, false, a);
  uint32_t staging = b.slice("staging", STAGING, 512, false);

  b.program("step");
  b.copyIn({common.input, common.stop_local, common.rate});
  uint32_t g0 = b.gather(a, b.all(pa, READ), b.all(fa, WRITE));
  uint32_t g1 = b.gather(c, b.all(pb, READ), b.all(fb, WRITE));
  b.launch("forward a",
           {b.all(common.input, READ), b.all(fa, READ), b.all(h, WRITE)}, {g0});
  Step step;
  step.set_name("forward b");
  Matmul &matmul = *step.mutable_matmul();
  matmul.set_element_type(F32);
  matmul.set_batch(1);
  matmul.set_m(2);
  matmul.set_n(8);
  matmul.set_k(8);
  *step.add_accesses() = b.all(h, READ);
  *step.add_accesses() = b.part(fb, 0, 256, 0, READ);
  *step.add_accesses() = b.all(y, WRITE);
  *step.add_accesses() = b.all(scratch, READ_WRITE);
  b.add(kCompute, step, {g1});
  uint32_t loss = b.launch("loss", {b.all(y, READ), b.all(dy, WRITE),
                                    b.all(common.loss_local, WRITE)});
  uint32_t bb =
      b.launch("backward b", {b.all(dy, READ), b.all(fb, READ), b.all(h, READ),
                              b.all(dh, WRITE), b.all(gb, WRITE)});
  uint32_t rb = b.reduce(c, b.all(gb, READ), b.all(sb, WRITE),
                         b.all(staging, WRITE), {bb});
  uint32_t ba =
      b.launch("backward a",
               {b.all(dh, READ), b.all(common.input, READ), b.all(ga, WRITE)});
  uint32_t ra = b.reduce(a, b.all(ga, READ), b.all(sa, WRITE),
                         b.all(staging, WRITE), {ba});
  common.sum(b, {loss});
  b.launch("update b",
           {b.all(sb, READ), b.all(common.rate, READ), b.all(pb, READ_WRITE),
            b.all(mb, READ_WRITE)},
           {rb});
  b.launch("update a",
           {b.all(sa, READ), b.all(common.rate, READ), b.all(pa, READ_WRITE),
            b.all(ma, READ_WRITE)},
           {ra});
  return b.finish();
}

plan::Plan stageOnePlan() {
  using namespace plan;
  PlanBuilder b(2, 1);
  Common common(b);
  int a = b.unit("a", 512, false);
  uint32_t m = b.state(a, "exp_avg", true);
  uint32_t p = b.plan.units(a).states(0).slice();
  uint32_t h = b.slice("h", ACTIVATION, 64, false);
  uint32_t g = b.slice("a/gradients", GRAD, 2048, false, a);
  uint32_t staging = b.slice("staging", STAGING, 512, false);

  b.program("step");
  b.copyIn({common.input, common.stop_local, common.rate});
  b.launch("forward", {b.all(common.input, READ), b.all(p, READ),
                       b.all(h, WRITE), b.all(common.loss_local, WRITE)});
  uint32_t backward = b.launch(
      "backward", {b.all(h, READ), b.all(common.input, READ), b.all(g, WRITE)});
  uint32_t r = b.reduce(a, b.all(g, READ), b.part(g, 0, 1024, 1024, WRITE),
                        b.all(staging, WRITE), {backward});
  common.sum(b, {});
  uint32_t u =
      b.launch("update",
               {b.part(g, 0, 1024, 1024, READ), b.all(common.rate, READ),
                b.part(p, 0, 1024, 1024, READ_WRITE), b.all(m, READ_WRITE)},
               {r});
  b.gather(a, b.part(p, 0, 1024, 1024, READ), b.all(p, WRITE), {u});
  return b.finish();
}

/// Adds an evaluation after the programs that train, of the unit with these
/// parameters and of each rank's own statistics.
static void addEvaluation(PlanBuilder &b, const Common &common, uint32_t p,
                          uint32_t statistics) {
  using namespace plan;
  uint32_t local = b.slice("loss of a micro-batch", SCALAR, 8, false);
  uint32_t weight = b.scalar(plan::Scalar::WEIGHT, F64);
  uint32_t all = b.total(*b.plan.mutable_evaluation(), "eval_loss", plan::F64);
  b.program("evaluate");
  b.copyIn({common.input, weight});
  uint32_t loss =
      b.launch("evaluate", {b.all(common.input, READ), b.all(p, READ),
                            b.all(statistics, READ), b.all(weight, READ),
                            b.all(local, WRITE)});
  b.sum({b.all(local, READ), b.all(all, READ_WRITE)}, {loss}, F64);
}

static plan::Plan accumulating(bool local, bool evaluates = false) {
  using namespace plan;
  PlanBuilder b(2, 2, 2);
  Common common(b);
  int a = b.unit("a", 512, false);
  uint32_t m = b.state(a, "exp_avg", true);
  uint32_t s = b.state(a, "grad", true);
  uint32_t p = b.plan.units(a).states(0).slice();
  uint32_t h = b.slice("h", ACTIVATION, 64, false);
  uint32_t g = b.slice("a/gradients", GRAD, 2048, false, a);
  uint32_t staging = b.slice("staging", STAGING, 512, false);

  b.program("micro");
  b.copyIn({common.input, common.stop_local});
  b.launch("forward", {b.all(common.input, READ), b.all(p, READ),
                       b.all(h, WRITE), b.all(common.loss_local, WRITE)});
  uint32_t backward = b.launch(
      "backward", {b.all(h, READ), b.all(common.input, READ), b.all(g, WRITE)});
  b.reduce(a, b.all(g, READ), b.all(s, READ_WRITE), b.all(staging, WRITE),
           {backward});
  common.sum(b, {});
  uint32_t statistics = 0;
  if (local) {
    Unit &unit = *b.plan.mutable_units(b.unit("buffers", 512, false));
    unit.set_trainable(false);
    unit.mutable_parameters(0)->set_trainable(false);
    unit.set_local(true);
    statistics = unit.states(0).slice();
    b.launch("statistics",
             {b.all(common.input, READ), b.all(statistics, READ_WRITE)});
  }
  b.program("update");
  b.copyIn({common.rate});
  uint32_t u = b.launch("update", {b.all(s, READ), b.all(common.rate, READ),
                                   b.part(p, 0, 1024, 1024, READ_WRITE),
                                   b.all(m, READ_WRITE)});
  b.gather(a, b.part(p, 0, 1024, 1024, READ), b.all(p, WRITE), {u});
  b.fill(kCompute, b.all(s, WRITE));
  if (evaluates) {
    addEvaluation(b, common, p, statistics);
  }
  return b.finish();
}

plan::Plan accumulatingPlan() { return accumulating(false); }

plan::Plan localUnitPlan() { return accumulating(true); }

plan::Plan evaluatingPlan() { return accumulating(true, true); }

plan::Plan reduceLastPlan() {
  using namespace plan;
  PlanBuilder b(2, 2, 2);
  Common common(b);
  int a = b.unit("a", 512, false);
  uint32_t m = b.state(a, "exp_avg", true);
  uint32_t s = b.state(a, "grad", false);
  uint32_t p = b.plan.units(a).states(0).slice();
  uint32_t h = b.slice("h", ACTIVATION, 64, false);
  uint32_t staging = b.slice("staging", STAGING, 512, false);

  b.program("micro");
  b.copyIn({common.input, common.stop_local});
  b.launch("forward", {b.all(common.input, READ), b.all(p, READ),
                       b.all(h, WRITE), b.all(common.loss_local, WRITE)});
  uint32_t backward =
      b.launch("backward", {b.all(h, READ), b.all(common.input, READ),
                            b.all(s, READ_WRITE)});
  common.sum(b, {backward});
  b.program("update");
  b.copyIn({common.rate});
  uint32_t r = b.reduce(a, b.all(s, READ), b.part(s, 0, 1024, 1024, WRITE),
                        b.all(staging, WRITE), {});
  uint32_t u =
      b.launch("update",
               {b.part(s, 0, 1024, 1024, READ), b.all(common.rate, READ),
                b.part(p, 0, 1024, 1024, READ_WRITE), b.all(m, READ_WRITE)},
               {r});
  b.gather(a, b.part(p, 0, 1024, 1024, READ), b.all(p, WRITE), {u});
  b.fill(kCompute, b.all(s, WRITE));
  return b.finish();
}

/// Makes a plan that offloads states, to the file or to the memory of the host.
static plan::Plan planWithHost(bool file) {
  using namespace plan;
  PlanBuilder b(2, 1);
  b.addHost();
  if (file) {
    b.addFile();
  }
  Common common(b);
  int a = b.unit("a", 512, false);
  uint32_t master = b.state(a, "master", true, file ? kFile : kPinned);
  uint32_t m = b.state(a, "exp_avg", true, file ? kFile : kHost);
  uint32_t p = b.plan.units(a).states(0).slice();
  uint32_t h = b.slice("h", ACTIVATION, 64, false);
  uint32_t g = b.slice("a/gradients", GRAD, 2048, false, a);
  uint32_t staging = b.slice("staging", STAGING, 512, false);
  uint32_t gh = b.slice("a/offloaded", GRAD_SHARD, 1024, false, a, kPinned);
  uint32_t rate = b.slice("rate offloaded", SCALAR, 4, false, -1, kPinned);

  b.program("step");
  b.copyIn({common.input, common.stop_local, common.rate});
  b.launch("forward", {b.all(common.input, READ), b.all(p, READ),
                       b.all(h, WRITE), b.all(common.loss_local, WRITE)});
  uint32_t backward = b.launch(
      "backward", {b.all(h, READ), b.all(common.input, READ), b.all(g, WRITE)});
  Access own = b.part(g, 0, 1024, 1024, WRITE);
  uint32_t r =
      b.reduce(a, b.all(g, READ), own, b.all(staging, WRITE), {backward});
  common.sum(b, {});
  own.set_mode(READ);
  b.copy(kOffload, own, b.all(gh, WRITE), {r});
  uint32_t to =
      b.copy(kOffload, b.all(common.rate, READ), b.all(rate, WRITE), {});
  // Waits for both, which are of one stream.
  std::vector<uint32_t> waits = {to};
  uint32_t new_master = master, new_m = m;
  if (file) {
    new_master = b.slice("a/master read", OPTIMIZER, 1024, false, a, kPinned);
    new_m = b.slice("a/exp_avg read", OPTIMIZER, 1024, false, a, kPinned);
    b.copy(kRead, b.all(master, READ), b.all(new_master, WRITE), {});
    waits.push_back(b.copy(kRead, b.all(m, READ), b.all(new_m, WRITE), {}));
  }
  uint32_t u =
      b.launch("update",
               {b.all(gh, READ), b.all(rate, READ),
                b.all(new_master, READ_WRITE), b.all(new_m, READ_WRITE)},
               waits, kUpdate);
  uint32_t up = b.copy(kFetch, b.all(new_master, READ),
                       b.part(p, 0, 1024, 1024, WRITE), {u});
  if (file) {
    b.copy(kWrite, b.all(new_master, READ), b.all(master, WRITE), {u});
    b.copy(kWrite, b.all(new_m, READ), b.all(m, WRITE), {});
  }
  b.gather(a, b.part(p, 0, 1024, 1024, READ), b.all(p, WRITE), {up});
  return b.finish();
}

plan::Plan offloadingPlan() { return planWithHost(/*file=*/false); }

plan::Plan filePlan() { return planWithHost(/*file=*/true); }

plan::Plan fileParametersPlan() {
  using namespace plan;
  PlanBuilder b(2, 3);
  b.addHost();
  b.addFile();
  Common common(b);
  int a = b.unit("a", 512, true, kFile);
  uint32_t p = b.plan.units(a).states(0).slice();
  uint32_t master = b.state(a, "master", true, kFile);
  uint32_t m = b.state(a, "exp_avg", true, kFile);
  uint32_t read_p =
      b.slice("a/param read", PARAM_SHARD, 1024, false, a, kPinned);
  uint32_t shard = b.slice("a/shard", PARAM_SHARD, 1024, false, a);
  uint32_t whole = b.slice("a/gathered", GATHERED, 2048, false, a);
  uint32_t h = b.slice("h", ACTIVATION, 64, false);
  uint32_t g = b.slice("a/gradients", GRAD, 2048, false, a);
  uint32_t reduced = b.slice("a/reduced", GRAD_SHARD, 1024, false, a);
  uint32_t staging = b.slice("staging", STAGING, 512, false);
  uint32_t gh = b.slice("a/offloaded", GRAD_SHARD, 1024, false, a, kPinned);
  uint32_t rate = b.slice("rate offloaded", SCALAR, 4, false, -1, kPinned);
  uint32_t read_master =
      b.slice("a/master read", OPTIMIZER, 1024, false, a, kPinned);
  uint32_t read_m =
      b.slice("a/exp_avg read", OPTIMIZER, 1024, false, a, kPinned);
  uint32_t made = b.slice("a/param made", PARAM_SHARD, 1024, false, a, kPinned);

  b.program("step");
  b.copyIn({common.input, common.stop_local, common.rate});
  uint32_t read = b.copy(kRead, b.all(p, READ), b.all(read_p, WRITE), {});
  uint32_t up =
      b.copy(kFetch, b.all(read_p, READ), b.all(shard, WRITE), {read});
  uint32_t gathered =
      b.gather(a, b.all(shard, READ), b.all(whole, WRITE), {up});
  b.launch("forward",
           {b.all(common.input, READ), b.all(whole, READ), b.all(h, WRITE),
            b.all(common.loss_local, WRITE)},
           {gathered});
  uint32_t backward = b.launch(
      "backward", {b.all(h, READ), b.all(common.input, READ), b.all(g, WRITE)});
  uint32_t r = b.reduce(a, b.all(g, READ), b.all(reduced, WRITE),
                        b.all(staging, WRITE), {backward});
  common.sum(b, {});
  b.copy(kOffload, b.all(reduced, READ), b.all(gh, WRITE), {r});
  uint32_t down =
      b.copy(kOffload, b.all(common.rate, READ), b.all(rate, WRITE), {});
  b.copy(kRead, b.all(master, READ), b.all(read_master, WRITE), {});
  read = b.copy(kRead, b.all(m, READ), b.all(read_m, WRITE), {});
  uint32_t u = b.launch("update",
                        {b.all(gh, READ), b.all(rate, READ),
                         b.all(read_master, READ_WRITE),
                         b.all(read_m, READ_WRITE), b.all(made, WRITE)},
                        {down, read}, kUpdate);
  b.copy(kWrite, b.all(read_master, READ), b.all(master, WRITE), {u});
  b.copy(kWrite, b.all(read_m, READ), b.all(m, WRITE), {});
  b.copy(kWrite, b.all(made, READ), b.all(p, WRITE), {});
  return b.finish();
}

plan::Plan forwardPlan() {
  PlanBuilder b(1, 0);
  b.plan.clear_groups();
  uint32_t input = b.slice("x", plan::INPUT, 64, false);
  plan::Input &x = *b.plan.add_inputs();
  x.set_name("x");
  x.set_type(plan::F32);
  x.add_shape(2);
  x.add_shape(8);
  x.set_per_sample(true);
  x.set_slice(input);
  uint32_t rows = b.slice("y", plan::OUTPUT, 64, true);
  uint32_t mean = b.slice("mean", plan::OUTPUT, 4, true);
  plan::Output &y = *b.plan.add_outputs();
  y.set_name("y");
  y.set_type(plan::F32);
  y.add_shape(2);
  y.add_shape(8);
  y.set_per_sample(true);
  y.set_slice(rows);
  plan::Output &m = *b.plan.add_outputs();
  m.set_name("mean");
  m.set_type(plan::F32);
  m.set_slice(mean);
  b.program("forward");
  b.copyIn({input});
  b.launch("all of it", {b.all(input, plan::READ), b.all(rows, plan::WRITE),
                         b.all(mean, plan::WRITE)});
  return b.finish();
}

} // namespace zerograph::testing
