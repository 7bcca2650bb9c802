//===- NcclCollective.h - a collective of one rank by NCCL ----------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVE_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVE_H

#include "runtime/base/Cause.h"
#include "runtime/comm/Collectives.h"
#include "runtime/comm/cuda/QueueOrder.h"
#include "runtime/comm/nccl/FoldStream.h"
#include "runtime/comm/nccl/NcclComm.h"
#include "runtime/device/cuda/CudaModule.h"

#include <memory>
#include <string>
#include <vector>

namespace zerograph {

/// The state that the collectives of a rank share, used by the thread that
/// issues.
struct NcclRank {
  const NcclApi *api = nullptr;
  const CudaModule *module = nullptr;
  NcclComm *comm = nullptr;
  unsigned rank = 0, world = 1;
  bool alone = true; // in its process
  /// Orders collectives; one is complete when this rank is done with it.
  QueueOrder order;
  /// Adds chunks up beside the exchange of others; null until a collective
  /// does.
  std::unique_ptr<FoldStream> folds;
  TrafficCount count;
};

inline void *pointer(CUdeviceptr address) {
  return reinterpret_cast<void *>(address);
}

/// Puts what a subclass enqueues after the collective before.
class NcclCollective : public Operation {
public:
  NcclCollective(NcclRank &self, CollectiveSite site, const char *what,
                 std::vector<CUdeviceptr> addresses)
      : self(self), nccl(*self.api), cuda(self.module->gpu()->api),
        addresses(std::move(addresses)), sequence(site.sequence),
        text(describe(site, what)) {}
  ~NcclCollective() override {
    if (complete && self.module->gpu()->enter().ok()) {
      cuda.cuEventDestroy(complete);
    }
  }

  absl::Status makeEvent() {
    ZG_RETURN_IF_ERROR(self.module->gpu()->enter());
    ZG_CUDA(cuda, cuEventCreate, &complete, CU_EVENT_DISABLE_TIMING);
    return absl::OkStatus();
  }

  absl::Status issue(const Issue &issue) override {
    auto *stream = static_cast<CUstream>(issue.stream);
    ZG_RETURN_IF_ERROR(self.order.begin(cuda, stream, sequence, text));
    ZG_RETURN_IF_ERROR(explain(enqueue(stream)));
    return self.order.end(cuda, stream, complete);
  }

  /// Returns whether it can be recorded: NCCL may deadlock when a process
  /// records for several GPUs.
  Replay replay() const override {
    return self.alone ? Replay::Whole : Replay::Never;
  }
  void enqueued() override { count(self.count); }
  absl::Status check() override { return explain(self.comm->check()); }

protected:
  virtual absl::Status enqueue(CUstream stream) = 0;
  /// Adds what a run receives from other ranks.
  virtual void count(TrafficCount &traffic) const = 0;

  NcclRank &self;
  const NcclApi &nccl;
  const CudaApi &cuda;
  const std::vector<CUdeviceptr> addresses; // one an access

private:
  /// Adds this collective to an error, unless it is another rank's, which tells
  /// nothing of it.
  absl::Status explain(const absl::Status &status) const {
    return status.ok() || isCollateral(status)
               ? status
               : annotate(status, absl::StrCat("rank ", self.rank, ", ", text));
  }

  uint32_t sequence;
  std::string text; // for messages, made once
  CUevent complete = nullptr;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOLLECTIVE_H
