//===- TargetInfo.h - what passes ask of the device that runs the plan ----===//
//
// Passes plan every byte, library workspaces included, without knowing any
// library. codegen/ implements this for each device.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_ANALYSIS_TARGETINFO_H
#define ZEROGRAPH_PASSES_ANALYSIS_TARGETINFO_H

#include "mlir/IR/BuiltinTypes.h"
#include "passes/ir/nn/Composite.h"
#include "passes/ir/nn/Convolution.h"
#include "llvm/Support/LogicalResult.h"

#include <cstdint>
#include <string>

namespace mlir::zg {

/// C = op(A) op(B), or C += of those that accumulate, or plus a bias that each
/// row has, for each of `batch` row-major matrices.
struct MatmulShape {
  Type elementType;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transposeA = false, transposeB = false;
  bool accumulate = false, bias = false;
  Type resultType = {}; ///< null: elementType
};

class TargetInfo {
public:
  virtual ~TargetInfo() = default;

  /// Returns whether the device computes a composite whole, by a library or a
  /// form of kernel of its own. If not, it is rewritten to core ops. `type` is
  /// the first operand's, which is the same of the op and of its gradient op:
  /// so both are kept, or neither.
  virtual bool keeps(nn::Composite composite, RankedTensorType type) const = 0;

  /// Returns whether the library multiplies matrices of this element type,
  /// those of f16 and bf16 also to f32; if not, a kernel is generated, and the
  /// rest is not asked.
  virtual bool hasMatmul(Type elementType) const = 0;

  /// Returns whether the library copies a right factor of this element type
  /// that is stored transposed for each product, and multiplies one that is not
  /// where it lies.
  virtual bool copiesTransposed(Type elementType) const { return false; }

  /// Bytes of workspace that the product needs, a multiple of 64. Fails, with
  /// the reason in `error`, where the library refuses the product.
  virtual llvm::FailureOr<int64_t>
  matmulScratchBytes(const MatmulShape &shape, std::string &error) const = 0;

  /// Returns the bytes at a multiple of which every row of a matrix should
  /// begin, so that the library multiplies fast; 1: anywhere.
  virtual int64_t rowAlignment() const { return 1; }

  /// Returns whether the library computes convolutions of this element type,
  /// to a result of that type. If it has neither those of f16 or bf16 nor of
  /// f32, they become products of matrices before kernels are formed.
  virtual bool hasConvolution(Type elementType) const = 0;

  /// As hasMatmul or hasConvolution, whichever `product` is.
  bool hasProduct(Operation *product, Type elementType) const {
    return isa<nn::ConvolutionOp>(product) ? hasConvolution(elementType)
                                           : hasMatmul(elementType);
  }

  /// Returns whether `product` is of f16 or bf16, and the library computes it
  /// only once they are f32.
  bool widensProduct(Operation *product) const {
    Type element = getElementTypeOrSelf(product->getOperand(0));
    return nn::isHalf(element) && !hasProduct(product, element) &&
           hasProduct(product, Float32Type::get(element.getContext()));
  }

  /// As matmulScratchBytes.
  virtual llvm::FailureOr<int64_t>
  convolutionScratchBytes(const nn::Convolution &convolution,
                          std::string &error) const = 0;

  /// Returns whether threads share the rows of a kernel over columns too, and
  /// are as many as a kernel over rows needs to be fast.
  virtual bool splitsRowsOfColumns(int64_t rows, int64_t columns,
                                   int64_t elementBytes) const {
    return false;
  }

  /// Returns whether a kernel takes time to begin, so that what could be one is
  /// not to be two.
  virtual bool launchesKernels() const { return false; }

  /// Bytes that each of `ranks` ranks gives to each other at a time in a
  /// reduce_scatter: many, where an exchange takes long to begin.
  virtual int64_t exchangeBytes(int64_t ranks) const { return 1 << 20; }

  /// Returns whether an all_reduce needs room for the values of every rank:
  /// ranks do not see each other's memory.
  virtual bool stagesSums() const { return false; }

  /// Returns whether the collective library adds gradients up, in an order of
  /// its own, in place of the canonical fold.
  virtual bool reducesInAnyOrder() const { return false; }

  /// Bytes that the launches of a generated kernel, an nn.kernel or nn.matmul,
  /// leave for each other. Fails on the op where none can be generated.
  virtual llvm::FailureOr<int64_t> kernelScratchBytes(Operation *) const {
    return 0;
  }
};

/// A device that keeps no composite and whose library needs no workspace: what
/// passes assume when they are run alone, from zerograph-opt.
class PlainTargetInfo : public TargetInfo {
public:
  bool keeps(nn::Composite, RankedTensorType) const override { return false; }
  bool hasMatmul(Type elementType) const override {
    return elementType.isF32() || elementType.isBF16();
  }
  bool copiesTransposed(Type elementType) const override {
    return elementType.isF32();
  }
  bool hasConvolution(Type elementType) const override {
    return hasMatmul(elementType);
  }
  bool splitsRowsOfColumns(int64_t, int64_t, int64_t) const override {
    return true;
  }
  bool launchesKernels() const override { return true; }
  llvm::FailureOr<int64_t> matmulScratchBytes(const MatmulShape &,
                                              std::string &) const override {
    return 0;
  }
  llvm::FailureOr<int64_t>
  convolutionScratchBytes(const nn::Convolution &,
                          std::string &) const override {
    return 0;
  }
};

/// The one that passes ask by default.
inline const TargetInfo &plainTarget() {
  static const PlainTargetInfo plain;
  return plain;
}

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_ANALYSIS_TARGETINFO_H
