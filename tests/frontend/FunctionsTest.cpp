//===- FunctionsTest.cpp - the functions that a model brings --------------===//

#include "tests/frontend/Evaluate.h"
#include "tests/frontend/Fixture.h"

namespace zerograph::frontend::testing {

namespace {

ImportOptions withoutLoss() {
  ImportOptions options;
  options.require_loss = false;
  return options;
}

/// A model that calls `body` of its own, of ai.onnx `version`, as
/// "CALL (x)" says.
onnx::ModelProto calling(const std::string &call, const std::string &body,
                         int64_t version = 18) {
  onnx::ModelProto model =
      parse(R"(<ir_version: 10, opset_import: ["" : 18, "own" : 1]>
g (float[2] x) => (float[2] y) {
  y = own.F )" +
            call + R"( (x)
}
<domain: "own", opset_import: ["" : )" +
            std::to_string(version) + R"(]>
F <slope> (a) => (b) {
)" + body + "\n}");
  return model;
}

/// Gives attribute `slope` of the function a default.
onnx::ModelProto withDefault(onnx::ModelProto model, float value) {
  onnx::FunctionProto &function = *model.mutable_functions(0);
  function.clear_attribute();
  onnx::AttributeProto &slope = *function.add_attribute_proto();
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(value);
  return model;
}

std::vector<double> resultOf(const onnx::ModelProto &model) {
  Imported imported = importFile(write(model), withoutLoss());
  EXPECT_TRUE(imported.status.ok()) << imported.status;
  return imported.status.ok() ? run(imported, {{-2, 4}})
                              : std::vector<double>();
}

constexpr char kLeaky[] = "b = LeakyRelu <alpha : float = @slope> (a)";

TEST(Functions, TakeDefaultsOfWhatACallLeavesOut) {
  EXPECT_EQ(resultOf(withDefault(calling("", kLeaky), 0.5)),
            (std::vector<double>{-1, 4}));
  EXPECT_EQ(resultOf(withDefault(calling("<slope = 0.25>", kLeaky), 0.5)),
            (std::vector<double>{-0.5, 4}));
}

TEST(Functions, OfAnotherOperatorSetAreTakenIfNoOperatorDiffers) {
  EXPECT_EQ(resultOf(calling("<slope = 0.5>", kLeaky, 17)),
            (std::vector<double>{-1, 4}));
  onnx::ModelProto model = calling("<slope = 0.5>", "b = Softmax (a)", 11);
  Imported imported = importFile(write(model));
  expectRefused(imported, {"function 'own.F' is of ai.onnx 11",
                           "the model of ai.onnx 18", "operator Softmax"});
  // One that nothing calls is left alone.
  model.mutable_graph()->mutable_node(0)->set_op_type("Neg");
  model.mutable_graph()->mutable_node(0)->clear_domain();
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  EXPECT_EQ(resultOf(model), (std::vector<double>{2, -4}));
}

} // namespace

} // namespace zerograph::frontend::testing
