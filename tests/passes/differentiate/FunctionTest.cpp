//===- FunctionTest.cpp - an operator's gradient is its function's --------===//
//
// ONNX defines many operators by functions of others. Where the importer has
// an entry of its own for one, ONNX's node tests still hold the function,
// written out: "test_NAME_expanded" beside "test_NAME". Both are given the same
// loss and are differentiated by each float input alone, and by all together;
// the gradients must be the same.
//
//===----------------------------------------------------------------------===//

#include "frontend/base/HostTensor.h"
#include "frontend/walk/Op.h"
#include "onnx/defs/schema.h"
#include "tests/passes/differentiate/NodeGradient.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>
#include <tuple>

using namespace mlir::zg::testing;
using namespace zerograph::frontend;
using zerograph::frontend::testing::NodeCase;

namespace {

/// Relative, of each element by itself.
constexpr double kTolerance = 1e-9;

/// A case, an input and an element of it, where the operator has a kink. At 0
/// the function takes the derivative from the right; ours is PyTorch's, that
/// from the left.
using Kink = std::tuple<std::string, std::string, size_t>;
const std::set<Kink> kKinks = {
    {"test_elu_example", "x", 1},
    {"test_leakyrelu_example", "x", 1},
    {"test_selu_example", "x", 1},
};

/// Float inputs that are never trained, each with the reason.
const std::map<std::string, std::string> kUntrained = {
    {"Bernoulli 0", "a draw has no gradient"},
    {"CastLike 1", "only its type matters"},
    {"NegativeLogLikelihoodLoss 2", "weights of classes are data"},
    {"SoftmaxCrossEntropyLoss 2", "weights of classes are data"},
    {"Range 0", "decides a shape"},
    {"Range 1", "decides a shape"},
    {"Range 2", "decides a shape"},
};

bool hasFunction(const onnx::OpSchema &schema) {
  return schema.HasFunction() || schema.HasContextDependentFunction();
}

bool mayBeFloat(const onnx::OpSchema::FormalParameter &parameter) {
  const auto &types = parameter.GetTypes();
  return std::any_of(types.begin(), types.end(),
                     [](auto type) { return *type == "tensor(float)"; });
}

const onnx::NodeProto &nodeOf(const NodeCase &test) {
  return test.model.graph().node(0);
}

/// "Clip 2" for its input "max".
std::string keyOf(const NodeCase &test, const std::string &input) {
  const auto &inputs = nodeOf(test).input();
  auto place = std::find(inputs.begin(), inputs.end(), input);
  return absl::StrCat(nodeOf(test).op_type(), " ", place - inputs.begin());
}

/// Returns whether a case of one node is of an operator with an entry and a
/// function.
bool isOfInterest(const NodeCase &test) {
  const std::string &op = nodeOf(test).op_type();
  int opset = static_cast<int>(test.model.opset_import(0).version());
  const onnx::OpSchema *schema = onnx::OpSchemaRegistry::Schema(op, opset);
  bool hasFloats = false;
  for (const onnx::TensorProto &output : test.outputs) {
    hasFloats |= isFloatType(output.data_type());
  }
  return hasFloats && findOp(op, opset) != nullptr && schema != nullptr &&
         hasFunction(*schema);
}

class FunctionTest : public ::testing::Test {
protected:
  struct Count {
    int cases = 0, pairs = 0;
    int64_t elements = 0;
  };

  void comparePair(const NodeCase &test, const NodeCase &twin,
                   const std::vector<std::string> &trained);
  /// Each input that can be trained, and all; the others are in the list.
  std::vector<std::vector<std::string>> choices(const NodeCase &test);

  std::map<std::string, Count> counts; ///< by operator
  /// Inputs: with a gradient that is not 0, and listed.
  std::set<std::string> compared, untrained;
  std::set<Kink> kinks;
};

std::vector<std::vector<std::string>>
FunctionTest::choices(const NodeCase &test) {
  std::vector<std::vector<std::string>> each;
  std::vector<std::string> all;
  for (const onnx::TensorProto &input : test.inputs) {
    std::string key = keyOf(test, input.name());
    if (isFloatType(input.data_type()) && kUntrained.count(key) != 0) {
      untrained.insert(key);
      auto refused = gradientsOf(withLoss(test.model, test), {input.name()});
      EXPECT_TRUE(absl::StrContains(refused.status().message(),
                                    "the loss does not depend on it"))
          << key << " is listed; " << refused.status();
      continue;
    }
    std::vector<int64_t> shape(input.dims().begin(), input.dims().end());
    if ((input.data_type() == onnx::TensorProto::FLOAT ||
         input.data_type() == onnx::TensorProto::DOUBLE) &&
        elementCount(shape) != 0) {
      each.push_back({input.name()});
      all.push_back(input.name());
    }
  }
  if (all.size() > 1) {
    each.push_back(all);
  }
  return each;
}

void FunctionTest::comparePair(const NodeCase &test, const NodeCase &twin,
                               const std::vector<std::string> &trained) {
  SCOPED_TRACE(absl::StrCat(test.name, ", ", twin.name, ", by ",
                            absl::StrJoin(trained, " ")));
  auto found = gradientsOf(withLoss(test.model, test), trained);
  auto expected = gradientsOf(withLoss(twin.model, test), trained);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_EQ(found->size(), trained.size() + 1);
  ASSERT_EQ(expected->size(), trained.size() + 1);
  Count &count = counts[nodeOf(test).op_type()];
  ++count.pairs;
  for (const auto &[name, gradient] : *found) {
    const std::vector<double> &other = expected->at(name);
    ASSERT_EQ(gradient.size(), other.size());
    int wrong = 0;
    std::string first;
    for (size_t i = 0; i < gradient.size(); ++i) {
      double a = gradient[i], b = other[i];
      // Some data hold NaNs, which only the loss depends on.
      bool same = std::fabs(a - b) <=
                      kTolerance * std::max(std::fabs(a), std::fabs(b)) ||
                  (name.empty() && std::isnan(a) && std::isnan(b));
      if (Kink kink(test.name, name, i); kKinks.count(kink) != 0) {
        EXPECT_FALSE(same) << "element " << i << " is listed as a kink";
        kinks.insert(kink);
        continue;
      }
      if (!same && wrong++ == 0) {
        first =
            absl::StrCat("element ", i, " is ", a, "; the function gives ", b);
      }
    }
    EXPECT_EQ(wrong, 0) << (name.empty() ? "the loss" : "gradient of " + name)
                        << ", " << first;
    bool zero = std::all_of(gradient.begin(), gradient.end(),
                            [](double value) { return value == 0; });
    if (!name.empty() && !zero) {
      compared.insert(keyOf(test, name));
      count.elements += static_cast<int64_t>(gradient.size());
    }
  }
}

TEST_F(FunctionTest, HasTheGradientsOfTheOperator) {
  std::map<std::string, std::filesystem::path> folders;
  for (const auto &folder : zerograph::frontend::testing::nodeCaseFolders()) {
    folders[folder.filename().string()] = folder;
  }
  ASSERT_FALSE(folders.empty())
      << "no node tests; tools/setup.sh fetches ONNX's source";
  for (const auto &[name, folder] : folders) {
    auto test = zerograph::frontend::testing::readNodeCase(folder);
    if (!test || test->model.graph().node_size() != 1 || !isOfInterest(*test)) {
      continue;
    }
    const std::string &op = nodeOf(*test).op_type();
    bool wide = op != "CastLike"; // which is about types
    if (wide) {
      widen(*test);
    }
    ++counts[op].cases;
    std::string stem = name + "_expanded";
    auto other = folders.lower_bound(stem);
    EXPECT_TRUE(other != folders.end() && absl::StartsWith(other->first, stem))
        << name << " has no twin";
    for (; other != folders.end() && absl::StartsWith(other->first, stem);
         ++other) {
      auto twin = zerograph::frontend::testing::readNodeCase(other->second);
      ASSERT_TRUE(twin) << other->first;
      if (wide) {
        widen(*twin);
      }
      for (const std::vector<std::string> &trained : choices(*test)) {
        comparePair(*test, *twin, trained);
      }
    }
  }

  for (const auto &[op, count] : counts) {
    std::cout << op << ": " << count.cases << " cases, " << count.pairs
              << " pairs, " << count.elements << " elements\n";
  }
  EXPECT_EQ(untrained.size(), kUntrained.size()) << "some never came up";
  EXPECT_EQ(kinks, kKinks) << "some never came up";
  // Every operator, and each of its inputs, had a gradient to compare.
  for (const onnx::OpSchema &schema :
       onnx::OpSchemaRegistry::get_all_schemas()) {
    const std::string &op = schema.Name();
    if (!schema.domain().empty() || !hasFunction(schema) ||
        findOp(op, schema.SinceVersion()) == nullptr ||
        !mayBeFloat(schema.outputs()[0])) {
      continue;
    }
    for (size_t i = 0; i < schema.inputs().size(); ++i) {
      std::string key = absl::StrCat(op, " ", i);
      EXPECT_TRUE(!mayBeFloat(schema.inputs()[i]) || compared.count(key) != 0 ||
                  kUntrained.count(key) != 0)
          << "no gradient of " << key << " was compared";
    }
  }
}

} // namespace
