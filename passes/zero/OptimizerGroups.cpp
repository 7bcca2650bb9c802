//===- OptimizerGroups.cpp - which parameters have which hyperparameters --===//

#include "passes/zero/OptimizerGroups.h"

#include "options/Globs.h"

using namespace mlir;
using namespace mlir::zg::zero;

std::optional<OptimizerGroups>
OptimizerGroups::parse(StringRef texts, bool noDecay, std::string &error) {
  OptimizerGroups result;
  SmallVector<StringRef> parts;
  texts.split(parts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef text : parts) {
    zerograph::options::Group group = zerograph::options::parseGroup(text);
    if (!group.error.empty()) {
      error = (text + ": " + group.error).str();
      return std::nullopt;
    }
    result.groups.push_back({group.pattern, group.pattern, group.numbers});
  }
  if (noDecay) {
    const auto *decay = zerograph::options::findRow(
        zerograph::options::kHyperparameters, "weight_decay");
    result.groups.push_back({"no-decay", "", {{decay, 0}}});
  }
  return result;
}

int64_t OptimizerGroups::of(StringAttr parameter, RankedTensorType type) const {
  std::string name = parameter.str();
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::string &pattern = groups[i].pattern;
    if (pattern.empty() ? type.getRank() < 2
                        : zerograph::options::matches(pattern, name)) {
      return int64_t(i) + 1;
    }
  }
  return 0;
}

ArrayAttr OptimizerGroups::attributes(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> result = {OptimizerGroupAttr::get(
      context, builder.getStringAttr("default"), DictionaryAttr())};
  for (const Group &group : groups) {
    NamedAttrList numbers;
    for (const auto &[number, value] : group.numbers) {
      numbers.set(number->name, builder.getF64FloatAttr(value));
    }
    result.push_back(OptimizerGroupAttr::get(context,
                                             builder.getStringAttr(group.name),
                                             numbers.getDictionary(context)));
  }
  return builder.getArrayAttr(result);
}
