//===- LostSumTest.cpp - sums and means that exporters lose ---------------===//
//
// The TorchScript exporter writes index_add and index_put(accumulate=True) as
// x + Scatter(zeros, ...) without a reduction, and the dynamo exporter the mean
// of scatter_reduce as a scatter that replaces.
//
//===----------------------------------------------------------------------===//

#include "tests/frontend/Evaluate.h"

#include "absl/strings/str_cat.h"

namespace zerograph::frontend::testing {

namespace {

/// index_add of the rows u [3, 2] into x [4, 2], at indices made by `nodes`.
std::string indexAdd(const std::string &nodes,
                     const std::string &producer = "pytorch", int opset = 17) {
  return absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset,
                      "], producer_name: \"", producer, R"(">
g (float[4, 2] x, int64[3] i, float[3, 2] u) => (float[4, 2] y)
<int64[2] all = {4, 2}, int64[2] rows = {3, 2}, int64[1] one = {1}> {
  zeros = ConstantOfShape (all)
  )",
                      nodes, R"(
  wide = Unsqueeze (places, one)
  at = Expand (wide, rows)
  [lost] s = ScatterElements <axis = 0> (zeros, at, u)
  y = Add (x, s)
})");
}

const char *const kOfData = "places = Identity (i)";
const std::vector<Numbers> kValues = {
    {0, 0, 0, 0, 0, 0, 0, 0}, {2, 0, 2}, {1, 2, 3, 4, 5, 6}};

TEST(LostSum, IsRefusedByName) {
  expectRefused(indexAdd(kOfData),
                {"node 'lost' (ScatterElements)", "index_add", "dynamo=True",
                 "--allow-exporter-damage"});
}

TEST(LostSum, OfAScatterNd) {
  expectRefused(R"(<ir_version: 8, opset_import: ["" : 17],
 producer_name: "pytorch">
g (float[4] x, int64[3, 1] i, float[3] u) => (float[4] y)
<int64[1] all = {4}> {
  zeros = ConstantOfShape (all)
  [lost] s = ScatterND (zeros, i, u)
  y = Add (x, s)
})",
                {"node 'lost' (ScatterND)"});
}

TEST(LostSum, IsTakenAsItIsIfAllowed) {
  ImportOptions options;
  options.allow_exporter_damage = true;
  Imported imported = import(indexAdd(kOfData), options);
  EXPECT_EQ(run(imported, kValues), (Numbers{3, 4, 0, 0, 5, 6, 0, 0}));
  ASSERT_EQ(imported.report.warnings.size(), 1u);
  EXPECT_NE(imported.report.warnings[0].find("'lost'"), std::string::npos);
}

TEST(LostSum, BeforeScattersCouldAddIsTheSum) {
  // Unsqueeze has its axes as an attribute there.
  Imported imported = import(R"(<ir_version: 7, opset_import: ["" : 11],
 producer_name: "pytorch">
g (float[4] x, int64[3] i, float[3] u) => (float[4] y)
<int64[1] all = {4}> {
  zeros = ConstantOfShape (all)
  s = ScatterElements (zeros, i, u)
  y = Add (x, s)
})");
  EXPECT_EQ(run(imported, {{0, 0, 0, 0}, {2, 0, 2}, {1, 2, 3}}),
            (Numbers{2, 0, 4, 0}));
}

// Constants and ranges in which nothing repeats are what they say.
TEST(LostSum, IndicesThatDoNotRepeatLoseNothing) {
  for (std::string nodes :
       {"places = Constant <value_ints = [2, 0, -1]> ()",
        "zero = Constant <value_int = 0> () step = Constant <value_int = 1> () "
        "end = Constant <value_int = 3> () places = Range (zero, end, step)"}) {
    Imported imported = import(indexAdd(nodes));
    EXPECT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_TRUE(imported.report.warnings.empty());
  }
  expectRefused(indexAdd("places = Constant <value_ints = [3, 0, -1]> ()"),
                {"node 'lost'"});
}

TEST(LostSum, IsNoMatterOfOtherExporters) {
  EXPECT_TRUE(import(indexAdd(kOfData, "keras")).status.ok());
}

// Nothing is added to what was scattered: an assignment.
TEST(LostSum, AnAssignmentIsNone) {
  Imported imported = import(R"(<ir_version: 8, opset_import: ["" : 17],
 producer_name: "pytorch">
g (float[4] x, int64[3] i, float[3] u) => (float[4] y)
<int64[1] all = {4}> {
  zeros = ConstantOfShape (all)
  s = ScatterElements (zeros, i, u)
  y = Mul (x, s)
})");
  EXPECT_TRUE(imported.status.ok()) << imported.error();
}

/// The import of a scatter of u to `indices` that replaces, made from `fx`.
Imported replacing(const std::string &fx, const std::string &indices,
                   ImportOptions options = {}) {
  onnx::ModelProto model = parse(absl::StrCat(
      R"(<ir_version: 10, opset_import: ["" : 18], producer_name: "pytorch">
g (float[4] x, int64[3] i, float[3] u) => (float[4] y) {
  [mean] y = ScatterElements (x, places, u)
  places = )",
      indices, "}"));
  auto *origin = model.mutable_graph()->mutable_node(0)->add_metadata_props();
  origin->set_key("pkg.torch.onnx.fx_node");
  origin->set_value(fx);
  options.require_loss = false;
  return importFile(write(model), options);
}

const char *const kMean =
    "%scatter_reduce : call_function[target=torch.ops.aten.scatter_reduce.two]"
    "(args = (%x, 0, %i, %u, mean), kwargs = {})";
const char *const kMeanOfOthers =
    "%scatter_reduce : call_function[target=torch.ops.aten.scatter_reduce.two]"
    "(args = (%x, 0, %i, %u, mean), kwargs = {include_self: False})";
const char *const kScatter =
    "%scatter : call_function[target=torch.ops.aten.scatter.src]"
    "(args = (%x, 0, %i, %u), kwargs = {})";
const char *const kDistinct = "Constant <value_ints = [2, 0, -1]> ()";

TEST(LostMean, IsRefusedByName) {
  expectRefused(replacing(kMean, "Identity (i)"),
                {"node 'mean' (ScatterElements)", "scatter_reduce",
                 "scatter_add", "--allow-exporter-damage"});
  expectRefused(replacing(kMeanOfOthers, "Identity (i)"), {"node 'mean'"});
  // The mean of x and one more.
  expectRefused(replacing(kMean, kDistinct), {"node 'mean'"});
}

TEST(LostMean, OfOneIsIt) {
  Imported imported = replacing(kMeanOfOthers, kDistinct);
  EXPECT_TRUE(imported.status.ok()) << imported.error();
}

TEST(LostMean, AnAssignmentIsNone) {
  Imported imported = replacing(kScatter, "Identity (i)");
  EXPECT_TRUE(imported.status.ok()) << imported.error();
}

TEST(LostMean, IsTakenAsItIsIfAllowed) {
  ImportOptions options;
  options.allow_exporter_damage = true;
  Imported imported = replacing(kMean, "Identity (i)", options);
  EXPECT_EQ(run(imported, {{0, 0, 0, 0}, {2, 0, 2}, {1, 2, 3}}),
            (Numbers{2, 0, 3, 0}));
  EXPECT_EQ(imported.report.warnings.size(), 1u);
}

TEST(Buffers, ThatMayBeTrainedAreNamed) {
  const char *const kModel = R"(<ir_version: 8, opset_import: ["" : 17],
 producer_name: "PRODUCER">
g (float[2] x) => (float loss)
<float[2] alphas = {1, 2}, float[2] fc_weight = {1, 2}> {
  a = Mul (x, alphas)
  b = Mul (a, fc_weight)
  loss = ReduceSum <keepdims = 0> (b)
})";
  auto notesOf = [&](const std::string &producer) {
    std::string text = kModel;
    text.replace(text.find("PRODUCER"), 8, producer);
    Imported imported = import(text);
    EXPECT_TRUE(imported.status.ok()) << imported.error();
    EXPECT_TRUE(imported.parameter("alphas").getTrainable());
    return imported.report.notes;
  };
  EXPECT_EQ(notesOf("pytorch"),
            (std::vector<std::string>{
                "trained, though they may be buffers or constants, which this "
                "exporter does not tell from parameters: alphas. --freeze NAME "
                "keeps one as it is"}));
  EXPECT_TRUE(notesOf("keras").empty());
}

} // namespace

} // namespace zerograph::frontend::testing
