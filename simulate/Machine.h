//===- Machine.h - what a machine can do ----------------------------------===//
//
// A file of machines/, or of the user's, in YAML or JSON:
//
//   name: NVIDIA H100 SXM, 80 GB
//   device: cuda
//   card: h100
//   memory_bandwidth: {value: 3350, source: NVIDIA's datasheet}
//
// Every figure that the device needs is there, with its source; what is known
// of GPUs by their names (options/Cards.h) need not be said again.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_SIMULATE_MACHINE_H
#define ZEROGRAPH_SIMULATE_MACHINE_H

#include "options/Cards.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <vector>

namespace zerograph::simulate {

/// One device of a machine, and what it shares with the others. Bandwidths go
/// one way, and are those of one device unless they say otherwise.
struct Machine {
  std::string name;
  std::string device; ///< as plan::Target has it: "cuda" or "host"
  const options::Card *card = nullptr; ///< of CUDA

  /// Multiprocessors of a GPU, cores of a processor. All of them together have
  /// the peaks below.
  double processors = 0;
  /// GPUs of a node.
  double devices = 0;
  /// 10^12 operations a second of dense products, by the type of what is
  /// multiplied; a multiply-add is two.
  double multiply_f64 = 0, multiply_f32 = 0, multiply_tf32 = 0;
  double multiply_f16 = 0, multiply_bf16 = 0;
  /// The same of generated code, whose multiply-adds are two too.
  double vector_f32 = 0, vector_f64 = 0;
  /// The parts of these peaks that good products and good kernels reach.
  double product_share = 0, memory_share = 0;
  /// The device's memory: 10^9 bytes, and 10^9 bytes a second read and written.
  double memory = 0, memory_bandwidth = 0;
  /// Microseconds from the end of a kernel to the work of the next.
  double launch = 0;
  /// 10^9 bytes a second between two devices of a node, as the collective
  /// library reaches it, and microseconds a hop. A link that is no faster than
  /// `host_link` is that link, which the network uses too.
  double link_bandwidth = 0, link_latency = 0;
  /// 10^9 bytes a second that a device has to other nodes.
  double network_bandwidth = 0;
  /// 10^9 bytes a second between a device and its host's memory.
  double host_link = 0;
  /// The whole node has 10^9 bytes a second of the host's memory, cores, and
  /// 10^9 bytes a second of the disk.
  double host_memory_bandwidth = 0, host_processors = 0;
  double disk_read = 0, disk_write = 0;
};

/// A figure of a machine file.
struct Figure {
  absl::string_view name;
  double Machine::*value;
  absl::string_view unit; ///< for messages
  bool host;              ///< whether a machine without GPUs has it
};
const std::vector<Figure> &figures();

/// Reads a machine file's text; `name` is for messages, which name the line.
absl::StatusOr<Machine> parseMachine(absl::string_view text,
                                     absl::string_view name);

/// Reads the machine file at `where`, or the one of the project with that name:
/// "h100-sxm". An error lists these.
absl::StatusOr<Machine> findMachine(const std::string &where);

/// Changes figures: "link_bandwidth=2x,memory=+16,launch=1.5", separated by
/// commas.
absl::Status change(Machine &machine, absl::string_view changes);

} // namespace zerograph::simulate

#endif // ZEROGRAPH_SIMULATE_MACHINE_H
