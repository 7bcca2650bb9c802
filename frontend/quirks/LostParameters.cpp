//===- LostParameters.cpp - parameters that an optimizer dropped ----------===//

#include "frontend/base/Error.h"
#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

static std::vector<Finding> findLost(const TrainedModel &model) {
  std::vector<std::string> lost = readSignature(model.graph).damaged;
  if (lost.empty()) {
    return {};
  }
  auto projection = absl::c_find_if(lost, [](const std::string &name) {
    size_t dot = name.find_last_of('.');
    return absl::StartsWith(name.substr(dot + 1), "weight_hr_l");
  });
  if (projection != lost.end()) {
    fail("parameter '", *projection, "' is of an LSTM with proj_size. ",
         kProjectionAdvice);
  }
  return {{absl::StrCat(
               lost.size(),
               " parameters of the exported program are gone from the file; "
               "the exporter's optimizer took initializers for constants and "
               "merged, dropped or renamed them:\n  ",
               linesOf(lost)),
           remedy("Training would tie or lose them. Export again with "
                  "torch.onnx.export(..., optimize=False).",
                  "what was merged stays one, and what was dropped or renamed "
                  "is not trained, unless --train names it")}};
}

const Quirk kLostParameters = {.find = findLost};

} // namespace zerograph::frontend
