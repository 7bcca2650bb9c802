//===- LoadedWeights.cpp - a file of weights, by the model's names --------===//

#include "runtime/state/LoadedWeights.h"

#include "runtime/base/Text.h"
#include "runtime/state/Transpose.h"

using namespace zerograph;

namespace {

absl::Status lacks(const LoadedWeights &loaded, const StateDictNames &names,
                   const std::vector<std::string> &lacking,
                   const TensorFile &tensors) {
  std::vector<std::string> there;
  for (const auto &[name, extent] : tensors) {
    there.push_back(absl::StrCat("'", name, "'"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      loaded.path, " lacks ", lacking.size(), " of the ", names.all().size(),
      " tensors that ", loaded.map, " names: ", listOf(lacking),
      there.empty() ? ". It holds none"
                    : absl::StrCat(". It holds ", listOf(there)),
      ". Correct the names in ", loaded.map,
      ", or take out of it what is to keep the model's values"));
}

/// The tensors that the map names.
absl::Status takeNamed(LoadedWeights &loaded, const StateDictNames &names,
                       const TensorFile &tensors) {
  std::vector<std::string> lacking;
  for (const auto &[initializer, as] : names.all()) {
    auto found = tensors.find(as.name);
    if (found == tensors.end()) {
      lacking.push_back(
          absl::StrCat("'", as.name, "' (of the model '", initializer, "')"));
      continue;
    }
    absl::StatusOr<std::vector<uint64_t>> shape =
        as.shapeOf(found->second.shape);
    if (!shape.ok()) {
      return annotate(shape.status(), loaded.path);
    }
    loaded.weights.emplace(initializer,
                           FileWeight{found->second, as, *std::move(shape),
                                      /*mapped=*/true});
  }
  return lacking.empty() ? absl::OkStatus()
                         : lacks(loaded, names, lacking, tensors);
}

} // namespace

absl::Status FileWeight::read(uint64_t first, uint64_t count,
                              std::byte *to) const {
  if (as.transposed) {
    return readTransposed(extent, {{first, count, to}});
  }
  uint64_t element = elementSize(extent.type);
  return extent.file->read(extent.offset + first * element, count * element,
                           to);
}

const FileWeight *LoadedWeights::find(const std::string &initializer) const {
  auto found = weights.find(initializer);
  return found == weights.end() ? nullptr : &found->second;
}

absl::StatusOr<LoadedWeights> zerograph::loadWeights(const std::string &path,
                                                     const std::string &map,
                                                     Metadata *metadata) {
  LoadedWeights loaded;
  loaded.path = path;
  loaded.map = map;
  StateDictNames names;
  if (!map.empty()) {
    ZG_ASSIGN_OR_RETURN(names, StateDictNames::read(map));
  }
  ZG_ASSIGN_OR_RETURN(TensorFile tensors, readWeights(path, metadata));
  ZG_RETURN_IF_ERROR(takeNamed(loaded, names, tensors));
  for (const auto &[initializer, as] : names.all()) {
    tensors.erase(as.name);
  }
  for (auto &[name, extent] : tensors) {
    if (names.all().count(name) != 0) {
      loaded.hidden.push_back(name);
    } else {
      loaded.weights.emplace(name, FileWeight{extent, {name}, extent.shape});
    }
  }
  return loaded;
}
