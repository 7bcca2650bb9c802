//===- ParameterNames.cpp - what names tell of initializers ---------------===//

#include "frontend/exporter/ParameterNames.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <algorithm>
#include <set>

static std::string lastPart(const std::string &name) {
  return name.substr(name.find_last_of('.') + 1);
}

bool zerograph::frontend::isBufferName(const std::string &name) {
  static const std::set<std::string> known = {
      "running_mean",      "running_var",  "num_batches_tracked", "inv_freq",
      "original_inv_freq", "cos_cached",   "sin_cached",          "masked_bias",
      "final_logits_bias", "position_ids", "token_type_ids"};
  return known.count(lastPart(name)) != 0 || isMaskName(name);
}

bool zerograph::frontend::isMaskName(const std::string &name) {
  std::string last = absl::AsciiStrToLower(lastPart(name));
  return absl::EndsWith(last, "mask") || absl::EndsWith(last, "masks");
}

bool zerograph::frontend::isParameterName(const std::string &name) {
  std::string last = lastPart(name);
  for (const char *word : {"weight", "bias"}) {
    if (absl::StartsWith(last, word) || absl::EndsWith(last, word)) {
      return true;
    }
  }
  return false;
}

bool zerograph::frontend::looksLikeConstant(const onnx::TensorProto &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims()) {
    count *= std::clamp<int64_t>(dim, 0, 2);
  }
  const std::string &name = tensor.name();
  return count <= 1 &&
         (!absl::StrContains(name, '.') || absl::StrContains(name, '/') ||
          absl::StrContains(name, ':'));
}
