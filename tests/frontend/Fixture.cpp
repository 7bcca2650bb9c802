//===- Fixture.cpp - importing models from files and from text ------------===//

#include "tests/frontend/Fixture.h"

#include "onnx/defs/parser.h"

#include <filesystem>
#include <fstream>

#include <stdlib.h>

namespace zerograph::frontend::testing {

using namespace mlir::zg::nn;

mlir::zg::nn::ProgramOp Imported::function() const {
  return mlir::cast<mlir::zg::nn::ProgramOp>(module.get().getBody()->front());
}

std::string Imported::text() const {
  std::string result;
  llvm::raw_string_ostream stream(result);
  module.get()->print(stream);
  return result;
}

int Imported::count(const std::string &name) const {
  int result = 0;
  module.get()->walk([&](mlir::Operation *op) {
    result += op->getName().getStringRef() == name;
  });
  return result;
}

InputAttr Imported::input(unsigned i) const {
  return function().getArgAttrOfType<InputAttr>(i, kInputAttr);
}

ParameterAttr Imported::parameter(const std::string &name) const {
  for (unsigned i = 0; i < function().getNumArguments(); ++i) {
    auto attr = function().getArgAttrOfType<ParameterAttr>(i, kParameterAttr);
    if (attr && attr.getName() == name) {
      return attr;
    }
  }
  return {};
}

bool Imported::isTrained(const std::string &name) const {
  auto found = parameter(name);
  return found && found.getTrainable();
}

Imported importFile(const std::string &path, const ImportOptions &options) {
  Imported result;
  result.context = std::make_unique<mlir::MLIRContext>();
  auto module = importModel(*result.context, path, options, &result.report);
  if (module.ok()) {
    result.module = *std::move(module);
  } else {
    result.status = module.status();
  }
  return result;
}

onnx::ModelProto parse(const std::string &text) {
  std::string whole =
      text[0] == '<' ? text
                     : "<ir_version: 10, opset_import: [\"\" : 18]>\n" + text;
  onnx::ModelProto model;
  auto status = onnx::OnnxParser::Parse(model, whole.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

namespace {

/// The folder where this program writes its models; it goes when the program
/// ends.
struct Scratch {
  Scratch() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path = ::testing::TempDir() + "zerograph-frontend-XXXXXX";
};

} // namespace

std::string writeBytes(const std::string &bytes, const std::string &name) {
  static Scratch scratch;
  std::string folder = scratch.path + "/XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::string path = folder + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string write(const onnx::ModelProto &model, const std::string &name) {
  return writeBytes(model.SerializeAsString(), name);
}

Imported import(const std::string &text, ImportOptions options) {
  onnx::ModelProto model = parse(text);
  bool loss = false;
  for (const auto &output : model.graph().output()) {
    loss |= output.name() == "loss";
  }
  options.require_loss = options.require_loss && loss;
  return importFile(write(model), options);
}

void expectRefused(const Imported &imported,
                   const std::vector<std::string> &parts) {
  ASSERT_FALSE(imported.status.ok());
  for (const std::string &part : parts) {
    EXPECT_NE(imported.error().find(part), std::string::npos)
        << "'" << part << "' is not in: " << imported.error();
  }
}

void expectRefused(const std::string &text,
                   const std::vector<std::string> &parts,
                   const ImportOptions &options) {
  expectRefused(import(text, options), parts);
}

void expectAllowed(const std::string &path) {
  ImportOptions options;
  options.allow_exporter_damage = true;
  Imported imported = importFile(path, options);
  ASSERT_TRUE(imported.status.ok()) << imported.error();
  EXPECT_EQ(imported.report.warnings.size(), 1u);
}

const char *const kSmall = R"(
g (float[4, 8] x) => (float loss)
<float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
  y = Mul(x, w)
  loss = ReduceMean <keepdims = 0> (y)
})";

std::string model(const std::string &name) {
  return std::string(ZEROGRAPH_MODELS) + "/" + name;
}

} // namespace zerograph::frontend::testing
