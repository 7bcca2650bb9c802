//===- LinearPlan.cpp - a whole training plan, by hand --------------------===//

#include "LinearPlan.h"

#include "PlanBuilder.h"

#include "runtime/device/host/MatmulLibrary.h"

#include <fstream>
#include <iterator>

using namespace zerograph;
using namespace zerograph::testing;
using namespace zerograph::plan;

namespace {

constexpr uint64_t kElements = 3072; // 256 for each of 1, 2, 3, 4 and 6 ranks
constexpr uint64_t kBytes = kElements * 4;

class Builder {
public:
  explicit Builder(const LinearOptions &options)
      : options(options), b(options.world, options.stage, options.accumulate),
        shard(kBytes / options.world) {
    b.plan.mutable_groups(0)->set_kind("sgd");
    b.plan.mutable_groups(0)->set_learning_rate(0.125);
    b.plan.set_dump_gradients(options.dump_gradients);
    b.plan.mutable_devices(0)->set_cut_version(kCutVersion);
    std::ifstream file(ZEROGRAPH_TEST_KERNELS, std::ios::binary);
    b.plan.mutable_modules(0)->set_elf(
        std::string(std::istreambuf_iterator<char>(file), {}));
  }

  plan::Plan build();

private:
  void slices();
  uint32_t kernel(const char *symbol, uint64_t extent, uint64_t grain,
                  const std::vector<Access> &accesses,
                  const std::vector<uint32_t> &waits) {
    uint32_t step = b.launch(symbol, accesses, waits);
    Kernel &kernel = *b.plan.mutable_kernels(b.plan.kernels_size() - 1);
    kernel.set_symbol(symbol);
    kernel.mutable_host()->set_extent(extent);
    kernel.mutable_host()->set_grain(grain);
    return step;
  }
  uint32_t product(const std::vector<uint32_t> &waits);
  void micro();
  void update(const std::vector<uint32_t> &waits);
  bool sharded() const { return options.stage == 3; }

  LinearOptions options;
  PlanBuilder b;
  uint64_t shard;
  int unit = 0;
  uint32_t x = 0, y = 0, loss_local = 0, loss = 0, stop_local = 0, stop = 0;
  uint32_t rate = 0, scale = 0, param = 0, whole = 0, grad = 0, reduced = 0;
  uint32_t staging = 0;
  uint32_t last_reduce = 0;
};

void Builder::slices() {
  x = b.slice("x", INPUT, 64, false);
  Input &input = *b.plan.add_inputs();
  input.set_name("x");
  input.set_type(F32);
  input.add_shape(2);
  input.add_shape(8);
  input.set_per_sample(true);
  input.set_slice(x);
  loss_local = b.slice("loss of this rank", SCALAR, 4, false);
  loss = b.total(*b.plan.mutable_loss(), "loss");
  stop_local = b.scalar(plan::Scalar::STOP);
  stop = b.total(*b.plan.mutable_stop(), "stop");
  rate = b.scalar(plan::Scalar::LEARNING_RATE);
  scale = b.scalar(plan::Scalar::GRADIENT_SCALE);
  unit = b.unit("linear", kElements, sharded());
  Parameter &parameter = *b.plan.mutable_units(unit)->mutable_parameters(0);
  parameter.set_name("w");
  parameter.set_elements(500);
  parameter.set_shape(0, 500);
  param = b.plan.units(unit).states(0).slice();
  whole =
      sharded() ? b.slice("gathered", GATHERED, kBytes, false, unit) : param;
  reduced = b.state(unit, "grad", true);
  y = b.slice("y", ACTIVATION, 64, false);
  grad = b.slice("gradients", GRAD, kBytes, false, unit);
  staging = b.slice("staging", STAGING, 512 * options.world, false);
}

uint32_t Builder::product(const std::vector<uint32_t> &waits) {
  Step step;
  step.set_name("product");
  Matmul &matmul = *step.mutable_matmul();
  matmul.set_element_type(F32);
  matmul.set_batch(1);
  matmul.set_m(2);
  matmul.set_n(8);
  matmul.set_k(8);
  for (const Access &access :
       {b.all(x, READ), b.part(whole, 0, 256, 0, READ), b.all(y, WRITE)}) {
    *step.add_accesses() = access;
  }
  if (uint64_t bytes = scratchBytes(matmul).value_or(0); bytes != 0) {
    *step.add_accesses() =
        b.all(b.slice("scratch", STAGING, bytes, false), WRITE);
  }
  return b.add(kCompute, step, waits);
}

void Builder::micro() {
  std::vector<uint32_t> gathered;
  if (sharded()) {
    gathered = {b.gather(unit, b.all(param, READ), b.all(whole, WRITE))};
  }
  product(gathered);
  kernel("linear_loss", 1, 1,
         {b.all(x, READ), b.all(whole, READ), b.all(y, READ),
          b.all(loss_local, WRITE)},
         {});
  uint32_t backward = kernel("linear_gradient", kElements, 64,
                             {b.all(x, READ), b.all(grad, WRITE)}, {});
  bool accumulates = options.accumulate > 1;
  last_reduce = b.reduce(unit, b.all(grad, READ),
                         b.all(reduced, accumulates ? READ_WRITE : WRITE),
                         b.all(staging, WRITE), {backward});
  b.sum({b.all(loss_local, READ), b.all(loss, READ_WRITE),
         b.all(stop_local, READ), b.all(stop, READ_WRITE)},
        {});
}

void Builder::update(const std::vector<uint32_t> &waits) {
  Access part = sharded() ? b.all(param, READ_WRITE)
                          : b.part(param, 0, shard, shard, READ_WRITE);
  uint32_t step = kernel(
      "linear_update", shard / 4, 32,
      {b.all(reduced, READ), b.all(rate, READ), b.all(scale, READ), part},
      waits);
  if (!sharded()) {
    part.set_mode(READ);
    b.gather(unit, part, b.all(param, WRITE), {step});
  }
  if (options.accumulate > 1) {
    b.fill(kCompute, b.all(reduced, WRITE));
  }
}

plan::Plan Builder::build() {
  slices();
  if (options.accumulate == 1) {
    b.program("step");
    b.copyIn({x, stop_local, rate, scale});
    micro();
    update({last_reduce});
  } else {
    b.program("micro");
    b.copyIn({x, stop_local});
    micro();
    b.program("update");
    b.copyIn({rate, scale});
    update({});
  }
  return b.finish();
}

} // namespace

LoadedPlan zerograph::testing::linearPlan(const LinearOptions &options) {
  LoadedPlan loaded;
  loaded.plan = Builder(options).build();
  loaded.hash_hex = "0123";
  return loaded;
}
