//===- Reference.h - what PyTorch computed for a model --------------------===//

#ifndef ZEROGRAPH_TESTS_E2E_REFERENCE_H
#define ZEROGRAPH_TESTS_E2E_REFERENCE_H

#include <map>
#include <string>
#include <vector>

namespace zerograph::testing {

/// A run of models/NAME/reference.json, or of tests/e2e/optimizers/NAME.json.
struct ReferenceRun {
  std::string optimizer;
  double lr = 0, momentum = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  std::vector<double> coefficients = {0.01, 10}; ///< lamb: least, greatest
  double weight_decay = 0;
  bool nesterov = false;
  std::vector<std::string> groups; ///< as `--group` takes them
  bool no_decay = false;
  /// The steps of `--schedule cosine`; no total: the rate is constant.
  int64_t total_steps = 0, warmup_steps = 0;
  double min_lr = 0;
  double max_norm = 0; ///< to which gradients are clipped; 0: they are not
  // Numbers of each step, computed in float64; norms where gradients are
  // clipped.
  std::vector<double> losses, norms;
  /// Parameter -> the norm of what all steps changed of it, in float64. Empty
  /// where it is not known.
  std::map<std::string, double> moved;
};

struct Reference {
  int steps = 0;
  int64_t global_batch = 0;
  bool has_sequence = false;       ///< whether its inputs have the dim "seq"
  double loss_without_dropout = 0; ///< the loss of step 0; 0: none is known
  std::map<std::string, ReferenceRun> runs;
  /// Parameter -> largest difference between PyTorch's own float32 and
  /// float64 runs of adamw.
  std::map<std::string, double> adamw_distance;
  /// Parameter -> elements whose gradient is zero except for rounding, which
  /// Adam amplifies.
  std::map<std::string, int64_t> vanishing;
};

Reference loadReference(const std::string &model);

/// Whole float32 arrays of a safetensors file, by name.
using Arrays = std::map<std::string, std::vector<float>>;
Arrays loadArrays(const std::string &path);

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_E2E_REFERENCE_H
