//===- WidthTest.cpp - a device of any number of lanes --------------------===//
//
// Tests that what codegen/emit makes for one, two or four lanes has the bits of
// the host's sixteen, tails included. The loops here are the plainest there
// are.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Lower.h"
#include "codegen/host/Compile.h"
#include "codegen/host/forms/HostBody.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

/// `void f(void *const *buffers, int64_t, int64_t)`: all rows of the kernel's
/// one result, `width` columns at a time, the last ones under a mask.
FailureOr<Bytes> compiledFor(int64_t width, nn::KernelOp kernel) {
  MLIRContext *context = kernel.getContext();
  emit::loadEmitDialects(context);
  Location unknown = UnknownLoc::get(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(unknown);
  auto b = ImplicitLocOpBuilder::atBlockEnd(unknown, module->getBody());
  auto pointer = LLVM::LLVMPointerType::get(context);
  Type i64 = b.getI64Type();
  auto function =
      b.create<func::FuncOp>("f", b.getFunctionType({pointer, i64, i64}, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  SmallVector<Value> buffers;
  for (unsigned i = 0; i < kernel->getNumOperands() + 1; ++i) {
    Value slot =
        b.create<LLVM::GEPOp>(pointer, pointer, function.getArgument(0),
                              ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    buffers.push_back(b.create<LLVM::LoadOp>(pointer, slot));
  }

  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  auto type = cast<RankedTensorType>(result.getType());
  int64_t cols = type.getShape().back();
  int64_t rows = type.getNumElements() / cols;
  emit::Graph graph(emit::Domain{rows, cols}, /*reducesColumns=*/true);
  FailureOr<emit::Node *> node = graph.add(result, emit::Extent::Full);
  if (failed(node) || failed(graph.resolve())) {
    return failure();
  }
  emit::Body body(b, graph, buffers, /*resultCount=*/1, width);
  emit::Lanes &l = body.lanes;
  body.enterKernel();
  body.loop(l.index(0), l.index(rows), 1, {}, [&](Value row, ValueRange) {
    body.enterRow(row);
    body.prepare(*node);
    Value start = l.mul(row, l.index(cols));
    body.loop(l.index(0), l.index(cols), width, {}, [&](Value col, ValueRange) {
      emit::Chunk chunk(col, l.maskBelow(l.sub(l.index(cols), col)));
      Value value = l.splat(body.vector(*node, chunk));
      body.store(body.resultPointer(0), l.add(start, col), value, chunk.mask);
      return SmallVector<Value>();
    });
    return SmallVector<Value>();
  });
  b.create<func::ReturnOp>();
  auto objects = host::compileToObjects(module, *parseHostTarget("x86-64-v3"));
  return failed(objects) ? FailureOr<Bytes>(failure())
                         : host::linkSharedObject(*objects, unknown);
}

/// Every width has the bits of the host's kernel.
void expectSameForEveryWidth(const std::string &text, double low = -3,
                             double high = 3) {
  SCOPED_TRACE(text);
  CompiledKernel kernel(text);
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  std::vector<Bytes> arguments;
  for (const Tensor &argument : kernel.randomArguments(7, low, high)) {
    arguments.push_back(toBytes(argument));
  }
  Bytes expected = kernel.run(arguments)[0];
  for (int64_t width : {1, 2, 4, 16}) {
    FailureOr<Bytes> elf = compiledFor(width, kernel.kernel());
    ASSERT_TRUE(succeeded(elf)) << width << " lanes";
    Library library(*elf);
    ASSERT_TRUE(library.ok());
    constexpr size_t kGuard = 64;
    Bytes got(expected.size() + kGuard, static_cast<char>(0xA5));
    std::vector<void *> buffers;
    for (Bytes &argument : arguments) {
      buffers.push_back(argument.data());
    }
    buffers.push_back(got.data());
    library.find("f")(buffers.data(), 0, 0);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()))
        << width << " lanes";
    EXPECT_TRUE(
        std::all_of(got.end() - kGuard, got.end(),
                    [](char byte) { return byte == static_cast<char>(0xA5); }))
        << width << " lanes write past the end";
  }
}

std::string kernelOf(const std::string &a, const std::string &b,
                     const std::string &lines, const std::string &result) {
  return "nn.program @f(%x: " + a + ", %y: " + b +
         ") {\n  %k = nn.kernel rows (%a = %x, %b = %y) : (" + a + ", " + b +
         ") -> " + result + " {\n" + lines + "    nn.yield %r : " + result +
         "\n  }\n  nn.return\n}";
}

TEST(Width, FunctionsOfOneAndTwo) {
  for (std::string element : {"f32", "f64"}) {
    std::string t = "tensor<3x37x" + element + ">";
    for (std::string kind :
         {"exp", "tanh", "erf", "sin", "sigmoid", "log", "log1p", "expm1"}) {
      expectSameForEveryWidth(kernelOf(
          t, t, "%r = nn.unary " + kind + " %a : " + t + " -> " + t + "\n", t));
    }
    for (std::string kind : {"div", "max", "pow", "mod", "cross_entropy"}) {
      expectSameForEveryWidth(kernelOf(
          t, t, "%r = nn.binary " + kind + " %a, %b : " + t + "\n", t));
    }
  }
}

TEST(Width, Conversions) {
  for (std::string to : {"f16", "bf16", "f64", "i1", "i8", "ui8", "i64"}) {
    std::string from = "tensor<5x19xf32>", t = "tensor<5x19x" + to + ">";
    expectSameForEveryWidth(
        kernelOf(from, from, "%r = nn.convert %a : " + from + " -> " + t + "\n",
                 t),
        -300, 300);
  }
}

TEST(Width, PadOfATransposition) {
  expectSameForEveryWidth(kernelOf(
      "tensor<20x3xf32>", "tensor<f32>",
      "%t = nn.transpose %a [1, 0] : tensor<20x3xf32> -> tensor<3x20xf32>\n"
      "%r = nn.pad %t [1, 2] value 7.0 : f32 : tensor<3x20xf32> -> "
      "tensor<6x41xf32>\n",
      "tensor<6x41xf32>"));
}

TEST(Width, GatherOfRowsAndOfElements) {
  expectSameForEveryWidth(
      kernelOf("tensor<7x21xf32>", "tensor<5xi64>",
               "%r = nn.gather %a, %b : tensor<7x21xf32>, tensor<5xi64> -> "
               "tensor<5x21xf32>\n",
               "tensor<5x21xf32>"),
      -3, 12);
  expectSameForEveryWidth(
      kernelOf("tensor<7xf32>", "tensor<5x21xi64>",
               "%r = nn.gather %a, %b : tensor<7xf32>, tensor<5x21xi64> -> "
               "tensor<5x21xf32>\n",
               "tensor<5x21xf32>"),
      -3, 12);
}

TEST(Width, CausalMask) {
  expectSameForEveryWidth(kernelOf(
      "tensor<19x19xf32>", "tensor<f32>",
      "%i = nn.iota 0 : tensor<19x19xi64>\n"
      "%j = nn.iota 1 : tensor<19x19xi64>\n"
      "%c = nn.compare le %j, %i : tensor<19x19xi64> -> tensor<19x19xi1>\n"
      "%z = nn.constant dense<-1.0> : tensor<19x19xf32>\n"
      "%r = nn.select %c, %a, %z : tensor<19x19xi1>, tensor<19x19xf32>\n",
      "tensor<19x19xf32>"));
}

TEST(Width, RandomNumbers) {
  expectSameForEveryWidth(
      kernelOf("tensor<1x1xi64>", "tensor<1x1xi64>",
               "%s = nn.broadcast %a : tensor<1x1xi64> -> tensor<3x37xi64>\n"
               "%t = nn.broadcast %b : tensor<1x1xi64> -> tensor<3x37xi64>\n"
               "%i = nn.iota 1 : tensor<3x37xi64>\n"
               "%r = nn.random_uniform %s, %t, %i number 3 : tensor<3x37xi64> "
               "-> tensor<3x37xf32>\n",
               "tensor<3x37xf32>"),
      0, 1e9);
}

} // namespace
