//===- ForwardRun.cpp - models run forward in tests -----------------------===//

#include "tests/e2e/ForwardRun.h"

#include "tools/compiler/Compile.h"

#include <fstream>
#include <stdlib.h>

using namespace zerograph;
using zerograph::testing::ForwardRun;

ForwardRun::ForwardRun() {
  std::string name =
      std::filesystem::temp_directory_path() / "zerograph-forward-XXXXXX";
  folder = mkdtemp(name.data()) ? name : "";
}

ForwardRun::~ForwardRun() {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

absl::StatusOr<LoadedPlan>
ForwardRun::compile(const onnx::ModelProto &model,
                    const std::map<std::string, int64_t> &dims) {
  std::ofstream(path("model.onnx"), std::ios::binary)
      << model.SerializeAsString();
  CompileOptions options;
  options.model = path("model.onnx");
  options.forward = true;
  options.dims = dims;
  ZG_ASSIGN_OR_RETURN(CompileResult compiled, zerograph::compile(options));
  ZG_RETURN_IF_ERROR(writeExtraWeights(compiled, path("plan")));
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(compiled.plan));
  return parsePlan(bytes);
}

absl::StatusOr<ForwardResult> ForwardRun::run(const LoadedPlan &plan) {
  ForwardOptions options;
  options.data = {path("data")};
  options.output = path("out");
  options.plan_path = path("plan");
  options.threads = 2;
  notes.clear();
  options.say = [&](const std::string &note) { notes.push_back(note); };
  return runForward(plan, options);
}
