//===- ParametersTest.cpp - what is trained, and where its bytes lie ------===//

#include "tests/frontend/Fixture.h"

#include "absl/strings/str_cat.h"

#include <cstring>

namespace zerograph::frontend::testing {

namespace {

using mlir::zg::nn::InitKind;

const char *kTwoLayers = R"(
g (float[4, 8] x) => (float loss)
<float[8] fc.norm.weight = {1, 1, 1, 1, 1, 1, 1, 1},
 float[8] fc.norm.bias = {0, 0, 0, 0, 0, 0, 0, 0},
 float[8] layer.mask = {1, 1, 1, 1, 1, 1, 1, 1},
 float[8] unused.weight = {1, 1, 1, 1, 1, 1, 1, 1},
 float scale = {0.5}> {
  n = LayerNormalization(x, fc.norm.weight, fc.norm.bias)
  m = Mul(n, layer.mask)
  s = Mul(m, scale)
  loss = ReduceMean <keepdims = 0> (s)
})";

/// kTwoLayers, with dots in its names, which textual ONNX lacks.
onnx::ModelProto twoLayers() {
  std::string text = kTwoLayers;
  for (auto [from, to] :
       {std::pair<std::string, std::string>("fc.norm.", "fc_norm_"),
        {"layer.mask", "layer_mask"},
        {"unused.weight", "unused_weight"}}) {
    for (size_t at; (at = text.find(from)) != std::string::npos;) {
      text.replace(at, from.size(), to);
    }
  }
  onnx::ModelProto model = parse(text);
  auto dotted = [](std::string *name) {
    for (auto [from, to] :
         {std::pair<std::string, std::string>("fc_norm_", "fc.norm."),
          {"layer_mask", "layer.mask"},
          {"unused_weight", "unused.weight"}}) {
      if (name->rfind(from, 0) == 0) {
        *name = to + name->substr(from.size());
      }
    }
  };
  for (auto &tensor : *model.mutable_graph()->mutable_initializer()) {
    dotted(tensor.mutable_name());
  }
  for (auto &node : *model.mutable_graph()->mutable_node()) {
    for (auto &input : *node.mutable_input()) {
      dotted(&input);
    }
  }
  return model;
}

TEST(Parameters, HeuristicsWithoutMetadata) {
  Imported imported = importFile(write(twoLayers()));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  auto weight = imported.parameter("fc.norm.weight");
  EXPECT_TRUE(weight.getTrainable());
  EXPECT_EQ(weight.getInit(), InitKind::ones);
  EXPECT_EQ(weight.getModule(), "fc.norm");
  EXPECT_EQ(imported.parameter("fc.norm.bias").getInit(), InitKind::zeros);
  EXPECT_FALSE(imported.parameter("layer.mask").getTrainable());
  // A scalar without a parameter's name is a constant, which is said; what
  // nothing uses is no argument.
  EXPECT_FALSE(imported.parameter("scale"));
  ASSERT_EQ(imported.report.notes.size(), 2u);
  EXPECT_NE(imported.report.notes[1].find("called masks: layer.mask."),
            std::string::npos);
  EXPECT_NE(imported.report.notes[0].find("no parameter's name: scale."),
            std::string::npos)
      << imported.report.notes[0];
  EXPECT_FALSE(imported.parameter("unused.weight"));
  for (const auto &decision : imported.report.parameters) {
    EXPECT_FALSE(decision.reason.empty()) << decision.name;
  }
}

// One element is enough for a parameter with a module path.
TEST(Parameters, ScalarsWithAPathAreTrained) {
  onnx::ModelProto model = twoLayers();
  auto rename = [](std::string *name, const char *to) {
    if (*name == "scale") {
      *name = to;
    }
  };
  for (const char *name : {"head.scale", "/head.0/Constant_1"}) {
    onnx::ModelProto renamed = model;
    for (auto &tensor : *renamed.mutable_graph()->mutable_initializer()) {
      rename(tensor.mutable_name(), name);
    }
    for (auto &node : *renamed.mutable_graph()->mutable_node()) {
      for (auto &input : *node.mutable_input()) {
        rename(&input, name);
      }
    }
    Imported imported = importFile(write(renamed));
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    bool trained =
        imported.parameter(name) && imported.parameter(name).getTrainable();
    EXPECT_EQ(trained, name[0] != '/') << name;
  }
}

// The older exporter says of no initializer whether it is a buffer.
TEST(Parameters, SomeBuffersHaveNamesOfTheirOwn) {
  for (const auto &[name, trained] :
       {std::pair<std::string, bool>("embed.mask_token", true),
        {"masked_spec_embed", true},
        {"attn.causal_mask", false},
        {"model.final_logits_bias", false},
        {"rotary.cos_cached", false}}) {
    onnx::ModelProto model = twoLayers();
    model.set_producer_name("pytorch");
    model.mutable_graph()->mutable_initializer(2)->set_name(name);
    model.mutable_graph()->mutable_node(1)->set_input(1, name);
    Imported imported = importFile(write(model));
    ASSERT_TRUE(imported.status.ok()) << imported.error();
    ASSERT_TRUE(imported.parameter(name)) << name;
    EXPECT_EQ(imported.parameter(name).getTrainable(), trained) << name;
  }
}

TEST(Parameters, BoundsOfAClipAreTrained) {
  onnx::ModelProto model = parse(R"(
g (float[4] x) => (float loss) <float alpha = {0.5}> {
  y = Clip(x, , alpha)
  loss = ReduceMean <keepdims = 0> (y)
})");
  model.mutable_graph()->mutable_initializer(0)->set_name("act.alpha");
  model.mutable_graph()->mutable_node(0)->set_input(2, "act.alpha");
  Imported imported = importFile(write(model));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_TRUE(imported.parameter("act.alpha"));
  EXPECT_TRUE(imported.parameter("act.alpha").getTrainable());
}

TEST(Parameters, PatternsDecideFirst) {
  ImportOptions options;
  options.train = {"*.weight"};
  options.freeze = {"unused*"};
  Imported imported = importFile(write(twoLayers()), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_TRUE(imported.parameter("fc.norm.weight").getTrainable());
  EXPECT_FALSE(imported.parameter("fc.norm.bias").getTrainable());
}

// Only matrices are marked, and the first wish counts; all else is frozen, but
// for what --train names. A number among constants stays one.
TEST(Parameters, WeightsAreMarkedForAdapters) {
  onnx::ModelProto model = parse(R"(
g (float[2,3] x) => (float loss)
<float[3,4] a = {1,1,1,1,1,1,1,1,1,1,1,1}, float[4,3] b = {1,1,1,1,1,1,1,1,1,1,1,1},
 float[3] bias = {1,1,1}, float[1,1] two = {2}> {
  h = MatMul(x, a)
  y = MatMul(h, b)
  z = Add(y, bias)
  scaled = Mul(z, two)
  loss = ReduceMean <keepdims = 0> (scaled)
})");
  ImportOptions options;
  options.adapters = {{2, "a"}, {4, "*"}};
  options.lora_alpha = 16;
  options.train = {"bi*"};
  std::string path = write(model);
  Imported imported = importFile(path, options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  mlir::zg::nn::AdapterAttr a = imported.parameter("a").getAdapter();
  ASSERT_TRUE(a && imported.parameter("b").getAdapter());
  EXPECT_EQ(a.getRank(), 2);
  EXPECT_EQ(a.getAlpha().getValueAsDouble(), 16);
  EXPECT_EQ(imported.parameter("b").getAdapter().getRank(), 4);
  EXPECT_FALSE(imported.parameter("a").getTrainable());
  EXPECT_TRUE(imported.parameter("bias").getTrainable());
  EXPECT_FALSE(imported.parameter("bias").getAdapter());
  EXPECT_FALSE(imported.parameter("two"));

  options.freeze = {"a"};
  Imported frozen = importFile(path, options);
  ASSERT_TRUE(frozen.status.ok()) << frozen.error();
  EXPECT_FALSE(frozen.parameter("a").getAdapter());
  EXPECT_TRUE(frozen.parameter("b").getAdapter());
}

TEST(Parameters, OtherEncodingsAreGivenAsBytes) {
  Imported imported = importFile(write(twoLayers()));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_FALSE(imported.parameter("fc.norm.weight").getSource());
  ASSERT_EQ(imported.report.inline_weights.size(), 3u);
  EXPECT_EQ(imported.report.inline_weights[0].name, "fc.norm.weight");
  ASSERT_EQ(imported.report.inline_weights[0].bytes.size(), 32u);
  float first;
  std::memcpy(&first, imported.report.inline_weights[0].bytes.data(), 4);
  EXPECT_EQ(first, 1.0f);
}

TEST(Parameters, RawBytesAreFoundInTheFile) {
  onnx::ModelProto model = twoLayers();
  auto *tensor = model.mutable_graph()->mutable_initializer(1);
  tensor->clear_float_data();
  std::string marker = "0123456789abcdef0123456789ABCDEF";
  tensor->set_raw_data(marker);
  std::string bytes = model.SerializeAsString();
  Imported imported = importFile(writeBytes(bytes));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  auto source = imported.parameter("fc.norm.bias").getSource();
  ASSERT_TRUE(source);
  EXPECT_EQ(bytes.substr(source.getOffset(), source.getLength()), marker);
}

TEST(Parameters, LargeTablesAreFrozenArguments) {
  onnx::ModelProto model =
      parse("g (float[20000] x) => (float[20000] y) <int64[1] t = {1}> "
            "{ f = Cast <to = 1> (t) y = Add(x, f) }");
  auto *tensor = model.mutable_graph()->mutable_initializer(0);
  tensor->set_dims(0, 20000);
  for (int i = 1; i < 20000; ++i) {
    tensor->add_int64_data(i * i % 997);
  }
  ImportOptions options;
  options.require_loss = false;
  Imported imported = importFile(write(model), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_TRUE(imported.parameter("t"));
  EXPECT_FALSE(imported.parameter("t").getTrainable());
}

} // namespace

} // namespace zerograph::frontend::testing
