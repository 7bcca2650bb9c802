//===- KernelsTest.cpp - what no GPU defines is found ---------------------===//

#include "tests/emulator/Kernels.h"

#include "absl/strings/str_cat.h"
#include "tests/support/Says.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// Runs kernel @k of this body on one block of 64 threads and as many words of
/// memory, which begin as their numbers; %t is the thread, %mine its word.
absl::Status run(const std::string &body,
                 std::vector<int32_t> *memory = nullptr, uint32_t blocks = 1,
                 uint32_t seed = 1) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::string text = absl::StrCat(R"(
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
    declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
    declare void @llvm.nvvm.bar.warp.sync(i32)
    declare void @llvm.nvvm.barrier0()
    declare {float, float, float, float} @llvm.nvvm.mma.m16n8k16.row.col.bf16(
      i32, i32, i32, i32, i32, i32, float, float, float, float)
    declare {i32, i32, i32, i32}
      @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3))
    declare <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(float, float)
    declare void @llvm.nvvm.cp.async.cg.shared.global.16(
      ptr addrspace(3), ptr addrspace(1))
    declare void @llvm.nvvm.cp.async.wait.all()
    @row = internal addrspace(3) global [64 x i32] undef, align 16
    @large = internal addrspace(3) global [12289 x i32] undef, align 16
    define void @k(ptr addrspace(1) %words) {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
      %mine = getelementptr i32, ptr addrspace(1) %words, i32 %t
    )",
                                  body, "\n ret void\n}\n");
  auto module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    return absl::InvalidArgumentError(error.getMessage().str());
  }
  auto kernels = Kernels::compile(*module);
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

/// Reads the word of the thread beside, and writes it to its own.
const char kReadNext[] = R"(
  %n = xor i32 %t, 1
  %next = getelementptr i32, ptr addrspace(1) %words, i32 %n
  %v = load i32, ptr addrspace(1) %next
)";
const char kReadFar[] = R"(
  %n = xor i32 %t, 32
  %next = getelementptr i32, ptr addrspace(1) %words, i32 %n
  %v = load i32, ptr addrspace(1) %next
)";
const char kWriteOwn[] = "store i32 %v, ptr addrspace(1) %mine\n";

TEST(Kernels, ExchangeInAWarp) {
  std::vector<int32_t> words;
  absl::Status status = run(absl::StrCat(R"(
    %v = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 8, i32 31)
  )",
                                         kWriteOwn),
                            &words);
  ASSERT_TRUE(status.ok()) << status;
  for (int32_t i = 0; i < 64; ++i) {
    EXPECT_EQ(words[size_t(i)], i ^ 8);
  }
}

TEST(Kernels, Ballot) {
  std::vector<int32_t> words;
  absl::Status status = run(absl::StrCat(R"(
    %odd = trunc i32 %t to i1
    %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %odd)
  )",
                                         kWriteOwn),
                            &words);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(uint32_t(words[7]), 0xAAAAAAAAu);
}

TEST(Kernels, BarriersPutAccessesInOrder) {
  std::vector<int32_t> words;
  ASSERT_TRUE(run(absl::StrCat(kReadFar, "call void @llvm.nvvm.barrier0()\n",
                               kWriteOwn),
                  &words)
                  .ok());
  EXPECT_EQ(words[0], 32);
  ASSERT_TRUE(run(absl::StrCat(kReadNext,
                               "call void @llvm.nvvm.bar.warp.sync(i32 -1)\n",
                               kWriteOwn),
                  &words)
                  .ok());
  EXPECT_EQ(words[0], 1);
}

TEST(Kernels, AccessesThatNothingOrders) {
  expectRefused(absl::StrCat(kReadFar, kWriteOwn),
                "nothing puts the two in order");
  expectRefused(absl::StrCat(kReadNext, kWriteOwn),
                "nothing puts the two in order");
  // A warp's barrier is not one for the block, nor a block's one for the grid.
  expectRefused(absl::StrCat(kReadFar,
                             "call void @llvm.nvvm.bar.warp.sync(i32 -1)\n",
                             kWriteOwn),
                "nothing puts the two in order");
  expectRefused(absl::StrCat("call void @llvm.nvvm.barrier0()\n"
                             "store i32 %t, ptr addrspace(1) %mine\n"),
                "nothing puts the two in order", 2);
}

TEST(Kernels, AccessesOutsideOfTheBuffer) {
  expectRefused(R"(
    %far = getelementptr i32, ptr addrspace(1) %mine, i32 64
    store i32 %t, ptr addrspace(1) %far
  )",
                "in no buffer of the launch");
  expectRefused(R"(
    %odd = getelementptr i8, ptr addrspace(1) %mine, i32 2
    store i32 %t, ptr addrspace(1) %odd
  )",
                "not aligned");
}

/// Writes what the threads of its block have of %t, and reads another's.
std::string throughShared(const std::string &between,
                          const std::string &after) {
  return absl::StrCat(R"(
    %own = getelementptr i32, ptr addrspace(3) @row, i32 %t
    store i32 %t, ptr addrspace(3) %own
    )",
                      between, R"(
    %n = sub i32 63, %t
    %other = getelementptr i32, ptr addrspace(3) @row, i32 %n
    %v = load i32, ptr addrspace(3) %other
    )",
                      after, kWriteOwn);
}

TEST(Kernels, SharedMemory) {
  const std::string barrier = "call void @llvm.nvvm.barrier0()\n";
  std::vector<int32_t> words;
  absl::Status status = run(throughShared(barrier, ""), &words);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(words[5], 58);
  // A block finds nothing of the one before it.
  EXPECT_TRUE(run(R"(
    %own = getelementptr i32, ptr addrspace(3) @row, i32 %t
    store i32 %t, ptr addrspace(3) %own
  )",
                  nullptr, 2)
                  .ok());
  expectRefused(throughShared("", ""), "nothing puts the two in order");
  expectRefused(
      throughShared("call void @llvm.nvvm.bar.warp.sync(i32 -1)\n", ""),
      "nothing puts the two in order");
  // A place that others may still read is not written.
  expectRefused(throughShared(barrier, "store i32 %v, ptr addrspace(3) %own\n"),
                "nothing puts the two in order");
  expectRefused(R"(
    %first = getelementptr i32, ptr addrspace(3) @row, i32 1
    store <4 x i32> zeroinitializer, ptr addrspace(3) %first, align 16
  )",
                "not aligned");
  expectRefused(R"(
    %own = getelementptr i32, ptr addrspace(3) @row, i32 64
    store i32 %t, ptr addrspace(3) %own
  )",
                "in no buffer");
  expectRefused(R"(
    %own = getelementptr i32, ptr addrspace(3) @large, i32 %t
    store i32 %t, ptr addrspace(3) %own
  )",
                "share 49156 bytes");
}

TEST(Kernels, VectorsAreAlignedAsTheySay) {
  auto store = [](int32_t words, const std::string &alignment) {
    return absl::StrCat(R"(
    %first = icmp eq i32 %t, 0
    br i1 %first, label %then, label %end
    then:
    %place = getelementptr i32, ptr addrspace(1) %words, i32 )",
                        words, R"(
    store <4 x i32> zeroinitializer, ptr addrspace(1) %place, align )",
                        alignment, "\n br label %end\n end:\n");
  };
  EXPECT_TRUE(run(store(4, "16")).ok());
  expectRefused(store(2, "16"), "not aligned");
  // PTX makes several of these.
  EXPECT_TRUE(run(store(2, "8")).ok());
  EXPECT_TRUE(run(store(1, "4")).ok());
  expectRefused(store(1, "8"), "not aligned");
  expectRefused(store(62, "8"), "in no buffer of the launch");
}

TEST(Kernels, ThreadsThatOthersWaitFor) {
  const std::string onlyLow = R"(
    %low = icmp ult i32 %t, 5
    br i1 %low, label %then, label %end
    then:
  )";
  expectRefused(onlyLow + R"(
    call void @llvm.nvvm.bar.warp.sync(i32 -1)
    br label %end
    end:
  )",
                "ended");
  expectRefused(onlyLow + R"(
    %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 30, i1 1)
    br label %end
    end:
  )",
                "the mask leaves it out");
  expectRefused(R"(
    %low = icmp ult i32 %t, 5
    br i1 %low, label %then, label %else
    then:
    call void @llvm.nvvm.bar.warp.sync(i32 -1)
    br label %end
    else:
    %v = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 1)
    br label %end
    end:
  )",
                "others of its warp are in");
}

/// Rounds a float to both halves of a word.
std::string pairOf(const std::string &word, const std::string &number) {
  return absl::StrCat("%", word, "f = uitofp i32 %", number, " to float\n%",
                      word, "p = call <2 x bfloat> @llvm.nvvm.ff2bf16x2.rn(",
                      "float %", word, "f, float %", word, "f)\n%", word,
                      " = bitcast <2 x bfloat> %", word, "p to i32\n");
}

TEST(Kernels, MultipliesMatricesByAWarp) {
  // All of row i is i, all of column j is j: their product is 16 * i * j.
  std::vector<int32_t> words;
  absl::Status status =
      run(absl::StrCat(R"(
    %lane = and i32 %t, 31
    %g = lshr i32 %lane, 2
    %h = add i32 %g, 8
    )",
                       pairOf("low", "g"), pairOf("high", "h"), R"(
    %m = call {float, float, float, float}
      @llvm.nvvm.mma.m16n8k16.row.col.bf16(i32 %low, i32 %high, i32 %low,
        i32 %high, i32 %low, i32 %low, float 0.0, float 0.0, float 0.0,
        float 1.0)
    %c = extractvalue {float, float, float, float} %m, 3
    %v = fptosi float %c to i32
    )",
                       kWriteOwn),
          &words);
  ASSERT_TRUE(status.ok()) << status;
  for (int32_t i = 0; i < 64; ++i) {
    int32_t row = i % 32 / 4 + 8, col = i % 4 * 2 + 1;
    EXPECT_EQ(words[size_t(i)], 16 * row * col + 1);
  }
}

/// Copies the 64 words to @row, and loads two matrices of 8 by 8 pairs of
/// numbers from there, transposed.
std::string loadCopied(const std::string &wait, const std::string &place) {
  return absl::StrCat(R"(
    %first = icmp ult i32 %t, 16
    br i1 %first, label %copy, label %go
    copy:
    %w = shl i32 %t, 2
    %to = getelementptr i32, ptr addrspace(3) @row, i32 %w
    %from = getelementptr i32, ptr addrspace(1) %words, i32 %w
    call void @llvm.nvvm.cp.async.cg.shared.global.16(
      ptr addrspace(3) %to, ptr addrspace(1) %from)
    br label %go
    go:
    )",
                      wait, R"(
    call void @llvm.nvvm.barrier0()
    %r = and i32 %t, 15
    %e = shl i32 %r, 3
    %o = add i32 %e, )",
                      place, R"(
    %p = getelementptr i16, ptr addrspace(3) @row, i32 %o
    %l = call {i32, i32, i32, i32}
      @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(
        ptr addrspace(3) %p)
    %v = extractvalue {i32, i32, i32, i32} %l, 1
    )",
                      kWriteOwn);
}

TEST(Kernels, LoadsMatricesThatWereCopied) {
  const std::string wait = "call void @llvm.nvvm.cp.async.wait.all()\n";
  std::vector<int32_t> words;
  absl::Status status = run(loadCopied(wait, "0"), &words);
  ASSERT_TRUE(status.ok()) << status;
  // A row has four words, whose low halves are their numbers: the even columns.
  for (int32_t i = 0; i < 32; ++i) {
    int32_t col = i / 4, row = i % 4 * 2 + 8;
    int32_t low = col % 2 ? 0 : row * 4 + col / 2;
    int32_t high = col % 2 ? 0 : (row + 1) * 4 + col / 2;
    EXPECT_EQ(words[size_t(i)], low | high << 16);
  }
  expectRefused(loadCopied(wait, "4"), "not aligned");
  expectRefused(loadCopied("", "0"), "ended before copies");
}

TEST(Kernels, InstructionsThatItDoesNotHave) {
  std::string text = "%v = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()";
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module =
      llvm::parseAssemblyString("declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()\n"
                                "define void @k() {\n" +
                                    text + "\n ret void\n}\n",
                                error, context);
  ASSERT_TRUE(module);
  expectSays(Kernels::compile(*module).status(), "read.ptx.sreg.tid.y");
}

} // namespace
