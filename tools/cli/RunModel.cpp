//===- RunModel.cpp - `run MODEL.onnx`: forward only ----------------------===//

#include "frontend/Import.h"
#include "runtime/comm/mpi/Launch.h"
#include "runtime/exec/RunForward.h"
#include "runtime/io/TensorFile.h"
#include "runtime/plan/PlanFile.h"
#include "runtime/state/Initialize.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/SharedFlags.h"
#include "tools/cli/TemporaryFolder.h"

#include <cstdio>

namespace zerograph {
namespace {

/// Of a micro-batch that nothing else decides.
constexpr uint64_t kMostSamples = 32;

struct RunFlags {
  explicit RunFlags(CLI::App &app) {
    app.add_option("MODEL", compile.model, "MODEL.onnx")->required();
    app.add_option("--data", run.data,
                   "FILE.safetensors or a folder of .npy files: one array an "
                   "input, its first dimension samples")
        ->required();
    app.add_option("-o,--output", run.output,
                   "FILE.safetensors for the outputs")
        ->required();
    app.add_option("--dim", dims, "NAME=SIZE of a symbolic dimension")
        ->allow_extra_args(false);
    app.add_option("--input", inputs,
                   "NAME=VALUE of an input of one element, bound beforehand")
        ->allow_extra_args(false);
    app.add_option("--micro-batch", micro_batch,
                   "Samples of one run; default: all, at most 32")
        ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
    app.add_option("--threads", run.threads, "Threads; default: the processors")
        ->check(CLI::Range(1, 1024));
    app.add_option("--load-weights", run.load_weights,
                   "FILE.safetensors with weights by name");
    app.add_option("--init-missing", init_missing,
                   "normal:STD for parameters that no file holds");
    addSeed(app, run.seed);
    addDropout(app, compile.dropout);
    app.add_flag("--allow-exporter-damage", compile.allow_exporter_damage,
                 "Run a file whose exporter dropped parameters");
    app.add_option("--target", compile.target,
                   "host:native (default), host:x86-64-v3 or host:x86-64-v4");
    app.add_option("--dump-ir", compile.dump_ir,
                   "Folder for the IR after each phase");
  }

  CompileOptions compile;
  ForwardOptions run;
  std::vector<std::string> dims, inputs;
  int64_t micro_batch = 0;
  std::string init_missing;
};

/// What the data's samples suggest, where nobody says; 0: nothing does.
absl::StatusOr<int64_t> inferMicroBatch(const RunFlags &flags) {
  ZG_ASSIGN_OR_RETURN(std::vector<frontend::InputSignature> inputs,
                      frontend::readInputs(flags.compile.model));
  std::string batch = frontend::batchDim(inputs);
  if (batch.empty() || flags.compile.dims.count(batch)) {
    return 0;
  }
  ZG_ASSIGN_OR_RETURN(TensorFile tensors, readTensors(flags.run.data));
  for (const frontend::InputSignature &input : inputs) {
    auto array = tensors.find(input.name);
    if (!input.dims.empty() && input.dims[0].name == batch &&
        array != tensors.end() && !array->second.shape.empty()) {
      return int64_t(std::min(array->second.shape[0], kMostSamples));
    }
  }
  return 0;
}

absl::StatusOr<int> run(RunFlags flags) {
  ZG_RETURN_IF_ERROR(needOneProcess());
  ZG_RETURN_IF_ERROR(checkIsNoPlan(flags.compile.model));
  ZG_ASSIGN_OR_RETURN(flags.compile.dims, parseDims(flags.dims));
  ZG_ASSIGN_OR_RETURN(flags.compile.inputs, parseInputs(flags.inputs));
  if (!flags.init_missing.empty()) {
    ZG_ASSIGN_OR_RETURN(flags.run.init_missing,
                        parseInitMissing(flags.init_missing));
  }
  flags.compile.forward = true;
  if (!flags.run.load_weights.empty()) {
    ZG_ASSIGN_OR_RETURN(TensorFile weights,
                        readSafetensors(flags.run.load_weights));
    for (const auto &[name, array] : weights) {
      flags.compile.replaced.insert(name);
    }
  }
  if (flags.micro_batch == 0) {
    ZG_ASSIGN_OR_RETURN(flags.micro_batch, inferMicroBatch(flags));
  }
  ZG_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::make());
  flags.run.plan_path = folder.path() + "/plan";
  flags.run.model_path = flags.compile.model;
  flags.run.say = [](const std::string &text) {
    std::fprintf(stderr, "note: %s\n", text.c_str());
  };
  ZG_ASSIGN_OR_RETURN(CompileResult compiled,
                      compileModel(flags.compile, flags.micro_batch,
                                   flags.run.data, flags.run.plan_path));
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(compiled.plan));
  ZG_ASSIGN_OR_RETURN(LoadedPlan plan, parsePlan(bytes));
  ZG_ASSIGN_OR_RETURN(ForwardResult result, runForward(plan, flags.run));
  for (const plan::Output &output : plan.plan.outputs()) {
    std::printf(
        "%s: %s %s%s\n", output.name().c_str(), nameOf(output.type()).c_str(),
        shapeText({output.shape().data(), size_t(output.shape_size())}).c_str(),
        output.per_sample() ? ", the first dimension samples"
        : result.runs > 1   ? ", once a micro-batch"
                            : "");
  }
  std::printf("%llu samples in %llu runs; outputs in %s\n",
              static_cast<unsigned long long>(result.samples),
              static_cast<unsigned long long>(result.runs),
              flags.run.output.c_str());
  return 0;
}

} // namespace

void addRunModel(CommandLine &line) {
  CLI::App &command = line.add("run", "Runs a model forward over data");
  auto flags = std::make_shared<RunFlags>(command);
  line.onRun(command, [flags] { return run(*flags); });
}

} // namespace zerograph
