//===- OnnxTest.cpp - nn ops as operators of ONNX -------------------------===//
//
// A program is written as ONNX and imported again: it must compute the same.
//
//===----------------------------------------------------------------------===//

#include "codegen/onnx/TrainingGraph.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/ir/nn/NNDialect.h"
#include "tests/frontend/Evaluate.h"
#include "tests/support/Interpreter.h"
#include "tests/support/Program.h"

#include "onnx/checker.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir::zg;
using namespace mlir::zg::testing;
using zerograph::frontend::ExportedModel;
using zerograph::frontend::testing::Imported;

namespace {

struct Input {
  std::string name, type;
  double low = -3, high = 3;
};

struct Case {
  std::string name;
  std::vector<Input> inputs;
  std::string body; ///< defines %y
  std::string result;
};

void PrintTo(const Case &one, std::ostream *stream) { *stream << one.body; }

std::string programOf(const Case &one) {
  std::string text = "nn.program @micro(";
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    const Input &input = one.inputs[i];
    text += std::string(i == 0 ? "" : ", ") + "%" + input.name + ": tensor<" +
            input.type + "> {nn.input = #nn.input<\"" + input.name +
            "\", per_sample = false>}";
  }
  return text + ") -> (tensor<" + one.result + "> {nn.output = \"y\"}) {\n" +
         one.body + "\nnn.return %y : tensor<" + one.result + ">\n}";
}

std::vector<Tensor> argumentsOf(const Case &one, nn::ProgramOp program) {
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    arguments.push_back(randomTensor(program.getArgumentTypes()[i],
                                     unsigned(i) + 1, one.inputs[i].low,
                                     one.inputs[i].high));
    if (arguments.back().element.isBF16()) {
      for (double &value : arguments.back().values) {
        value = std::round(value * 8) / 8; // one of those that it has
      }
    }
  }
  return arguments;
}

/// The model of a program, which ONNX's checker has passed.
onnx::ModelProto write(Program &program) {
  absl::StatusOr<ExportedModel> written =
      writeTrainingGraph(program.getModule(), {}, "out.onnx");
  EXPECT_TRUE(written.ok()) << written.status();
  onnx::ModelProto model;
  if (!written.ok()) {
    return model;
  }
  EXPECT_TRUE(model.ParseFromString(written->bytes));
  try {
    onnx::checker::check_model(model, /*full_check=*/true);
  } catch (const std::exception &error) {
    ADD_FAILURE() << error.what();
  }
  return model;
}

/// Makes arguments those of an imported program: with types of its context, and
/// with initializers, which the importer may take for parameters.
void adapt(const Imported &imported, const onnx::ModelProto &model,
           std::vector<Tensor> &arguments) {
  nn::ProgramOp program = imported.function();
  for (unsigned i = 0; i < arguments.size(); ++i) {
    arguments[i].element =
        mlir::getElementTypeOrSelf(program.getArgumentTypes()[i]);
  }
  for (unsigned i = arguments.size(); i < program.getNumArguments(); ++i) {
    auto parameter =
        program.getArgAttrOfType<nn::ParameterAttr>(i, nn::kParameterAttr);
    for (const onnx::TensorProto &tensor : model.graph().initializer()) {
      if (parameter && tensor.name() == parameter.getName().getValue()) {
        arguments.push_back(zerograph::frontend::testing::toTensor(
            tensor, program.getContext()));
      }
    }
  }
}

class OnnxForm : public ::testing::TestWithParam<Case> {};

TEST_P(OnnxForm, ComputesTheSame) {
  Program program(programOf(GetParam()));
  ASSERT_TRUE(program.ok()) << program.diagnostics();
  zerograph::frontend::ImportOptions options;
  options.require_loss = false;
  onnx::ModelProto model = write(program);
  Imported imported = zerograph::frontend::testing::importFile(
      zerograph::frontend::testing::write(model), options);
  ASSERT_TRUE(imported.status.ok()) << imported.status;

  nn::ProgramOp before = program.function("micro");
  std::vector<Tensor> arguments = argumentsOf(GetParam(), before);
  Tensor expected = evaluate(before, arguments)[0];
  adapt(imported, model, arguments);
  Tensor found = evaluate(imported.function(), arguments)[0];
  EXPECT_EQ(expected.shape, found.shape);
  ASSERT_EQ(expected.values.size(), found.values.size());
  double largest = 0;
  for (double value : expected.values) {
    largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0);
  }
  for (size_t i = 0; i < expected.values.size(); ++i) {
    double value = expected.values[i], other = found.values[i];
    EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other)) ||
                std::abs(value - other) <=
                    1e-9 * std::abs(value) + 1e-14 * largest)
        << "element " << i << ": " << value << " became " << other;
  }
}

Case unary(const char *kind, double low = -3, double high = 3,
           const char *element = "f32") {
  std::string type = std::string("2x3x") + element;
  return {std::string(kind) + "_" + element,
          {{"x", type, low, high}},
          std::string("%y = nn.unary ") + kind + " %x : tensor<" + type +
              "> -> tensor<" + type + ">",
          type};
}

Case binary(const char *kind, const char *element = "f32", double low = -3,
            double high = 3) {
  std::string type = std::string("2x3x") + element;
  return {std::string(kind) + "_" + element,
          {{"a", type, low, high}, {"b", type, low, high}},
          std::string("%y = nn.binary ") + kind + " %a, %b : tensor<" + type +
              ">",
          type};
}

Case compare(const char *kind, const char *element) {
  std::string type = std::string("2x3x") + element;
  double high = element == std::string("i1") ? 2 : 3;
  return {std::string(kind) + "_" + element,
          {{"a", type, 0, high}, {"b", type, 0, high}},
          std::string("%y = nn.compare ") + kind + " %a, %b : tensor<" + type +
              "> -> tensor<2x3xi1>",
          "2x3xi1"};
}

Case select(const char *element) {
  std::string type = std::string("2x3x") + element;
  return {std::string("select_") + element,
          {{"c", "2x3xi1", 0, 2}, {"a", type, 0, 2}, {"b", type, 0, 2}},
          "%y = nn.select %c, %a, %b : tensor<2x3xi1>, tensor<" + type + ">",
          type};
}

Case one(const char *name, const char *from, const char *to, const char *op) {
  return {name,
          {{"x", from}},
          std::string("%y = nn.") + op + " : tensor<" + from + "> -> tensor<" +
              to + ">",
          to};
}

Case matmul(const char *name, const char *a, const char *b, const char *flags,
            const char *result) {
  return {std::string("matmul_") + name,
          {{"a", a}, {"b", b}},
          std::string("%y = nn.matmul %a, %b ") + flags + " : tensor<" + a +
              ">, tensor<" + b + "> -> tensor<" + result + ">",
          result};
}

Case convolution(const char *name, const char *kind, const char *lhs,
                 const char *rhs, const char *attributes, const char *result) {
  return {std::string("convolution_") + name + "_" + kind,
          {{"a", lhs}, {"b", rhs}},
          std::string("%y = nn.convolution ") + kind + " %a, %b " + attributes +
              " : tensor<" + lhs + ">, tensor<" + rhs + "> -> tensor<" +
              result + ">",
          result};
}

/// The three kinds of one convolution.
std::vector<Case> convolutions() {
  struct Shape {
    const char *name, *x, *w, *y, *attributes;
  };
  const Shape shapes[] = {
      {"plain", "2x3x7x6xf32", "4x3x3x2xf32", "2x4x5x5xf32",
       "strides [1, 1] low [0, 0] dilations [1, 1] groups 1"},
      {"padded", "2x3x7x6xf32", "4x3x3x3xf32", "2x4x4x3xf32",
       "strides [2, 2] low [1, 1] dilations [1, 1] groups 1"},
      // The last window ends before the input does.
      {"unseen", "2x3x8x7xf32", "4x3x3x2xf32", "2x4x3x3xf32",
       "strides [2, 2] low [0, 0] dilations [1, 1] groups 1"},
      {"groups", "2x4x7x6xf32", "6x2x3x3xf32", "2x6x4x4xf32",
       "strides [2, 1] low [1, 1] dilations [1, 2] groups 2"},
      {"depthwise", "2x4x9xf32", "4x1x3xf32", "2x4x3xf32",
       "strides [2] low [0] dilations [2] groups 4"},
  };
  std::vector<Case> cases;
  for (const Shape &s : shapes) {
    cases.push_back(
        convolution(s.name, "forward", s.x, s.w, s.attributes, s.y));
    cases.push_back(convolution(s.name, "input", s.y, s.w, s.attributes, s.x));
    cases.push_back(
        convolution(s.name, "weights", s.x, s.y, s.attributes, s.w));
  }
  return cases;
}

Case scatter(const char *kind) {
  return {
      std::string("scatter_") + kind,
      {{"ids", "2x4xi32", -2, 7}, {"rows", "2x4x3xf32"}, {"table", "5x3xf32"}},
      std::string("%y = nn.scatter ") + kind +
          " %ids, %rows into %table : tensor<2x4xi32>, tensor<2x4x3xf32> "
          "-> tensor<5x3xf32>",
      "5x3xf32"};
}

Case cumsum(const char *name, const char *flags) {
  return {std::string("cumsum_") + name,
          {{"x", "2x4x3xi64"}},
          std::string("%y = nn.cumsum %x dim 1 ") + flags +
              " : tensor<2x4x3xi64>",
          "2x4x3xi64"};
}

std::vector<Case> allCases() {
  std::vector<Case> cases = {
      {"constant",
       {{"x", "2x3xf32"}},
       "%c = nn.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : "
       "tensor<2x3xf32>\n%y = nn.binary add %x, %c : tensor<2x3xf32>",
       "2x3xf32"},
      {"splats_alone",
       {{"x", "2x3xf32"}},
       "%c = nn.constant dense<1.5> : tensor<2x3xf32>\n"
       "%d = nn.binary add %c, %c : tensor<2x3xf32>\n"
       "%y = nn.binary mul %x, %d : tensor<2x3xf32>",
       "2x3xf32"},
      {"bools",
       {{"x", "2x3xi1", 0, 2}},
       "%c = nn.constant dense<[[true, false, true], [false, false, true]]> : "
       "tensor<2x3xi1>\n%y = nn.binary logical_xor %x, %c : tensor<2x3xi1>",
       "2x3xi1"},
      {"iota",
       {{"x", "2x3x4xi32"}},
       "%i = nn.iota 1 : tensor<2x3x4xi32>\n"
       "%y = nn.binary add %x, %i : tensor<2x3x4xi32>",
       "2x3x4xi32"},
      {"broadcast_both",
       {{"a", "2x1xf32"}, {"b", "1x3xf32"}},
       "%p = nn.broadcast %a : tensor<2x1xf32> -> tensor<2x3xf32>\n"
       "%q = nn.broadcast %b : tensor<1x3xf32> -> tensor<2x3xf32>\n"
       "%y = nn.binary sub %p, %q : tensor<2x3xf32>",
       "2x3xf32"},
      unary("neg"),
      unary("neg", -100, 100, "i8"),
      unary("abs"),
      unary("abs", -9, 9, "i64"),
      unary("sign"),
      unary("exp"),
      unary("log", 0.1),
      unary("sqrt", 0),
      unary("reciprocal", 0.5),
      unary("tanh"),
      unary("sigmoid"),
      unary("erf"),
      unary("sin"),
      unary("cos"),
      unary("floor"),
      unary("ceil"),
      unary("round"),
      unary("logical_not", 0, 2, "i1"),
      unary("log1p", -0.9),
      // Beside 1 they vanish.
      unary("log1p", -1e-12, 1e-12, "f64"),
      unary("expm1"),
      unary("expm1", -1e-12, 1e-12, "f64"),
      {"is_nan",
       {{"x", "4xf32", -1, 1}},
       "%r = nn.unary sqrt %x : tensor<4xf32> -> tensor<4xf32>\n"
       "%y = nn.unary is_nan %r : tensor<4xf32> -> tensor<4xi1>",
       "4xi1"},
      {"log1p_of_the_ends",
       {{"x", "3xf32", 1, 2}},
       "%c = nn.constant dense<[-1.0, 0x7F800000, 0x7FC00000]> : "
       "tensor<3xf32>\n%l = nn.unary log1p %c : tensor<3xf32> -> "
       "tensor<3xf32>\n%y = nn.binary mul %l, %x : tensor<3xf32>",
       "3xf32"},
      binary("add"),
      binary("sub"),
      binary("mul"),
      binary("div"),
      binary("max"),
      binary("min"),
      binary("pow", "f32", 0.5),
      binary("cross_entropy", "f32", 0.01, 0.99),
      binary("mod"),
      binary("rem"),
      binary("add", "i8"),
      binary("mul", "i16"),
      binary("div", "i64", 1, 20),
      binary("mod", "i32", -9, 9),
      binary("rem", "i64", 1, 20),
      binary("max", "ui8", 0, 200),
      binary("logical_and", "i1", 0, 2),
      binary("logical_or", "i1", 0, 2),
      compare("eq", "f32"),
      compare("ne", "i64"),
      compare("lt", "i1"),
      compare("le", "i8"),
      compare("gt", "f32"),
      compare("ge", "i32"),
      select("f32"),
      select("i1"),
      select("i8"),
      select("i64"),
      one("to_int", "2x3xf32", "2x3xi64", "convert %x"),
      one("to_float", "2x3xi8", "2x3xf32", "convert %x"),
      one("to_bool", "2x3xi64", "2x3xi1", "convert %x"),
      one("to_bf16", "2x3xf32", "2x3xbf16", "convert %x"),
      one("reshape", "2x3xf32", "6xf32", "reshape %x"),
      one("to_scalar", "1x1xf32", "f32", "reshape %x"),
      one("transpose", "2x3x4xf32", "4x2x3xf32", "transpose %x [2, 0, 1]"),
      one("slice", "7x8xf32", "3x3xf32", "slice %x [0, 1] step [3, 2]"),
      one("slice_backwards", "5x7xf32", "5x3xf32",
          "slice %x [4, 6] step [-1, -3]"),
      one("slice_to_the_first", "7xf32", "3xf32", "slice %x [6] step [-3]"),
      one("pad", "2x3xf32", "4x5xf32", "pad %x [1, 0] value 2.0 : f32"),
      one("pad_ints", "2x3xi8", "4x5xi8", "pad %x [1, 2] value -3 : i8"),
      {"concat",
       {{"a", "2x3xf32"}, {"b", "2x1xf32"}},
       "%y = nn.concat %a, %b dim 1 : tensor<2x3xf32>, tensor<2x1xf32> -> "
       "tensor<2x4xf32>",
       "2x4xf32"},
      one("sum", "2x3x4xf32", "1x3x1xf32", "reduce sum %x [0, 2]"),
      one("max_ints", "2x3xi8", "2x1xi8", "reduce max %x [1]"),
      one("min", "2x3x4xf32", "2x1x4xf32", "reduce min %x [1]"),
      one("prod", "2x3xf32", "1x1xf32", "reduce prod %x [0, 1]"),
      cumsum("forward", ""),
      cumsum("exclusive", "exclusive"),
      cumsum("exclusive_reverse", "exclusive reverse"),
      matmul("plain", "3x4xf32", "4x5xf32", "", "3x5xf32"),
      matmul("transposed", "4x3xf32", "5x4xf32", "transpose_a transpose_b",
             "3x5xf32"),
      matmul("batch", "2x4x3xf32", "2x5x4xf32", "transpose_a transpose_b",
             "2x3x5xf32"),
      {"matmul_into",
       {{"a", "3x4xf32"}, {"b", "4x5xf32"}, {"c", "3x5xf32"}},
       "%y = nn.matmul %a, %b into %c : tensor<3x5xf32> : tensor<3x4xf32>, "
       "tensor<4x5xf32> -> tensor<3x5xf32>",
       "3x5xf32"},
      {"matmul_bias",
       {{"a", "3x4xf32"}, {"b", "4x5xf32"}, {"v", "5xf32"}},
       "%y = nn.matmul %a, %b bias %v : tensor<5xf32> : tensor<3x4xf32>, "
       "tensor<4x5xf32> -> tensor<3x5xf32>",
       "3x5xf32"},
      {"matmul_batch_bias",
       {{"a", "2x3x4xf32"}, {"b", "2x4x5xf32"}, {"v", "5xf32"}},
       "%y = nn.matmul %a, %b bias %v : tensor<5xf32> : "
       "tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>",
       "2x3x5xf32"},
      {"matmul_batch_into",
       {{"a", "2x3x4xf32"}, {"b", "2x4x5xf32"}, {"c", "2x3x5xf32"}},
       "%y = nn.matmul %a, %b into %c : tensor<2x3x5xf32> : "
       "tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>",
       "2x3x5xf32"},
      matmul("half", "3x4xbf16", "4x5xbf16", "", "3x5xf32"),
      {"gather",
       {{"table", "5x3xf32"}, {"ids", "2x4xi64", -2, 7}},
       "%y = nn.gather %table, %ids : tensor<5x3xf32>, tensor<2x4xi64> -> "
       "tensor<2x4x3xf32>",
       "2x4x3xf32"},
      scatter("sum"),
      scatter("max"),
      scatter("min"),
      scatter("prod"),
      {"scatter_zeros",
       {{"ids", "4xi64", 0, 5}, {"rows", "4xf32"}},
       "%y = nn.scatter sum %ids, %rows : tensor<4xi64>, tensor<4xf32> -> "
       "tensor<5xf32>",
       "5xf32"},
  };
  std::vector<Case> more = convolutions();
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, OnnxForm, ::testing::ValuesIn(allCases()),
                         [](const auto &info) { return info.param.name; });

} // namespace
