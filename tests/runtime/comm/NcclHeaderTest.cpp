//===- NcclHeaderTest.cpp - our declarations are those of nccl.h ----------===//
//
// Compiled against NCCL's header where there is one: for each function that is
// used the sizes of its result and parameters; the values of constants; the
// places of a configuration's fields.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#if __has_include(<nccl.h>)
#include "runtime/comm/nccl/NcclApi.h"
#include "tests/runtime/device/SameShape.h"

namespace {
// The macros of nccl.h.
constexpr int kIdBytes = zerograph::NCCL_UNIQUE_ID_BYTES;
constexpr int kSymmetric = zerograph::NCCL_WIN_COLL_SYMMETRIC;
} // namespace

#include <nccl.h>

#include <cstddef>

namespace {

using zerograph::testing::sameShape;

#define ZEROGRAPH_SAME(name, ...)                                              \
  {                                                                            \
    zerograph::NcclApi api = {};                                               \
    EXPECT_TRUE(sameShape(api.name, decltype (&::name)(nullptr))) << #name;    \
  }

TEST(NcclHeader, Functions) {
  ZEROGRAPH_NCCL_FUNCTIONS(ZEROGRAPH_SAME)
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
  ZEROGRAPH_NCCL_NEWER_FUNCTIONS(ZEROGRAPH_SAME)
#endif
}

TEST(NcclHeader, Constants) {
  ZEROGRAPH_EQUAL(ncclSuccess);
  ZEROGRAPH_EQUAL(ncclInvalidUsage);
  ZEROGRAPH_EQUAL(ncclRemoteError);
  ZEROGRAPH_EQUAL(ncclInProgress);
  ZEROGRAPH_EQUAL(ncclUint8);
  ZEROGRAPH_EQUAL(ncclFloat32);
  ZEROGRAPH_EQUAL(ncclFloat64);
  ZEROGRAPH_EQUAL(ncclSum);
  EXPECT_EQ(kIdBytes, NCCL_UNIQUE_ID_BYTES);
#ifdef NCCL_WIN_COLL_SYMMETRIC
  EXPECT_EQ(kSymmetric, NCCL_WIN_COLL_SYMMETRIC);
#endif
}

#define ZEROGRAPH_FIELD(field)                                                 \
  EXPECT_EQ(offsetof(zerograph::ncclConfig_t, field),                          \
            offsetof(::ncclConfig_t, field));                                  \
  EXPECT_EQ(sizeof(zerograph::ncclConfig_t::field),                            \
            sizeof(::ncclConfig_t::field))

/// Later versions append fields, and take a shorter one.
TEST(NcclHeader, Configuration) {
  ZEROGRAPH_FIELD(size);
  ZEROGRAPH_FIELD(magic);
  ZEROGRAPH_FIELD(version);
  ZEROGRAPH_FIELD(blocking);
  ZEROGRAPH_FIELD(cgaClusterSize);
  ZEROGRAPH_FIELD(minCTAs);
  ZEROGRAPH_FIELD(maxCTAs);
  ZEROGRAPH_FIELD(netName);
  ZEROGRAPH_FIELD(splitShare);
  ::ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  zerograph::ncclConfig_t ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.netName, theirs.netName);
  EXPECT_LE(ours.version, theirs.version);
  EXPECT_LE(ours.size, theirs.size);
}

} // namespace

#else

TEST(NcclHeader, Functions) {
  GTEST_SKIP() << "there is no nccl.h in /usr/local/cuda/include or "
                  "/usr/include: NCCL's development package has it";
}

#endif
