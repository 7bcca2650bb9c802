//===- KernelsTest.cpp - what no GPU defines is found ---------------------===//

#include "tests/emulator/Kernels.h"

#include "absl/strings/str_cat.h"
#include "tests/support/Says.h"
#include "gtest/gtest.h"

#include <algorithm>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// Runs a kernel of this body on one block of 64 threads and as many words of
/// memory, which begin as their numbers; %t is the thread, %mine where its word
/// is, %words where the first one is.
absl::Status run(const std::string &body,
                 std::vector<int32_t> *memory = nullptr, uint32_t blocks = 1,
                 uint32_t seed = 1) {
  std::string text = absl::StrCat(R"(
.version 7.8
.target sm_80
.address_size 64
.shared .align 16 .b8 large[49156];
.global .align 16 .b8 arrived[8];
.visible .entry k(
	.param .u64 k_param_0
)
.reqntid 64, 1, 1
{
	.reg .pred %p<9>;
	.reg .b16 %rs<9>;
	.reg .b32 %r<30>;
	.reg .b32 %t;
	.reg .b32 %v;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	.reg .b64 %words;
	.reg .b64 %mine;
	.shared .align 16 .b8 row[256];
	ld.param.u64 %words, [k_param_0];
	mov.u32 %t, %tid.x;
	mul.wide.u32 %mine, %t, 4;
	add.s64 %mine, %words, %mine;
)",
                                  body, "\nret;\n}\n");
  auto kernels = Kernels::compile(text);
  if (!kernels.ok()) {
    return kernels.status();
  }
  std::vector<int32_t> words(64);
  for (int32_t i = 0; i < 64; ++i) {
    words[size_t(i)] = i;
  }
  Buffer buffer{"words", words.data(), 64 * 4, 4};
  absl::Status status = kernels->launch("k", blocks, 64, {buffer}, seed);
  if (memory) {
    *memory = words;
  }
  return status;
}

void expectRefused(const std::string &body, const std::string &why,
                   uint32_t blocks = 1) {
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    expectSays(run(body, nullptr, blocks, seed), why);
  }
}

/// Reads the word of a thread whose number differs by `bit` into %v.
std::string readOther(int bit) {
  return absl::StrCat("xor.b32 %r1, %t, ", bit, R"(;
	mul.wide.u32 %rd1, %r1, 4;
	add.s64 %rd1, %words, %rd1;
	ld.global.u32 %v, [%rd1];
)");
}
/// The one beside, and one of another warp.
const std::string kReadNext = readOther(1), kReadFar = readOther(32);
const std::string kWriteOwn = "st.global.u32 [%mine], %v;\n";
const std::string kWarpBarrier = "bar.warp.sync -1;\n";
const std::string kBarrier = "bar.sync 0;\n";

TEST(Kernels, ExchangeInAWarp) {
  std::vector<int32_t> words;
  absl::Status status =
      run(absl::StrCat("shfl.sync.bfly.b32\t%v, %t, 8, 31, -1;\n", kWriteOwn),
          &words);
  ASSERT_TRUE(status.ok()) << status;
  for (int32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(words[size_t(i)], i ^ 8);
  }
}

TEST(Kernels, Ballot) {
  std::vector<int32_t> words;
  absl::Status status = run(absl::StrCat(R"(
	and.b32 %r1, %t, 1;
	setp.eq.b32 %p1, %r1, 1;
	vote.sync.ballot.b32 %v, %p1, -1;
  )",
                                         kWriteOwn),
                            &words);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(uint32_t(words[7]), 0xAAAAAAAAu);
}

TEST(Kernels, BarriersPutAccessesInOrder) {
  std::vector<int32_t> words;
  ASSERT_TRUE(run(absl::StrCat(kReadFar, kBarrier, kWriteOwn), &words).ok());
  EXPECT_EQ(words[0], 32);
  ASSERT_TRUE(
      run(absl::StrCat(kReadNext, kWarpBarrier, kWriteOwn), &words).ok());
  EXPECT_EQ(words[0], 1);
}

TEST(Kernels, AccessesThatNothingOrders) {
  expectRefused(absl::StrCat(kReadFar, kWriteOwn),
                "nothing puts the two in order");
  expectRefused(absl::StrCat(kReadNext, kWriteOwn),
                "nothing puts the two in order");
  // A warp's barrier is not one for the block, nor a block's one for the grid.
  expectRefused(absl::StrCat(kReadFar, kWarpBarrier, kWriteOwn),
                "nothing puts the two in order");
  expectRefused(absl::StrCat(kBarrier, "st.global.u32 [%mine], %t;\n"),
                "nothing puts the two in order", 2);
}

/// Writes 16 words a block; then the last block that comes reads all.
std::string lastBlockReads(const std::string &barrier, const std::string &fence,
                           const std::string &fenceAfter) {
  return absl::StrCat(R"(
	mov.u32 %r1, %ctaid.x;
	shl.b32 %r1, %r1, 4;
	add.s32 %r1, %r1, %t;
	mul.wide.u32 %rd1, %r1, 4;
	add.s64 %rd1, %words, %rd1;
	add.s32 %r2, %t, 100;
	setp.gt.u32 %p1, %t, 15;
	@%p1 bra $written;
	st.global.u32 [%rd1], %r2;
$written:
)",
                      barrier, R"(
	setp.ne.s32 %p2, %t, 0;
	@%p2 bra $counted;
)",
                      fence, "atom.global.inc.u32 %r3, [arrived], 3;\n",
                      fenceAfter, R"(
	st.shared.u32 [row], %r3;
$counted:
)",
                      kBarrier, R"(
	ld.shared.u32 %r4, [row];
	setp.ne.s32 %p3, %r4, 3;
	@%p3 bra $end;
	ld.global.u32 %v, [%mine];
	add.s32 %v, %v, 1;
	st.global.u32 [%mine], %v;
$end:
)");
}

TEST(Kernels, FencesPutBlocksInOrder) {
  const std::string fence = "membar.gl;\n";
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::vector<int32_t> words;
    absl::Status status =
        run(lastBlockReads(kBarrier, fence, fence), &words, 4, seed);
    ASSERT_TRUE(status.ok()) << status;
    for (int32_t i = 0; i < 64; ++i) {
      EXPECT_EQ(words[size_t(i)], 101 + i % 16);
    }
  }
  const std::string why = "nothing puts the two in order";
  expectRefused(lastBlockReads(kBarrier, "", fence), why, 4);
  expectRefused(lastBlockReads(kBarrier, fence, ""), why, 4);
  expectRefused(lastBlockReads("", fence, fence), why, 4);
  // A fence before the barrier holds for what its own thread did.
  expectRefused(lastBlockReads(absl::StrCat(fence, kBarrier), "", fence), why,
                4);
}

TEST(Kernels, CountersAreOnlyCounted) {
  std::vector<int32_t> words;
  absl::Status status =
      run(absl::StrCat("atom.global.inc.u32 %v, [arrived], 9;\n", kWriteOwn),
          &words);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::count(words.begin(), words.end(), 3), 7);
  EXPECT_EQ(std::count(words.begin(), words.end(), 9), 6); // then 0 comes
  EXPECT_EQ(std::count(words.begin(), words.end(), 10), 0);
  expectRefused("atom.global.inc.u32 %v, [%mine], 9;\n",
                "counts in other memory than variables of its module");
  expectRefused("atom.global.inc.u32 %v, [arrived+6], 9;\n",
                "counts at byte 6 of arrived, which has 8");
  expectRefused("ld.global.u32 %v, [arrived];\n",
                "which only atomic operations may touch");
}

TEST(Kernels, ConstantsAreNotWritten) {
  const std::string read = "ld.global.nc.u32 %v, [%mine];\n";
  const std::string why = "the launch writes what it reads as a constant";
  ASSERT_TRUE(run(read).ok());
  // Not even by the thread that reads, before or after.
  expectRefused(absl::StrCat(read, kWriteOwn), why);
  expectRefused(absl::StrCat("mov.b32 %v, %t;\n", kWriteOwn, read), why);
}

TEST(Kernels, AccessesOutsideOfTheBuffer) {
  expectRefused("st.global.u32 [%mine+256], %t;\n",
                "in no buffer of the launch");
  expectRefused("st.global.u32 [%mine+-256], %t;\n",
                "in no buffer of the launch");
  expectRefused("st.global.u32 [%mine+2], %t;\n", "not aligned");
}

/// Writes what the threads of its block have of %t, and reads another's.
std::string throughShared(const std::string &between,
                          const std::string &after) {
  return absl::StrCat(R"(
	mul.wide.u32 %rd1, %t, 4;
	mov.u64 %rd2, row;
	add.s64 %rd3, %rd2, %rd1;
	st.shared.u32 [%rd3], %t;
    )",
                      between, R"(
	sub.s64 %rd4, %rd2, %rd1;
	ld.shared.u32 %v, [%rd4+252];
    )",
                      after, kWriteOwn);
}

TEST(Kernels, SharedMemory) {
  std::vector<int32_t> words;
  absl::Status status = run(throughShared(kBarrier, ""), &words);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(words[5], 58);
  // A block finds nothing of the one before it.
  const std::string writeRow = R"(
	mul.wide.u32 %rd1, %t, 4;
	mov.u64 %rd2, row;
	add.s64 %rd2, %rd2, %rd1;
)";
  EXPECT_TRUE(run(writeRow + "st.shared.u32 [%rd2], %t;\n", nullptr, 2).ok());
  expectRefused(throughShared("", ""), "nothing puts the two in order");
  expectRefused(throughShared(kWarpBarrier, ""),
                "nothing puts the two in order");
  // A place that others may still read is not written.
  expectRefused(throughShared(kBarrier, "st.shared.u32 [%rd3], %v;\n"),
                "nothing puts the two in order");
  expectRefused("st.shared.v4.u32 [row+4], {%t, %t, %t, %t};\n", "not aligned");
  expectRefused(writeRow + "st.shared.u32 [%rd2+256], %t;\n", "in no buffer");
  expectRefused("st.shared.u32 [large], %t;\n", "share 49156 bytes");
}

TEST(Kernels, VectorsAreAligned) {
  auto store = [](const std::string &type, int bytes) {
    return absl::StrCat(R"(
	setp.ne.s32 %p1, %t, 0;
	@%p1 bra $end;
	st.global.)",
                        type, " [%words+", bytes, "], {%t, %t};\n$end:\n");
  };
  EXPECT_TRUE(run(store("v2.u32", 8)).ok());
  expectRefused(store("v2.u32", 4), "not aligned");
  expectRefused(store("v2.u32", 256), "in no buffer of the launch");
}

TEST(Kernels, ThreadsThatOthersWaitFor) {
  const std::string onlyLow = R"(
	setp.ge.u32 %p1, %t, 5;
	@%p1 bra $end;
  )";
  expectRefused(absl::StrCat(onlyLow, kWarpBarrier, "$end:\n"), "ended");
  const std::string ballot = "setp.eq.s32 %p2, %t, %t;\n"
                             "vote.sync.ballot.b32 %v, %p2, ";
  expectRefused(absl::StrCat(onlyLow, ballot, "30;\n$end:\n"),
                "the mask leaves it out");
  expectRefused(absl::StrCat(onlyLow, kWarpBarrier, "bra.uni $out;\n$end:\n",
                             ballot, "-1;\n$out:\n"),
                "others of its warp are in");
}

TEST(Kernels, PartsOfWarpsAndOtherBarriers) {
  expectRefused("shfl.sync.bfly.b32\t%v, %t, 8, 15, -1;\n", "a part of a warp");
  expectRefused("bar.sync 1;\n", "another barrier than 0");
  expectSays(run("bar.sync 0, 32;\n"), "another number of operands");
}

TEST(Kernels, HalvesOfElements) {
  // LLVM may load what is needed of one; nobody may store so.
  EXPECT_TRUE(run("ld.global.u16 %rs1, [%mine+2];\n").ok());
  expectRefused("st.global.u16 [%mine+2], %rs1;\n", "not aligned");
}

TEST(Kernels, BlocksOfAnotherSize) {
  auto kernels = Kernels::compile(".visible .entry k()\n.reqntid 32, 1, 1\n"
                                  "{\nret;\n}\n");
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  EXPECT_TRUE(kernels->launch("k", 1, 32, std::vector<Buffer>(), 1).ok());
  expectSays(kernels->launch("k", 1, 64, std::vector<Buffer>(), 1),
             "64 threads, and needs 32");
  expectSays(kernels->launch("k", 1, 32, {uint64_t(7)}, {}, 1),
             "with 1 parameters, and has 0");
}

/// Rounds a number to both halves of a word.
std::string pairOf(const std::string &word, const std::string &number) {
  return absl::StrCat("cvt.rn.f32.u32 %f1, ", number, ";\ncvt.rn.bf16x2.f32 ",
                      word, ", %f1, %f1;\n");
}

TEST(Kernels, MultipliesMatricesByAWarp) {
  // All of row i is i, all of column j is j: their product is 16 * i * j.
  std::vector<int32_t> words;
  absl::Status status =
      run(absl::StrCat(R"(
	and.b32 %r1, %t, 31;
	shr.u32 %r2, %r1, 2;
	add.s32 %r3, %r2, 8;
	mov.f32 %f2, 0f00000000;
	mov.f32 %f3, 0f3F800000;
    )",
                       pairOf("%r4", "%r2"), pairOf("%r5", "%r3"), R"(
	mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
		{%f4, %f5, %f6, %f7},
		{%r4, %r5, %r4, %r5},
		{%r4, %r4},
		{%f2, %f2, %f2, %f3};
	cvt.rzi.s32.f32 %v, %f7;
    )",
                       kWriteOwn),
          &words);
  ASSERT_TRUE(status.ok()) << status;
  for (int32_t i = 0; i < 64; ++i) {
    int32_t row = i % 32 / 4 + 8, col = i % 4 * 2 + 1;
    EXPECT_EQ(words[size_t(i)], 16 * row * col + 1);
  }
}

/// Copies the 64 words to `row`, and loads two matrices of 8 by 8 pairs of
/// numbers from there, transposed.
std::string loadCopied(const std::string &wait, int place) {
  return absl::StrCat(R"(
	setp.ge.u32 %p1, %t, 16;
	@%p1 bra $go;
	mul.wide.u32 %rd1, %t, 16;
	mov.u64 %rd2, row;
	add.s64 %rd3, %rd2, %rd1;
	add.s64 %rd4, %words, %rd1;
	cp.async.cg.shared.global [%rd3], [%rd4], 16;
$go:
    )",
                      wait, kBarrier, R"(
	and.b32 %r1, %t, 15;
	mul.wide.u32 %rd5, %r1, 16;
	mov.u64 %rd6, row;
	add.s64 %rd6, %rd6, %rd5;
	ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r2, %v, %r3, %r4}, [%rd6+)",
                      place, "];\n", kWriteOwn);
}

TEST(Kernels, LoadsMatricesThatWereCopied) {
  const std::string wait = "cp.async.wait_all;\n";
  std::vector<int32_t> words;
  absl::Status status = run(loadCopied(wait, 0), &words);
  ASSERT_TRUE(status.ok()) << status;
  // A row has four words, whose low halves are their numbers: the even columns.
  for (int32_t i = 0; i < 32; ++i) {
    int32_t col = i / 4, row = i % 4 * 2 + 8;
    int32_t low = col % 2 ? 0 : row * 4 + col / 2;
    int32_t high = col % 2 ? 0 : (row + 1) * 4 + col / 2;
    EXPECT_EQ(words[size_t(i)], low | high << 16);
  }
  expectRefused(loadCopied(wait, 8), "not aligned");
  expectRefused(loadCopied("", 0), "ended before copies");
}

TEST(Kernels, ConstantsAreOnlyRead) {
  auto compiled = [](const std::string &access) {
    auto kernels = Kernels::compile(absl::StrCat(R"(
.global .align 4 .b8 constant_0[8] = {1, 2, 0, 0, 255};
.visible .entry k(
	.param .u64 k_param_0
)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [k_param_0];
	mov.u64 %rd2, constant_0;
)",
                                                 access, "ret;\n}\n"));
    EXPECT_TRUE(kernels.ok()) << kernels.status();
    return std::move(*kernels);
  };
  int32_t word = 0;
  std::vector<Buffer> buffers = {{"word", &word, 4, 4}};
  absl::Status status = compiled("ld.global.nc.u32 %r1, [%rd2];\n"
                                 "st.global.u32 [%rd1], %r1;\n")
                            .launch("k", 1, 1, buffers, 1);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(word, 513);
  expectSays(
      compiled("st.global.u32 [%rd2], 7;\n").launch("k", 1, 1, buffers, 1),
      "which is only read");
  expectSays(
      compiled("ld.global.u32 %r1, [%rd2+8];\n").launch("k", 1, 1, buffers, 1),
      "in no buffer of the launch");
}

TEST(Kernels, TextThatItDoesNotKnow) {
  expectSays(run("mov.u32 %v, %tid.y;\n"), "unknown operand in 'mov.u32'");
  expectSays(run("add.s32 %v, %t;\n"), "another number of operands");
  expectSays(run("add.s32 %none, %t, 1;\n"), "unknown result");
  expectSays(run("sin.approx.f32 %f1, %f2;\n"),
             "no such instruction in \'sin.approx.f32\'");
  for (const char *opcode : {"add.rz.f32", "fma.rp.f32", "sqrt.rm.f32",
                             "mul.rn.ftz.f32", "fma.rn.relu.f32"}) {
    expectSays(run(std::string(opcode) + " %f1, %f2, %f3, %f4;\n"),
               std::string("no such instruction in '") + opcode);
  }
  expectSays(run("add.ftz.f32 %f1, %f2, %f3;\n"),
             "no such instruction in \'add.ftz.f32\'");
  expectSays(run("bra $nowhere;\n"), "there is no label $nowhere");
  expectSays(run("ld.local.u32 %v, [%mine];\n"),
             "no such instruction in \'ld.local.u32\'");
  expectSays(Kernels::compile(".visible .entry k(\n.param .u32 n\n)").status(),
             "PTX, line 2: expected .u64, found '.u32'");
  expectSays(run("{ .reg .b16 tmp; "), "expected '}', found ''");
}

} // namespace
