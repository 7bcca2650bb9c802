//===- NcclComm.cpp - one rank's communicator of NCCL ---------------------===//

#include "runtime/comm/nccl/NcclComm.h"

#include "runtime/base/Cause.h"
#include "runtime/comm/Peers.h"

#include <algorithm>
#include <cstdlib>
#include <future>
#include <thread>
#include <unistd.h>

using namespace zerograph;

namespace {

/// The time in which NCCL is done with most calls: so long the thread looks
/// without a break.
constexpr auto kEager = std::chrono::microseconds(200);
constexpr auto kPause = std::chrono::microseconds(50);
/// The time that the end of a communicator may take after a failure.
constexpr auto kGrace = std::chrono::seconds(10);
/// The bytes of a warm-up; NCCL finds no use for less.
constexpr uint64_t kWarmBytes = 16;
/// The bytes of an arena that a warm-up exchanges, of all ranks together, and
/// the least of each: for less, NCCL uses protocols that copy.
constexpr uint64_t kWarmArena = 256 << 20, kWarmLeast = 256 << 10;
/// The versions that may hang; see decideRegistration.
constexpr int kFirstThatLoses = 22400, kFirstThatDoesNot = 23200;

/// The first character of a refusal: it is a rank's own, or another has left.
constexpr const char kCause[] = "1", kConsequence[] = "2";

} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Returns an error where NCCL has one now; another rank's failure is the
/// better explanation. Sets `state`.
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
  // The group ends also after an error: no call of this thread may fall into
  // it.
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
  std::unique_ptr<NcclComm> comm(
      new NcclComm(api, std::move(gpu), control, deadline));
  ZG_RETURN_IF_ERROR(comm->begin());
  ZG_RETURN_IF_ERROR(comm->decideRegistration());
  return comm;
}

absl::Status NcclComm::begin() {
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
  ncclConfig_t config;
  config.blocking = 0;
  {
    std::unique_lock<std::mutex> lock(mutex);
    ncclResult_t result = api.ncclCommInitRankConfig(
        &comm, int(control.world()), id, int(control.rank()), &config);
    ZG_RETURN_IF_ERROR(settle(lock, result, "ncclCommInitRankConfig"));
  }
  // The warm-up uses memory of its own: there is no arena yet.
  ZG_ASSIGN_OR_RETURN(
      Scratch scratch,
      Scratch::make(gpu, kWarmBytes * (uint64_t(control.world()) + 1)));
  return annotate(warmUp(scratch, scratch.memory(), kWarmBytes),
                  "connecting to all ranks");
}

/// Returns the machine of this process as NCCL tells machines apart: containers
/// of one are several to it.
static std::string machineForNccl() {
  if (const char *given = std::getenv("NCCL_HOSTID")) {
    return given;
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(machineName(), " ", host);
}

/// Decides whether memory is registered. NCCL from 2.24 to 2.31 can lose a
/// message between machines, and then waits for ever, where memory is
/// registered and a large exchange follows small ones (its issue 2389); ours
/// do.
absl::Status NcclComm::decideRegistration() {
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> machines,
      control.exchange("finding the machines of the ranks", machineForNccl()));
  bool several = std::count(machines.begin(), machines.end(), machines[0]) !=
                 int64_t(machines.size());
  int version = 0;
  ZG_RETURN_IF_ERROR(ncclStatus(api, api.ncclGetVersion(&version),
                                "ncclGetVersion", /*comm=*/nullptr));
  if (several && version >= kFirstThatLoses && version < kFirstThatDoesNot) {
    not_registered = absl::StrCat(
        "NCCL ", ncclVersionText(version),
        " may hang with registered memory on several machines, 2.32 does not");
  }
  return absl::OkStatus();
}

/// Runs each kind of collective once, with `bytes` of each rank: NCCL makes
/// what it needs when one is used first.
absl::Status NcclComm::warmUp(Scratch &scratch, CUdeviceptr memory,
                              uint64_t bytes) {
  absl::Status status = exchangeOnce(memory, bytes, scratch.stream());
  if (status.ok()) {
    status = scratch.await(deadline, [this] { return check(); });
  }
  if (!status.ok()) {
    abort(status); // before the memory goes, which peers may not have reached
  }
  return status;
}

absl::Status NcclComm::exchangeOnce(CUdeviceptr memory, uint64_t bytes,
                                    CUstream stream) {
  unsigned world = control.world();
  auto *all = reinterpret_cast<std::byte *>(memory);
  std::byte *own = all + bytes * world;
  ZG_RETURN_IF_ERROR(group([&](ncclComm_t handle) {
    for (unsigned i = 1; i < world; ++i) {
      unsigned peer = (control.rank() + i) % world;
      ZG_NCCL(api, ncclSend, own, bytes, ncclUint8, int(peer), handle, stream);
      ZG_NCCL(api, ncclRecv, all + bytes * peer, bytes, ncclUint8, int(peer),
              handle, stream);
    }
    return absl::OkStatus();
  }));
  ZG_RETURN_IF_ERROR(group([&](ncclComm_t handle) {
    ZG_NCCL(api, ncclAllGather, own, all, bytes, ncclUint8, handle, stream);
    return absl::OkStatus();
  }));
  return group([&](ncclComm_t handle) {
    ZG_NCCL(api, ncclReduceScatter, all, own, bytes / sizeof(float),
            ncclFloat32, ncclSum, handle, stream);
    return absl::OkStatus();
  });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

absl::StatusOr<std::string> NcclComm::registerMemory(CUdeviceptr begin,
                                                     uint64_t bytes) {
  Registered &entry = registered.emplace_back(Registered{begin, bytes});
  ZG_ASSIGN_OR_RETURN(std::string why, registerOne(entry));
  // All ranks make a window, or none: one that came alone would wait.
  bool able = why.empty() && windows && api.ncclCommWindowRegister;
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> told,
      control.exchange("registering an arena with NCCL", able ? "able" : ""));
  std::string note;
  if (std::count(told.begin(), told.end(), "able") == int64_t(told.size())) {
    ZG_ASSIGN_OR_RETURN(note, makeWindow(entry));
  }
  if (why.empty() && !entry.handle && !entry.window) {
    why = "it has no use for that here";
  }
  if (!why.empty()) {
    note = absl::StrCat("NCCL does not register the arena and copies through "
                        "buffers of its own (",
                        why, ")");
  }
  ZG_RETURN_IF_ERROR(annotate(warmUpIn(entry), "exchanging in an arena"));
  return note;
}

/// Returns empty, or why NCCL does not register it.
absl::StatusOr<std::string> NcclComm::registerOne(Registered &entry) {
  if (!not_registered.empty()) {
    return not_registered;
  }
  // Memory of cuMemAlloc has no handle that another process could be given,
  // and a communicator does not outlive the attempt.
  uint64_t handle_types = 0;
  ZG_CUDA(gpu->api, cuPointerGetAttribute, &handle_types,
          CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, entry.begin);
  if (handle_types == 0) {
    return "its memory cannot be shared with others";
  }
  std::unique_lock<std::mutex> lock(mutex);
  ZG_RETURN_IF_ERROR(failed);
  absl::Status own = settle(
      lock,
      api.ncclCommRegister(comm, entry.memory(), entry.bytes, &entry.handle),
      "ncclCommRegister");
  if (ncclResult_t state; !own.ok()) {
    ZG_RETURN_IF_ERROR(checkLocked(state));
    // Else the communicator is still in the call.
    ZG_RETURN_IF_ERROR(state == ncclSuccess ? absl::OkStatus() : own);
  }
  return std::string(own.message());
}

/// Makes a window. NCCL lets no communicator go on in which a call has failed.
/// So where a rank is refused its window, all begin a new one, and make none
/// from then on. Returns empty, or what the user should know.
absl::StatusOr<std::string> NcclComm::makeWindow(Registered &entry) {
  std::string refused;
  {
    std::unique_lock<std::mutex> lock(mutex);
    ZG_RETURN_IF_ERROR(failed);
    absl::Status made = settle(
        lock,
        api.ncclCommWindowRegister(comm, entry.memory(), entry.bytes,
                                   &entry.window, NCCL_WIN_COLL_SYMMETRIC),
        "ncclCommWindowRegister");
    if (!made.ok()) {
      ZG_RETURN_IF_ERROR(control.failure());
      ncclResult_t state;
      (void)checkLocked(state);
      refused = absl::StrCat(state == ncclRemoteError ? kConsequence : kCause,
                             made.message());
      drop(); // so that ranks that wait for this one do not
    }
  }
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> told,
      control.exchange("making a window of an arena with NCCL", refused));
  auto weight = [](const std::string &text) {
    return text.empty() ? CHAR_MAX : text[0];
  };
  auto first = std::min_element(told.begin(), told.end(),
                                [&](const auto &one, const auto &other) {
                                  return weight(one) < weight(other);
                                });
  if (first->empty()) {
    return "";
  }
  windows = false;
  {
    std::unique_lock<std::mutex> lock(mutex);
    ZG_RETURN_IF_ERROR(failed);
    drop();
  }
  ZG_RETURN_IF_ERROR(annotate(begin(), "NCCL without windows"));
  for (Registered &again : registered) {
    again.handle = again.window = nullptr;
    ZG_RETURN_IF_ERROR(registerOne(again).status());
  }
  return absl::StrCat("NCCL makes no window of the arena on rank ",
                      first - told.begin(), " (", first->substr(1),
                      "), so all ranks exchange without");
}

/// Makes NCCL open peers' memory, which it does when an address range is first
/// used, and only for exchanges that are large enough. An arena begins with
/// NaN, and has it after.
absl::Status NcclComm::warmUpIn(const Registered &entry) {
  uint64_t world = control.world();
  uint64_t bytes = std::min(entry.bytes / (world + 1),
                            std::max(kWarmArena / world, kWarmLeast)) /
                   kWarmBytes * kWarmBytes;
  if (bytes == 0) {
    return absl::OkStatus();
  }
  ZG_ASSIGN_OR_RETURN(Scratch scratch, Scratch::make(gpu, kWarmBytes));
  return warmUp(scratch, entry.begin, bytes);
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

void NcclComm::drop() {
  if (comm) {
    abortWithin(std::min<Clock::duration>(kGrace, deadline), api, gpu, comm);
  }
  comm = nullptr;
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
  drop();
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
