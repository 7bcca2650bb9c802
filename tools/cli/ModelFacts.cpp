//===- ModelFacts.cpp - what a model says before it is compiled -----------===//

#include "tools/cli/ModelFacts.h"

#include "runtime/base/Status.h"
#include "tools/cli/InputFile.h"

namespace zerograph {
namespace {

/// Returns the length of most vectors among the parameters: scales of norms and
/// biases of what a block puts out. Nothing where no length is that of most.
std::optional<int64_t> commonLength(const std::vector<int64_t> &lengths) {
  std::map<int64_t, size_t> counts;
  for (int64_t length : lengths) {
    if (2 * ++counts[length] > lengths.size()) {
      return length;
    }
  }
  return std::nullopt;
}

} // namespace

absl::StatusOr<std::vector<frontend::InputSignature>>
inputsOf(const std::string &model) {
  ZG_RETURN_IF_ERROR(checkInputFile(model, Input::Model));
  return frontend::readInputs(model);
}

absl::Status addModel(const std::string &model, config::Known &known) {
  ZG_ASSIGN_OR_RETURN(std::vector<frontend::InputSignature> inputs,
                      inputsOf(model));
  if (frontend::batchDim(inputs).empty() && !inputs.empty() &&
      !inputs[0].dims.empty() && inputs[0].dims[0].value > 0) {
    known.model_batch = inputs[0].dims[0].value;
  }
  ZG_ASSIGN_OR_RETURN(std::vector<int64_t> lengths,
                      frontend::readVectorLengths(model));
  known.hidden_size = commonLength(lengths);
  return absl::OkStatus();
}

} // namespace zerograph
