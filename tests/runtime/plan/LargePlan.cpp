//===- LargePlan.cpp - a plan as of a very large model --------------------===//

#include "LargePlan.h"

#include "PlanBuilder.h"

#include <string>

namespace zerograph::testing {
namespace {

using namespace plan;

constexpr uint32_t kWorld = 8;
constexpr uint64_t kElements = 256 * kWorld;
constexpr uint64_t kActivation = 4096;
constexpr int kKernels = 16;

class Builder {
public:
  explicit Builder(int layers) : b(kWorld, 3) {
    for (Space space : {PINNED, NVME}) {
      Arena &arena = *b.plan.add_arenas();
      arena.set_space(space);
      arena.set_alignment(arena.space() == plan::NVME ? 4096 : 64);
    }
    out = b.stream("out", COPY_OUT);
    in = b.stream("in", COPY_IN);
    write = b.stream("write", FILE_WRITE);
    read = b.stream("read", FILE_READ);
    scalars();
    for (int i = 0; i < layers; ++i) {
      b.unit(name(i), kElements, true);
      b.state(i, "exp_avg", true);
    }
    base[0] = b.plan.arenas(0).bytes();
    b.program("step");
    b.copyIn({input, stop_local, rate});
    base[1] = b.plan.arenas(1).bytes();
    uint32_t last = 0;
    for (int i = 0; i < layers; ++i) {
      last = layer(i);
    }
    finish(last);
  }

  plan::Plan build() { return b.finish(); }

private:
  static std::string name(int layer) { return "layer" + std::to_string(layer); }

  void scalars() {
    input = b.slice("x", INPUT, kActivation, false);
    Input &x = *b.plan.add_inputs();
    x.set_name("x");
    x.set_type(F32);
    x.add_shape(2);
    x.add_shape(kActivation / 8);
    x.set_per_sample(true);
    x.set_slice(input);
    loss_local = b.slice("loss of this rank", SCALAR, 4, false);
    loss = b.total(*b.plan.mutable_loss(), "loss");
    stop_local = b.scalar(plan::Scalar::STOP);
    stop = b.total(*b.plan.mutable_stop(), "stop");
    rate = b.scalar(plan::Scalar::LEARNING_RATE);
  }

  /// A buffer at place `at` of the area after everything carried, in units of
  /// the largest.
  uint32_t buffer(const std::string &name, SliceClass slice_class,
                  uint64_t bytes, int at, int arena = 0, int unit = -1) {
    uint64_t before = b.plan.arenas(0).bytes();
    uint32_t slice = b.slice(name, slice_class, bytes, false, unit);
    b.plan.mutable_arenas(0)->set_bytes(before);
    b.plan.mutable_slices(slice)->set_arena(arena);
    b.plan.mutable_slices(slice)->set_offset(base[arena] +
                                             uint64_t(at) * kElements * 4);
    return slice;
  }

  uint32_t copy(uint32_t stream, uint32_t from, uint32_t to,
                const std::vector<uint32_t> &waits) {
    Step step;
    step.set_name("copy");
    step.mutable_copy();
    *step.add_accesses() = b.all(from, READ);
    *step.add_accesses() = b.all(to, WRITE);
    return b.add(stream, step, waits);
  }

  uint32_t layer(int i) {
    int turn = i % 2;
    std::string of = name(i);
    uint32_t param = b.plan.units(i).states(0).slice();
    uint32_t average = b.plan.units(i).states(1).slice();
    uint32_t whole = buffer(of, GATHERED, kElements * 4, turn, 0, i);
    uint32_t gather = b.gather(i, b.all(param, READ), b.all(whole, WRITE),
                               i < 2 ? std::vector<uint32_t>{}
                                     : std::vector<uint32_t>{backward[turn]});
    uint32_t act = act_before, step = 0;
    std::vector<uint32_t> waits{gather};
    uint32_t kept = 0, back = 0;
    for (int k = 0; k < kKernels; ++k) {
      uint32_t next = buffer(of + " a" + std::to_string(k), ACTIVATION,
                             kActivation, 2 + k % 4);
      std::vector<Access> accesses{b.all(i == 0 && k == 0 ? input : act, READ),
                                   b.all(whole, READ)};
      if (k == kKernels - 1) {
        accesses.push_back(b.all(back, READ));
      }
      accesses.push_back(b.all(next, WRITE));
      step = b.launch(of, accesses, waits);
      waits.clear();
      if (k == 0) {
        kept = buffer(of + " kept", ACTIVATION, kActivation, 6 + turn);
        step = b.launch(of, {b.all(next, READ), b.all(kept, WRITE)}, waits);
        back = offload(of, kept, step, turn);
      }
      if (k == kKernels - 2) {
        waits = {loaded};
      }
      act = next;
    }
    act_before = act;
    uint32_t gradients =
        buffer(of + " gradients", GRAD, kElements * 4, 10 + turn, 0, i);
    uint32_t shard = buffer(of + " shard", GRAD_SHARD, kElements * 4 / kWorld,
                            12 + turn, 0, i);
    uint32_t staging = buffer(of + " staging", STAGING, 512 * kWorld, 14);
    backward[turn] = b.launch(
        of, {b.all(act, READ), b.all(whole, READ), b.all(gradients, WRITE)});
    uint32_t reduce = b.reduce(i, b.all(gradients, READ), b.all(shard, WRITE),
                               b.all(staging, WRITE), {backward[turn]});
    return b.launch(of + " update",
                    {b.all(shard, READ), b.all(rate, READ),
                     b.all(average, READ_WRITE), b.all(param, READ_WRITE)},
                    {reduce});
  }

  /// To a file and back: the slice that it comes back to.
  uint32_t offload(const std::string &of, uint32_t kept, uint32_t made,
                   int turn) {
    uint32_t pinned = buffer(of + " out", ACTIVATION, kActivation, turn, 1);
    uint32_t file = buffer(of + " file", ACTIVATION, kActivation, turn, 2);
    uint32_t again = buffer(of + " in", ACTIVATION, kActivation, 2 + turn, 1);
    uint32_t back = buffer(of + " back", ACTIVATION, kActivation, 8 + turn);
    uint32_t left = copy(out, kept, pinned, {made});
    uint32_t written = copy(write, pinned, file, {left});
    uint32_t loading = copy(read, file, again, {written});
    loaded = copy(in, again, back, {loading});
    return back;
  }

  void finish(uint32_t last) {
    b.launch("loss", {b.all(act_before, READ), b.all(loss_local, WRITE)});
    b.sum({b.all(loss_local, READ), b.all(loss, READ_WRITE),
           b.all(stop_local, READ), b.all(stop, READ_WRITE)},
          {last + 1});
  }

  PlanBuilder b;
  uint64_t base[3] = {}; // by arena
  uint32_t input = 0, loss_local = 0, loss = 0, stop_local = 0, stop = 0;
  uint32_t rate = 0, act_before = 0, loaded = 0;
  uint32_t out = 0, in = 0, write = 0, read = 0; // streams
  uint32_t backward[2] = {};
};

} // namespace

plan::Plan largePlan(int layers) { return Builder(layers).build(); }

} // namespace zerograph::testing
