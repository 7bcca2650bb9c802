//===- SpectralNorm.cpp - spectral norms that stand still -----------------===//

#include "frontend/quirks/Quirks.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

/// Returns the weights of spectral norms whose power iteration the file lacks.
/// In a file that has it, one of the two vectors is computed from the other.
static std::vector<std::string>
fixedSpectralNorms(const Graph &graph, const std::set<std::string> &trained) {
  std::vector<std::string> found;
  auto holds = [&](const std::string &name) {
    return graph.initializers.count(name) != 0;
  };
  for (const std::string &weight : trained) {
    absl::string_view stem = weight;
    if (absl::ConsumeSuffix(&stem, "_orig")) {
      if (holds(absl::StrCat(stem, "_u")) && holds(absl::StrCat(stem, "_v"))) {
        found.push_back(weight);
      }
    } else if (absl::ConsumeSuffix(&stem, ".original") &&
               absl::StrContains(stem, "parametrizations.")) {
      if (holds(absl::StrCat(stem, ".0._u")) &&
          holds(absl::StrCat(stem, ".0._v"))) {
        found.push_back(weight);
      }
    }
  }
  return found;
}

static std::vector<Finding> findFixed(const TrainedModel &model) {
  std::vector<std::string> found =
      fixedSpectralNorms(model.graph, model.trained);
  if (found.empty()) {
    return {};
  }
  return {{absl::StrCat(
               "the spectral norm of ", listOf(found, 8),
               " was exported in evaluation mode, in which nothing follows the "
               "weight's greatest singular value"),
           remedy("Remove it before you export "
                  "(torch.nn.utils.remove_spectral_norm).",
                  "its vectors are not changed; name them by --freeze, as the "
                  "older exporter does not tell them from parameters")}};
}

const Quirk kSpectralNorm = {.find = findFixed};

} // namespace zerograph::frontend
