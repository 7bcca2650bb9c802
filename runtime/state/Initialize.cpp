//===- Initialize.cpp - the parameters' first values ----------------------===//

#include "runtime/state/Initialize.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/Supported.h"
#include "runtime/plan/UnitParts.h"

#include "runtime/state/Adapters.h"
#include "runtime/state/Convert.h"
#include "runtime/state/NotFinite.h"
#include "runtime/state/OtherNames.h"
#include "runtime/state/Philox.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

using namespace zerograph;

namespace {

std::vector<uint64_t> shapeOf(const plan::Parameter &parameter) {
  return {parameter.shape().begin(), parameter.shape().end()};
}

/// In which a unit's parameters are held to their last bit.
plan::ElementType heldType(const plan::Unit &unit) {
  for (const plan::State &state : unit.states()) {
    if (roleOf(state) == roleOfValues(unit)) {
      return state.type();
    }
  }
  return unit.type();
}

/// The first few of many names.
std::string listOf(const std::vector<std::string> &names, size_t most = 3) {
  size_t shown = names.size() <= most + 1 ? names.size() : most;
  std::string text = absl::StrJoin(names.begin(), names.begin() + shown, ", ");
  if (shown < names.size()) {
    absl::StrAppend(&text, " and ", names.size() - shown, " more");
  }
  return text;
}

std::vector<std::string> namesOf(const TensorFile &tensors) {
  std::vector<std::string> names;
  for (const auto &[name, extent] : tensors) {
    names.push_back(name);
  }
  return names;
}

template <typename Element>
void fillValues(const plan::Parameter &parameter,
                const InitializeOptions &options, uint64_t first,
                uint64_t count, std::byte *to) {
  auto *values = reinterpret_cast<Element *>(to);
  RandomArray random(options.seed, parameter.name());
  if (parameter.init() == plan::NORMAL) {
    random.normal(first, count, *options.init_missing, values);
  } else if (parameter.init() == plan::LORA_A) {
    uint64_t fan_in = parameter.shape(parameter.shape_size() - 1);
    random.uniform(first, count, 1 / std::sqrt(double(fan_in)), values);
  } else {
    std::fill_n(values, count, Element(parameter.init() == plan::ONES ? 1 : 0));
  }
}

} // namespace

absl::StatusOr<double> zerograph::parseInitMissing(const std::string &text) {
  absl::string_view number = text;
  double deviation = 0;
  if (!absl::ConsumePrefix(&number, "normal:") ||
      !absl::SimpleAtod(number, &deviation) || !std::isfinite(deviation) ||
      deviation < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--init-missing '", text,
                     "': expected normal:STD, with STD a finite number that is "
                     "not negative, as in normal:0.02"));
  }
  return deviation;
}

/// The file that has its values; empty if there is none, or it is not there.
/// A model that moved together with its plan is found beside it.
std::string ParameterSources::sourcePath(const plan::Parameter &parameter) {
  if (!parameter.has_source()) {
    return "";
  }
  const plan::Source &source = parameter.source();
  auto there = [](const std::string &path) {
    std::error_code ignored; // what cannot be looked at fails when it is opened
    return std::filesystem::symlink_status(path, ignored).type() !=
           std::filesystem::file_type::not_found;
  };
  std::filesystem::path beside = options.plan_folder;
  std::filesystem::path folder =
      source.folder().empty() ? beside : std::filesystem::path(source.folder());
  std::string path = (folder / source.file()).string();
  if (there(path)) {
    return path;
  }
  std::string moved = (beside / source.file()).string();
  if (moved != path && there(moved)) {
    moved_files[path] = moved;
    return moved;
  }
  absent_files.insert(path);
  return "";
}

absl::StatusOr<std::shared_ptr<File>>
ParameterSources::open(const plan::Source &source, const std::string &path) {
  std::shared_ptr<File> &file = files[path];
  if (file) {
    return file;
  }
  if (source.folder().empty() || source.file() == plan->model()) {
    // The plan's own, or the model that the user named: links are theirs.
    ZG_ASSIGN_OR_RETURN(file, File::openForReading(path));
  } else {
    std::string folder = path.substr(0, path.size() - source.file().size());
    ZG_ASSIGN_OR_RETURN(file, File::openBeneath(folder, source.file()));
  }
  if (source.file_bytes() != 0 && file->bytes() != source.file_bytes()) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " has ", file->bytes(), " bytes, and had ", source.file_bytes(),
        " when the plan was made: it is another file; compile again"));
  }
  return file;
}

absl::Status ParameterSources::resolve(const plan::Unit &unit,
                                       const plan::Parameter &parameter,
                                       const TensorFile &loaded) {
  plan::ElementType own = ownType(unit, parameter);
  uint64_t bytes = parameter.elements() * elementSize(own);
  if (auto found = loaded.find(parameter.name()); found != loaded.end()) {
    const TensorExtent &extent = found->second;
    if (!canConvert(extent.type, own) || extent.shape != shapeOf(parameter)) {
      return absl::InvalidArgumentError(absl::StrCat(
          extent.file->path(), ": '", parameter.name(), "' is ",
          plan::ElementType_Name(extent.type), " ", shapeText(extent.shape),
          ", expected ", plan::ElementType_Name(own), " ",
          shapeText(shapeOf(parameter))));
    }
    // What is asked for by --precision is no news.
    if (extent.type != own && own == heldType(unit) && own != plan::F32) {
      rounded.push_back(parameter.name());
    }
    extents[parameter.name()] = extent;
    return absl::OkStatus();
  }
  if (std::string path = sourcePath(parameter); !path.empty()) {
    const plan::Source &source = parameter.source();
    TensorExtent extent;
    ZG_ASSIGN_OR_RETURN(extent.file, open(source, path));
    if (source.length() != bytes || source.offset() > extent.file->bytes() ||
        bytes > extent.file->bytes() - source.offset()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", parameter.name(), "' has ", bytes, " bytes, ",
          extent.file->path(), " of ", extent.file->bytes(), " bytes gives ",
          source.length(), " at byte ", source.offset()));
    }
    extent.type = own;
    extent.offset = source.offset();
    extent.bytes = bytes;
    extents[parameter.name()] = extent;
    return absl::OkStatus();
  }
  if (!options.init_missing && !isOfAdapter(parameter)) {
    missing.push_back(parameter.name());
    return absl::OkStatus();
  }
  plan::ElementType begun = trainedType(unit, parameter);
  if (begun != plan::F32 && begun != plan::F64) {
    return absl::UnimplementedError(absl::StrCat(
        "'", parameter.name(), "' is ", plan::ElementType_Name(own),
        ": only floating-point parameters can be made up"));
  }
  (isOfAdapter(parameter) ? adapters : made).push_back(parameter.name());
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ParameterSources>>
ParameterSources::open(const plan::Plan &plan,
                       const InitializeOptions &options) {
  std::unique_ptr<ParameterSources> sources(new ParameterSources);
  sources->plan = &plan;
  sources->options = options;
  TensorFile loaded;
  if (!options.load_weights.empty()) {
    Metadata metadata;
    ZG_ASSIGN_OR_RETURN(loaded, readWeights(options.load_weights, &metadata));
    ZG_RETURN_IF_ERROR(checkAdapters(options.load_weights, metadata, plan));
  }
  std::vector<std::string> problems;
  std::vector<std::string> absent;
  std::set<std::string> names;
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      names.insert(parameter.name());
      absl::Status status = sources->resolve(unit, parameter, loaded);
      if (!status.ok()) {
        problems.push_back(std::string(status.message()));
      }
      if (!loaded.count(parameter.name()) && !isOfAdapter(parameter)) {
        absent.push_back(parameter.name());
      }
    }
  }
  if (!sources->missing.empty()) {
    problems.push_back(absl::StrCat(
        "no file holds the values of ", sources->missing.size(),
        " parameters: ", listOf(sources->missing, 10),
        sources->absent_files.empty()
            ? ""
            : absl::StrCat(
                  " (missing: ", absl::StrJoin(sources->absent_files, ", "),
                  "; put such files beside the plan)"),
        ". Give them by --load-weights, or have them made by --init-missing "
        "normal:STD"));
  }
  bool none = absl::c_none_of(
      names, [&](const std::string &name) { return loaded.count(name) != 0; });
  if (!loaded.empty() && none) {
    problems.push_back(absl::StrCat(
        options.load_weights, " holds none of the model's ", names.size(),
        " parameters",
        names.empty() ? "" : absl::StrCat(", such as ", *names.begin()),
        "; it holds ", listOf(namesOf(loaded)),
        ". Names must be equal: those of a module that was exported within "
        "another begin with the attribute's name"));
  }
  if (std::vector<std::string> pairs = otherNames(plan, loaded);
      !none && !pairs.empty()) {
    problems.push_back(absl::StrCat(
        options.load_weights,
        " seems to have another name for a weight, as "
        "files of tied weights do: ",
        listOf(pairs),
        ". If it is the same weight, rename it in the file; if not, take it "
        "out of the file"));
  }
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems, "; "));
  }
  for (const auto &[from, to] : sources->moved_files) {
    sources->said.push_back(absl::StrCat("weights are read from ", to, ": ",
                                         from, ", named by the plan, is gone"));
  }
  std::vector<std::string> unused;
  for (const auto &[name, extent] : loaded) {
    // A BatchNorm's count of batches is in each state_dict, and in no graph.
    if (!names.count(name) && !absl::EndsWith(name, ".num_batches_tracked")) {
      unused.push_back(name);
    }
  }
  if (!unused.empty()) {
    sources->said.push_back(absl::StrCat(
        options.load_weights,
        ": not read, as the plan has no such parameter: ", listOf(unused),
        " (one that no gradient reaches keeps the model's value; --freeze NAME "
        "has it loaded)"));
  }
  if (!options.load_weights.empty() && !absent.empty()) {
    sources->said.push_back(
        absl::StrCat(options.load_weights, ": ", absent.size(),
                     " parameters are not in it and keep the values of the "
                     "model: ",
                     listOf(absent)));
  }
  if (!sources->rounded.empty()) {
    sources->said.push_back(absl::StrCat(
        options.load_weights, ": rounded to the 16 bits that the model has: ",
        listOf(sources->rounded)));
  }
  if (!loaded.empty() && !sources->adapters.empty()) {
    sources->said.push_back(absl::StrCat(
        options.load_weights,
        " has no adapters, which begin anew: ", listOf(sources->adapters)));
  }
  if (!sources->made.empty()) {
    sources->said.push_back(absl::StrCat(sources->made.size(),
                                         " parameters begin with made up "
                                         "values: ",
                                         listOf(sources->made)));
  } else if (options.init_missing || (options.seed != 0 && !isRandom(plan) &&
                                      sources->adapters.empty())) {
    sources->said.push_back(absl::StrCat(
        options.init_missing ? "--init-missing" : "--seed",
        " has no effect: files hold the values of all parameters"));
  }
  return sources;
}

plan::ElementType
ParameterSources::typeOf(const plan::Unit &unit,
                         const plan::Parameter &parameter) const {
  auto found = extents.find(parameter.name());
  return found != extents.end() ? found->second.type
                                : trainedType(unit, parameter);
}

absl::Status ParameterSources::valuesOf(const plan::Unit &unit,
                                        const plan::Parameter &parameter,
                                        uint64_t first, uint64_t count,
                                        std::byte *to) const {
  plan::ElementType type = typeOf(unit, parameter);
  auto found = extents.find(parameter.name());
  if (found != extents.end()) {
    uint64_t element = elementSize(type);
    const TensorExtent &extent = found->second;
    absl::Status status =
        extent.file->read(extent.offset + first * element, count * element, to);
    if (!status.ok()) {
      return annotate(status,
                      absl::StrCat("parameter '", parameter.name(), "'"));
    }
    // A frozen mask may well hold -inf; a trained value would spread it.
    if (auto found =
            findNotFinite(type, to, count,
                          /*infinite_allowed=*/!parameter.trainable())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "parameter '", parameter.name(), "' begins with ", found->name,
          " in element ", first + found->index, " of ", parameter.elements(),
          ", read from ", extent.file->path(),
          ": it would spread to others; give other values"));
    }
    return absl::OkStatus();
  }
  if (type == plan::F32) {
    fillValues<float>(parameter, options, first, count, to);
  } else {
    fillValues<double>(parameter, options, first, count, to);
  }
  return absl::OkStatus();
}

absl::Status ParameterSources::initialize(const RankMemory &memory) const {
  ZG_RETURN_IF_ERROR(zeroStates(*plan, memory));
  for (const plan::Unit &unit : plan->units()) {
    for (const plan::State &state : unit.states()) {
      bool parameters =
          roleOf(state) == Role::Param || roleOf(state) == Role::Master;
      if (!parameters || !plan->slices(int(state.slice())).carried()) {
        continue;
      }
      for (const HeldRange &range : heldRanges(*plan, unit, state, memory)) {
        for (const ParameterPart &part : partsOf(unit, state, range)) {
          ZG_RETURN_IF_ERROR(write(part));
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ParameterSources::write(const ParameterPart &part) const {
  plan::ElementType from = typeOf(*part.unit, *part.parameter);
  plan::ElementType to = part.state->type();
  if (!canConvert(from, to)) {
    return absl::UnimplementedError(
        absl::StrCat("parameter '", part.parameter->name(), "' is ",
                     plan::ElementType_Name(from), ", and its state \"",
                     part.state->role(), "\" is ", plan::ElementType_Name(to),
                     ": only F32, F16 and BF16 become each other"));
  }
  uint64_t element = elementSize(to);
  std::vector<std::byte> values;
  return writeBlocks(
      part.bytes, [&](uint64_t offset, std::byte *block, uint64_t bytes) {
        uint64_t first = part.first + offset / element, count = bytes / element;
        if (from == to) {
          return valuesOf(*part.unit, *part.parameter, first, count, block);
        }
        values.resize(count * elementSize(from));
        ZG_RETURN_IF_ERROR(
            valuesOf(*part.unit, *part.parameter, first, count, values.data()));
        convertElements(from, values.data(), to, block, count);
        return absl::OkStatus();
      });
}
