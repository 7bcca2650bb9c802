//===- ConformanceTest.cpp - operators compute what ONNX says -------------===//
//
// Runs ONNX's own node tests, which the source distribution of the ONNX
// library carries: the imported program, evaluated by the reference
// interpreter, gives the expected outputs. Each case is tried with its inputs
// fed, with its integer inputs constant, and with all of them constant, so
// that emission and folding are both checked.
//
//===----------------------------------------------------------------------===//

#include "frontend/ModelFile.h"
#include "frontend/Op.h"
#include "onnx/defs/schema.h"
#include "tests/frontend/Fixture.h"
#include "tests/support/Interpreter.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace zerograph::frontend::testing {

namespace {

namespace fs = std::filesystem;
using mlir::zg::testing::Tensor;

const char *kModes[] = {"inputs fed", "integers constant", "all constant"};

struct Case {
  fs::path folder;
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs, outputs;
};

template <typename Proto>
bool readProto(const fs::path &path, Proto &proto) {
  std::ifstream stream(path, std::ios::binary);
  return stream && proto.ParseFromIstream(&stream);
}

/// The case, unless it uses what the importer does not claim to support.
std::optional<Case> readCase(const fs::path &folder) {
  Case result{folder, {}, {}, {}};
  if (!readProto(folder / "model.onnx", result.model)) {
    return std::nullopt;
  }
  int64_t opset = 0;
  for (const auto &import : result.model.opset_import()) {
    if (!import.domain().empty()) {
      return std::nullopt;
    }
    opset = import.version();
  }
  for (const auto &node : result.model.graph().node()) {
    const onnx::OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset));
    if (findOp(node.op_type(), opset) == nullptr &&
        (schema == nullptr ||
         !(schema->HasFunction() || schema->HasContextDependentFunction()))) {
      return std::nullopt;
    }
  }
  for (auto [list, graphList, stem] :
       {std::tuple(&result.inputs, &result.model.graph().input(), "input_"),
        std::tuple(&result.outputs, &result.model.graph().output(),
                   "output_")}) {
    for (int i = 0; i < graphList->size(); ++i) {
      fs::path path =
          folder / "test_data_set_0" / (stem + std::to_string(i) + ".pb");
      onnx::TensorProto tensor;
      if (!graphList->Get(i).type().has_tensor_type() ||
          !readProto(path, tensor) || typeBytes(tensor.data_type()) == 0) {
        return std::nullopt;
      }
      tensor.set_name(graphList->Get(i).name());
      list->push_back(tensor);
    }
  }
  return result;
}

Tensor toTensor(const onnx::TensorProto &proto, mlir::MLIRContext *context) {
  HostTensor host = readTensor(proto, nullptr);
  Tensor tensor;
  tensor.shape.assign(host.shape().begin(), host.shape().end());
  tensor.element = elementTypeOf(context, host.type());
  for (int64_t i = 0; i < host.size(); ++i) {
    tensor.values.push_back(host.floatAt(i));
  }
  return tensor;
}

/// Cases whose expected numbers are written with four digits.
bool isRounded(const fs::path &folder) {
  return folder.filename() ==
             "test_averagepool_2d_ceil_last_window_starts_on_pad" ||
         folder.filename() == "test_gridsample_bicubic";
}

/// Empty, or how `found` differs from what is expected.
std::string compare(const Tensor &found, const Tensor &expected, bool rounded) {
  if (found.shape != expected.shape) {
    return "shape differs";
  }
  if (found.element != expected.element) {
    return "type differs";
  }
  double tolerance = expected.element.isF64()   ? 1e-7
                     : expected.element.isF32() ? 1e-5
                                                : 4e-3;
  if (expected.element.isBF16()) {
    tolerance = 2e-2;
  }
  if (rounded) {
    tolerance = 1e-4;
  }
  for (size_t i = 0; i < expected.values.size(); ++i) {
    double a = found.values[i], b = expected.values[i];
    if (std::isnan(b)
            ? std::isnan(a)
            : a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(b))) {
      continue;
    }
    return "element " + std::to_string(i) + " is " + std::to_string(a) +
           ", expected " + std::to_string(b);
  }
  return "";
}

enum class Outcome { passed, refused, wrong };

Outcome runCase(const Case &test, int mode, std::string &message) {
  onnx::ModelProto model = test.model;
  for (const auto &tensor : test.inputs) {
    bool integer = !isFloatType(tensor.data_type());
    if (mode == 2 || (mode == 1 && integer)) {
      *model.mutable_graph()->add_initializer() = tensor;
    }
  }
  ImportOptions options;
  options.require_loss = false;
  std::string path = write(model);
  Imported imported = importFile(path, options);
  fs::remove_all(fs::path(path).parent_path());
  if (!imported.status.ok()) {
    message = imported.error();
    return Outcome::refused;
  }
  mlir::func::FuncOp function = imported.function();
  if (imported.count("nn.dropout") != 0) {
    message = "node test: the expected numbers are other random ones";
    return Outcome::refused;
  }
  llvm::SmallVector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    std::string name;
    if (auto input = imported.input(i)) {
      name = input.getName().str();
    } else {
      name = function
                 .getArgAttrOfType<mlir::zg::nn::ParameterAttr>(
                     i, mlir::zg::nn::kParameterAttr)
                 .getName()
                 .str();
    }
    for (const auto &tensor : test.inputs) {
      if (tensor.name() == name) {
        arguments.push_back(toTensor(tensor, imported.context.get()));
      }
    }
  }
  std::vector<Tensor> results =
      mlir::zg::testing::evaluate(function, arguments);
  for (size_t i = 0; i < test.outputs.size(); ++i) {
    message =
        compare(results[i], toTensor(test.outputs[i], imported.context.get()),
                isRounded(test.folder));
    if (!message.empty()) {
      return Outcome::wrong;
    }
  }
  return Outcome::passed;
}

TEST(Conformance, NodeTests) {
  fs::path root =
      fs::path(ZEROGRAPH_ONNX_SOURCE) / "onnx/backend/test/data/node";
  ASSERT_TRUE(fs::exists(root))
      << root << " is not there; tools/setup.sh fetches ONNX's source";
  std::set<fs::path> folders;
  for (const auto &entry : fs::directory_iterator(root)) {
    folders.insert(entry.path());
  }
  int cases = 0, never = 0, runs = 0;
  for (const fs::path &folder : folders) {
    std::optional<Case> test = readCase(folder);
    if (!test) {
      continue;
    }
    ++cases;
    bool passed = false;
    std::string refusal;
    for (int mode = 0; mode < 3; ++mode) {
      std::string message;
      Outcome outcome = runCase(*test, mode, message);
      EXPECT_NE(outcome, Outcome::wrong)
          << folder.filename() << ", " << kModes[mode] << ": " << message;
      passed |= outcome == Outcome::passed;
      runs += outcome == Outcome::passed;
      if (outcome == Outcome::refused) {
        refusal = message;
      }
    }
    if (!passed && !refusal.empty()) {
      ++never;
      // The second line names the node, where the first only counts.
      size_t begin = refusal.find("\n  ");
      begin = begin == std::string::npos ? refusal.find(": ") + 2 : begin + 3;
      std::cout << folder.filename().string() << " refused: "
                << refusal.substr(begin, refusal.find('\n', begin) - begin)
                << "\n";
    }
  }
  std::cout << cases << " cases, " << runs << " runs agree, " << never
            << " cases refused\n";
  EXPECT_GT(runs, 3400);
}

} // namespace

} // namespace zerograph::frontend::testing
