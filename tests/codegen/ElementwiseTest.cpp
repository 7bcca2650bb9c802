//===- ElementwiseTest.cpp - every elementwise op on every type -----------===//

#include "tests/codegen/KernelRun.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir::zg;
using namespace mlir::zg::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A kernel of several results: `lines` define %0, %1, ... from %a, %b, %c.
struct Builder {
  std::string lines, values, types;
  int count = 0;

  void add(const std::string &op, const std::string &type) {
    std::string name = "%" + std::to_string(count);
    std::string comma = count++ ? ", " : "";
    lines += "    " + name + " = " + op + "\n";
    values += comma + name;
    types += comma + type;
  }

  std::string text(const std::string &a, const std::string &b) const {
    return "nn.program @f(%x: " + a + ", %y: " + b +
           ") {\n  %r:" + std::to_string(count) +
           " = nn.kernel rows (%a = %x, %b = %y) : (" + a + ", " + b +
           ") -> (" + types + ") {\n" + lines + "    nn.yield " + values +
           " : " + types + "\n  }\n  nn.return\n}";
  }
};

std::string tensor(size_t n, const std::string &element) {
  return "tensor<" + std::to_string(n) + "x" + element + ">";
}

/// Every pair of the values.
std::pair<std::vector<double>, std::vector<double>>
pairs(const std::vector<double> &values) {
  std::vector<double> x, y;
  for (double a : values) {
    for (double b : values) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  return {x, y};
}

std::vector<double> floats(bool narrow) {
  std::vector<double> values = {0.0,  -0.0, 1.0,   -1.0, 0.5,  -2.5,  3.0,
                                -7.0, 1.5,  2.5,   1e-3, -0.9, 12.25, 80.0,
                                1e6,  kInf, -kInf, kNan, 0.1};
  if (narrow) {
    for (double &value : values) {
      value = static_cast<float>(value);
    }
  }
  return values;
}

TEST(Elementwise, FloatUnary) {
  for (std::string element : {"f32", "f64"}) {
    std::vector<double> x = floats(element == "f32");
    std::string type = tensor(x.size(), element);
    std::string boolType = tensor(x.size(), "i1");
    Builder builder;
    for (std::string kind :
         {"neg", "abs", "sign", "exp", "log", "log1p", "expm1", "sqrt",
          "reciprocal", "tanh", "sigmoid", "erf", "floor", "ceil", "round"}) {
      builder.add("nn.unary " + kind + " %a : " + type + " -> " + type, type);
    }
    for (std::string kind : {"is_nan", "is_inf"}) {
      builder.add("nn.unary " + kind + " %a : " + type + " -> " + boolType,
                  boolType);
    }
    expectMatchesInterpreter(builder.text(type, type), {x, x},
                             element == "f32" ? 3e-7 : 2e-15);
  }
}

TEST(Elementwise, SineAndCosine) {
  for (std::string element : {"f32", "f64"}) {
    std::vector<double> x;
    for (int i = -200; i <= 200; ++i) {
      double value = i * 0.37 + i * i * i * 1e-3;
      x.push_back(element == "f32" ? static_cast<float>(value) : value);
    }
    std::string type = tensor(x.size(), element);
    Builder builder;
    for (std::string kind : {"sin", "cos"}) {
      builder.add("nn.unary " + kind + " %a : " + type + " -> " + type, type);
    }
    expectMatchesInterpreter(builder.text(type, type), {x, x},
                             element == "f32" ? 1e-7 : 1e-15);
  }
}

TEST(Elementwise, FloatBinaryAndCompare) {
  for (std::string element : {"f32", "f64"}) {
    auto [x, y] = pairs(floats(element == "f32"));
    std::string type = tensor(x.size(), element);
    std::string boolType = tensor(x.size(), "i1");
    Builder builder;
    for (std::string kind : {"add", "sub", "mul", "div", "max", "min"}) {
      builder.add("nn.binary " + kind + " %a, %b : " + type, type);
    }
    for (std::string kind : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      builder.add("nn.compare " + kind + " %a, %b : " + type + " -> " +
                      boolType,
                  boolType);
    }
    expectMatchesInterpreter(builder.text(type, type), {x, y},
                             element == "f32" ? 1e-7 : 1e-15);
  }
}

TEST(Elementwise, Pow) {
  for (std::string element : {"f32", "f64"}) {
    auto [x, y] = pairs(floats(element == "f32"));
    std::string type = tensor(x.size(), element);
    Builder builder;
    builder.add("nn.binary pow %a, %b : " + type, type);
    expectMatchesInterpreter(builder.text(type, type), {x, y},
                             element == "f32" ? 1.2e-7 : 2e-15);
  }
}

/// Takes probabilities up to 0 and 1, where no logarithm is below -100.
TEST(Elementwise, CrossEntropy) {
  std::vector<double> p, t;
  for (double probability : {0.0, 1e-30, 0.125, 0.5, 0.75, 1.0}) {
    for (double target : {0.0, 0.25, 1.0}) {
      p.push_back(static_cast<float>(probability));
      t.push_back(target);
    }
  }
  for (std::string element : {"f32", "f64"}) {
    std::string type = tensor(p.size(), element);
    Builder builder;
    builder.add("nn.binary cross_entropy %a, %b : " + type, type);
    expectMatchesInterpreter(builder.text(type, type), {p, t},
                             element == "f32" ? 3e-7 : 2e-15);
  }
}

TEST(Elementwise, FloatRemainders) {
  for (std::string element : {"f32", "f64"}) {
    auto [x, y] = pairs(
        {1.0, -1.0, 0.5, -2.5, 3.0, -7.0, 1.5, 12.25, 80.0, -6.0, 2.0, 1000.5});
    std::string type = tensor(x.size(), element);
    Builder builder;
    builder.add("nn.binary mod %a, %b : " + type, type);
    builder.add("nn.binary rem %a, %b : " + type, type);
    expectMatchesInterpreter(builder.text(type, type), {x, y}, 1e-7);
  }
}

TEST(Elementwise, Integers) {
  struct Case {
    const char *element;
    std::vector<double> values;
  };
  for (const Case &c :
       {Case{"i8", {0, 1, -1, 7, -8, 127, -128, 3}},
        Case{"ui8", {0, 1, 7, 128, 255, 200, 3}},
        Case{"i32", {0, 1, -1, 7, -13, 2147483647, -2147483648.0, 1000}},
        Case{"i64", {0, 1, -1, 7, -13, 1e12, -1e12, 1000}}}) {
    auto [x, y] = pairs(c.values);
    std::string type = tensor(x.size(), c.element);
    std::string boolType = tensor(x.size(), "i1");
    Builder builder;
    for (std::string kind : {"add", "sub", "div", "max", "min", "mod", "rem"}) {
      builder.add("nn.binary " + kind + " %a, %b : " + type, type);
    }
    for (std::string kind : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      builder.add("nn.compare " + kind + " %a, %b : " + type + " -> " +
                      boolType,
                  boolType);
    }
    for (std::string kind : {"neg", "abs", "sign"}) {
      builder.add("nn.unary " + kind + " %a : " + type + " -> " + type, type);
    }
    expectMatchesInterpreter(builder.text(type, type), {x, y}, 0);
  }
}

// Neither division by zero nor the least number by -1 traps.
TEST(Elementwise, Int64DivisionNeverTraps) {
  std::string type = tensor(4, "i64");
  Builder builder;
  builder.add("nn.binary div %a, %b : " + type, type);
  builder.add("nn.binary rem %a, %b : " + type, type);
  CompiledKernel kernel(builder.text(type, type));
  ASSERT_TRUE(kernel.ok()) << kernel.diagnostics();
  int64_t least = std::numeric_limits<int64_t>::min();
  int64_t x[4] = {least, 5, least, 0}, y[4] = {-1, 0, 0, 0};
  const char *xb = reinterpret_cast<char *>(x);
  const char *yb = reinterpret_cast<char *>(y);
  std::vector<Bytes> results =
      kernel.run(std::vector<Bytes>{Bytes(xb, xb + 32), Bytes(yb, yb + 32)});
  const auto *q = reinterpret_cast<const int64_t *>(results[0].data());
  EXPECT_EQ(q[0], least);
  EXPECT_EQ(q[1], 0);
  EXPECT_EQ(q[2], 0);
}

TEST(Elementwise, Logical) {
  std::string type = tensor(4, "i1");
  Builder builder;
  for (std::string kind : {"logical_and", "logical_or", "logical_xor"}) {
    builder.add("nn.binary " + kind + " %a, %b : " + type, type);
  }
  builder.add("nn.unary logical_not %a : " + type + " -> " + type, type);
  builder.add("nn.compare eq %a, %b : " + type + " -> " + type, type);
  builder.add("nn.select %a, %b, %a : " + type + ", " + type, type);
  expectMatchesInterpreter(builder.text(type, type),
                           {{0, 0, 1, 1}, {0, 1, 0, 1}}, 0);
}

TEST(Elementwise, Conversions) {
  const char *elements[] = {"f32", "f64", "i1", "i8", "ui8", "i32", "i64"};
  for (std::string from : elements) {
    std::vector<double> x = {0, 1, 2, 3, 100, 127, 0,  1, 5,
                             6, 7, 8, 9, 10,  11,  12, 13};
    if (from == "i1") {
      for (double &value : x) {
        value = value != 0;
      }
    } else if (from[0] == 'f') {
      x.insert(x.end(), {1.5, 2.5, 0.25, 99.75});
    }
    if (from != "i1" && from != "ui8") {
      x.insert(x.end(), {-1, -5, -100});
    }
    std::string type = tensor(x.size(), from);
    Builder builder;
    for (std::string to : elements) {
      // A negative float has no ui8.
      if (from[0] == 'f' && to == "ui8") {
        continue;
      }
      std::string toType = tensor(x.size(), to);
      builder.add("nn.convert %a : " + type + " -> " + toType, toType);
    }
    expectMatchesInterpreter(builder.text(type, type), {x, x}, 0);
  }
}

// Sizes 1 to 67 go through every mix of whole chunks and masked tails.
TEST(Elementwise, TailsOfEverySize) {
  for (int n = 1; n <= 67; n += n < 20 ? 1 : 7) {
    std::string type = tensor(n, "f32");
    Builder builder;
    builder.add("nn.unary exp %a : " + type + " -> " + type, type);
    builder.add("nn.binary mul %a, %b : " + type, type);
    expectMatchesInterpreter(builder.text(type, type));
  }
}

} // namespace
