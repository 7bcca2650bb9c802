//===- CompileModel.cpp - compiling as the commands do it -----------------===//

#include "tools/cli/CompileModel.h"

#include "frontend/Import.h"
#include "runtime/backend/Backend.h"
#include "runtime/base/EditDistance.h"
#include "runtime/base/Status.h"
#include "runtime/base/Text.h"
#include "runtime/io/Overwrite.h"
#include "runtime/io/Shard.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanFile.h"
#include "tools/cli/CommandLine.h"
#include "tools/cli/InputFile.h"
#include "tools/cli/MicroBatch.h"
#include "tools/cli/ModelFacts.h"
#include "tools/cli/Notes.h"
#include "tools/compiler/LargestThatFits.h"

#include "absl/strings/str_join.h"

#include <filesystem>
#include <set>

namespace zerograph {
namespace {

/// The sizes of dims by name, and where each comes from.
class Sizes {
public:
  explicit Sizes(std::map<std::string, int64_t> &dims) : dims(dims) {
    for (const auto &[name, size] : dims) {
      origins[name] = {absl::StrCat("--dim ", name, "=", size), false};
    }
  }

  absl::Status addOption(const std::string &name, int64_t size,
                         const std::string &option) {
    return add(name, size, {absl::StrCat(option, " ", size), false});
  }
  absl::Status addArray(const std::string &name, int64_t size,
                        const std::string &array, size_t axis) {
    return add(name, size,
               {absl::StrCat("array '", array, "' in its dim ", axis), true});
  }

private:
  struct Origin {
    std::string text;
    bool array;
  };

  absl::Status add(const std::string &name, int64_t size, Origin origin) {
    auto [it, inserted] = dims.emplace(name, size);
    if (inserted) {
      origins[name] = origin;
    }
    if (it->second == size) {
      return absl::OkStatus();
    }
    const Origin &first = origins.at(name);
    return absl::InvalidArgumentError(absl::StrCat(
        "dim '", name, "' is ", it->second, " by ", first.text, ", but ", size,
        " by ", origin.text, ": ",
        first.array    ? "the model has one size for both, so the data must"
        : origin.array ? "leave the option out, or give data of its size"
                       : "give one of them, or make both equal"));
  }

  std::map<std::string, int64_t> &dims;
  std::map<std::string, Origin> origins;
};

absl::Status bindFromData(const std::vector<frontend::InputSignature> &inputs,
                          const std::string &batch, const TensorFile &tensors,
                          Sizes &sizes) {
  for (const frontend::InputSignature &input : inputs) {
    auto it = tensors.find(input.name);
    if (it == tensors.end() || it->second.shape.size() != input.dims.size()) {
      continue; // reported, with all others, when training opens the data
    }
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      const frontend::InputDim &dim = input.dims[axis];
      bool samples =
          axis == 0 && frontend::isBatchDim(input.dims, batch, inputs);
      if (dim.value < 0 && !samples) {
        ZG_RETURN_IF_ERROR(
            sizes.addArray(dim.name, it->second.shape[axis], input.name, axis));
      }
    }
  }
  return absl::OkStatus();
}

/// Returns an error where an input that has no array has a dim that only it
/// could tell: its name in the data is another.
absl::Status needArrays(const std::vector<frontend::InputSignature> &inputs,
                        const ExampleArrays &example,
                        const CompileOptions &options) {
  const TensorFile &tensors = example.arrays;
  std::vector<std::string> names;
  for (const auto &[name, array] : tensors) {
    names.push_back(name);
  }
  for (const frontend::InputSignature &input : inputs) {
    for (const frontend::InputDim &dim : input.dims) {
      if (dim.value >= 0 || options.dims.count(dim.name) > 0 ||
          options.inputs.count(input.name) > 0 ||
          tensors.count(input.name) > 0) {
        continue;
      }
      const std::string *near = nearest(input.name, names);
      return absl::InvalidArgumentError(
          absl::StrCat(example.name, ": input '", input.name,
                       "' is missing, and with it the size of dim ", dim.name,
                       "; it has ", listOf(names, 10),
                       near ? absl::StrCat("; call '", *near, "' '", input.name,
                                           "' there, if it is so")
                            : ""));
    }
  }
  return absl::OkStatus();
}

/// Checks what would be written over. Before compiling, `plan` is empty: then
/// the model alone is looked at.
absl::Status checkOutputs(const std::string &model, const plan::Plan &plan,
                          const std::string &plan_path) {
  std::vector<NamedFile> inputs = {{"the model", model}};
  std::string folder = std::filesystem::path(model).parent_path().string();
  for (const NamedFile &source : sourceFiles(plan, folder)) {
    inputs.push_back(source);
  }
  return checkOverwrites(
      inputs, {{"--output", plan_path},
               {"--output (its weights)", extraWeightsPath(plan_path)}});
}

/// Returns whether an array of the example can have `size` elements along an
/// axis: along the first it may have the samples of several micro-batches. No
/// dim has 0, which `readInputs` refuses.
bool fitsDim(const frontend::InputDim &dim, size_t axis, uint64_t size) {
  auto wanted = uint64_t(dim.value);
  return dim.value < 0 || size == wanted || (axis == 0 && size % wanted == 0);
}

/// Returns an error where an array of the example is not as its input, or where
/// one is of no input while an input has none: its name is another.
absl::Status checkArrays(const std::vector<frontend::InputSignature> &inputs,
                         const ExampleArrays &example) {
  std::set<std::string> others;
  for (const auto &[name, array] : example.arrays) {
    others.insert(name);
  }
  for (const frontend::InputSignature &input : inputs) {
    auto found = example.arrays.find(input.name);
    if (found == example.arrays.end()) {
      continue;
    }
    others.erase(input.name);
    const std::vector<uint64_t> &shape = found->second.shape;
    bool fits = shape.size() == input.dims.size();
    std::vector<std::string> wanted;
    for (size_t axis = 0; axis < input.dims.size(); ++axis) {
      const frontend::InputDim &dim = input.dims[axis];
      fits = fits && fitsDim(dim, axis, shape[axis]);
      wanted.push_back(dim.value < 0 ? dim.name : absl::StrCat(dim.value));
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          example.name, ": input '", input.name, "' is ", shapeText(shape),
          ", expected [", absl::StrJoin(wanted, ", "), "]"));
    }
  }
  for (const frontend::InputSignature &input : inputs) {
    if (example.arrays.count(input.name) == 0 && !others.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          example.name, ": input '", input.name, "' is missing, and '",
          *others.begin(), "' is no input"));
    }
  }
  return absl::OkStatus();
}

/// Returns how many samples the arrays have; 0 where none has an axis of them.
uint64_t samplesOf(const TensorFile &arrays,
                   const std::vector<frontend::InputSignature> &inputs) {
  std::string batch = frontend::batchDim(inputs);
  for (const frontend::InputSignature &input : inputs) {
    auto array = arrays.find(input.name);
    if (!batch.empty() && array != arrays.end() &&
        frontend::isBatchDim(input.dims, batch, inputs) &&
        !array->second.shape.empty()) {
      return array->second.shape[0];
    }
  }
  return 0;
}

/// Returns the samples of a micro-batch that a dim says, or the model.
FixedSamples fixedSamples(const CompileOptions &options,
                          const std::vector<frontend::InputSignature> &inputs) {
  std::string batch = frontend::batchDim(inputs);
  if (auto dim = options.dims.find(batch); dim != options.dims.end()) {
    return {dim->second, /*by_dim=*/true};
  }
  bool symbolic = !batch.empty() || inputs.empty() || inputs[0].dims.empty();
  return {symbolic ? 0 : std::max<int64_t>(inputs[0].dims[0].value, 0)};
}

/// Binds what the options and the example, of which there may be none, decide.
absl::Status bindAll(CompileOptions &options,
                     const std::vector<frontend::InputSignature> &inputs,
                     const std::optional<ExampleArrays> &example) {
  std::string batch = frontend::batchDim(inputs);
  Sizes sizes(options.dims);
  if (options.samples > 0 && !batch.empty()) {
    ZG_RETURN_IF_ERROR(
        sizes.addOption(batch, options.samples, "--micro-batch"));
  }
  if (example) {
    ZG_RETURN_IF_ERROR(bindFromData(inputs, batch, example->arrays, sizes));
  }
  if (!batch.empty() && !options.dims.count(batch)) {
    return absl::InvalidArgumentError(
        absl::StrCat("how many samples has a rank's micro-batch? Give "
                     "--micro-batch N (or --dim ",
                     batch, "=N)"));
  }
  return example ? needArrays(inputs, *example, options) : absl::OkStatus();
}

/// Says where a step takes other samples than the example, a batch of one, has.
void sayOtherStep(const plan::Plan &plan, const ExampleArrays &example) {
  uint64_t step =
      plan.micro_batch() * std::max(1u, plan.accumulate()) * worldOf(plan);
  for (const plan::Input &input : plan.inputs()) {
    auto array = example.arrays.find(input.name());
    if (!input.per_sample() || array == example.arrays.end() ||
        array->second.shape.empty()) {
      continue;
    }
    // Several rows may be one sample.
    uint64_t rows = uint64_t(input.shape(0)) / plan.micro_batch();
    uint64_t samples = array->second.shape[0] / std::max<uint64_t>(1, rows);
    if (samples != step) {
      say(Matter::Run, absl::StrCat(example.name, " has ", samples,
                                    " samples, and a step takes ", step));
    }
    return;
  }
}

} // namespace

absl::Status checkDevice(const CompileOptions &options) {
  const Backend *backend = findBackend(deviceOf(options.target));
  // The compiler says which targets there are.
  return backend != nullptr ? backend->list().status() : absl::OkStatus();
}

void removeOldPlan(const std::string &path, const std::string &model) {
  if (!isPlan(path) || sameFile(path, model)) {
    return;
  }
  std::error_code ignored; // the first error is the one to tell
  std::string weights = extraWeightsPath(path);
  // Another file of that name belongs to somebody, and stays.
  if (absl::StatusOr<LoadedPlan> old = readPlan(path); old.ok()) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    for (const NamedFile &source : sourceFiles(old->plan, folder)) {
      if (source.path == weights) {
        std::filesystem::remove(weights, ignored);
      }
    }
  }
  std::filesystem::remove(path, ignored);
}

absl::StatusOr<std::optional<ExampleArrays>>
exampleOf(const std::string &model, const std::vector<std::string> &data) {
  ZG_RETURN_IF_ERROR(inputsOf(model).status());
  if (data.empty()) {
    return std::nullopt;
  }
  ZG_ASSIGN_OR_RETURN(TensorFile arrays, firstArrays(data));
  return ExampleArrays{data.front(), std::move(arrays), /*is_step=*/false,
                       data};
}

absl::StatusOr<uint64_t>
samplesIn(const std::vector<std::string> &data,
          const std::vector<frontend::InputSignature> &inputs) {
  ZG_ASSIGN_OR_RETURN(std::vector<std::string> files, shardFiles(data));
  uint64_t samples = 0;
  for (const std::string &file : files) {
    ZG_ASSIGN_OR_RETURN(TensorFile arrays, firstArrays({file}));
    samples += samplesOf(arrays, inputs);
  }
  return samples;
}

GlobalBatch globalBatch(const CompileOptions &options,
                        const std::vector<frontend::InputSignature> &inputs,
                        const std::optional<ExampleArrays> &example) {
  if (options.global_batch > 0) {
    return {options.global_batch,
            absl::StrCat("--global-batch ", options.global_batch)};
  }
  bool open =
      options.samples == 0 && fixedSamples(options, inputs).samples == 0;
  if (open && example && example->is_step) {
    return {int64_t(samplesOf(example->arrays, inputs)), example->name};
  }
  return {};
}

absl::Status bindSizes(CompileOptions &options,
                       const std::vector<frontend::InputSignature> &inputs,
                       const std::optional<ExampleArrays> &example) {
  if (example && example->is_step) {
    ZG_RETURN_IF_ERROR(checkArrays(inputs, *example));
  }
  GlobalBatch step = globalBatch(options, inputs, example);
  ZG_RETURN_IF_ERROR(divideStep(options, step, fixedSamples(options, inputs)));
  uint64_t most = kMostSamples;
  bool chosen = options.micro_batch == kAutoMicroBatch;
  if (chosen && frontend::batchDim(inputs).empty()) {
    return absl::InvalidArgumentError(
        "--micro-batch auto: no input of the model has samples in front");
  }
  if (chosen && example) {
    ZG_ASSIGN_OR_RETURN(uint64_t samples, samplesIn(example->data, inputs));
    most = samples > 0 ? samples / uint64_t(options.ranks * options.accumulate)
                       : most;
  }
  ZG_RETURN_IF_ERROR(
      chooseMicroBatch(options, step, most, [&](CompileOptions &tried) {
        return bindAll(tried, inputs, example);
      }));
  return bindAll(options, inputs, example);
}

absl::StatusOr<CompileResult>
compileModel(CompileOptions options,
             const std::optional<ExampleArrays> &example,
             const std::string &plan_path) {
  ZG_RETURN_IF_ERROR(checkOutputs(options.model, {}, plan_path));
  ZG_ASSIGN_OR_RETURN(std::vector<frontend::InputSignature> inputs,
                      inputsOf(options.model));
  ZG_RETURN_IF_ERROR(bindSizes(options, inputs, example));
  absl::StatusOr<CompileResult> compiled = compile(options);
  if (!compiled.ok()) {
    bool least = options.micro_batch == kAutoMicroBatch && options.samples == 1;
    return least ? annotate(compiled.status(), "one sample a micro-batch")
                 : compiled.status();
  }
  CompileResult result = *std::move(compiled);
  if (example && example->is_step) {
    sayOtherStep(result.plan, *example);
  }
  printFindings(result.warnings, result.notes);
  for (const std::string &remark : result.remarks) {
    say(Matter::Remark, remark);
  }
  ZG_RETURN_IF_ERROR(checkOutputs(options.model, result.plan, plan_path));
  ZG_RETURN_IF_ERROR(writeExtraWeights(result, plan_path));
  return result;
}

} // namespace zerograph
