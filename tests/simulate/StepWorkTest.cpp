//===- StepWorkTest.cpp - how long a step takes alone ---------------------===//

#include "simulate/StepWork.h"

#include "gtest/gtest.h"

namespace zerograph::simulate {
namespace {

/// A plan of one step on the device of a machine.
struct OneStep {
  explicit OneStep(const char *name) : machine(findMachine(name).value()) {
    plan.add_devices()->set_device(machine.device);
    plan.add_streams();
    plan.add_mesh()->set_size(8);
  }

  /// Adds an access of a slice in this space.
  void access(plan::Space space, uint64_t bytes, plan::Mode mode) {
    plan.add_arenas()->set_space(space);
    plan.add_slices()->set_arena(uint32_t(plan.arenas_size() - 1));
    plan::Access &access = *step.add_accesses();
    access.set_slice(uint32_t(plan.slices_size() - 1));
    access.set_bytes(bytes);
    access.set_mode(mode);
  }
  Work work(Cluster cluster = {1, 8}) const {
    return workOf(plan, step, machine, cluster);
  }

  Machine machine;
  plan::Plan plan;
  plan::Step step;
};

constexpr uint64_t kBytes = 1 << 30;

TEST(StepWork, CopiesTakeTheWayTheyGo) {
  OneStep up("h100-sxm"), down("h100-sxm");
  up.step.mutable_copy();
  up.access(plan::PINNED, kBytes, plan::READ);
  up.access(plan::DEVICE, kBytes, plan::WRITE);
  down.step.mutable_copy();
  down.access(plan::DEVICE, kBytes, plan::READ);
  down.access(plan::PINNED, kBytes, plan::WRITE);
  double seconds = double(kBytes) / (up.machine.host_link * 1e9);
  EXPECT_DOUBLE_EQ(up.work().of(Resource::ToDevice), seconds);
  EXPECT_EQ(up.work().of(Resource::FromDevice), 0);
  EXPECT_DOUBLE_EQ(down.work().of(Resource::FromDevice), seconds);
  EXPECT_EQ(down.work().of(Resource::ToDevice), 0);
}

TEST(StepWork, RanksOfANodeShareItsDisk) {
  OneStep read("h100-sxm");
  read.step.mutable_copy();
  read.access(plan::NVME, kBytes, plan::READ);
  read.access(plan::HOST, kBytes, plan::WRITE);
  double alone = double(kBytes) / (read.machine.disk_read * 1e9);
  EXPECT_DOUBLE_EQ(read.work({8, 1}).seconds, alone);
  EXPECT_DOUBLE_EQ(read.work({1, 8}).seconds, 8 * alone);
  EXPECT_EQ(read.work().bound(), Resource::DiskRead);
}

OneStep product(plan::ElementType type) {
  OneStep one("h100-sxm");
  plan::Matmul &matmul = *one.step.mutable_matmul();
  matmul.set_element_type(type);
  matmul.set_batch(1);
  matmul.set_m(16384);
  matmul.set_n(16384);
  matmul.set_k(16384);
  for (plan::Mode mode : {plan::READ, plan::READ, plan::WRITE}) {
    one.access(plan::DEVICE, uint64_t(16384) * 16384 * 2, mode);
  }
  return one;
}

TEST(StepWork, ProductsAreAsFastAsTheirTypeAllows) {
  OneStep exact = product(plan::F32), tf32 = product(plan::F32);
  OneStep half = product(plan::BF16);
  tf32.plan.mutable_devices(0)->set_allow_tf32(true);
  double operations = 2.0 * 16384 * 16384 * 16384;
  const Machine &machine = exact.machine;
  auto peak = [&](double tera) {
    return operations / (tera * 1e12 * machine.product_share);
  };
  EXPECT_NEAR(half.work().seconds, peak(machine.multiply_bf16),
              0.15 * peak(machine.multiply_bf16));
  EXPECT_NEAR(tf32.work().seconds, peak(machine.multiply_tf32),
              0.15 * peak(machine.multiply_tf32));
  EXPECT_NEAR(exact.work().seconds, peak(machine.multiply_f32),
              0.2 * peak(machine.multiply_f32));
  EXPECT_EQ(half.work().bound(), Resource::Compute);
}

TEST(StepWork, ApproximatedFunctionsTakeLess) {
  OneStep kernel("h100-sxm");
  kernel.step.mutable_launch();
  plan::Operations &count = *kernel.plan.add_kernels()->add_operations();
  count.set_type(plan::F32);
  count.set_special(uint64_t(1) << 40);
  double exact = kernel.work().seconds;
  EXPECT_EQ(kernel.work().bound(), Resource::Compute);
  kernel.plan.mutable_devices(0)->set_fast_math(true);
  double approximated = kernel.work().seconds;
  EXPECT_LT(approximated, 0.5 * exact);
  // Attention on tensor cores, which multiplies 16 bits, always approximates.
  kernel.plan.mutable_devices(0)->set_fast_math(false);
  kernel.plan.mutable_kernels(0)->add_operations()->set_type(plan::BF16);
  EXPECT_DOUBLE_EQ(kernel.work().seconds, approximated);
}

TEST(StepWork, GathersKeepLinksAndSomeMultiprocessors) {
  OneStep gather("h100-sxm");
  gather.step.mutable_all_gather();
  gather.step.add_axes(0);
  gather.access(plan::DEVICE, kBytes / 8, plan::READ);
  gather.access(plan::DEVICE, kBytes, plan::WRITE);
  Work work = gather.work();
  EXPECT_NEAR(work.seconds,
              double(kBytes) * 7 / 8 / (gather.machine.link_bandwidth * 1e9),
              0.05 * work.seconds);
  EXPECT_GT(work.of(Resource::Compute), 0.05 * work.seconds);
  EXPECT_LT(work.of(Resource::Compute), 0.5 * work.seconds);
  EXPECT_EQ(work.of(Resource::Network), 0);
  EXPECT_GT(gather.work({2, 4}).of(Resource::Network), 0);
}

TEST(StepWork, NarrowAccessesAreSlower) {
  OneStep wide("h100-sxm"), narrow("h100-sxm");
  for (OneStep *one : {&wide, &narrow}) {
    one->step.mutable_launch();
    one->access(plan::DEVICE, kBytes, plan::READ);
    plan::Kernel &kernel = *one->plan.add_kernels();
    kernel.set_elements(kBytes);
    plan::Operand &operand = *kernel.add_operands();
    operand.set_bytes(kBytes);
    operand.set_moved(kBytes);
    operand.set_mode(plan::READ);
    operand.set_width(one == &wide ? 16 : 2);
  }
  EXPECT_GT(narrow.work().seconds, 1.3 * wide.work().seconds);
}

} // namespace
} // namespace zerograph::simulate
