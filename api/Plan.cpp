//===- Plan.cpp - plans of the C interface --------------------------------===//

#include "api/Plan.h"

#include "api/Arrays.h"
#include "api/Options.h"
#include "runtime/base/OutputPath.h"
#include "runtime/comm/Launch.h"
#include "runtime/plan/Inspect.h"
#include "tools/cli/AdviseModel.h"
#include "tools/cli/CompileModel.h"
#include "tools/cli/InputFile.h"

#include "absl/strings/str_join.h"

#include <filesystem>
#include <mutex>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

/// Returns the arrays of a batch of a step; nothing where there are none.
absl::StatusOr<std::optional<ExampleArrays>> exampleOf(const zg_array *arrays,
                                                       size_t count) {
  if (count == 0) {
    return std::nullopt;
  }
  ZG_ASSIGN_OR_RETURN(TensorFile named,
                      api::arraysOf("the example", arrays, count));
  return ExampleArrays{"the example", std::move(named), /*is_step=*/true};
}

/// Compiles as `train` of a model does: the plan becomes no file, but weights
/// that it needs besides the model's do, for as long as the plan lives.
absl::Status compileInto(CompiledPlan &made, CompileFlags &flags,
                         const std::optional<ExampleArrays> &example) {
  ZG_ASSIGN_OR_RETURN(std::optional<Launch> launch, detectLaunch());
  std::optional<unsigned> ranks;
  if (launch && launch->world > 0) {
    ranks = launch->world;
  }
  ZG_RETURN_IF_ERROR(flags.readConfig(made.model, ranks));
  ZG_ASSIGN_OR_RETURN(CompileOptions options, flags.resolve());
  if (ranks) {
    ZG_RETURN_IF_ERROR(flags.setRanks(options, *ranks));
  }
  options.model = made.model;
  made.settings = flags.runSettings();
  ZG_ASSIGN_OR_RETURN(CompileResult result,
                      compileModel(options, example, made.path));
  ZG_ASSIGN_OR_RETURN(std::string bytes, serializePlan(result.plan));
  ZG_ASSIGN_OR_RETURN(made.plan, parsePlan(bytes));
  return absl::OkStatus();
}

absl::StatusOr<CompiledPlan>
compile(const std::string &model, const std::vector<std::string> &options,
        const std::optional<ExampleArrays> &example) {
  CompiledPlan made;
  made.model = model;
  ZG_ASSIGN_OR_RETURN(made.folder, TemporaryFolder::make());
  made.path = made.folder->path() + "/plan";
  std::vector<std::string> all = {"--output", made.path};
  all.insert(all.end(), options.begin(), options.end());
  ZG_RETURN_IF_ERROR(api::withOptions<CompileFlags>(
      all,
      [&](CLI::App &, CompileFlags &flags) {
        return compileInto(made, flags, example);
      },
      kCompiles));
  return made;
}

/// Copies the weights that lie beside a plan, if there are any.
absl::Status copyWeights(const std::string &from, const std::string &to) {
  std::error_code error;
  if (!fs::exists(extraWeightsPath(from), error)) {
    return absl::OkStatus();
  }
  fs::copy_file(extraWeightsPath(from), extraWeightsPath(to),
                fs::copy_options::overwrite_existing, error);
  return error ? absl::UnavailableError(
                     absl::StrCat(extraWeightsPath(to), ": ", error.message()))
               : absl::OkStatus();
}

absl::Status give(CompiledPlan made, zg_plan **plan) {
  *plan =
      new zg_plan{std::make_shared<const CompiledPlan>(std::move(made)), {}};
  return absl::OkStatus();
}

absl::Status write(const CompiledPlan &made, const std::string &path) {
  ZG_RETURN_IF_ERROR(checkOutputPath(path));
  ZG_RETURN_IF_ERROR(checkNotRead("the plan", path, {made.model}));
  ZG_RETURN_IF_ERROR(copyWeights(made.path, path));
  return writePlan(made.plan.plan, path);
}

absl::StatusOr<std::string> inspect(const LoadedPlan &plan,
                                    const std::string &part) {
  if (part == "summary") {
    return inspectSummary(plan, /*exact=*/false);
  }
  if (part == "json") {
    ZG_ASSIGN_OR_RETURN(nlohmann::ordered_json facts, inspectFacts(plan));
    return facts.dump();
  }
  std::vector<std::string> names = {"summary", "json"};
  for (const InspectSection &section : inspectSections()) {
    if (part == section.name) {
      ZG_ASSIGN_OR_RETURN(nlohmann::ordered_json facts, inspectPlan(plan));
      return section.text(facts, /*exact=*/false);
    }
    names.push_back(section.name);
  }
  return absl::InvalidArgumentError(absl::StrCat("a plan has no part '", part,
                                                 "' to inspect; there are ",
                                                 absl::StrJoin(names, ", ")));
}

} // namespace

absl::StatusOr<std::shared_ptr<Processes>> api::joinProcesses(double deadline) {
  static std::mutex mutex;
  static std::shared_ptr<Processes> joined;
  static Owner owner;
  std::lock_guard<std::mutex> lock(mutex);
  if (joined) {
    ZG_RETURN_IF_ERROR(owner.check("rank"));
    return joined;
  }
  ZG_ASSIGN_OR_RETURN(std::optional<Launch> launch, detectLaunch());
  if (!launch) {
    return nullptr;
  }
  ZG_ASSIGN_OR_RETURN(joined, Processes::join(*launch, deadline));
  owner = Owner();
  std::atexit([] {
    if (owner.isHere()) {
      joined->end();
    }
  });
  return joined;
}

zg_code zg_compile(const char *model, const char *const *options, size_t count,
                   const zg_array *example, size_t arrays, zg_plan **plan) {
  return api::guard([&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::optional<ExampleArrays> given,
                        exampleOf(example, arrays));
    ZG_ASSIGN_OR_RETURN(CompiledPlan made,
                        compile(model, api::textsOf(options, count), given));
    return give(std::move(made), plan);
  });
}

zg_code zg_advise(const char *model, const char *const *options, size_t count,
                  const zg_array *example, size_t arrays, char **json) {
  return api::guard([&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::optional<ExampleArrays> given,
                        exampleOf(example, arrays));
    return api::withOptions<AdviseFlags>(
        api::textsOf(options, count),
        [&](CLI::App &, AdviseFlags &flags) -> absl::Status {
          ZG_ASSIGN_OR_RETURN(ModelAdvice found,
                              adviseModel(flags, model, given, {}));
          *json = api::copyOf(found.json(flags.wishes).dump());
          return absl::OkStatus();
        });
  });
}

zg_code zg_plan_read(const char *path, zg_plan **plan) {
  return api::guard([&]() -> absl::Status {
    ZG_RETURN_IF_ERROR(checkInputFile(path, Input::Plan));
    ZG_ASSIGN_OR_RETURN(CompiledPlan made, readPlanToTrain(path));
    return give(std::move(made), plan);
  });
}

zg_code zg_plan_write(const zg_plan *plan, const char *path) {
  return api::guard([&] { return write(*plan->made, path); });
}

zg_code zg_plan_inspect(const zg_plan *plan, const char *part, char **text) {
  return api::guard([&]() -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::string found, inspect(plan->made->plan, part));
    *text = api::copyOf(found);
    return absl::OkStatus();
  });
}

void zg_plan_free(zg_plan *plan) {
  if (plan && plan->owner.isHere()) {
    delete plan;
  }
}
