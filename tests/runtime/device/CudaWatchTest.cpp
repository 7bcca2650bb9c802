//===- CudaWatchTest.cpp - what is said of a GPU that does not finish -----===//

#include "runtime/device/cuda/CudaWatch.h"
#include "tests/support/Says.h"

#include <gtest/gtest.h>

namespace zerograph {
namespace {

/// The answers that the driver gives of an event, which is a pointer to this.
struct Said {
  int looks = 0; // until it is over
  CUresult result = CUDA_SUCCESS;
};

CUresult query(CUevent event) {
  Said &said = *reinterpret_cast<Said *>(event);
  return said.looks-- > 0 ? CUDA_ERROR_NOT_READY : said.result;
}
CUresult tell(CUresult, const char **text) {
  *text = "it burns";
  return CUDA_SUCCESS;
}

class Noticing : public Operation {
public:
  absl::Status issue(const Issue &) override { return absl::OkStatus(); }
  absl::Status check() override { return absl::UnavailableError("no cable"); }
};

class CudaWatchTest : public ::testing::Test {
protected:
  CudaWatchTest() {
    api.cuEventQuery = query;
    api.cuGetErrorName = api.cuGetErrorString = tell;
  }
  void mark(int stream, Said &said, uint32_t first, uint32_t last,
            std::vector<Operation *> operations = {}) {
    watch.add(reinterpret_cast<CUstream>(&streams[stream]),
              {reinterpret_cast<CUevent>(&said), first, last, operations,
               last - first + 1});
    watch.recorded(reinterpret_cast<CUstream>(&streams[stream]));
  }

  CudaApi api = {};
  char streams[2];
  CudaWatch watch{api};
  static constexpr auto kSoon = std::chrono::milliseconds(5);
};

TEST_F(CudaWatchTest, WaitsForAll) {
  Said a{3}, b{100}, c;
  mark(0, a, 0, 1);
  mark(0, b, 2, 5);
  mark(1, c, 3, 3);
  EXPECT_TRUE(watch.await(std::chrono::seconds(60)).status.ok());
  EXPECT_LT(a.looks, 0);
  EXPECT_LT(b.looks, 0);
}

TEST_F(CudaWatchTest, WaitsUntilLittleIsLeft) {
  Said a{3}, b{5}, never{1 << 30};
  mark(0, a, 0, 3);
  mark(0, b, 4, 5);
  mark(0, never, 6, 8);
  EXPECT_TRUE(watch.await(std::chrono::seconds(60), 3).status.ok());
  EXPECT_LT(b.looks, 0);
  EXPECT_FALSE(watch.await(kSoon, 2).status.ok());
}

/// An event tells of the run before until it is recorded anew.
TEST_F(CudaWatchTest, AsksOfNoMarkThatIsNotRecorded) {
  Said a;
  mark(0, a, 0, 0);
  watch.begin();
  EXPECT_TRUE(watch.await(std::chrono::seconds(60)).status.ok());
  EXPECT_EQ(a.looks, 0);
}

// The driver gives the error of any step to whoever asks next.
TEST_F(CudaWatchTest, ErrorsAreBoundedByWhatWasPassed) {
  Said a, b{2, 700}, c{0, 700};
  mark(0, a, 0, 3);
  mark(0, b, 4, 9);
  mark(1, c, 5, 5);
  CudaUndone undone = watch.await(std::chrono::seconds(60));
  expectSays(undone.status, "it burns");
  EXPECT_EQ(undone.first, 4u);
  EXPECT_EQ(undone.last, 9u);
}

TEST_F(CudaWatchTest, ADeadlineNamesWhatIsStuck) {
  Said a, never{1 << 30};
  mark(0, a, 0, 3);
  mark(0, never, 4, 4);
  CudaUndone undone = watch.await(kSoon);
  EXPECT_TRUE(absl::IsDeadlineExceeded(undone.status));
  expectSays(undone.status, "finished nothing for 0.005 s");
  EXPECT_EQ(undone.first, 4u);
}

TEST_F(CudaWatchTest, OperationsThatKnowOfAnError) {
  Said never{1 << 30};
  Noticing noticing;
  mark(0, never, 2, 2, {&noticing});
  CudaUndone undone = watch.await(std::chrono::seconds(60));
  expectSays(undone.status, "no cable");
}

} // namespace
} // namespace zerograph
