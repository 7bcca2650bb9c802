//===- Origins.cpp - where the parameters' first values lie --------------===//

#include "runtime/state/Origins.h"

#include "runtime/plan/UnitParts.h"
#include "runtime/state/Adapters.h"
#include "runtime/state/Convert.h"
#include "runtime/state/SourceFiles.h"

using namespace zerograph;

namespace {

/// In which a unit's parameters are held to their last bit.
plan::ElementType heldType(const plan::Unit &unit) {
  for (const plan::State &state : unit.states()) {
    if (roleOf(state) == roleOfValues(unit)) {
      return state.type();
    }
  }
  return unit.type();
}

/// Looks for one parameter after the other.
class Search {
public:
  Search(const plan::Plan &plan, const InitializeOptions &options,
         const TensorFile &loaded, Origins &origins)
      : options(options), loaded(loaded), origins(origins),
        files(plan, options.plan_folder) {}

  absl::Status find(const plan::Unit &unit, const plan::Parameter &parameter);
  const SourceFiles &sources() const { return files; }

private:
  absl::Status take(const plan::Unit &unit, const plan::Parameter &parameter,
                    const TensorExtent &extent);
  absl::Status makeUp(const plan::Unit &unit, const plan::Parameter &parameter);

  const InitializeOptions &options;
  const TensorFile &loaded;
  Origins &origins;
  SourceFiles files;
};

absl::Status Search::find(const plan::Unit &unit,
                          const plan::Parameter &parameter) {
  auto found = loaded.find(parameter.name());
  if (found != loaded.end()) {
    return take(unit, parameter, found->second);
  }
  if (!isOfAdapter(parameter)) {
    origins.absent.push_back(parameter.name());
  }
  ZG_ASSIGN_OR_RETURN(std::optional<TensorExtent> extent,
                      files.find(parameter, ownType(unit, parameter)));
  if (extent) {
    origins.extents[parameter.name()] = *extent;
    return absl::OkStatus();
  }
  return makeUp(unit, parameter);
}

/// Of the file of weights.
absl::Status Search::take(const plan::Unit &unit,
                          const plan::Parameter &parameter,
                          const TensorExtent &extent) {
  plan::ElementType own = ownType(unit, parameter);
  std::vector<uint64_t> shape(parameter.shape().begin(),
                              parameter.shape().end());
  if (!canConvert(extent.type, own) || extent.shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        extent.file->path(), ": '", parameter.name(), "' is ",
        plan::ElementType_Name(extent.type), " ", shapeText(extent.shape),
        ", expected ", plan::ElementType_Name(own), " ", shapeText(shape)));
  }
  // What is asked for by --precision is no news.
  if (extent.type != own && own == heldType(unit) && own != plan::F32) {
    origins.rounded.push_back(parameter.name());
  }
  origins.extents[parameter.name()] = extent;
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
                               const TensorFile &loaded) {
  Origins origins;
  Search search(plan, options, loaded, origins);
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::Parameter &parameter : unit.parameters()) {
      if (absl::Status status = search.find(unit, parameter); !status.ok()) {
        origins.unfit.emplace_back(status.message());
      }
    }
  }
  origins.absent_files = search.sources().absent();
  origins.moved_files = search.sources().moved();
  return origins;
}
