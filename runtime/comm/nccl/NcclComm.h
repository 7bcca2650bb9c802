//===- NcclComm.h - one rank's communicator of NCCL -----------------------===//
//
// Non-blocking: NCCL may go on with a call after it has returned. So each call
// is followed by a look at the communicator's state until NCCL is done with it,
// at most until the deadline. There is one communicator: collectives of a
// program are in one total order anyway, and a second one would cost its
// connections and buffers, and NCCL's kernels would have to be kept in order
// between the two besides.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOMM_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOMM_H

#include "runtime/comm/ControlPlane.h"
#include "runtime/comm/nccl/NcclApi.h"
#include "runtime/comm/nccl/Scratch.h"

#include "absl/functional/function_ref.h"

#include <mutex>

namespace zerograph {

/// Calls may come from any thread, but only one at a time, except `abort`: that
/// may come while another call is under way.
class NcclComm {
public:
  using Clock = std::chrono::steady_clock;

  /// Meets the other ranks, whose threads or processes call it too, and makes
  /// all connections, so that no collective allocates anything later. An error
  /// names what failed, and which ranks did not come.
  static absl::StatusOr<std::unique_ptr<NcclComm>>
  join(const NcclApi &api, std::shared_ptr<CudaContext> gpu,
       ControlPlane &control, Clock::duration deadline);
  /// Ends, unless it is closed, what it does where it is.
  ~NcclComm();

  /// Makes one operation of what `calls` enqueues, between ncclGroupStart and
  /// ncclGroupEnd. When this returns, it is on its streams.
  absl::Status group(absl::FunctionRef<absl::Status(ncclComm_t)> calls);
  /// Returns an error of NCCL, or of another rank, since.
  absl::Status check();

  /// Registers memory that collectives use, so that NCCL may let the network or
  /// other GPUs reach it where it lies, and exchanges in it once. All ranks
  /// call it, with as many bytes, before anything but NaN is in it. Returns
  /// empty, or what NCCL does not do, and why. Where NCCL refuses a rank a
  /// window, it may begin a new communicator.
  absl::StatusOr<std::string> registerMemory(CUdeviceptr begin, uint64_t bytes);

  /// Ends what is on streams, since this rank failed; every call from now on is
  /// an error that carries this one.
  void abort(const absl::Status &status);
  /// Closes it when nothing is on streams any more; all ranks call it.
  absl::Status close();

private:
  struct Registered {
    CUdeviceptr begin;
    uint64_t bytes;
    void *handle = nullptr;
    ncclWindow_t window = nullptr;
    void *memory() const { return reinterpret_cast<void *>(begin); }
  };

  NcclComm(const NcclApi &api, std::shared_ptr<CudaContext> gpu,
           ControlPlane &control, Clock::duration deadline)
      : api(api), gpu(std::move(gpu)), control(control), deadline(deadline) {}

  absl::Status begin();
  absl::Status decideRegistration();
  absl::Status warmUp(Scratch &scratch, CUdeviceptr memory, uint64_t bytes);
  absl::Status exchangeOnce(CUdeviceptr memory, uint64_t bytes,
                            CUstream stream);
  absl::StatusOr<std::string> registerOne(Registered &entry);
  absl::StatusOr<std::string> makeWindow(Registered &entry);
  absl::Status warmUpIn(const Registered &entry);
  /// Returns the result of a call, once NCCL is done with it. `lock` is open
  /// meanwhile.
  absl::Status settle(std::unique_lock<std::mutex> &lock, ncclResult_t result,
                      const char *call);
  absl::Status checkLocked(ncclResult_t &state);
  /// Ends the communicator where it is.
  void drop();

  const NcclApi &api;
  const std::shared_ptr<CudaContext> gpu;
  ControlPlane &control;
  const Clock::duration deadline;
  std::mutex mutex; // of what follows, and of every call of NCCL
  ncclComm_t comm = nullptr;
  std::vector<Registered> registered;
  std::string not_registered; // why nothing is; empty: it is
  bool windows = true;        // unless NCCL has refused one
  absl::Status failed;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_NCCLCOMM_H
