//===- StepWork.cpp - how long a step takes alone, and what it keeps busy -===//

#include "simulate/StepWork.h"

#include "runtime/plan/Cost.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Mesh.h"
#include "simulate/CollectiveTime.h"
#include "simulate/ProductTime.h"

#include <algorithm>

namespace zerograph::simulate {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9, kTera = 1e12;

/// Multiply-adds that generated code makes a function such as exp of.
constexpr double kAddsPerSpecial = 25;
/// The same where a GPU approximates it: its units for that have an eighth of
/// the rate.
constexpr double kAddsPerApproximation = 10;
/// Multiply-adds a second of one core of a GPU's host.
constexpr double kHostCore = 30e9;
/// Multiprocessors that a collective of NCCL keeps from other kernels.
constexpr double kCollectiveProcessors = 16;

/// The part of the bandwidth that a library's products reach on a GPU, next to
/// kernels that only move bytes (fitted with ProductTime.cpp's numbers).
constexpr double kProductBandwidth = 0.6;

/// The part of the peak that generated products reach, those of attention: of a
/// GPU with tensor cores as without, on an H100; and of a processor.
constexpr double kGeneratedProducts = 0.25, kGeneratedOnHost = 0.67;

/// Returns the part of the bandwidth that accesses of so many bytes reach, next
/// to those of 16: a warp has fewer bytes on their way.
double shareOfWidth(uint32_t bytes) {
  return bytes >= 16 ? 1 : bytes >= 8 ? 0.95 : bytes >= 4 ? 0.85 : 0.6;
}

class StepWork {
public:
  StepWork(const plan::Plan &plan, const plan::Step &step,
           const Machine &machine, const Cluster &cluster)
      : plan(plan), step(step), machine(machine), cluster(cluster),
        cost(costOf(plan, step)) {
    const plan::Stream &stream = plan.streams(int(step.stream()));
    beside = plan.devices(int(stream.device())).device() == "host" &&
             machine.device != "host";
    shared = machine.device == "host" ? cluster.ranks_per_node : 1;
  }

  Work work() {
    move();
    switch (step.op_case()) {
    case plan::Step::kAllGather:
      exchange(ringOf(wholes(), machine, cluster));
      break;
    case plan::Step::kReduceScatter:
      reduce(step.reduce_scatter());
      break;
    case plan::Step::kAllReduce:
      // Every rank gathers the values of all, and adds them up.
      exchange(ringOf(cluster.ranks() * wholes(), machine, cluster));
      break;
    case plan::Step::kMatmul:
      multiply(step.matmul());
      break;
    default:
      compute();
    }
    result.last(beside ? 0
                       : cost.launches.saturated() * machine.launch * kMicro);
    result.seconds = std::max(result.seconds, least);
    return result;
  }

private:
  /// The memories that the step reads and writes, and the ways between them.
  void move() {
    auto bytes = [&](plan::Space space) {
      return double(cost.memory[size_t(space)].all().saturated());
    };
    double device = bytes(plan::DEVICE),
           host = bytes(plan::PINNED) + bytes(plan::HOST);
    if (machine.device == "host") {
      device += host;
      host = 0;
    }
    result.of(Resource::Memory) = device * shared /
                                  (machine.memory_bandwidth * kGiga *
                                   machine.memory_share * bandwidthShare());
    if (host > 0) {
      result.of(Resource::HostMemory) = host * cluster.ranks_per_node /
                                        (machine.host_memory_bandwidth * kGiga);
    }
    if (!beside && host > 0) {
      const MovedBytes &in = cost.memory[plan::DEVICE];
      double seconds = host / (machine.host_link * kGiga);
      bool up = in.written.saturated() >= in.read.saturated();
      result.of(up ? Resource::ToDevice : Resource::FromDevice) = seconds;
    }
    const MovedBytes &file = cost.memory[plan::NVME];
    result.of(Resource::DiskRead) = double(file.read.saturated()) *
                                    cluster.ranks_per_node /
                                    (machine.disk_read * kGiga);
    result.of(Resource::DiskWrite) = double(file.written.saturated()) *
                                     cluster.ranks_per_node /
                                     (machine.disk_write * kGiga);
  }

  /// Returns the part of the bandwidth that the step's accesses reach.
  double bandwidthShare() const {
    if (step.has_matmul() && machine.device != "host") {
      return kProductBandwidth;
    }
    if (!step.has_launch() || machine.device == "host") {
      return 1;
    }
    double moved = 0, seconds = 0;
    for (const plan::Operand &operand :
         plan.kernels(int(step.launch().kernel())).operands()) {
      moved += double(operand.moved());
      seconds += double(operand.moved()) / shareOfWidth(operand.width());
    }
    return moved > 0 ? moved / seconds : 1;
  }

  /// Operations of generated code, and of a library's convolutions.
  void compute() {
    double seconds = 0;
    double addsPerSpecial =
        approximates() ? kAddsPerApproximation : kAddsPerSpecial;
    for (const auto &[type, counts] : cost.operations) {
      double other = double(counts.simple.saturated()) +
                     addsPerSpecial * double(counts.special.saturated());
      seconds += other / vectorRate(type) +
                 double(counts.multiplyAdds.saturated()) / productRate(type);
    }
    result.of(beside ? Resource::HostCompute : Resource::Compute) =
        seconds * (beside ? 1 : shared);
  }

  /// Returns whether a GPU approximates exponentials: by `--math fast`, and in
  /// attention on tensor cores always.
  bool approximates() const {
    bool isGpu = !beside && machine.device != "host";
    bool onTensorCores = !step.has_convolution() &&
                         (cost.operations.count(plan::BF16) > 0 ||
                          cost.operations.count(plan::F16) > 0);
    return isGpu && (plan.devices(0).fast_math() || onTensorCores);
  }

  void multiply(const plan::Matmul &matmul) {
    plan::ElementType type = matmul.element_type();
    bool exact = type == plan::F64 ||
                 (type == plan::F32 && !plan.devices(0).allow_tf32());
    ProductShape shape{matmul.batch(), matmul.m(), matmul.n(), matmul.k(),
                       !exact};
    result.of(Resource::Compute) =
        shared *
        secondsOfProduct(shape, productPeak(type, plan, machine), machine);
  }

  /// Multiply-adds a second of generated code.
  double vectorRate(plan::ElementType type) const {
    if (beside) {
      return kHostCore * machine.host_processors / cluster.ranks_per_node;
    }
    return kTera / 2 *
           (type == plan::F64 ? machine.vector_f64 : machine.vector_f32);
  }

  /// Multiply-adds a second of convolutions by a library, and of generated
  /// products: of 16 bits by tensor cores, or two by each instruction of a
  /// processor that multiplies one of f32.
  double productRate(plan::ElementType type) const {
    if (step.has_convolution()) {
      return productPeak(type, plan, machine) * machine.product_share / 2;
    }
    bool half = type == plan::BF16 || type == plan::F16;
    if (machine.device == "host") {
      return vectorRate(type) * (half ? 2 : 1) * kGeneratedOnHost;
    }
    return (half ? productPeak(type, plan, machine) / 2 : vectorRate(type)) *
           kGeneratedProducts;
  }

  /// Returns the bytes of the second accesses of all pairs: the segments that a
  /// rank has afterwards, or the sums.
  double wholes() const {
    double bytes = 0;
    for (int i = 1; i < step.accesses_size(); i += 2) {
      bytes += double(step.accesses(i).bytes());
    }
    return bytes;
  }

  /// The library adds up, or chunks are exchanged and folded as they arrive.
  void reduce(const plan::ReduceScatter &op) {
    double bytes = double(step.accesses(0).bytes());
    exchange(op.any_order() ? ringOf(bytes, machine, cluster)
                            : allToAllOf(bytes, double(op.chunk_bytes()),
                                         machine, cluster));
  }

  void exchange(const Exchange &exchange) {
    result.of(Resource::Link) = exchange.link;
    result.of(Resource::Network) = exchange.network;
    least = exchange.seconds;
    if (machine.device != "host") {
      result.of(Resource::Compute) =
          exchange.seconds * kCollectiveProcessors / machine.processors;
    }
  }

  const plan::Plan &plan;
  const plan::Step &step;
  const Machine &machine;
  const Cluster &cluster;
  Cost cost;
  bool beside;      // on the host of a GPU
  double shared;    // ranks that have the device together
  double least = 0; // seconds, of an exchange
  Work result;
};

} // namespace

double productPeak(plan::ElementType type, const plan::Plan &plan,
                   const Machine &machine) {
  switch (type) {
  case plan::F64:
    return machine.multiply_f64 * kTera;
  case plan::F16:
    return machine.multiply_f16 * kTera;
  case plan::BF16:
    return machine.multiply_bf16 * kTera;
  default:
    return (plan.devices(0).allow_tf32() ? machine.multiply_tf32
                                         : machine.multiply_f32) *
           kTera;
  }
}

Resource Work::bound() const {
  return Resource(std::max_element(busy.begin(), busy.end()) - busy.begin());
}

void Work::last(double longer) {
  seconds = *std::max_element(busy.begin(), busy.end()) + longer;
}

Work workOf(const plan::Plan &plan, const plan::Step &step,
            const Machine &machine, const Cluster &cluster) {
  return StepWork(plan, step, machine, cluster).work();
}

} // namespace zerograph::simulate
