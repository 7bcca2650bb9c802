//===- CudaNodesTest.cpp - kernels of ONNX's node tests on CUDA -----------===//
//
// Every node test that can be trained, by all of its float inputs: ptxas
// assembles the kernels without spills. Of convolutions, whose products are
// generated, they also have the host's bits on the emulator.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaModule.h"
#include "codegen/cuda/Ptx.h"
#include "frontend/base/HostTensor.h"
#include "tests/codegen/CudaRun.h"
#include "tests/codegen/Ptxas.h"
#include "tests/codegen/TrainingKernels.h"
#include "tests/frontend/Fixture.h"
#include "tests/frontend/NodeCase.h"
#include "tests/passes/differentiate/NodeGradient.h"
#include "tools/cli/Ptxas.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <functional>
#include <iostream>
#include <numeric>
#include <set>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::testing;
namespace frontend = zerograph::frontend;
using frontend::testing::NodeCase;

namespace {

bool hasElements(const onnx::TensorProto &tensor) {
  return std::find(tensor.dims().begin(), tensor.dims().end(), 0) ==
         tensor.dims().end();
}

/// A training step by all float inputs of the case.
TrainingKernels kernelsOf(const NodeCase &test) {
  frontend::ImportOptions import;
  for (const onnx::TensorProto &input : test.inputs) {
    if (frontend::isFloatType(input.data_type()) && hasElements(input)) {
      import.train.push_back(input.name());
    }
  }
  if (import.train.empty()) {
    import.train.push_back("none");
  }
  std::string path = frontend::testing::write(withLoss(test.model, test));
  TrainingKernels kernels(path, import, {});
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
  return kernels;
}

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

/// PTX of many modules as one, whose names and constants are kept apart.
class JoinedPtx {
public:
  void add(StringRef text) {
    auto [head, body] = text.split(".address_size 64");
    if (joined.empty()) {
      joined = (head + ".address_size 64\n").str();
    }
    std::string prefix = "m" + std::to_string(count++) + "_";
    SmallVector<StringRef> lines;
    body.split(lines, '\n');
    for (StringRef line : lines) {
      joined += prefixed(line, prefix) + "\n";
    }
  }
  const std::string &text() const { return joined; }

private:
  /// Every word that begins with "k" and a number, or is a constant's name.
  static std::string prefixed(StringRef line, const std::string &prefix) {
    std::string result;
    line = line.split("//").first;
    while (!line.empty()) {
      size_t end = line.find_if([](char c) { return !isWord(c); });
      StringRef word = line.take_front(end);
      bool named = word.starts_with("constant_") ||
                   (word.size() > 1 && word[0] == 'k' && isdigit(word[1]));
      result += (named ? prefix : "") + word.str();
      line = line.drop_front(word.size());
      size_t rest = line.find_if(isWord);
      result += line.take_front(rest).str();
      line = line.drop_front(std::min(rest, line.size()));
    }
    return result;
  }
  static bool isWord(char c) { return isalnum(c) || c == '_' || c == '$'; }

  std::string joined;
  size_t count = 0;
};

/// Returns those of `ops` that no case before had.
std::vector<Operation *> newOnes(std::vector<Operation *> ops,
                                 std::set<std::string> &known) {
  llvm::erase_if(
      ops, [&](Operation *op) { return !known.insert(textOf(op)).second; });
  return ops;
}

/// In turn one or the other, as assembling takes long; with ZEROGRAPH_FULL set,
/// both.
std::vector<const char *> architecturesFor(unsigned turn) {
  const char *full = std::getenv("ZEROGRAPH_FULL");
  if (full && *full) {
    return {"sm_80", "sm_90"};
  }
  return {turn % 2 ? "sm_90" : "sm_80"};
}

TEST(CudaNodes, ThoseThatTrainAreAssembledWithoutSpills) {
  auto ptxas = zerograph::findPtxas();
  if (!ptxas.ok()) {
    GTEST_SKIP() << ptxas.status().message();
  }
  std::vector<std::filesystem::path> folders =
      frontend::testing::nodeCaseFolders();
  ASSERT_FALSE(folders.empty())
      << "no node tests; tools/setup.sh fetches ONNX's source";
  std::set<std::string> known;
  std::map<std::string, JoinedPtx> joined;
  int trained = 0;
  unsigned turn = 0;
  for (const auto &folder : folders) {
    std::optional<NodeCase> test = frontend::testing::readNodeCase(folder);
    if (!test) {
      continue;
    }
    TrainingKernels kernels = kernelsOf(*test);
    trained += kernels.error().empty();
    std::vector<Operation *> ops = newOnes(kernels.ops(), known);
    if (ops.empty()) {
      continue;
    }
    CudaModuleBuilder builder(ops.front()->getContext());
    for (Operation *op : ops) {
      ASSERT_TRUE(succeeded(builder.add(op))) << test->name;
    }
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module = builder.finish(context);
    ASSERT_TRUE(module) << test->name;
    for (const char *architecture : architecturesFor(turn++)) {
      std::string error;
      std::unique_ptr<llvm::Module> copy = llvm::CloneModule(*module);
      auto ptx = cuda::toPtx(*copy, CudaTarget{architecture}, error);
      ASSERT_TRUE(succeeded(ptx)) << error;
      EXPECT_THAT(inexactLines(*ptx), ::testing::IsEmpty()) << test->name;
      joined[architecture].add(*ptx);
    }
  }
  EXPECT_GE(trained, 500);
  std::cout << trained << " node tests train, by " << known.size()
            << " kernels\n";
  for (const auto &[architecture, ptx] : joined) {
    Assembly assembly = assemble(*ptxas, architecture, ptx.text());
    EXPECT_EQ(assembly.error, "");
    std::cout << architecture << ": " << assembly.summary() << "\n";
  }
}

/// A convolution in ONNX's text with tensors of `type`, x by w to y.
struct Convolution {
  const char *name, *op, *attributes;
  std::vector<int64_t> x, w, y;
};

const Convolution kConvolutions[] = {
    {"1-D", "Conv", "strides=[2], pads=[1,1]", {2, 3, 9}, {4, 3, 3}, {2, 4, 5}},
    {"2-D in groups",
     "Conv",
     "group=2, pads=[1,1,1,1]",
     {1, 4, 5, 6},
     {6, 2, 3, 3},
     {1, 6, 5, 6}},
    {"2-D, dilated",
     "Conv",
     "dilations=[2,1]",
     {2, 3, 7, 5},
     {4, 3, 2, 3},
     {2, 4, 5, 3}},
    {"depthwise",
     "Conv",
     "group=4, strides=[2,2]",
     {1, 4, 7, 7},
     {4, 1, 3, 3},
     {1, 4, 3, 3}},
    {"3-D",
     "Conv",
     "pads=[0,1,0,0,1,0]",
     {1, 2, 4, 5, 3},
     {3, 2, 2, 3, 2},
     {1, 3, 3, 5, 2}},
    {"transposed",
     "ConvTranspose",
     "strides=[2,1]",
     {1, 3, 4, 3},
     {3, 5, 3, 2},
     {1, 5, 9, 4}},
};

onnx::TensorProto tensorOf(const std::string &name, int32_t type,
                           const std::vector<int64_t> &shape) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                     std::multiplies<>());
  bool isDouble = type == onnx::TensorProto::DOUBLE;
  tensor.set_raw_data(std::string(size_t(elements * (isDouble ? 8 : 4)), '\0'));
  return tensor;
}

/// Parameters are float32 or float64, and are cast to the type that is
/// convolved. Kernels get data of their own: here only shapes and types count.
NodeCase caseOf(const Convolution &convolution, int32_t type) {
  bool isDouble = type == onnx::TensorProto::DOUBLE;
  std::string stored = isDouble ? "double" : "float";
  auto declared = [&](const char *name, const std::vector<int64_t> &shape) {
    return stored + "[" +
           llvm::join(
               llvm::map_range(
                   shape, [](int64_t size) { return std::to_string(size); }),
               ",") +
           "] " + name;
  };
  std::string cast = " = Cast<to=" + std::to_string(type) + ">";
  std::string attributes = convolution.attributes;
  NodeCase test;
  test.name = convolution.name;
  test.model = frontend::testing::parse(
      "<ir_version: 10, opset_import: [\"\" : 22]> agraph (" +
      declared("x", convolution.x) + ", " + declared("w", convolution.w) +
      ") => (" + declared("y", convolution.y) + ") {\n a" + cast + "(x)\n b" +
      cast + "(w)\n c = " + convolution.op + "<" + attributes +
      ">(a, b)\n y = Cast<to=" +
      std::to_string(isDouble ? onnx::TensorProto::DOUBLE
                              : onnx::TensorProto::FLOAT) +
      ">(c)\n}");
  int32_t held =
      isDouble ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT;
  test.inputs = {tensorOf("x", held, convolution.x),
                 tensorOf("w", held, convolution.w)};
  test.outputs = {tensorOf("y", held, convolution.y)};
  return test;
}

TEST(CudaNodes, ConvolutionsHaveTheHostsBits) {
  for (const Convolution &convolution : kConvolutions) {
    for (int32_t type :
         {onnx::TensorProto::FLOAT, onnx::TensorProto::DOUBLE,
          onnx::TensorProto::FLOAT16, onnx::TensorProto::BFLOAT16}) {
      SCOPED_TRACE(std::string(convolution.name) + " of " +
                   onnx::TensorProto_DataType_Name(type));
      TrainingKernels kernels = kernelsOf(caseOf(convolution, type));
      ASSERT_EQ(kernels.error(), "");
      std::vector<Operation *> ops = kernels.ops();
      auto isProduct = [](Operation *op) { return isa<nn::MatmulOp>(op); };
      // Itself and its two gradients, of which two may be equal.
      EXPECT_GE(llvm::count_if(ops, isProduct), 2);
      expectHostsBits(ops);
    }
  }
}

} // namespace
