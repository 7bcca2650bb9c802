//===- NcclCalls.cpp - the functions of NCCL, emulated --------------------===//

#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

#include <unistd.h>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

constexpr int kInternalError = 3, kInvalidArgument = 4;

Nccl *nccl = nullptr;
/// What the thread has put into its group so far.
thread_local int depth = 0;

} // namespace

namespace zerograph::emulator {

/// Each has the parameters of NCCL's function of that name.
struct NcclCalls {
  using Lock = std::lock_guard<std::mutex>;
  struct Grouped {
    Nccl::Shared comm;
    CUstream stream;
    Nccl::Transfer transfer;
  };
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
    *version = 22809;
    return 0;
  }
  static int uniqueId(ncclUniqueId *id) {
    Lock lock(nccl->gpu.mutex);
    std::string folder = Mailbox::makeFolder();
    if (folder.empty()) {
      return 2; // ncclSystemError
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
    Lock lock(nccl->gpu.mutex);
    Nccl::Shared found = findAlone(comm, "ncclCommAbort");
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
    return keep(comm, memory, bytes, reinterpret_cast<void **>(window));
  }
  static int deregisterWindow(ncclComm_t comm, ncclWindow_t window) {
    return drop(comm, window);
  }

  static int groupStart() {
    ++depth;
    return 0;
  }
  /// A group that fails enqueues nothing.
  static void dropGroup() { grouped().clear(); }
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

static const NcclApi kEmulated = {
    .ncclGetVersion = NcclCalls::version,
    .ncclGetUniqueId = NcclCalls::uniqueId,
    .ncclGetErrorString = NcclCalls::errorString,
    .ncclGetLastError = NcclCalls::lastError,
    .ncclCommInitRankConfig = NcclCalls::init,
    .ncclCommGetAsyncError = NcclCalls::asyncError,
    .ncclCommFinalize = NcclCalls::finalize,
    .ncclCommDestroy = NcclCalls::destroy,
    .ncclCommAbort = NcclCalls::abort,
    .ncclCommRegister = NcclCalls::registerMemory,
    .ncclCommDeregister = NcclCalls::drop,
    .ncclGroupStart = NcclCalls::groupStart,
    .ncclGroupEnd = NcclCalls::groupEnd,
    .ncclSend = NcclCalls::send,
    .ncclRecv = NcclCalls::receive,
    .ncclAllGather = NcclCalls::allGather,
    .ncclReduceScatter = NcclCalls::reduceScatter,
    .ncclCommWindowRegister = NcclCalls::registerWindow,
    .ncclCommWindowDeregister = NcclCalls::deregisterWindow,
};

namespace {

/// The emulated function `Member` of the table, which can be told to fail.
template <auto Member, const char *Name, typename Function>
struct Counted;
template <auto Member, const char *Name, typename... Arguments>
struct Counted<Member, Name, int (*)(Arguments...)> {
  static int call(Arguments... arguments) {
    if (!NcclCalls::fails(Name)) {
      return (kEmulated.*Member)(arguments...);
    }
    std::string name = Name;
    if (name == "ncclGroupEnd" || name == "ncclCommDestroy" ||
        name == "ncclCommAbort") {
      NcclCalls::dropGroup();
      (kEmulated.*Member)(arguments...); // ends what it ends, whatever it says
    }
    return kInternalError;
  }
};
template <auto Member, const char *Name, typename... Arguments>
struct Counted<Member, Name, const char *(*)(Arguments...)> {
  static const char *call(Arguments... arguments) {
    return (kEmulated.*Member)(arguments...);
  }
};

#define ZEROGRAPH_NAME(name, ...) constexpr char k_##name[] = #name;
ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_NAME)
ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_NAME)

#define ZEROGRAPH_COUNTED(name, ...)                                           \
  .name = Counted<&NcclApi::name, k_##name, decltype(NcclApi::name)>::call,
const NcclApi kCounted = {ZEROGRAPH_NCCL_FUNCTIONS(
    ZEROGRAPH_COUNTED) ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_COUNTED)};

} // namespace

//===----------------------------------------------------------------------===//
// Nccl
//===----------------------------------------------------------------------===//

Nccl::Nccl(Gpu &gpu) : gpu(gpu) {
  nccl = this;
  depth = 0;
  setNcclApi(&kCounted);
}

Nccl::~Nccl() {
  setNcclApi(nullptr);
  nccl = nullptr;
  for (const std::string &folder : folders) {
    Mailbox::removeFolder(folder);
  }
}

Nccl::Shared Nccl::find(ncclComm_t comm) {
  auto found = comms.find(reinterpret_cast<Comm *>(comm));
  if (found != comms.end()) {
    return found->second;
  }
  gpu.complain("NCCL: a communicator is used that is not there");
  return nullptr;
}

int Nccl::forget(const Shared &comm) {
  comm->aborted = true;
  comm->tasks.clear(); // they own the communicator
  gpu.conflicts.forget(comm->key());
  comms.erase(comm.get());
  gpu.changed.notify_all();
  return 0;
}

std::string Nccl::leftovers() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return comms.empty() ? "" : absl::StrCat(comms.size(), " communicators");
}

uint64_t Nccl::launches() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return ended;
}

uint64_t Nccl::registrations() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return registered;
}

std::map<std::string, uint64_t> Nccl::calls() const {
  std::lock_guard<std::mutex> lock(gpu.mutex);
  return call_counts;
}

void Nccl::failCall(const std::string &function, uint64_t number) {
  failing = function;
  failing_number = number;
}

void Nccl::failLater(unsigned rank, uint64_t number) {
  late_rank = rank;
  late = number;
}

void Nccl::lose(unsigned rank, uint64_t number) {
  lost_rank = rank;
  lost = number;
}
