//===- RandomGraph.cpp - random functions of nn ops for tests -------------===//

#include "tests/passes/kernels/RandomGraph.h"

#include <random>
#include <sstream>
#include <vector>

namespace {

using Shape = std::vector<int>;

struct Item {
  std::string name;
  Shape shape;
};

std::string typeOf(const Shape &shape, const char *element = "f32") {
  std::string text = "tensor<";
  for (int size : shape) {
    text += std::to_string(size) + "x";
  }
  return text + element + ">";
}

int elements(const Shape &shape) {
  int n = 1;
  for (int size : shape) {
    n *= size;
  }
  return n;
}

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  std::string run(unsigned ops) {
    const std::vector<Shape> shapes = {{4, 6}, {2, 2, 6}, {24},   {6},
                                       {4, 1}, {1},       {6, 4}, {2, 12}};
    std::string arguments, types, results;
    for (const Shape &shape : shapes) {
      std::string name = "%a" + std::to_string(items.size());
      arguments += (items.empty() ? "" : ", ") + name + ": " + typeOf(shape);
      items.push_back({name, shape});
    }
    arguments += ", %ids: tensor<4xi64>";
    for (unsigned i = 0; i < ops; ++i) {
      addOp();
    }
    for (unsigned i = 0; i < 4; ++i) {
      const Item &item = i == 0 ? items.back() : pick();
      results += (i == 0 ? "" : ", ") + item.name;
      types += (i == 0 ? "" : ", ") + typeOf(item.shape);
    }
    return "nn.program @random(" + arguments + ") -> (" + types + ") {\n" +
           body.str() + "  nn.return " + results + " : " + types + "\n}\n";
  }

private:
  int below(int n) { return static_cast<int>(random() % n); }
  /// Recent values more often, so that chains grow.
  const Item &pick() {
    int n = static_cast<int>(items.size());
    return items[below(2) ? n - 1 - below(std::min(n, 6)) : below(n)];
  }
  std::string add(const Shape &shape, const std::string &text) {
    std::string name = "%v" + std::to_string(items.size());
    body << "  " << name << " = " << text << "\n";
    items.push_back({name, shape});
    return name;
  }
  /// A value of the shape, from one that can be viewed so.
  std::string as(Item item, const Shape &shape) {
    if (item.shape == shape) {
      return item.name;
    }
    if (elements(item.shape) == elements(shape)) {
      return add(shape, "nn.reshape " + item.name + " : " + typeOf(item.shape) +
                            " -> " + typeOf(shape));
    }
    Shape from(shape.size(), 1);
    if (elements(item.shape) == shape.back()) {
      from.back() = shape.back();
    } else if (elements(item.shape) * shape.back() == elements(shape)) {
      from = shape;
      from.back() = 1;
    } else if (elements(item.shape) != 1) {
      return add(shape, "nn.constant dense<1.5> : " + typeOf(shape));
    }
    std::string reshaped = as(item, from);
    return add(shape, "nn.broadcast " + reshaped + " : " + typeOf(from) +
                          " -> " + typeOf(shape));
  }

  void addOp() {
    Item x = pick();
    std::string type = typeOf(x.shape);
    switch (below(13)) {
    case 0:
    case 1:
    case 2: {
      static const char *kinds[] = {"add", "sub", "mul", "max"};
      std::string y = as(pick(), x.shape);
      add(x.shape, std::string("nn.binary ") + kinds[below(4)] + " " + x.name +
                       ", " + y + " : " + type);
      return;
    }
    case 3: {
      static const char *kinds[] = {"neg", "abs", "tanh", "sigmoid"};
      add(x.shape, std::string("nn.unary ") + kinds[below(4)] + " " + x.name +
                       " : " + type + " -> " + type);
      return;
    }
    case 4: { // A mask of the position.
      std::string dim = std::to_string(below(x.shape.size()));
      std::string n = std::to_string(items.size());
      body << "  %i" << n << " = nn.iota " << dim << " : "
           << typeOf(x.shape, "i64") << "\n  %c" << n
           << " = nn.constant dense<2> : " << typeOf(x.shape, "i64") << "\n  %m"
           << n << " = nn.compare lt %i" << n << ", %c" << n << " : "
           << typeOf(x.shape, "i64") << " -> " << typeOf(x.shape, "i1") << "\n";
      std::string y = as(pick(), x.shape);
      add(x.shape, "nn.select %m" + n + ", " + x.name + ", " + y + " : " +
                       typeOf(x.shape, "i1") + ", " + type);
      return;
    }
    case 5:
    case 6: { // A reduction of rows or columns.
      int columns = x.shape.back();
      Shape flat = {elements(x.shape) / columns, columns};
      std::string y = as(x, flat);
      bool rows = below(2) || columns == 1 || flat[0] == 1;
      Shape to = rows ? Shape{flat[0], 1} : Shape{1, columns};
      if (to == flat) {
        return;
      }
      add(to, std::string("nn.reduce ") + (below(2) ? "sum " : "max ") + y +
                  (rows ? " [1] : " : " [0] : ") + typeOf(flat) + " -> " +
                  typeOf(to));
      return;
    }
    case 7: { // A transposition.
      Shape to(x.shape.rbegin(), x.shape.rend());
      std::string permutation;
      for (size_t d = x.shape.size(); d-- > 0;) {
        permutation += std::to_string(d) + (d == 0 ? "" : ", ");
      }
      add(to, "nn.transpose " + x.name + " [" + permutation + "] : " + type +
                  " -> " + typeOf(to));
      return;
    }
    case 8: { // Every other element, then padding where they were.
      int size = x.shape.back();
      if (size < 2) {
        return;
      }
      Shape half = x.shape;
      half.back() = size / 2;
      std::string zeros, ones, low;
      for (size_t d = 0; d + 1 < x.shape.size(); ++d) {
        zeros += "0, ";
        ones += "1, ";
      }
      std::string y =
          add(half, "nn.slice " + x.name + " [" + zeros + "1] step [" + ones +
                        "2] : " + type + " -> " + typeOf(half));
      if (below(2)) {
        add(x.shape, "nn.pad " + y + " [" + zeros + "1] value 0.5 : f32 : " +
                         typeOf(half) + " -> " + type);
      }
      return;
    }
    case 9: { // Rows of a table.
      if (x.shape.size() < 2) {
        return;
      }
      Shape to = x.shape;
      to[0] = 4;
      add(to, "nn.gather " + x.name + ", %ids : " + type +
                  ", tensor<4xi64> -> " + typeOf(to));
      return;
    }
    case 10: {
      if (below(2)) {
        add(x.shape, "nn.cumsum " + x.name + " dim 0 : " + type);
        return;
      }
      if (x.shape[0] != 4) {
        return;
      }
      Shape to = x.shape;
      to[0] = 6;
      // Only a sum begins as zeros.
      const char *kinds[] = {"sum", "sum", "max", "min", "prod", "set"};
      unsigned kind = below(6);
      std::string into = kind > 0 ? " into " + as(pick(), to) : "";
      add(to, std::string("nn.scatter ") + kinds[kind] + " %ids, " + x.name +
                  into + " : tensor<4xi64>, " + type + " -> " + typeOf(to));
      return;
    }
    case 11: { // Rows without what they begin with, and their sums.
      int columns = x.shape.back();
      Shape flat = {elements(x.shape) / columns, columns};
      Shape one = {flat[0], 1};
      Item rows = {as(x, flat), flat};
      Item first = {add(one, "nn.slice " + rows.name +
                                 " [0, 0] step [1, 1] : " + typeOf(flat) +
                                 " -> " + typeOf(one)),
                    one};
      std::string shifted =
          add(flat, "nn.binary sub " + rows.name + ", " + as(first, flat) +
                        " : " + typeOf(flat));
      if (columns == 1) {
        return;
      }
      std::string sum =
          add(one, "nn.reduce sum " + shifted + " [1] : " + typeOf(flat) +
                       " -> " + typeOf(one));
      add(one,
          "nn.binary add " + first.name + ", " + sum + " : " + typeOf(one));
      return;
    }
    default: { // A product, which no kernel may reach across.
      Shape a = {4, 6}, b = {6, 4};
      std::string lhs = as(x, a), rhs = as(pick(), b);
      add({4, 4}, "nn.matmul " + lhs + ", " + rhs + " : " + typeOf(a) + ", " +
                      typeOf(b) + " -> tensor<4x4xf32>");
    }
    }
  }

  std::mt19937 random;
  std::vector<Item> items;
  std::ostringstream body;
};

} // namespace

std::string mlir::zg::testing::randomGraph(unsigned seed, unsigned ops) {
  return Generator(seed).run(ops);
}
