//===- NcclComm.cpp - one rank's communicator of NCCL ---------------------===//

#include "runtime/comm/nccl/NcclComm.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/nccl/Scratch.h"

#include <algorithm>
#include <future>
#include <thread>

using namespace zerograph;

namespace {

/// NCCL is done with most calls soon: at first the thread looks without a
/// break.
constexpr auto kEager = std::chrono::microseconds(200);
constexpr auto kPause = std::chrono::microseconds(50);
/// What the end of a communicator may take after a failure.
constexpr auto kGrace = std::chrono::seconds(10);
/// NCCL finds no use for less.
constexpr uint64_t kWarmBytes = 16;

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// What NCCL does now; another rank's failure is the better explanation.
absl::Status NcclComm::checkLocked(ncclResult_t &state) {
  state = ncclSuccess;
  ZG_RETURN_IF_ERROR(failed);
  ZG_RETURN_IF_ERROR(control.failure());
  ZG_RETURN_IF_ERROR(ncclStatus(api, api.ncclCommGetAsyncError(comm, &state),
                                "ncclCommGetAsyncError", comm));
  return state == ncclInProgress
             ? absl::OkStatus()
             : ncclStatus(api, state, "ncclCommGetAsyncError tells", comm);
}

absl::Status NcclComm::check() {
  std::lock_guard<std::mutex> lock(mutex);
  ncclResult_t state;
  return checkLocked(state);
}

absl::Status NcclComm::settle(std::unique_lock<std::mutex> &lock,
                              ncclResult_t result, const char *call) {
  if (result != ncclInProgress) {
    ZG_RETURN_IF_ERROR(ncclStatus(api, result, call, comm));
  }
  Clock::time_point begin = Clock::now(), end = begin + deadline;
  while (true) {
    ncclResult_t state;
    if (absl::Status status = checkLocked(state); !status.ok()) {
      return isCollateral(status) ? status : annotate(status, call);
    }
    if (state == ncclSuccess) {
      return absl::OkStatus();
    }
    if (Clock::now() > end) {
      return absl::DeadlineExceededError(absl::StrCat(
          call, ": rank ", control.rank(), " waited ",
          std::chrono::duration<double>(deadline).count(),
          " s for NCCL and the other ranks. NCCL_DEBUG=INFO makes it say what "
          "it does"));
    }
    lock.unlock();
    if (Clock::now() - begin < kEager) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
    lock.lock();
  }
}

absl::Status
NcclComm::group(absl::FunctionRef<absl::Status(ncclComm_t)> calls) {
  std::unique_lock<std::mutex> lock(mutex);
  ZG_RETURN_IF_ERROR(failed);
  ZG_RETURN_IF_ERROR(
      ncclStatus(api, api.ncclGroupStart(), "ncclGroupStart", comm));
  absl::Status status = calls(comm);
  // Also after an error: no call of this thread may fall into this group.
  ncclResult_t ended = api.ncclGroupEnd();
  ZG_RETURN_IF_ERROR(status);
  return settle(lock, ended, "ncclGroupEnd");
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

absl::StatusOr<std::unique_ptr<NcclComm>>
NcclComm::join(const NcclApi &api, std::shared_ptr<CudaContext> gpu,
               ControlPlane &control, Clock::duration deadline) {
  ZG_RETURN_IF_ERROR(gpu->enter());
  ncclUniqueId id = {};
  absl::Status made;
  if (control.rank() == 0) {
    made = ncclStatus(api, api.ncclGetUniqueId(&id), "ncclGetUniqueId",
                      /*comm=*/nullptr);
  }
  ZG_RETURN_IF_ERROR(agree(control, "starting NCCL", made));
  ZG_ASSIGN_OR_RETURN(
      std::string bytes,
      control.broadcast("the id of NCCL's communicator",
                        std::string(id.internal, sizeof(id.internal))));
  if (bytes.size() != sizeof(id.internal)) {
    return absl::InternalError(
        absl::StrCat("the id of NCCL's communicator came as ", bytes.size(),
                     " bytes of ", sizeof(id.internal)));
  }
  bytes.copy(id.internal, bytes.size());
  std::unique_ptr<NcclComm> made_comm(
      new NcclComm(api, std::move(gpu), control, deadline));
  ncclConfig_t config;
  config.blocking = 0;
  {
    std::unique_lock<std::mutex> lock(made_comm->mutex);
    ncclResult_t result =
        api.ncclCommInitRankConfig(&made_comm->comm, int(control.world()), id,
                                   int(control.rank()), &config);
    ZG_RETURN_IF_ERROR(
        made_comm->settle(lock, result, "ncclCommInitRankConfig"));
  }
  ZG_RETURN_IF_ERROR(annotate(made_comm->connect(), "connecting to all ranks"));
  return made_comm;
}

/// Each kind of collective once: what NCCL makes when one is used first.
absl::Status NcclComm::connect() {
  uint64_t bytes = kWarmBytes * (control.world() + 1);
  ZG_ASSIGN_OR_RETURN(Scratch scratch, Scratch::make(gpu, bytes));
  absl::Status status = warmUp(scratch.memory(), scratch.stream());
  if (status.ok()) {
    status = scratch.await(deadline, [this] { return check(); });
  }
  if (!status.ok()) {
    abort(status); // before the memory goes, which peers may not have reached
  }
  return status;
}

absl::Status NcclComm::warmUp(CUdeviceptr memory, CUstream stream) {
  unsigned world = control.world();
  auto *all = reinterpret_cast<std::byte *>(memory);
  std::byte *own = all + kWarmBytes * world;
  ZG_RETURN_IF_ERROR(group([&](ncclComm_t handle) {
    for (unsigned i = 1; i < world; ++i) {
      unsigned peer = (control.rank() + i) % world;
      ZG_NCCL(api, ncclSend, own, kWarmBytes, ncclUint8, int(peer), handle,
              stream);
      ZG_NCCL(api, ncclRecv, all + kWarmBytes * peer, kWarmBytes, ncclUint8,
              int(peer), handle, stream);
    }
    return absl::OkStatus();
  }));
  ZG_RETURN_IF_ERROR(group([&](ncclComm_t handle) {
    ZG_NCCL(api, ncclAllGather, own, all, kWarmBytes, ncclUint8, handle,
            stream);
    return absl::OkStatus();
  }));
  return group([&](ncclComm_t handle) {
    ZG_NCCL(api, ncclReduceScatter, all, own, kWarmBytes / sizeof(float),
            ncclFloat32, ncclSum, handle, stream);
    return absl::OkStatus();
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

absl::StatusOr<std::string> NcclComm::registerMemory(CUdeviceptr begin,
                                                     uint64_t bytes) {
  // Memory of cuMemAlloc has no handle that another process could be given,
  // and a communicator does not outlive the attempt.
  uint64_t handle_types = 0;
  ZG_CUDA(gpu->api, cuPointerGetAttribute, &handle_types,
          CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, begin);
  auto *memory = reinterpret_cast<void *>(begin);
  Registered &entry = registered.emplace_back();
  std::string why =
      handle_types == 0 ? "its memory cannot be shared with others" : "";
  if (why.empty()) {
    std::unique_lock<std::mutex> lock(mutex);
    ZG_RETURN_IF_ERROR(failed);
    absl::Status own =
        settle(lock, api.ncclCommRegister(comm, memory, bytes, &entry.handle),
               "ncclCommRegister");
    if (ncclResult_t state; !own.ok()) {
      ZG_RETURN_IF_ERROR(checkLocked(state));
      // Else the communicator is still in the call.
      ZG_RETURN_IF_ERROR(state == ncclSuccess ? absl::OkStatus() : own);
    }
    why = std::string(own.message());
  }
  // All ranks make a window, or none: who came alone would wait.
  bool able = why.empty() && api.ncclCommWindowRegister;
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> told,
      control.exchange("registering an arena with NCCL", able ? "able" : ""));
  if (std::count(told.begin(), told.end(), "able") == int64_t(told.size())) {
    std::unique_lock<std::mutex> lock(mutex);
    ZG_RETURN_IF_ERROR(failed);
    ZG_RETURN_IF_ERROR(annotate(
        settle(lock,
               api.ncclCommWindowRegister(comm, memory, bytes, &entry.window,
                                          NCCL_WIN_COLL_SYMMETRIC),
               "ncclCommWindowRegister"),
        "a window of NCCL, which NCCL_WIN_ENABLE=0 does without"));
  }
  return !why.empty() || entry.handle || entry.window
             ? why
             : "it has no use for that here";
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

/// Frees the communicator, whatever NCCL says. NCCL waits for streams of its
/// own, which wait for ours: with a GPU that does not come back, for ever. Then
/// both are left to the end of the process.
static void abortWithin(NcclComm::Clock::duration grace, const NcclApi &api,
                        std::shared_ptr<CudaContext> gpu, ncclComm_t comm) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> ended = done->get_future();
  std::thread([&api, gpu, comm, done]() mutable {
    if (gpu->enter().ok()) {
      api.ncclCommAbort(comm);
    }
    gpu.reset(); // before the waiter goes on, or this closes the GPU after it
    done->set_value();
  }).detach();
  if (ended.wait_for(grace) != std::future_status::ready) {
    gpu->abandon();
  }
}

void NcclComm::abort(const absl::Status &status) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!failed.ok()) {
    return;
  }
  failed = isCollateral(status)
               ? status
               : absl::AbortedError(absl::StrCat(
                     "rank ", control.rank(), " failed: ", status.message()));
  if (comm) {
    abortWithin(std::min<Clock::duration>(kGrace, deadline), api, gpu, comm);
  }
  comm = nullptr;
}

absl::Status NcclComm::close() {
  std::unique_lock<std::mutex> lock(mutex);
  ZG_RETURN_IF_ERROR(failed);
  ZG_RETURN_IF_ERROR(gpu->enter());
  for (const Registered &entry : registered) {
    if (entry.window) {
      ZG_RETURN_IF_ERROR(
          settle(lock, api.ncclCommWindowDeregister(comm, entry.window),
                 "ncclCommWindowDeregister"));
    }
    if (entry.handle) {
      ZG_RETURN_IF_ERROR(settle(lock,
                                api.ncclCommDeregister(comm, entry.handle),
                                "ncclCommDeregister"));
    }
  }
  registered.clear();
  ZG_RETURN_IF_ERROR(
      settle(lock, api.ncclCommFinalize(comm), "ncclCommFinalize"));
  ncclComm_t ended = comm;
  comm = nullptr;
  failed = absl::CancelledError("NCCL's communicator is closed");
  return ncclStatus(api, api.ncclCommDestroy(ended), "ncclCommDestroy",
                    /*comm=*/nullptr);
}

NcclComm::~NcclComm() { abort(absl::CancelledError("it was not closed")); }
