//===- OneDnn.h - how oneDNN is called ------------------------------------===//
//
// For the files that use the library; they alone include its header.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_ONEDNN_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_ONEDNN_H

#include "runtime/base/Status.h"

#include <dnnl.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace zerograph::onednn {

/// The one engine. It lives as long as the process: threads hold streams.
dnnl::engine &engine();

/// One OpenMP thread while it lives, in this thread alone: primitives are made
/// under it.
class SingleThread {
public:
  SingleThread();
  ~SingleThread();

private:
  int before;
};

/// Rounds up to what the library wants of the beginnings and sizes of buffers.
inline uint64_t roundUp(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

/// Primitives by what they depend on, made once. Lives as long as the process.
template <typename Key, typename Primitive>
class PrimitiveCache {
public:
  /// `make()` throws dnnl::error; `describe(error)` is then the message.
  template <typename Make, typename Describe>
  absl::StatusOr<std::shared_ptr<const Primitive>>
  find(const Key &key, const Make &make, const Describe &describe) {
    std::lock_guard<std::mutex> lock(mutex);
    std::shared_ptr<const Primitive> &primitive = primitives[key];
    if (!primitive) {
      SingleThread single;
      try {
        primitive = make();
      } catch (const dnnl::error &error) {
        return absl::UnimplementedError(describe(error.what()));
      }
    }
    return primitive;
  }

private:
  std::mutex mutex;
  std::map<Key, std::shared_ptr<const Primitive>> primitives;
};

/// An error where the plan's bytes of scratch for `what` are not those that the
/// library needs here.
absl::Status checkScratch(const char *what, uint64_t needed, uint64_t planned);

/// The arguments of one call, with memory objects that keep their addresses: a
/// call allocates nothing of size.
class Arguments {
public:
  void add(int index, const dnnl::memory::desc &description, void *address);
  /// Runs on the calling thread alone; `what` is for the message.
  absl::Status execute(const dnnl::primitive &primitive,
                       const char *what) const;

private:
  std::vector<dnnl::memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
};

} // namespace zerograph::onednn

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_ONEDNN_H
