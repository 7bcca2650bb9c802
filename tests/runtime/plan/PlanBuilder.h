//===- PlanBuilder.h - small plans made by hand ---------------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_PLAN_PLANBUILDER_H
#define ZEROGRAPH_TESTS_RUNTIME_PLAN_PLANBUILDER_H

#include "runtime/plan/plan.pb.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::testing {

/// The streams that every plan of a builder has.
enum : uint32_t { kCompute, kGather, kScatter };
/// The streams that `addHost` adds, and the arenas.
enum : uint32_t { kOffload = kScatter + 1, kFetch, kUpdate };
enum : uint32_t { kDevice, kPinned, kHost, kFile };
/// The streams that `addFile` adds after it.
enum : uint32_t { kRead = kUpdate + 1, kWrite };

/// Makes plans step by step. Slices lie one after another in one device arena,
/// slots in one of pinned memory; `finish` states signatures and sizes as they
/// are.
class PlanBuilder {
public:
  PlanBuilder(uint32_t world, uint32_t stage, uint32_t accumulate = 1);

  uint32_t slice(const std::string &name, plan::SliceClass slice_class,
                 uint64_t bytes, bool carried, int unit = -1,
                 uint32_t arena = kDevice);
  /// A unit of one f32 segment. With `sharded`, parameters are shards.
  int unit(const std::string &name, uint64_t elements, bool sharded,
           uint32_t arena = kDevice);
  uint32_t state(int unit, const std::string &role, bool sharded,
                 uint32_t arena = kDevice);
  /// The host beside the device: its streams, kernels and memory.
  void addHost();
  /// Its file, after these.
  void addFile();
  /// Another stream.
  uint32_t stream(const std::string &name, plan::StreamKind kind);
  /// Each with a slice of its own: its index.
  uint32_t scalar(plan::Scalar::Kind kind, plan::ElementType type = plan::F32);
  uint32_t total(plan::Total &total, const std::string &name,
                 plan::ElementType type = plan::F32);

  void program(const std::string &name);
  /// Whole slices, or parts of them.
  plan::Access all(uint32_t slice, plan::Mode mode) const;
  plan::Access part(uint32_t slice, uint64_t offset, uint64_t bytes,
                    uint64_t rank_stride, plan::Mode mode) const;

  /// The first step: copies these slices of inputs and scalars in, from slots
  /// that the program gets, in pinned memory. On the compute stream.
  void copyIn(const std::vector<uint32_t> &slices);
  /// Each returns the step's index in the current program.
  uint32_t launch(const std::string &name,
                  const std::vector<plan::Access> &accesses,
                  const std::vector<uint32_t> &waits = {},
                  uint32_t stream = kCompute);
  uint32_t copy(uint32_t stream, const plan::Access &from,
                const plan::Access &to, const std::vector<uint32_t> &waits);
  uint32_t gather(int unit, const plan::Access &shard,
                  const plan::Access &segment,
                  const std::vector<uint32_t> &waits = {});
  uint32_t reduce(int unit, const plan::Access &gradients,
                  const plan::Access &shard, const plan::Access &staging,
                  const std::vector<uint32_t> &waits = {});
  uint32_t sum(const std::vector<plan::Access> &accesses,
               const std::vector<uint32_t> &waits = {},
               plan::ElementType type = plan::F32);
  uint32_t fill(uint32_t stream, const plan::Access &access,
                const std::vector<uint32_t> &waits = {});
  uint32_t add(uint32_t stream, plan::Step step,
               const std::vector<uint32_t> &waits = {});

  plan::Plan finish();

  plan::Plan plan;

private:
  plan::Program &current() {
    return *plan.mutable_programs(plan.programs_size() - 1);
  }
  void addArena(plan::Space space, uint32_t device = 0);
  void hold(int unit, plan::Slice &slice) const;
  uint32_t collectives = 0;
};

/// States of every kernel that it touches what its last launch brings, as f32;
/// scalars of 8 bytes as f64; and that it adds gradients up.
void signKernels(plan::Plan &plan);

/// States signatures and sizes of a plan changed by hand.
void stateFacts(plan::Plan &plan);

/// Sizes only.
void stateSizes(plan::Plan &plan);

/// World 2, stage 3, two units of 512 elements, one micro-batch:
///   0 copy in, 1 gather a, 2 gather b, 3 forward a, 4 forward b (matmul),
///   5 loss, 6 backward b, 7 reduce b, 8 backward a, 9 reduce a, 10 sum loss,
///   11 update b, 12 update a
plan::Plan stageThreePlan();

/// World 2, stage 1: one whole unit, reduced into the rank's own part of its
/// gradients, updated by parts and gathered in place:
///   0 copy in, 1 forward, 2 backward, 3 reduce, 4 sum, 5 update, 6 gather
plan::Plan stageOnePlan();

/// World 2, stage 2, two micro-batches:
///   micro: 0 copy in, 1 forward, 2 backward, 3 reduce (accumulates), 4 sum
///   update: 0 copy in, 1 update, 2 gather, 3 fill
plan::Plan accumulatingPlan();

/// The same with a unit "buffers" of each rank's own:
///   micro: ..., 5 statistics
plan::Plan localUnitPlan();

/// The same, which evaluates:
///   evaluate: 0 copy in, 1 evaluate, 2 sum
plan::Plan evaluatingPlan();

/// World 2, stage 1, two micro-batches, reduced at the last:
///   micro: 0 copy in, 1 forward, 2 backward (adds to its gradients), 3 sum
///   update: 0 copy in, 1 reduce, 2 update, 3 gather, 4 fill
plan::Plan reduceLastPlan();

/// World 2, stage 1, with its states on the host:
///   0 copy in, 1 forward, 2 backward, 3 reduce, 4 sum, 5 offload gradients,
///   6 offload the rate, 7 update, 8 fetch parameters, 9 gather
plan::Plan offloadingPlan();

/// The same with its states in a file:
///   0 copy in, 1 forward, 2 backward, 3 reduce, 4 sum, 5 offload gradients,
///   6 offload the rate, 7 read the master, 8 read the moment, 9 update,
///   10 fetch parameters, 11 write the master, 12 write the moment, 13 gather
plan::Plan filePlan();

/// World 2, stage 3, one unit with its parameters in a file too, which are made
/// of their master:
///   0 copy in, 1 read the parameters, 2 fetch them, 3 gather, 4 forward,
///   5 backward, 6 reduce, 7 sum, 8 offload gradients, 9 offload the rate,
///   10 read the master, 11 read the moment, 12 update, 13 write the master,
///   14 write the moment, 15 write the parameters
plan::Plan fileParametersPlan();

/// World 1, "forward" of a copy_in and one launch from input "x" (2 samples of
/// 8) to the outputs "y", per sample, and "mean".
plan::Plan forwardPlan();

/// Index of the slice with this name.
uint32_t sliceNamed(const plan::Plan &plan, const std::string &name);
/// Returns whether the step is a launch that writes parameters.
bool launchesUpdate(const plan::Plan &plan, const plan::Step &step);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_PLAN_PLANBUILDER_H
