//===- ConformanceTest.cpp - operators compute what ONNX says -------------===//
//
// Runs ONNX's own node tests, which the source distribution of the ONNX
// library carries: the imported program, evaluated by the reference
// interpreter, gives the expected outputs. Each case is tried with its inputs
// fed, with its integer inputs constant, and with all of them constant, so
// that emission and folding are both checked.
//
//===----------------------------------------------------------------------===//

#include "frontend/walk/Op.h"
#include "tests/frontend/Evaluate.h"
#include "tests/frontend/NodeCase.h"

#include <filesystem>
#include <iostream>

namespace zerograph::frontend::testing {

namespace {

namespace fs = std::filesystem;
using mlir::zg::testing::Tensor;

const char *kModes[] = {"inputs fed", "integers constant", "all constant"};

/// Empty, or how `found` differs from what is expected.
std::string compare(const Tensor &found, const Tensor &expected,
                    double tolerance) {
  if (found.shape != expected.shape) {
    return "shape differs";
  }
  if (found.element != expected.element) {
    return "type differs";
  }
  for (size_t i = 0; i < expected.values.size(); ++i) {
    double a = found.values[i], b = expected.values[i];
    if (near(a, b, tolerance)) {
      continue;
    }
    return "element " + std::to_string(i) + " is " + std::to_string(a) +
           ", expected " + std::to_string(b);
  }
  return "";
}

enum class Outcome { passed, refused, wrong };

Outcome runCase(const NodeCase &test, int mode, std::string &message) {
  constexpr NodeCase::Bound kBound[] = {NodeCase::kNone, NodeCase::kIntegers,
                                        NodeCase::kAll};
  onnx::ModelProto model = test.bind(kBound[mode]);
  ImportOptions options;
  options.require_loss = false;
  std::string path = write(model);
  Imported imported = importFile(path, options);
  fs::remove_all(fs::path(path).parent_path());
  if (!imported.status.ok()) {
    message = imported.error();
    return Outcome::refused;
  }
  mlir::zg::nn::ProgramOp function = imported.function();
  if (imported.count("nn.dropout") + imported.count("nn.random_like") != 0) {
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
                test.tolerance(test.outputs[i].data_type()));
    if (!message.empty()) {
      return Outcome::wrong;
    }
  }
  return Outcome::passed;
}

TEST(Conformance, NodeTests) {
  std::vector<fs::path> folders = nodeCaseFolders();
  ASSERT_FALSE(folders.empty())
      << "no node tests; tools/setup.sh fetches ONNX's source";
  int cases = 0, never = 0, runs = 0;
  for (const fs::path &folder : folders) {
    std::optional<NodeCase> test = readNodeCase(folder);
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
          << test->name << ", " << kModes[mode] << ": " << message;
      passed |= outcome == Outcome::passed;
      runs += outcome == Outcome::passed;
      if (outcome == Outcome::refused) {
        refusal = message;
      }
    }
    if (!passed && !refusal.empty()) {
      ++never;
      std::cout << test->name << " refused: " << refusalLine(refusal) << "\n";
    }
  }
  std::cout << cases << " cases, " << runs << " runs agree, " << never
            << " cases refused\n";
  EXPECT_GT(runs, 3400);
}

} // namespace

} // namespace zerograph::frontend::testing
