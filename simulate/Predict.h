//===- Predict.h - how long a step of a plan takes on a machine -----------===//

#ifndef ZEROGRAPH_SIMULATE_PREDICT_H
#define ZEROGRAPH_SIMULATE_PREDICT_H

#include "simulate/Summary.h"
#include "simulate/Timeline.h"

#include <nlohmann/json.hpp>

namespace zerograph::simulate {

/// A program of a plan, simulated.
struct SimulatedProgram {
  int program = 0;
  uint64_t runs = 0; ///< in a training step; of a plan that runs forward, 1
  std::vector<Work> works;
  Timeline timeline;
};

/// Divides the seconds of a step, seen from the stream that computes.
struct Parts {
  /// Steps by what bounds them: products of a library, whatever does; others by
  /// arithmetic, or by moving bytes.
  double products = 0, arithmetic = 0, memory = 0;
  double launches = 0;   ///< between the end of one and the work of the next
  double contention = 0; ///< steps beside others take longer
  double waits = 0;      ///< for other streams
};

struct Part {
  const char *key;  ///< in reports for programs
  const char *text; ///< for people
  double Parts::*seconds;
};

/// All of them; their sum is the step.
inline constexpr Part kParts[] = {
    {"products", "products by a library", &Parts::products},
    {"memory", "kernels bound by memory", &Parts::memory},
    {"arithmetic", "kernels bound by arithmetic", &Parts::arithmetic},
    {"launches", "between two launches", &Parts::launches},
    {"contention", "slower beside other streams", &Parts::contention},
    {"waits", "waiting for other streams", &Parts::waits}};

/// Returns the part that takes longest.
const Part &largestOf(const Parts &parts);

/// Time in which the stream that computes waits for a step of another stream.
struct Exposed {
  std::string op, name, reason; ///< of the step that is waited for
  std::string before;           ///< names the step that waits
  double seconds = 0;
};

struct Prediction {
  std::vector<SimulatedProgram> programs;
  double seconds = 0; ///< a training step
  Summary summary;
  Parts parts;
  std::vector<Exposed> exposed; ///< longest first; equal steps are one
  std::vector<double> streams;  ///< seconds that each works
};

/// Predicts a plan that is valid, states what its kernels cost, and is for the
/// machine's kind of device and the cluster's number of ranks; an error says
/// which of these it isn't. Programs run one after the other.
absl::StatusOr<Prediction>
predict(const plan::Plan &plan, const Machine &machine, const Cluster &cluster);

/// Returns the prediction as a report for programs.
nlohmann::ordered_json predictionJson(const plan::Plan &plan,
                                      const Prediction &prediction);

/// Returns it as a report for people.
std::string predictionText(const plan::Plan &plan,
                           const Prediction &prediction);

/// Says in a few lines how fast it is, and whether it fits.
std::string verdictText(const Prediction &prediction);

/// "3,271", or three digits below 1,000.
std::string rateText(double rate);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_PREDICT_H
