//===- NodeTest.cpp - ONNX's node tests, compiled and run -----------------===//
//
// Does what `zerograph run` does with a model, for each case: import, kernels,
// plan, verification, execution on threads. Inputs that decide a shape are
// bound to the test's values. What is refused is listed in
// node_tests_refused.txt, each with its reason; nothing else may be.
//
//===----------------------------------------------------------------------===//

#include "frontend/file/ModelFile.h"
#include "runtime/io/SafetensorsWriter.h"
#include "runtime/plan/Supported.h"
#include "tests/e2e/ForwardRun.h"
#include "tests/frontend/NodeCase.h"

#include "gtest/gtest.h"

#include <fstream>
#include <iostream>
#include <map>

namespace zerograph {
namespace {

namespace fs = std::filesystem;
using frontend::HostTensor;
using frontend::testing::NodeCase;

plan::ElementType planTypeOf(int32_t type) {
  switch (type) {
  case onnx::TensorProto::FLOAT:
    return plan::F32;
  case onnx::TensorProto::DOUBLE:
    return plan::F64;
  case onnx::TensorProto::FLOAT16:
    return plan::F16;
  case onnx::TensorProto::BFLOAT16:
    return plan::BF16;
  case onnx::TensorProto::INT64:
    return plan::I64;
  case onnx::TensorProto::INT32:
    return plan::I32;
  case onnx::TensorProto::INT16:
    return plan::I16;
  case onnx::TensorProto::INT8:
    return plan::I8;
  case onnx::TensorProto::UINT8:
    return plan::U8;
  case onnx::TensorProto::BOOL:
    return plan::BOOL;
  default:
    return plan::ELEMENT_INVALID;
  }
}

std::string bytesOf(const onnx::TensorProto &tensor) {
  return frontend::littleEndianBytes(tensor);
}

class NodeTest : public ::testing::Test {
protected:
  absl::Status writeData(const NodeCase &test) const {
    std::vector<SafetensorsWriter::Entry> entries;
    for (const onnx::TensorProto &input : test.inputs) {
      entries.push_back({input.name(),
                         planTypeOf(input.data_type()),
                         {input.dims().begin(), input.dims().end()}});
      if (entries.back().type == plan::ELEMENT_INVALID) {
        return absl::UnimplementedError(absl::StrCat(
            "no plan has elements of ONNX type ", input.data_type()));
      }
    }
    ZG_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsWriter> writer,
                        SafetensorsWriter::create(files.path("data"), entries));
    for (const onnx::TensorProto &input : test.inputs) {
      std::string bytes = bytesOf(input);
      ZG_RETURN_IF_ERROR(
          writer->write(input.name(), 0, bytes.size(), bytes.data()));
    }
    return writer->commit();
  }

  absl::Status run(const NodeCase &test, const onnx::ModelProto &model) {
    ZG_ASSIGN_OR_RETURN(LoadedPlan plan, files.compile(model, {}));
    if (isRandom(plan.plan)) {
      return absl::UnimplementedError(
          "node test: the expected numbers are other random ones");
    }
    ZG_RETURN_IF_ERROR(writeData(test));
    return files.run(plan).status();
  }

  /// Empty, or how what was written differs from what is expected.
  std::string compareOutputs(const NodeCase &test) const {
    absl::StatusOr<TensorFile> found = readTensors(files.path("out"));
    if (!found.ok()) {
      return found.status().ToString();
    }
    for (const onnx::TensorProto &expected : test.outputs) {
      const TensorExtent &extent = found->at(expected.name());
      onnx::TensorProto read = expected;
      read.clear_raw_data();
      read.clear_float_data();
      read.clear_double_data();
      read.clear_int32_data();
      read.clear_int64_data();
      std::string bytes(extent.bytes, '\0');
      if (!extent.file->read(extent.offset, extent.bytes, bytes.data()).ok() ||
          extent.type != planTypeOf(expected.data_type()) ||
          !std::equal(extent.shape.begin(), extent.shape.end(),
                      expected.dims().begin(), expected.dims().end())) {
        return absl::StrCat(expected.name(), " has another type or shape, ",
                            shapeText(extent.shape));
      }
      read.set_raw_data(bytes);
      HostTensor a = frontend::readTensor(read, nullptr);
      HostTensor b = frontend::readTensor(expected, nullptr);
      double tolerance = test.tolerance(expected.data_type());
      for (int64_t i = 0; i < b.size(); ++i) {
        double x = a.floatAt(i), y = b.floatAt(i);
        if (!frontend::testing::near(x, y, tolerance)) {
          return absl::StrCat(expected.name(), ", element ", i, " is ", x,
                              ", expected ", y);
        }
      }
    }
    return "";
  }

  zerograph::testing::ForwardRun files;
};

/// Case -> reason.
std::map<std::string, std::string> refusedCases() {
  std::map<std::string, std::string> refused;
  std::ifstream file(ZEROGRAPH_REFUSED_CASES);
  for (std::string line; std::getline(file, line);) {
    size_t end = line.find(": ");
    if (!line.empty() && line[0] != '#' && end != std::string::npos) {
      refused[line.substr(0, end)] = line.substr(end + 2);
    }
  }
  return refused;
}

TEST_F(NodeTest, EveryCaseOfTheTableRunsOrIsRefusedByName) {
  std::vector<fs::path> folders = frontend::testing::nodeCaseFolders();
  ASSERT_FALSE(folders.empty())
      << "no node tests; tools/setup.sh fetches ONNX's source";
  std::map<std::string, std::string> expected = refusedCases(), refused;
  int passed = 0, others = 0;
  std::map<NodeCase::Bound, int> with; // passed or wrong
  for (const fs::path &place : folders) {
    std::optional<NodeCase> test = frontend::testing::readNodeCase(place);
    if (!test) {
      ++others;
      continue;
    }
    // As few inputs as possible are bound; with all of them, what decides no
    // shape is the reason of a refusal.
    absl::Status status;
    for (auto bound : {NodeCase::kNone, NodeCase::kIntegers,
                       NodeCase::kAllButFirst, NodeCase::kAll}) {
      status = run(*test, test->bind(bound));
      if (status.ok()) {
        ++with[bound];
        break;
      }
    }
    if (!status.ok()) {
      refused[test->name] =
          frontend::testing::refusalLine(std::string(status.message()));
      continue;
    }
    std::string difference = compareOutputs(*test);
    EXPECT_EQ(difference, "") << test->name;
    passed += difference.empty();
  }
  for (const auto &[name, reason] : refused) {
    if (expected[name] != reason) {
      ADD_FAILURE() << "not in the list: " << name << ": " << reason;
    }
  }
  for (const auto &[name, reason] : expected) {
    EXPECT_TRUE(refused.count(name)) << name << " is listed and runs";
  }
  EXPECT_GE(passed, 1300);
  std::cout << folders.size() << " node tests: " << passed << " passed, "
            << refused.size() << " refused, " << others << " not in the table\n"
            << "bound: nothing " << with[NodeCase::kNone] << ", integers "
            << with[NodeCase::kIntegers] << ", all inputs but the first "
            << with[NodeCase::kAllButFirst] << ", all " << with[NodeCase::kAll]
            << "\n";
}

} // namespace
} // namespace zerograph
