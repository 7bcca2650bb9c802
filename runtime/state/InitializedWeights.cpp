//===- InitializedWeights.cpp - values that no file holds -----------------===//

#include "runtime/state/InitializedWeights.h"

#include "runtime/state/Philox.h"

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cmath>

using namespace zerograph;

namespace {

template <typename Element>
void fillValues(const plan::Parameter &parameter,
                const InitializedWeights &made, uint64_t first, uint64_t count,
                std::byte *to) {
  auto *values = reinterpret_cast<Element *>(to);
  RandomArray random(made.seed, parameter.name());
  if (parameter.init() == plan::NORMAL) {
    random.normal(first, count, made.deviation, values);
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

void InitializedWeights::write(const plan::Parameter &parameter,
                               plan::ElementType type, uint64_t first,
                               uint64_t count, std::byte *to) const {
  if (type == plan::F32) {
    fillValues<float>(parameter, *this, first, count, to);
  } else {
    fillValues<double>(parameter, *this, first, count, to);
  }
}
