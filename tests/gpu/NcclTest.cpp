//===- NcclTest.cpp - NCCL with one rank on this machine's GPU ------------===//
//
// Tests what every machine with a GPU can show of NCCL: it connects without
// blocking, registers an arena, gathers into place, and ends.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/comm/nccl/NcclComm.h"
#include "runtime/comm/nccl/Scratch.h"

namespace zerograph {
namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

TEST(GpuNccl, OneRankGathersIntoPlace) {
  auto driver = cudaApi();
  auto library = ncclApi();
  for (const absl::Status &status : {driver.status(), library.status()}) {
    if (!status.ok()) {
      GTEST_SKIP() << status.message();
    }
  }
  auto gpu = CudaContext::open(**driver, 0).value();
  auto ranks = makeLocalGroup({});
  auto comm = NcclComm::join(**library, gpu, *ranks[0], kDeadline).value();

  constexpr uint64_t kBytes = 1 << 20;
  auto scratch = Scratch::make(gpu, kBytes).value();
  auto registered = comm->registerMemory(scratch.memory(), kBytes).value();
  std::cout << "registered: " << (registered.empty() ? "yes" : registered)
            << "\n";
  auto *memory = reinterpret_cast<void *>(scratch.memory());
  for (int time = 0; time < 3; ++time) {
    absl::Status status = comm->group([&](ncclComm_t of) -> absl::Status {
      ZG_NCCL(**library, ncclAllGather, memory, memory, kBytes, ncclUint8, of,
              scratch.stream());
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::Status ended = scratch.await(kDeadline, [&] { return comm->check(); });
  ASSERT_TRUE(ended.ok()) << ended;
  absl::Status closed = comm->close();
  EXPECT_TRUE(closed.ok()) << closed;
}

} // namespace
} // namespace zerograph
