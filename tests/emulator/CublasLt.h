//===- CublasLt.h - cuBLASLt on the emulated GPU --------------------------===//
//
// Products are tasks of the emulated streams. What a real library may get away
// with is an error here: descriptors that are gone, an algorithm of another
// product, operands aligned worse than was said, a workspace too small. The
// heuristic names algorithms as a real one may: first one that cannot be used
// and, where they are not ruled out, those whose sums have no fixed order.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_CUBLASLT_H
#define ZEROGRAPH_TESTS_EMULATOR_CUBLASLT_H

#include "tests/emulator/Gpu.h"
#include "tests/emulator/Product.h"

namespace zerograph::emulator {

/// While it lives, `cublasLtApi` of this process gives it. One at a time; the
/// GPU outlives it, counts its calls, makes them fail and takes its complaints.
class CublasLt {
public:
  explicit CublasLt(Gpu &gpu, size_t version = 130100);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  /// Returns what a program left: "1 handles, 2 layouts"; empty if nothing.
  std::string leftovers() const;
  /// That were multiplied.
  uint64_t products() const { return product_count; }

private:
  friend struct CublasLtCalls;
  friend struct CublasLtDescriptors;
  struct Operation {
    Product product; // its types and transposes
    cudaDataType_t scale = 0;
    uint64_t bias = 0; // its address
  };
  struct Preference {
    uint64_t workspace = 0;
    uint32_t schemes = 7;
    uint32_t alignments[4] = {256, 256, 256, 256}; // of A, B, C, D
  };
  /// The content of the 64 bytes of an algorithm.
  struct Algorithm {
    uint64_t magic, problem, version;
    uint32_t id, parts, scheme, reserved;
    uint32_t alignments[4];
    uint64_t workspace;
  };
  static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));

  /// Notes what is wrong; what a function returns then.
  cublasStatus_t refuse(const std::string &what);
  /// Gathers the problem of a handle and its descriptors; complains where one
  /// of them is not, or where they do not go together.
  bool gather(const char *call, const void *handle, const void *operation,
              const void *a, const void *b, const void *c, const void *d,
              Operation &result);
  Algorithm makeAlgorithm(const Operation &operation,
                          const Preference &preference, uint32_t id,
                          uint32_t parts, uint32_t scheme) const;
  cublasStatus_t enqueue(const Operation &operation, const Algorithm &algorithm,
                         const uint64_t (&addresses)[3], uint64_t workspace,
                         uint64_t workspace_bytes, CUstream stream);

  Gpu &gpu;
  size_t version;
  uint64_t product_count = 0;
  /// Holds, of products, ids of algorithms whose kernels have been loaded.
  std::set<std::pair<uint64_t, uint32_t>> loaded;
  std::set<const void *> handles;
  std::map<const void *, std::unique_ptr<Operation>> operations;
  std::map<const void *, std::unique_ptr<Matrices>> layouts;
  std::map<const void *, std::unique_ptr<Preference>> preferences;
};

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_CUBLASLT_H
