//===- PtxTest.cpp - instructions of PTX beside what its manual says ------===//

#include "tests/emulator/Kernels.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// Runs one thread of a kernel of this body, with %rd1 where the memory is, and
/// returns the first word of it.
uint64_t execute(const std::string &body, std::vector<uint64_t> memory) {
  auto kernels = Kernels::compile(
      absl::StrCat(".visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<2>;\n"
                   "ld.param.u64 %rd1, [p];\n",
                   body, "ret;\n}\n"));
  if (!kernels.ok()) {
    ADD_FAILURE() << body << ": " << kernels.status();
    return 0;
  }
  absl::Status status = kernels->launch(
      "k", 1, 1, {{"memory", memory.data(), 8 * memory.size(), 1}}, 1);
  EXPECT_TRUE(status.ok()) << status;
  return memory[0];
}

/// The result of an instruction of registers of these types, "b32" or "f64".
/// A result of fewer bits than a word is its lowest ones.
uint64_t compute(const std::string &opcode, const std::string &result,
                 const std::vector<std::pair<std::string, uint64_t>> &inputs) {
  std::string body = absl::StrCat(".reg .", result, " %result;\n"), operands;
  std::vector<uint64_t> memory(1);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto &[type, value] = inputs[i];
    std::string name = absl::StrCat("%in", std::string(i + 1, 'x'));
    if (type == "pred") {
      absl::StrAppend(&body, ".reg .pred ", name, ";\nsetp.ne.s32 ", name,
                      ", 0, ", value, ";\n");
    } else {
      absl::StrAppend(&body, ".reg .", type, " ", name, ";\nld.global.", type,
                      " ", name, ", [%rd1+", 8 * memory.size(), "];\n");
    }
    memory.push_back(value);
    absl::StrAppend(&operands, ", ", name);
  }
  absl::StrAppend(&body, opcode, " %result", operands, ";\n");
  if (result == "pred") {
    absl::StrAppend(&body, ".reg .b32 %chosen;\n"
                           "selp.b32 %chosen, 1, 0, %result;\n"
                           "st.global.b32 [%rd1], %chosen;\n");
  } else {
    absl::StrAppend(&body, "st.global.", result, " [%rd1], %result;\n");
  }
  return execute(body, std::move(memory));
}

uint64_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint64_t ofWords(const std::string &opcode, uint32_t a, uint32_t b) {
  return compute(opcode, "b32", {{"b32", a}, {"b32", b}});
}
float ofFloats(const std::string &opcode, float a, float b) {
  return std::bit_cast<float>(
      uint32_t(compute(opcode, "f32", {{"f32", bits(a)}, {"f32", bits(b)}})));
}

TEST(Ptx, Integers) {
  EXPECT_EQ(ofWords("mul.hi.u32", 0xffffffff, 0xffffffff), 0xfffffffeu);
  EXPECT_EQ(ofWords("mul.hi.s32", 0xffffffff, 0xffffffff), 0u);
  EXPECT_EQ(compute("mul.wide.s32", "b64", {{"b32", 0xffffffff}, {"b32", 2}}),
            uint64_t(-2));
  EXPECT_EQ(compute("mul.wide.u32", "b64", {{"b32", 0xffffffff}, {"b32", 2}}),
            0x1fffffffeu);
  EXPECT_EQ(ofWords("min.s32", 0xffffffff, 1), 0xffffffffu);
  EXPECT_EQ(ofWords("min.u32", 0xffffffff, 1), 1u);
  EXPECT_EQ(ofWords("div.s32", uint32_t(-7), 2), uint32_t(-3));
  EXPECT_EQ(ofWords("rem.s32", uint32_t(-7), 2), uint32_t(-1));
  EXPECT_EQ(ofWords("div.u32", uint32_t(-7), 2), 0x7ffffffcu);
  ofWords("div.s32", 1, 0); // anything, but no trap
  ofWords("div.s32", 0x80000000, 0xffffffff);
}

TEST(Ptx, ShiftsByMoreThanAllBits) {
  EXPECT_EQ(ofWords("shl.b32", 3, 31), 0x80000000u);
  EXPECT_EQ(ofWords("shl.b32", 3, 32), 0u);
  EXPECT_EQ(ofWords("shr.u32", 0x80000000, 31), 1u);
  EXPECT_EQ(ofWords("shr.u32", 0x80000000, 33), 0u);
  EXPECT_EQ(ofWords("shr.s32", 0x80000000, 40), 0xffffffffu);
}

TEST(Ptx, OneOperand) {
  auto of = [](const std::string &opcode, uint32_t value) {
    return compute(opcode, "b32", {{"b32", value}});
  };
  EXPECT_EQ(of("not.b32", 1), 0xfffffffeu);
  EXPECT_EQ(of("neg.s32", 1), 0xffffffffu);
  EXPECT_EQ(of("abs.s32", 0xffffffff), 1u);
  EXPECT_EQ(compute("selp.b32", "b32", {{"b32", 5}, {"b32", 6}, {"pred", 1}}),
            5u);
}

TEST(Ptx, NumbersInTheText) {
  auto number = [](const std::string &type, const std::string &text) {
    return execute(absl::StrCat(".reg .", type, " %a;\nmov.", type, " %a, ",
                                text, ";\nst.global.", type, " [%rd1], %a;\n"),
                   {0});
  };
  EXPECT_EQ(number("b32", "-2"), 0xfffffffeu);
  EXPECT_EQ(number("b64", "18446744073709551615"), uint64_t(-1));
  EXPECT_EQ(number("b16", "0x3C00"), 0x3c00u);
  EXPECT_EQ(number("f32", "0fBF800000"), bits(-1.0f));
  EXPECT_EQ(number("f64", "0d4000000000000000"), bits(2.0));
}

TEST(Ptx, PartsOfRegisters) {
  EXPECT_EQ(execute(R"(
	.reg .b16 %rs<4>;
	.reg .b32 %r<4>;
	mov.b32 %r1, 65539;
	mov.b32 {%rs1, %rs2}, %r1;
	{ .reg .b16 tmp; mov.b32 {tmp, %rs3}, %r1; }
	{ .reg .b32 tmp; mov.b64 {tmp, %r2}, 12884901890; }
	add.s16 %rs1, %rs1, %rs3;
	mov.b32 %r3, {%rs2, %rs1};
	st.global.v2.u32 [%rd1], {%r3, %r2};
)",
                    {0}),
            uint64_t(3) << 32 | 4 << 16 | 1);
}

TEST(Ptx, FieldsOfBits) {
  auto field = [](const std::string &instruction, uint64_t value) {
    return execute(
        absl::StrCat(".reg .b32 %r<3>;\nld.global.u32 %r1, [%rd1];\n",
                     instruction, ";\nst.global.u32 [%rd1], %r2;\n"),
        {value});
  };
  EXPECT_EQ(field("bfe.u32 %r2, %r1, 4, 8", 0xabcdef), 0xdeu);
  EXPECT_EQ(field("bfe.s32 %r2, %r1, 4, 8", 0xabcdef), 0xffffffdeu);
  EXPECT_EQ(field("bfi.b32 %r2, 5, %r1, 4, 8", 0xabcdef), 0xabc05fu);
  EXPECT_EQ(field("popc.b32 %r2, %r1", 0xf0f1), 9u);
}

TEST(Ptx, MinimaAndMaximaOfNoNumbers) {
  EXPECT_EQ(ofFloats("min.f32", kNan, 2), 2);
  EXPECT_EQ(ofFloats("max.f32", 2, kNan), 2);
  EXPECT_TRUE(std::isnan(ofFloats("min.NaN.f32", kNan, 2)));
  EXPECT_TRUE(std::isnan(ofFloats("max.NaN.f32", 2, kNan)));
  EXPECT_TRUE(std::signbit(ofFloats("min.f32", 0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(ofFloats("max.NaN.f32", -0.0f, 0.0f)));
}

TEST(Ptx, Comparisons) {
  auto holds = [](const std::string &how, float a, float b) {
    return compute("setp." + how + ".f32", "pred",
                   {{"f32", bits(a)}, {"f32", bits(b)}}) == 1;
  };
  EXPECT_TRUE(holds("lt", 1, 2));
  EXPECT_FALSE(holds("lt", kNan, 2));
  EXPECT_TRUE(holds("ltu", kNan, 2));
  EXPECT_FALSE(holds("ne", kNan, 2));
  EXPECT_TRUE(holds("neu", kNan, 2));
  EXPECT_TRUE(holds("nan", 1, kNan));
  EXPECT_FALSE(holds("num", 1, kNan));
  auto ofWords = [](const std::string &how, uint32_t a, uint32_t b) {
    return compute("setp." + how, "pred", {{"b32", a}, {"b32", b}}) == 1;
  };
  EXPECT_TRUE(ofWords("lt.s32", 0xffffffff, 1));
  EXPECT_FALSE(ofWords("lo.u32", 0xffffffff, 1));
  EXPECT_TRUE(ofWords("hs.u32", 0xffffffff, 1));
}

TEST(Ptx, RoundsOnce) {
  // The product alone would be rounded to 1.
  float a = 1 + 0x1p-12f, b = 1 - 0x1p-12f;
  EXPECT_EQ(std::bit_cast<float>(uint32_t(compute(
                "fma.rn.f32", "f32",
                {{"f32", bits(a)}, {"f32", bits(b)}, {"f32", bits(-1.0f)}}))),
            -0x1p-24f);
  EXPECT_EQ(ofFloats("div.rn.f32", 1, 3), 1.0f / 3);
  EXPECT_EQ(compute("sqrt.rn.f64", "f64", {{"f64", bits(2.0)}}),
            bits(std::sqrt(2.0)));
  EXPECT_EQ(compute("rcp.rn.f32", "f32", {{"f32", bits(3.0f)}}),
            bits(1.0f / 3));
}

TEST(Ptx, Conversions) {
  auto toWord = [](const std::string &types, float value) {
    return int32_t(compute("cvt." + types, "b32", {{"f32", bits(value)}}));
  };
  EXPECT_EQ(toWord("rzi.s32.f32", -2.7f), -2);
  EXPECT_EQ(toWord("rmi.s32.f32", -2.2f), -3);
  EXPECT_EQ(toWord("rni.s32.f32", 2.5f), 2);
  EXPECT_EQ(toWord("rzi.s32.f32", 1e20f), std::numeric_limits<int32_t>::max());
  EXPECT_EQ(toWord("rzi.s32.f32", kNan), 0);
  EXPECT_EQ(compute("cvt.rzi.s64.f32", "b64", {{"f32", bits(kNan)}}),
            uint64_t(1) << 63);
  EXPECT_EQ(compute("cvt.rni.f32.f32", "f32", {{"f32", bits(3.5f)}}),
            bits(4.0f));
  EXPECT_EQ(compute("cvt.rpi.f64.f64", "f64", {{"f64", bits(3.1)}}), bits(4.0));
  // The bits above those that a type names do not count, nor are they kept.
  EXPECT_EQ(compute("cvt.s32.s8", "b32", {{"b32", 0x1ff}}), 0xffffffffu);
  EXPECT_EQ(compute("cvt.s8.s32", "b32", {{"b32", 0x180}}), 0xffffff80u);
  EXPECT_EQ(compute("cvt.u32.u64", "b32", {{"b64", 0x100000002}}), 2u);
  EXPECT_EQ(compute("cvt.rn.f32.u32", "f32", {{"b32", 0xffffffff}}),
            bits(4294967296.0f));
  EXPECT_EQ(compute("cvt.rn.f16.f32", "b16", {{"f32", bits(1.0f)}}), 0x3c00u);
  EXPECT_EQ(compute("cvt.f32.f16", "f32", {{"b16", 0x3c00}}), bits(1.0f));
}

} // namespace
