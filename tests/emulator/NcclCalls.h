//===- NcclCalls.h - the functions of NCCL, emulated ----------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_NCCLCALLS_H
#define ZEROGRAPH_TESTS_EMULATOR_NCCLCALLS_H

#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

#include <unistd.h>
#include <utility>

namespace zerograph::emulator {

/// Each has the parameters of NCCL's function of that name.
struct NcclCalls {
  using Lock = std::lock_guard<std::mutex>;
  static constexpr int kUnhandledCudaError = 1, kSystemError = 2,
                       kInternalError = 3, kInvalidArgument = 4;

  static constexpr const char *kHeld =
      "a communicator ends while a graph has its collectives, whose end it "
      "would wait for";

  static inline Nccl *nccl = nullptr;
  /// How many groups of the thread are open, and whether a call in them failed.
  static inline thread_local int depth = 0;
  static inline thread_local bool group_failed = false;

  struct Grouped {
    Nccl::Shared comm;
    CUstream stream;
    Nccl::Transfer transfer;
  };
  /// Returns what the thread has put into its group so far.
  static std::vector<Grouped> &grouped() {
    thread_local std::vector<Grouped> calls;
    return calls;
  }

  static bool fails(const char *function) {
    Lock lock(nccl->gpu.mutex);
    return ++nccl->call_counts[function] == nccl->failing_number &&
           function == nccl->failing;
  }
  static int complain(const std::string &what) {
    nccl->gpu.complain("NCCL: " + what);
    return kInvalidArgument;
  }
  /// For what must not be called in a group.
  static Nccl::Shared findAlone(ncclComm_t comm, const char *call) {
    if (depth > 0) {
      complain(absl::StrCat(call, " is called in a group"));
      return nullptr;
    }
    return nccl->find(comm);
  }

  static int version(int *version) {
    *version = nccl->version;
    return 0;
  }
  static int uniqueId(ncclUniqueId *id) {
    Lock lock(nccl->gpu.mutex);
    std::string folder = Mailbox::makeFolder();
    if (folder.empty()) {
      return kSystemError;
    }
    nccl->folders.push_back(folder);
    *id = {};
    folder.copy(id->internal, sizeof(id->internal) - 1);
    return 0;
  }
  static const char *errorString(int) { return "emulated"; }
  static const char *lastError(ncclComm_t comm) {
    thread_local std::string text;
    Lock lock(nccl->gpu.mutex);
    auto found = nccl->comms.find(reinterpret_cast<Nccl::Comm *>(comm));
    text = !nccl->gpu.wrong.empty() ? nccl->gpu.wrong
           : found == nccl->comms.end() || found->second->last_error.empty()
               ? "made to fail"
               : found->second->last_error;
    return text.c_str();
  }

  static int init(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
                  ncclConfig_t *config) {
    Lock lock(nccl->gpu.mutex);
    if (config->size < sizeof(ncclConfig_t) || config->magic != 0xcafebeef ||
        config->blocking != 0 || rank < 0 || rank >= ranks || depth > 0) {
      return complain("a communicator is made of what is not one");
    }
    auto made = std::make_shared<Nccl::Comm>(nccl->gpu,
                                             Mailbox(std::string(id.internal)));
    made->rank = unsigned(rank);
    made->world = unsigned(ranks);
    made->device = nccl->gpu.currentDevice();
    made->mailbox.put(made->rank, 0,
                      absl::StrCat("GPU ", made->device, " of ", getpid()));
    *comm = reinterpret_cast<ncclComm_t>(made.get());
    nccl->comms[made.get()] = made;
    return ncclInProgress;
  }
  static int asyncError(ncclComm_t comm, int *state) {
    Lock lock(nccl->gpu.mutex);
    Nccl::Shared found = findAlone(comm, "ncclCommGetAsyncError");
    if (!found) {
      return kInvalidArgument;
    }
    *state = nccl->poll(*found);
    return 0;
  }
  static int finalize(ncclComm_t comm) {
    Lock lock(nccl->gpu.mutex);
    Nccl::Shared found = findAlone(comm, "ncclCommFinalize");
    if (!found || found->finalized) {
      return complain("a communicator is ended twice");
    }
    if (!found->registered.empty()) {
      return complain("a communicator is ended with registered memory");
    }
    if (found->isHeld()) {
      return complain(kHeld);
    }
    found->finalized = true;
    return ncclInProgress;
  }
  static int destroy(ncclComm_t comm) {
    Lock lock(nccl->gpu.mutex);
    Nccl::Shared found = findAlone(comm, "ncclCommDestroy");
    if (!found || !found->finalized || found->ended < found->launches) {
      return complain("a communicator is destroyed that was not finalized");
    }
    return nccl->forget(found);
  }
  static int abort(ncclComm_t comm) {
    std::unique_lock<std::mutex> lock(nccl->gpu.mutex);
    Nccl::Shared found = findAlone(comm, "ncclCommAbort");
    if (found) {
      found->tasks.clear();
    }
    // NCCL's own streams wait for the program's.
    nccl->gpu.changed.wait(lock, [] { return !nccl->gpu.stalled(); });
    if (found && found->isHeld()) {
      return complain(kHeld);
    }
    return found ? nccl->forget(found) : kInvalidArgument;
  }

  static int keep(ncclComm_t comm, void *memory, size_t bytes, void **handle) {
    Nccl::Shared found = findAlone(comm, "ncclCommRegister");
    auto begin = reinterpret_cast<uint64_t>(memory);
    const Memory::Allocation *of = nccl->gpu.memory.find(begin);
    if (!found || !of || begin + bytes > of->begin + of->bytes) {
      return complain("memory is registered that is not there");
    }
    *handle = reinterpret_cast<void *>(++nccl->registered);
    found->registered[*handle] = {begin, bytes};
    return 0;
  }
  static int drop(ncclComm_t comm, void *handle) {
    Lock lock(nccl->gpu.mutex);
    Nccl::Shared found = findAlone(comm, "ncclCommDeregister");
    if (!found || !found->registered.contains(handle)) {
      return complain("memory is deregistered that was not registered");
    }
    if (!nccl->gpu.memory.find(found->registered[handle].first)) {
      return complain("registered memory is not there any more");
    }
    found->registered.erase(handle);
    return 0;
  }
  static int registerMemory(ncclComm_t comm, void *memory, size_t bytes,
                            void **handle) {
    Lock lock(nccl->gpu.mutex);
    return keep(comm, memory, bytes, handle);
  }
  static int registerWindow(ncclComm_t comm, void *memory, size_t bytes,
                            ncclWindow_t *window, int) {
    Lock lock(nccl->gpu.mutex);
    if (keep(comm, memory, bytes, reinterpret_cast<void **>(window)) != 0) {
      return kInvalidArgument;
    }
    Nccl::Shared found = nccl->find(comm);
    if (nccl->windowless == int64_t(found->rank)) {
      found->last_error = "its memory has no handle for other machines";
      found->error = kUnhandledCudaError;
      return ncclInProgress;
    }
    return nccl->beginWindow(*found, bytes);
  }
  static int deregisterWindow(ncclComm_t comm, ncclWindow_t window) {
    return drop(comm, window);
  }

  static int groupStart() {
    ++depth;
    return 0;
  }
  /// A group in which a call fails enqueues nothing.
  static void failGroup() { group_failed = depth > 0; }
  static int groupEnd() {
    Lock lock(nccl->gpu.mutex);
    if (depth == 0) {
      return complain("a group ends that was not started");
    }
    if (--depth > 0) {
      return 0;
    }
    std::vector<Grouped> calls = std::move(grouped());
    grouped().clear();
    if (std::exchange(group_failed, false)) {
      return kInternalError;
    }
    std::vector<Nccl::Transfer> transfers;
    for (const Grouped &call : calls) {
      if (call.comm != calls[0].comm || call.stream != calls[0].stream) {
        return complain("a group has several communicators or streams");
      }
      transfers.push_back(call.transfer);
    }
    return calls.empty()
               ? 0
               : nccl->launch(calls[0].comm, calls[0].stream, transfers);
  }
  static int add(ncclComm_t comm, CUstream stream, TransferKind kind, int type,
                 size_t count, int peer, const void *from, void *to) {
    {
      Lock lock(nccl->gpu.mutex);
      Nccl::Shared found = nccl->find(comm);
      uint64_t size = type == ncclUint8     ? 1
                      : type == ncclFloat32 ? 4
                      : type == ncclFloat64 ? 8
                                            : 0;
      if (!found || size == 0 || peer < 0 || unsigned(peer) >= found->world) {
        return complain("a transfer of no known type, or with no rank");
      }
      grouped().push_back({found,
                           stream,
                           {{kind, peer, type, count * size, ""},
                            reinterpret_cast<uint64_t>(from),
                            reinterpret_cast<uint64_t>(to)}});
    }
    if (depth > 0) {
      return 0;
    }
    ++depth; // a group of its own
    return groupEnd();
  }
  static int send(const void *from, size_t count, int type, int peer,
                  ncclComm_t comm, CUstream stream) {
    return add(comm, stream, TransferKind::Send, type, count, peer, from,
               nullptr);
  }
  static int receive(void *to, size_t count, int type, int peer,
                     ncclComm_t comm, CUstream stream) {
    return add(comm, stream, TransferKind::Receive, type, count, peer, nullptr,
               to);
  }
  static int allGather(const void *from, void *to, size_t count, int type,
                       ncclComm_t comm, CUstream stream) {
    return add(comm, stream, TransferKind::AllGather, type, count, 0, from, to);
  }
  static int reduceScatter(const void *from, void *to, size_t count, int type,
                           int operation, ncclComm_t comm, CUstream stream) {
    return operation == ncclSum ? add(comm, stream, TransferKind::ReduceScatter,
                                      type, count, 0, from, to)
                                : complain("a reduction that is no sum");
  }
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_NCCLCALLS_H
