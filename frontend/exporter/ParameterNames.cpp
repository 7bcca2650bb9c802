//===- ParameterNames.cpp - what names tell of initializers ---------------===//

#include "frontend/exporter/ParameterNames.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <algorithm>
#include <set>

bool zerograph::frontend::isBufferName(const std::string &name) {
  static const std::set<std::string> known = {
      "running_mean", "running_var",  "num_batches_tracked", "inv_freq",
      "masked_bias",  "position_ids", "token_type_ids",      "causal_mask"};
  std::string last = name.substr(name.find_last_of('.') + 1);
  return known.count(last) != 0 ||
         absl::StrContains(absl::AsciiStrToLower(last), "mask");
}

bool zerograph::frontend::isParameterName(const std::string &name) {
  std::string last = name.substr(name.find_last_of('.') + 1);
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
