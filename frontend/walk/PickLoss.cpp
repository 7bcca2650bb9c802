//===- PickLoss.cpp - which output is the loss ----------------------------===//

#include "frontend/exporter/FindLoss.h"
#include "frontend/walk/Importer.h"

#include "absl/algorithm/container.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

std::string Importer::pickLoss() const {
  if (!options.require_loss && options.loss_output.empty()) {
    return "";
  }
  std::string found = findLoss(graph, options.loss_output);
  if (found.empty()) {
    fail("no output is a float scalar, so there is no loss to minimize; the "
         "outputs are ",
         outputNames(graph),
         ": export the model with its loss, or add one: --loss cross_entropy");
  }
  return found;
}

/// The output, or the value on the way to one, that an added loss is of.
std::string Importer::pickScores() const {
  std::vector<std::string> names, floats;
  for (const auto &output : graph.proto.output()) {
    names.push_back(output.name());
    if (isFloatType(output.type().tensor_type().elem_type())) {
      floats.push_back(output.name());
    }
  }
  std::string list = listOf(names, 10);
  if (!options.loss_on.empty()) {
    auto made = graph.producer.find(options.loss_on);
    bool value = made != graph.producer.end() &&
                 absl::c_linear_search(graph.order, made->second);
    if (!value && !absl::c_linear_search(names, options.loss_on)) {
      fail("--loss-on ", options.loss_on,
           ": no output, nor a value that one is made of, has that name; the "
           "outputs are ",
           list);
    }
    return options.loss_on;
  }
  if (absl::c_linear_search(floats, "logits")) {
    return "logits";
  }
  if (floats.size() != 1) {
    fail("--loss ", options.added_loss,
         ": of which output? Give --loss-on "
         "NAME; the outputs are ",
         list);
  }
  return floats.front();
}

} // namespace zerograph::frontend
