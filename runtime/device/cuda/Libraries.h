//===- Libraries.h - NVIDIA's libraries, opened at run time ---------------===//
//
// Nothing of NVIDIA's is linked, so that one program starts on every machine.
// A library is looked for where the loader looks, then where PyPI's wheels put
// it in a Python that this process can see, then in a CUDA toolkit.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_H

#include "runtime/base/Status.h"

#include <mutex>
#include <string>
#include <vector>

namespace zerograph {

/// The library that is to be opened.
struct LibraryNames {
  std::string name; ///< "cuBLASLt": for messages
  /// Names of the file, the one to prefer first: "libcublasLt.so.13".
  std::vector<std::string> files;
  /// The folders of site-packages/nvidia where wheels have it: "cu13".
  std::vector<std::string> wheel_folders;
  /// The wheel, "nvidia-cublas": what `pip install` takes.
  std::string wheel;
  /// The thing that one that is too old needs; empty: a newer wheel.
  std::string needs = {};
};

struct OpenedLibrary {
  void *handle = nullptr; ///< from dlopen; never closed
  std::string path;       ///< the file
};

/// Opens the first of the files that is found, in the order of the places; of
/// one place, in the order of the names. An error says what is missing, why
/// what was found cannot be opened, and what to install.
absl::StatusOr<OpenedLibrary> openLibrary(const LibraryNames &names);

/// A library's table of functions, opened when it is first asked for, or what
/// stands for it in tests. Thread-safe, also before and after `main`: what
/// opening gave is never destroyed.
template <typename Api>
class OpenedOnce {
public:
  using Load = absl::StatusOr<const Api *> (*)();
  explicit constexpr OpenedOnce(Load load) : load(load) {}

  /// From now on `get` gives this one; null: the library again.
  void replace(const Api *api) {
    std::lock_guard<std::mutex> lock(mutex);
    replaced = api;
  }
  /// The library's is loaded at most once, whether or not that fails.
  absl::StatusOr<const Api *> get() {
    std::lock_guard<std::mutex> lock(mutex);
    if (replaced) {
      return replaced;
    }
    if (!opened) {
      opened = new absl::StatusOr<const Api *>(load());
    }
    return *opened;
  }

private:
  const Load load;
  std::mutex mutex;
  const Api *replaced = nullptr;
  const absl::StatusOr<const Api *> *opened = nullptr;
};

/// A symbol to find, and where its address goes.
struct LibrarySymbol {
  const char *symbol;
  void **place;
};

/// Finds all symbols; an error names the library's file and the first that it
/// lacks.
absl::Status findSymbols(const LibraryNames &names,
                         const OpenedLibrary &library,
                         const std::vector<LibrarySymbol> &symbols);

/// An error where the environment has a variable whose name begins with one of
/// `names`: with it the library computes something else than the plan says, or
/// chooses by what nobody recorded.
absl::Status refuseEnvironment(const std::string &library,
                               const std::vector<std::string> &names);

/// The folders that Python's packages lie in, as far as the environment tells:
/// of PYTHONPATH, VIRTUAL_ENV, CONDA_PREFIX, of each python3 on PATH, and of
/// the user; those that exist, in this order.
std::vector<std::string> pythonPackages();

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARIES_H
