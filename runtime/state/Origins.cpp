//===- Origins.cpp - where the parameters' first values lie ---------------===//

#include "runtime/state/Origins.h"

#include "runtime/plan/UnitParts.h"
#include "runtime/state/Adapters.h"
#include "runtime/state/Convert.h"
#include "runtime/state/SourceFiles.h"

#include "absl/algorithm/container.h"

using namespace zerograph;

namespace {

/// Returns the type in which a unit's parameters are held to their last bit.
plan::ElementType heldType(const plan::Unit &unit) {
  for (const plan::State &state : unit.states()) {
    if (roleOf(state) == roleOfValues(unit)) {
      return state.type();
    }
  }
  return unit.type();
}

std::vector<uint64_t> shapeOf(const plan::Parameter &parameter) {
  return {parameter.shape().begin(), parameter.shape().end()};
}

/// Says what to do about a weight of another shape than the one expected, both
/// as files have them.
std::string adviceOn(const LoadedWeights &loaded, const FileWeight &weight,
                     const std::vector<uint64_t> &expected) {
  std::vector<uint64_t> turned(expected.rbegin(), expected.rend());
  bool fits =
      turned.size() == 2 && turned != expected && weight.extent.shape == turned;
  if (loaded.map.empty()) {
    return fits ? "; it is the transpose if --names MAP.json says so" : "";
  }
  if (fits) {
    return absl::StrCat("; it fits if ", loaded.map,
                        weight.as.transposed ? " does not say" : " says",
                        " that it is transposed");
  }
  return absl::StrCat("; correct ", loaded.map, ", or load another file");
}

/// The error of a weight that is not of the parameter's shape and type.
absl::Status unfit(const LoadedWeights &loaded, const FileWeight &weight,
                   const plan::Parameter &parameter, plan::ElementType own) {
  absl::StatusOr<std::vector<uint64_t>> expected =
      weight.as.shapeOf(shapeOf(parameter));
  if (!expected.ok()) {
    return annotate(expected.status(), loaded.path);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      loaded.path, ": '", weight.as.name, "'",
      weight.as.name == parameter.name()
          ? ""
          : absl::StrCat(" (of the model '", parameter.name(), "')"),
      " is ", plan::ElementType_Name(weight.extent.type), " ",
      shapeText(weight.extent.shape), ", expected ",
      plan::ElementType_Name(own), " ", shapeText(*expected),
      weight.as.transposed ? absl::StrCat(", the transpose of the model's ",
                                          shapeText(shapeOf(parameter)))
                           : "",
      adviceOn(loaded, weight, *expected)));
}

/// Looks for one parameter after the other.
class Search {
public:
  Search(const plan::Plan &plan, const InitializeOptions &options,
         const LoadedWeights &loaded, Origins &origins)
      : options(options), loaded(loaded), origins(origins),
        files(plan, options.plan_folder) {}

  absl::Status find(const plan::Unit &unit, const plan::Parameter &parameter);
  const SourceFiles &sources() const { return files; }

private:
  absl::Status take(const plan::Unit &unit, const plan::Parameter &parameter,
                    const FileWeight &weight);
  absl::Status makeUp(const plan::Unit &unit, const plan::Parameter &parameter);

  const InitializeOptions &options;
  const LoadedWeights &loaded;
  Origins &origins;
  SourceFiles files;
};

absl::Status Search::find(const plan::Unit &unit,
                          const plan::Parameter &parameter) {
  if (const FileWeight *weight = loaded.find(parameter.name())) {
    return take(unit, parameter, *weight);
  }
  if (!isOfAdapter(parameter)) {
    origins.absent.push_back(parameter.name());
  }
  ZG_ASSIGN_OR_RETURN(std::optional<TensorExtent> extent,
                      files.find(parameter, ownType(unit, parameter)));
  if (extent) {
    origins.values[parameter.name()] = {
        *extent, {parameter.name()}, shapeOf(parameter)};
    return absl::OkStatus();
  }
  return makeUp(unit, parameter);
}

/// Takes a parameter from the file of weights.
absl::Status Search::take(const plan::Unit &unit,
                          const plan::Parameter &parameter,
                          const FileWeight &weight) {
  plan::ElementType own = ownType(unit, parameter), type = weight.extent.type;
  if (!canConvert(type, own) || weight.shape != shapeOf(parameter)) {
    return unfit(loaded, weight, parameter, own);
  }
  // A rounding that is asked for by --precision is no news.
  if (type != own && own == heldType(unit) && own != plan::F32) {
    origins.rounded.push_back(parameter.name());
  }
  origins.values[parameter.name()] = weight;
  return absl::OkStatus();
}

absl::Status Search::makeUp(const plan::Unit &unit,
                            const plan::Parameter &parameter) {
  if (!options.init_missing && !isOfAdapter(parameter)) {
    origins.missing.push_back(parameter.name());
    return absl::OkStatus();
  }
  plan::ElementType begun = trainedType(unit, parameter);
  if (begun != plan::F32 && begun != plan::F64) {
    return absl::UnimplementedError(
        absl::StrCat("'", parameter.name(), "' is ",
                     plan::ElementType_Name(ownType(unit, parameter)),
                     ": only floating-point parameters can be made up"));
  }
  (isOfAdapter(parameter) ? origins.adapters : origins.made)
      .push_back(parameter.name());
  return absl::OkStatus();
}

} // namespace

Origins zerograph::findOrigins(const plan::Plan &plan,
                               const InitializeOptions &options,
                               const LoadedWeights &loaded) {
  Origins origins;
  Search search(plan, options, loaded, origins);
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      absl::Status status = search.find(unit, parameter);
      // A fault of a file is reported once, not for each of its parameters.
      if (!status.ok() &&
          !absl::c_linear_search(origins.unfit, status.message())) {
        origins.unfit.emplace_back(status.message());
      }
    }
  }
  origins.absent_files = search.sources().absent();
  origins.moved_files = search.sources().moved();
  return origins;
}
