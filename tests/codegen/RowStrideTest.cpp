//===- RowStrideTest.cpp - kernels of tensors whose rows lie apart --------===//
//
// Tests that they have the bits of the same kernels of dense tensors, on the
// host and on CUDA, and leave alone what lies between rows.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/CudaRun.h"
#include "tests/codegen/KernelRun.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

constexpr char kBetween = char(0xA5);

/// The bytes of rows of a tensor, as long as they are and as they lie.
struct Rows {
  explicit Rows(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    int64_t element = nn::elementBytes(tensor.getElementType());
    length = size_t(element * tensor.getShape().back());
    stride = size_t(element * nn::rowStrideOf(tensor));
  }

  Bytes spread(const Bytes &dense) const {
    Bytes apart(dense.size() / length * stride, kBetween);
    for (size_t row = 0; row * length < dense.size(); ++row) {
      std::copy_n(dense.begin() + row * length, length,
                  apart.begin() + row * stride);
    }
    return apart;
  }

  size_t length, stride;
};

std::string withRows(std::string text, const std::string &apart) {
  for (size_t at; (at = text.find("|>")) != text.npos;) {
    text.replace(at, 2, apart + ">");
  }
  return text;
}

/// Returns the text of `kernel`, which yields what is dense.
std::string apartKernel(const std::string &a, const std::string &b,
                        const std::string &lines, const std::string &result,
                        const std::string &form = "rows") {
  std::string text = kernel(a, b, lines, result, form);
  size_t yielded = text.find("|>", text.find("nn.yield"));
  return yielded == text.npos ? text : text.erase(yielded, 1);
}

/// `text`: a kernel, in whose types "|" stands where the rows lie apart.
void expectSameBits(const std::string &text, const std::string &stride) {
  SCOPED_TRACE(text);
  CompiledKernel dense(withRows(text, ""));
  CompiledKernel apart(withRows(text, ", #nn.row_stride<" + stride + ">"));
  ASSERT_TRUE(dense.ok()) << dense.diagnostics();
  ASSERT_TRUE(apart.ok()) << apart.diagnostics();
  std::vector<Bytes> arguments, spread;
  for (auto [argument, type] :
       llvm::zip(dense.randomArguments(3), apart.kernel().getOperandTypes())) {
    arguments.push_back(toBytes(argument));
    spread.push_back(Rows(type).spread(arguments.back()));
  }
  std::vector<Bytes> expected;
  for (auto [bytes, type] :
       llvm::zip(dense.run(arguments), apart.kernel().getResultTypes())) {
    expected.push_back(Rows(type).spread(bytes));
  }
  EXPECT_EQ(apart.run(spread), expected);
  CudaKernels cuda({apart.kernel()});
  ASSERT_TRUE(cuda.ok());
  EXPECT_EQ(cuda.run(0, spread), expected);
}

std::string elementwise(const std::string &element) {
  std::string t = "tensor<6x250x" + element;
  return apartKernel(t + "|>", t + ">",
                     "%r = nn.binary add %a, %b : " + t + ">\n", t + "|>");
}

TEST(RowStride, ElementsAndThoseLeftOver) {
  for (std::string element : {"f32", "f64", "i64"}) {
    expectSameBits(elementwise(element), "256");
  }
  // Rows that begin at no multiple of an access.
  expectSameBits(elementwise("f32"), "251");
}

// Twice as many of them are stored at once as are read.
TEST(RowStride, Halves) {
  std::string t = "tensor<6x250x", half = t + "bf16", wide = t + "f32";
  expectSameBits(apartKernel(wide + "|>", wide + ">",
                             "%s = nn.binary add %a, %b : " + wide +
                                 ">\n%r = nn.convert %s : " + wide + "> -> " +
                                 half + ">\n",
                             half + "|>"),
                 "256");
}

/// A reduction, and what is computed with it, of rows of so many columns.
void expectSameReduced(const std::string &columns, const std::string &stride) {
  std::string t = "tensor<6x" + columns + "xf32", row = "tensor<6x1xf32>";
  expectSameBits(apartKernel(t + "|>", row,
                             "%m = nn.reduce max %a [1] : " + t + "> -> " +
                                 row + "\n%s = nn.binary sub %m, %b : " + row +
                                 "\n%w = nn.broadcast %s : " + row + " -> " +
                                 t + ">\n%r = nn.binary sub %a, %w : " + t +
                                 ">\n",
                             t + "|>"),
                 stride);
}

// A warp reduces the short ones, several warps those of several segments.
TEST(RowStride, RowsThatAreReduced) {
  expectSameReduced("250", "256");
  expectSameReduced("9001", "9024");
}

TEST(RowStride, ColumnsOfThem) {
  std::string t = "tensor<70x30xf32", sum = "tensor<1x30xf32>";
  expectSameBits(apartKernel(t + "|>", t + ">",
                             "%p = nn.binary mul %a, %b : " + t +
                                 ">\n%r = nn.reduce sum %p [0] : " + t +
                                 "> -> " + sum + "\n",
                             sum, "columns"),
                 "32");
}

TEST(RowStride, ColumnsThatAreStored) {
  std::string text = R"(
nn.program @f(%x: tensor<70x30xf32|>, %y: tensor<70x30xf32>) {
  %k:2 = nn.kernel columns (%a = %x, %b = %y) : (tensor<70x30xf32|>, tensor<70x30xf32>) -> (tensor<1x30xf32>, tensor<70x30xf32|>) {
    %p = nn.binary mul %a, %b : tensor<70x30xf32>
    %s = nn.reduce sum %p [0] : tensor<70x30xf32> -> tensor<1x30xf32>
    nn.yield %s, %p : tensor<1x30xf32>, tensor<70x30xf32>
  }
  nn.return
})";
  expectSameBits(text, "32");
}

TEST(RowStride, PartsOfThem) {
  std::string part = "tensor<2x3x50xf32";
  expectSameBits(
      apartKernel("tensor<2x4x50xf32|>", part + ">",
                  "%s = nn.slice %a [0, 1, 0] step [1, 1, 1] : "
                  "tensor<2x4x50xf32> -> " +
                      part + ">\n%r = nn.binary add %s, %b : " + part + ">\n",
                  part + "|>"),
      "52");
}

} // namespace
