//===- ImageTest.cpp - pooling, resizing and sampling of images -----------===//
//
// ONNX's node tests cover what they compute; this is how, and what is refused.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"

#include <cmath>

namespace zerograph::frontend::testing {

namespace {

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

TEST(Pool, TakesOneAxisAfterTheOther) {
  Imported imported = import(R"(
g (float[1, 1, 6, 6] x) => (float[1, 1, 4, 4] y) {
  y = AveragePool <kernel_shape = [3, 3]> (x)
})");
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.pool"), 2);
}

TEST(Pool, MaximaKeepNaN) {
  Imported imported = import(R"(
g (float[1, 1, 4] x) => (float[1, 1, 3] y) {
  y = MaxPool <kernel_shape = [2]> (x)
})");
  Numbers y = run(imported, {{1, NAN, 0, 2}});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 2);
}

// The first one of equal elements, in row-major order; NaN is the largest.
TEST(Pool, MaximaTellTheirPlaces) {
  auto places = [](const std::string &attributes) {
    return runAll(import("g (float[1, 2, 2, 3] x) => (float[1, 2, a, b] y, "
                         "int64[1, 2, a, b] at) { y, at = MaxPool <" +
                         attributes + "> (x) }"),
                  {{5, 5, 1, 5, 2, 7, 0, 1, 2, 3, NAN, 5}});
  };
  std::vector<Numbers> rows = places("kernel_shape = [2, 2]");
  EXPECT_EQ(rows[1], (Numbers{0, 5, 10, 10}));
  EXPECT_EQ(rows[0][0], 5);
  EXPECT_EQ(rows[0][1], 7);
  EXPECT_TRUE(std::isnan(rows[0][2]));
  EXPECT_EQ(places("kernel_shape = [2, 2], storage_order = 1")[1],
            (Numbers{0, 5, 9, 9}));
  EXPECT_EQ(
      places("kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]")[1],
      (Numbers{0, 1, 3, 5, 6, 8, 9, 10}));
}

// Places outside are no elements, also where it is as small.
TEST(Pool, MaximaLieInside) {
  EXPECT_EQ(runAll(import("g (uint8[1, 2, 2, 2] x) => (uint8[1, 2, 2, 2] y, "
                          "int64[1, 2, 2, 2] at) { y, at = MaxPool "
                          "<kernel_shape = [2, 2], strides = [2, 2], pads = "
                          "[1, 1, 1, 1]> (x) }"),
                   {{0, 0, 0, 0, 0, 0, 0, 0}})[1],
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Pool, LeavesAxesWithoutWindows) {
  EXPECT_EQ(import("g (float[1, 1, 4, 6] x) => (float[1, 1, 4, 4] y) { y = "
                   "MaxPool <kernel_shape = [1, 3]> (x) }")
                .count("nn.pool"),
            1);
}

// PyTorch averages what there is, as EfficientNet does in the end.
TEST(Pool, TheOnlyWindowMayBeLargerThanTheInput) {
  auto pool = [](const std::string &attributes) {
    return import("g (float[1, 1, 2, 2] x) => (float[1, 1, 1, 1] y) { [pool] y "
                  "= AveragePool <kernel_shape = [320, 320], strides = [320, "
                  "320]" +
                  attributes + "> (x) }");
  };
  EXPECT_EQ(run(pool(", ceil_mode = 1, count_include_pad = 1"), {{1, 2, 3, 6}}),
            (Numbers{3}));
  expectRefused(pool(""), {"a window of 320 elements does not fit the 2"});
}

TEST(Pool, Refuses) {
  auto pool = [](const std::string &outputs, const std::string &attributes) {
    return import("g (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) { [pool] " +
                  outputs + " = MaxPool <" + attributes + "> (x) }");
  };
  expectRefused(pool("y", "kernel_shape = [5, 2]"),
                {"node 'pool' (MaxPool): a window of 5 elements does not fit "
                 "the 4 elements of axis 2"});
  expectRefused(pool("y", "kernel_shape = [3, 2], dilations = [1073741824, 1], "
                          "pads = [1073741824, 0, 1073741824, 0]"),
                {"node 'pool' (MaxPool): a window that spans 2147483649"});
  expectRefused(pool("y", "kernel_shape = [2]"),
                {"node 'pool' (MaxPool): kernel_shape has 1 entries"});
  expectRefused(pool("y", "kernel_shape = [2, 2], strides = [0, 1]"),
                {"node 'pool' (MaxPool): strides has the entry 0"});
  expectRefused(pool("y", "kernel_shape = [2, 2], auto_pad = \"SOME\""),
                {"node 'pool' (MaxPool): auto_pad='SOME'", "SAME_UPPER"});
  expectRefused(
      import("g (float[4, 4] x) => (float y) { [pool] y = GlobalMaxPool(x) }"),
      {"node 'pool' (GlobalMaxPool): needs an input of rank 3"});
}

//===----------------------------------------------------------------------===//
// Resize
//===----------------------------------------------------------------------===//

std::string resize(const std::string &attributes, const std::string &scales,
                   const std::string &type = "float") {
  return "g (" + type + "[1, 1, 2, 3] x) => (" + type +
         "[1, 1, a, b] y) { s = Constant <value_floats = [" + scales +
         "]> () [resize] y = Resize <" + attributes + "> (x, , s) }";
}

TEST(Resize, NearestRepeatsElements) {
  Imported imported =
      import(resize("mode = \"nearest\"", "1.0, 1.0, 2.0, 1.0"));
  EXPECT_EQ(run(imported, {{1, 2, 3, 4, 5, 6}}),
            (Numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(imported.count("nn.gather"), 0);
  EXPECT_EQ(imported.count("nn.matmul"), 0);
}

/// 10 times 0.7f is 6.99999988 before it is rounded to float32.
TEST(Resize, SizesAreRoundedAsOnnxRuntimeDoes) {
  Imported imported = import(R"(
g (float[1, 1, 10] x) => (float[1, 1, n] y) {
  s = Constant <value_floats = [1.0, 1.0, 0.7]> ()
  y = Resize <mode = "nearest"> (x, , s)
})");
  EXPECT_EQ(run(imported, {Numbers(10)}).size(), 7u);
}

TEST(Resize, LinearIsOneProductAnAxis) {
  Imported imported = import(resize("mode = \"linear\"", "1.0, 1.0, 2.0, 3.0"));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.count("nn.matmul"), 2);
}

TEST(Resize, LongAxesAreGathered) {
  // 300 x 600 weights are too many for a constant.
  Imported imported = import(R"(
g (float[1, 1, 300] x) => (float[1, 1, 600] y) {
  s = Constant <value_floats = [1.0, 1.0, 2.0]> ()
  y = Resize <mode = "linear"> (x, , s)
})");
  Numbers x;
  for (int i = 0; i < 300; ++i) {
    x.push_back(i);
  }
  Numbers y = run(imported, {x});
  EXPECT_EQ(imported.count("nn.matmul"), 0);
  ASSERT_EQ(y.size(), 600u);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0.25);
  EXPECT_EQ(y[2], 0.75);
  EXPECT_EQ(y[599], 299);
}

TEST(Resize, Refuses) {
  expectRefused(import(resize("mode = \"warm\"", "1.0, 1.0, 2.0, 2.0")),
                {"node 'resize' (Resize): mode='warm'", "'cubic'"});
  expectRefused(import(resize("mode = \"nearest\"", "1.0, 2.0")),
                {"node 'resize' (Resize): there are 2 scales for 4 axes"});
  expectRefused(import(resize("mode = \"nearest\"", "1.0, 1.0, 0.0, 1.0")),
                {"node 'resize' (Resize): the scale of axis 2 is 0"});
  expectRefused(import(resize("mode = \"nearest\"", "1.0, 1.0, 0.1, 1.0")),
                {"node 'resize' (Resize): axis 2 of 2 elements becomes 0"});
  expectRefused(
      import(resize("mode = \"linear\"", "1.0, 1.0, 2.0, 2.0", "int32")),
      {"node 'resize' (Resize): modes 'linear' and 'cubic' need floats"});
  expectRefused(
      import("g (float[1, 4] x) => (float[1, 4] y) { [resize] y = Resize(x) }"),
      {"node 'resize' (Resize): needs either scales or sizes"});
  expectRefused(import(R"(
g (float[1, 4] x, int64[2] n) => (float[1, 4] y) {
  [resize] y = Resize <mode = "nearest"> (x, , , n)
})"),
                {"node 'resize' (Resize): sizes", "input 'n'"});
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

Imported pad(const std::string &mode, const std::string &pads) {
  return import(
      "g (float[3] x) => (float[n] y) { p = Constant <value_ints = [" + pads +
      "]> () [pad] y = Pad <mode = \"" + mode + "\"> (x, p) }");
}

TEST(Pad, RepeatsTheTensor) {
  Numbers x{1, 2, 3};
  EXPECT_EQ(run(pad("edge", "2, 1"), {x}), (Numbers{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(run(pad("reflect", "2, 1"), {x}), (Numbers{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(run(pad("wrap", "2, 4"), {x}),
            (Numbers{2, 3, 1, 2, 3, 1, 2, 3, 1}));
  // Longer than the tensor, and cutting off.
  EXPECT_EQ(run(pad("reflect", "0, 4"), {x}), (Numbers{1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(run(pad("reflect", "-1, 1"), {x}), (Numbers{2, 3, 2}));
}

TEST(Pad, Refuses) {
  expectRefused(pad("fold", "1, 1"),
                {"node 'pad' (Pad): padding mode 'fold'", "'reflect'"});
  expectRefused(pad("edge", "-2, -2"),
                {"node 'pad' (Pad): the pads cut off more than there is"});
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

TEST(Image, Refuses) {
  expectRefused(import(R"(
g (float[1, 6, 2, 2] x) => (float[1, 1, 4, 4] y) {
  [deep] y = DepthToSpace <blocksize = 2> (x)
})"),
                {"node 'deep' (DepthToSpace): 6 channels are not a multiple"});
  expectRefused(import(R"(
g (float[1, 1, 3, 4] x) => (float[1, 4, 1, 2] y) {
  [flat] y = SpaceToDepth <blocksize = 2> (x)
})"),
                {"node 'flat' (SpaceToDepth): an image of 3x4"});
  expectRefused(import(R"(
g (float[1, 1, 3, 3] x, float[1, 2, 2, 3] grid) => (float[1, 1, 2, 2] y) {
  [grid] y = GridSample (x, grid)
})"),
                {"node 'grid' (GridSample): an image of shape 1x1x3x3"});
  expectRefused(import(R"(
g (float[2, 3, 4] x, float[3] s, float[3] b, float[3] m, float[3] v) =>
  (float[2, 3, 4] y) {
  [norm] y, rm, rv = BatchNormalization (x, s, b, m, v)
})"),
                {"node 'norm' (BatchNormalization): gives running statistics"});
}

/// Numbers of PyTorch's grid_sample. ONNX's reference clamps the coordinate at
/// a border, PyTorch and onnxruntime each of the neighbours.
TEST(GridSample, CubicPadsEachNeighbour) {
  const struct {
    const char *padding;
    int corners;
    Numbers expected;
  } kCases[] = {
      {"zeros", 0, {-0.007854945, -1.19017275, -0.275122406, 1.771908}},
      {"zeros", 1, {1.222522437, -5.270206, 1.518795375, 0.315488}},
      {"border", 0, {0.219504379, -7.761678, 4.210773437, 1.433328}},
      {"border", 1, {1.639631375, -5.765774, 3.86967825, -0.081952}},
      {"reflection", 0, {-0.302942188, -9.9681, 6.2503625, 1.433328}},
      {"reflection", 1, {1.200743563, -4.822924, 5.673716625, 0.472064}},
  };
  for (const auto &c : kCases) {
    Imported imported = import(
        std::string("g (double[1, 1, 3, 3] x, double[1, 1, 4, 2] grid) => "
                    "(double[1, 1, 1, 4] y) { y = GridSample <mode = "
                    "\"bicubic\", padding_mode = \"") +
        c.padding + "\", align_corners = " + std::to_string(c.corners) +
        "> (x, grid) }");
    Numbers y = run(imported, {{1, 2, 4, 8, -3, 5, 0, 7, -6},
                               {-1.3, -0.9, 0.9, 1.2, 0.95, -1.6, 0.2, 0.4}});
    ASSERT_EQ(y.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      EXPECT_NEAR(y[i], c.expected[i], 2e-9) << c.padding << c.corners << i;
    }
  }
}

/// ONNX's inference makes a dim of each element of what may be a shape.
TEST(Image, RefusesSizesOfAbsurdLength) {
  expectRefused(import(R"(
g (float[1, 1, 4, 4] x, int64[2147483647] sizes) => (float[1, 1, 9, 9] y) {
  [huge] y = Resize <mode = "cubic"> (x, , , sizes)
})"),
                {"node 'huge' (Resize): sizes", "input 'sizes'"});
}

TEST(Index, RefusesSelectionsThatDataDecides) {
  expectRefused(import(R"(
g (float[4] x, bool[4] c) => (float[n] y) { [some] y = Compress(x, c) })"),
                {"node 'some' (Compress): condition", "input 'c'"});
  expectRefused(import(R"(
g (float[4] x) => (int64[1, n] y) { [where] y = NonZero(x) })"),
                {"node 'where' (NonZero): how many", "input 'x'"});
  expectRefused(import(R"(
g (int32[4] x) => (int32[4] y) { [bits] y = BitwiseAnd(x, x) })"),
                {"node 'bits' (BitwiseAnd): bits of data", "input 'x'"});
}

} // namespace

} // namespace zerograph::frontend::testing
