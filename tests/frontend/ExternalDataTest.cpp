//===- ExternalDataTest.cpp - where weights outside the file may lie ------===//

#include "tests/frontend/Fixture.h"

#include <filesystem>
#include <fstream>

namespace zerograph::frontend::testing {

namespace {

namespace fs = std::filesystem;

Imported
importExternal(const std::map<std::string, std::string> &entries,
               const std::function<void(const fs::path &)> &prepare = {}) {
  onnx::ModelProto model = parse(kSmall);
  auto *tensor = model.mutable_graph()->mutable_initializer(0);
  tensor->clear_float_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto &[key, value] : entries) {
    auto *entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  std::string path = write(model);
  if (prepare) {
    prepare(fs::path(path).parent_path());
  }
  return importFile(path);
}

TEST(ExternalData, NeedNotExist) {
  Imported imported = importExternal({{"location", "w.bin"}, {"offset", "64"}});
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.parameter("w").getSource().getOffset(), 64);
  ASSERT_EQ(imported.report.notes.size(), 1u);
  EXPECT_NE(imported.report.notes[0].find("'w.bin' is not beside the model"),
            std::string::npos);
}

// As of a model that was exported without weights: its shapes are enough.
TEST(ExternalData, ATensorNeedHaveNoData) {
  onnx::ModelProto model = parse(kSmall);
  model.mutable_graph()->mutable_initializer(0)->clear_float_data();
  Imported imported = importFile(write(model));
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_FALSE(imported.parameter("w").getSource());
  EXPECT_TRUE(imported.report.inline_weights.empty());
  EXPECT_EQ(imported.report.notes,
            (std::vector<std::string>{
                "the model has no values of 'w': to train, give "
                "--load-weights or --init-missing"}));
}

// Its values cannot be made, as those of a parameter can.
TEST(ExternalData, AConstantWithoutDataIsNamed) {
  const char *text = R"(
g (float[n, 4] x) => (float loss) <float[4] w = {1,2,3,4}, int64[1] size = {4}>
{
  y = Mul(x, w)
  s = Cast <to = 1> (size)
  z = Mul(y, s)
  loss = ReduceMean<keepdims = 0>(z)
})";
  onnx::ModelProto model = parse(text);
  model.mutable_graph()->mutable_initializer(1)->clear_int64_data();
  ImportOptions options;
  options.dims["n"] = 2;
  Imported imported = importFile(write(model), options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  ASSERT_EQ(imported.report.warnings.size(), 1u);
  EXPECT_NE(imported.report.warnings[0].find("'size'"), std::string::npos);
  EXPECT_NE(imported.report.warnings[0].find("--init-missing would make"),
            std::string::npos);
  // Where it decides a shape, nothing can be planned.
  model = parse(R"(
g (float[n, 4] x) => (float loss) <float[4] w = {1,2,3,4}, int64[2] size = {-1, 2}>
{
  y = Mul(x, w)
  z = Reshape(y, size)
  loss = ReduceMean<keepdims = 0>(z)
})");
  model.mutable_graph()->mutable_initializer(1)->clear_int64_data();
  expectRefused(importFile(write(model), options),
                {"node", "(Reshape)", "'size'"});
}

TEST(ExternalData, LocationsOutsideAreRefused) {
  expectRefused(importExternal({}), {"'w'", "is empty"});
  expectRefused(importExternal({{"location", "/etc/passwd"}}), {"relative"});
  expectRefused(importExternal({{"location", "a/../../b"}}), {"leaves"});
  expectRefused(importExternal({{"location", "w.bin"}},
                               [](const fs::path &folder) {
                                 fs::create_symlink("/etc/passwd",
                                                    folder / "w.bin");
                               }),
                {"symbolic link"});
  expectRefused(
      importExternal({{"location", "w.bin"}},
                     [](const fs::path &folder) {
                       std::ofstream(folder / "v.bin") << std::string(32, 'x');
                       fs::create_hard_link(folder / "v.bin", folder / "w.bin");
                     }),
      {"'w.bin' is a hard link"});
}

TEST(ExternalData, WhatNobodyFollowsIsSaid) {
  Imported imported = importExternal(
      {{"location", "w.bin"}, {"checksum", "00"}, {"colour", "red"}},
      [](const fs::path &folder) {
        std::ofstream(folder / "w.bin") << std::string(32, 'x');
      });
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.report.notes,
            (std::vector<std::string>{
                "tensor 'w': external 'checksum' is not checked: planning "
                "reads no weights",
                "tensor 'w': external 'colour' is an unknown key, and "
                "ignored"}));
}

TEST(ExternalData, RangesAreChecked) {
  expectRefused(importExternal({{"location", "w.bin"}, {"offset", "-1"}}),
                {"offset '-1'"});
  expectRefused(importExternal({{"location", "w.bin"}, {"length", "16"}}),
                {"length is 16", "needs 32"});
  expectRefused(importExternal(
                    {{"location", "w.bin"}, {"offset", "9223372036854775807"}}),
                {"beyond any file"});
  expectRefused(importExternal({{"location", "w.bin"}, {"offset", "8"}},
                               [](const fs::path &folder) {
                                 std::ofstream(folder / "w.bin")
                                     << std::string(32, 'x');
                               }),
                {"bytes 8 to 40", "which has 32"});
}

} // namespace

} // namespace zerograph::frontend::testing
