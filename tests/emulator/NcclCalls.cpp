//===- NcclCalls.cpp - the functions of NCCL, emulated --------------------===//

#include "tests/emulator/NcclCalls.h"

#include "tests/emulator/Counted.h"

using namespace zerograph;
using namespace zerograph::emulator;

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

struct Library {
  static constexpr const auto &table = kEmulated;
  static bool fails(const char *name) { return NcclCalls::fails(name); }
  template <auto Member>
  static int fail(auto... arguments) {
    NcclCalls::failGroup();
    if constexpr (isMember<Member, &NcclApi::ncclGroupEnd> ||
                  isMember<Member, &NcclApi::ncclCommDestroy> ||
                  isMember<Member, &NcclApi::ncclCommAbort>) {
      (kEmulated.*Member)(arguments...); // ends what it ends, whatever it says
    }
    return NcclCalls::kInternalError;
  }
};

ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_COUNTED_NAME)
ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_COUNTED_NAME)

#define ZEROGRAPH_PLACE(name, ...) ZEROGRAPH_COUNTED(Library, NcclApi, name)
const NcclApi kCounted = {ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_PLACE)
                              ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_PLACE)};

} // namespace

Nccl::Nccl(Gpu &gpu) : gpu(gpu) {
  NcclCalls::nccl = this;
  NcclCalls::depth = 0;
  setNcclApi(&kCounted);
}

Nccl::~Nccl() {
  setNcclApi(nullptr);
  NcclCalls::nccl = nullptr;
  for (const std::string &folder : folders) {
    Mailbox::removeFolder(folder);
  }
}
