//===- Summary.h - a prediction in a few numbers --------------------------===//

#ifndef ZEROGRAPH_SIMULATE_SUMMARY_H
#define ZEROGRAPH_SIMULATE_SUMMARY_H

#include "simulate/StepWork.h"

#include <string>

namespace zerograph::simulate {

/// Says how fast a plan trains on a machine, and whether it fits.
struct Summary {
  std::string machine;
  Cluster cluster;
  double samples_per_second = 0; ///< of all ranks
  double tokens_per_second = 0;  ///< 0: samples have no tokens
  /// The type that it multiplies most, as reports name it, and the part of the
  /// peak of such products that its multiply-adds are, those that are computed
  /// again too.
  plan::ElementType most_multiplied = plan::F32;
  std::string peak_type;
  double peak_share = 0;
  bool computes_again = false;
  uint32_t ranks_per_device = 1; ///< ranks of a host share its memory
  uint64_t device_bytes = 0;     ///< that these ranks allocate on it
  uint64_t usable_bytes = 0;     ///< that there are for them

  bool fits() const { return device_bytes <= usable_bytes; }
};

/// Returns the bytes of the machine's device that so many ranks can have.
uint64_t usableBytes(const Machine &machine, uint32_t ranks);

/// Summarizes a valid plan whose training step takes so long.
Summary summarize(const plan::Plan &plan, const Machine &machine,
                  const Cluster &cluster, double seconds);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_SUMMARY_H
