//===- Algorithms.h - what libraries chose, in a file ---------------------===//
//
// The algorithm that a library chooses depends on its version and on the GPU.
// The file of `--algorithms` says for which they were chosen, and is refused
// elsewhere; so two runs with one file compute the very same way. It is text: a
// section a library, and in it a line a kind of product or convolution, with
// the algorithm, as the library's code writes it, below.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_ALGORITHMS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_ALGORITHMS_H

#include "runtime/base/Status.h"
#include "runtime/device/cuda/CudaContext.h"

#include <map>
#include <string>
#include <vector>

namespace zerograph {

/// One library's on one GPU.
struct LibraryAlgorithms {
  std::string library; ///< "cuBLASLt 13.1.0"
  std::string gpu;     ///< "sm_90 with 132 multiprocessors"
  std::map<std::string, std::string> kinds;

  LibraryAlgorithms() = default;
  LibraryAlgorithms(std::string library, const CudaContext &context)
      : library(std::move(library)),
        gpu(absl::StrCat(context.architecture(), " with ",
                         context.multiprocessors(), " multiprocessors")) {}

  /// "cuBLASLt 13.1.0 on sm_90 with 132 multiprocessors, algorithms " and a
  /// digest: equal where all is.
  std::string choices() const;
};

class Algorithms {
public:
  /// No `path`: there is no file, and none is written. An error names the line.
  static absl::StatusOr<Algorithms> open(const std::string &path);

  /// Returns whether there is a file, which decides.
  bool decide() const { return found; }
  /// An error where it was written for something else than `here`.
  absl::Status check(const LibraryAlgorithms &here) const;
  /// Returns what it says of a library's kind.
  absl::StatusOr<std::string> of(const LibraryAlgorithms &here,
                                 const std::string &kind) const;
  /// Adds what a library has chosen.
  void add(LibraryAlgorithms chosen) { added.push_back(std::move(chosen)); }
  /// Writes what was added, if there was no file: it is there whole or not at
  /// all. An error where nothing was added, and a file was given.
  absl::Status finish() const;

private:
  absl::Status read();

  std::string path;
  bool found = false;
  std::vector<LibraryAlgorithms> known, added;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_ALGORITHMS_H
