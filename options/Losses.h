//===- Losses.h - the table of losses -------------------------------------===//
//
// Declares each loss that `--loss` can add, by the name of PyTorch's function.
// frontend/emit/AddedLoss.cpp has a function for each.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_OPTIONS_LOSSES_H
#define ZEROGRAPH_OPTIONS_LOSSES_H

#include "options/Names.h"

namespace zerograph::options {

struct Loss {
  std::string_view name;
  /// Labels are numbers of classes; else numbers in the shape of the scores.
  bool of_classes = false;
};

/// In the order of `--loss`'s values.
inline constexpr Loss kLosses[] = {
    {"cross_entropy", /*of_classes=*/true},
    {"nll", /*of_classes=*/true},
    {"mse"},
    {"l1"},
    {"huber"},
    {"bce_with_logits"},
};

} // namespace zerograph::options

#endif // ZEROGRAPH_OPTIONS_LOSSES_H
