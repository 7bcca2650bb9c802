//===- Queries.h - what passes and code generation ask of nn ops ----------===//
//
// Answered by the traits of the op (NNTraits.td, which says what each means)
// and the facts of its function (NNEnums.td).
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_QUERIES_H
#define ZEROGRAPH_PASSES_IR_NN_QUERIES_H

#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir {
class StringAttr;
}

namespace mlir::zg::nn {

class AdapterAttr;
class ParameterAttr;
class ProgramOp;
enum class KernelForm : uint32_t;

/// Returns whether element i of the result is made of elements i of the
/// operands alone: unary, binary, compare, select, convert, random_uniform.
bool isElementwise(Operation *op);
/// Costs so much more than a load that nothing should compute it again. What is
/// not elementwise does.
bool isCostly(Operation *op);
/// Returns whether a kernel may write the op's result over what it reads.
bool mayOverwrite(Operation *op);

/// Returns how many elements a tensor has.
int64_t elementsOf(Value value);

/// reshape, broadcast, transpose, slice, pad, gather.
bool isView(Operation *op);
/// The same without gather, which is a view that is not worth repeating: it
/// counts as a member of a kernel.
bool isPlainView(Operation *op);
/// Returns whether the op gives a parameter another shape or type, so that its
/// users read the parameter: reshape, broadcast, transpose, slice, convert.
bool recastsParameter(Operation *op);
/// constant, iota.
bool isLiteral(Operation *op);
/// Returns whether all bytes of a constant are zero, as of +0.0.
bool isZeroBytes(Value value);
/// Returns whether the op names bytes of its operands, so in no kernel:
/// take_rows, join_rows.
bool sharesBytes(Operation *op);
/// Bytes at a multiple of which rows that share a tensor's bytes begin, on
/// which every access may rely.
inline constexpr int64_t kRowsAlignment = 64;
/// Returns whether the op is a call of the device's library, so in no kernel.
bool isLibraryCall(Operation *op);
/// The form of the kernel that the op has to itself; none: it shares one, or is
/// in none.
std::optional<KernelForm> ownForm(Operation *op);

/// Returns whether the op computes with numbers, so that halves are widened for
/// it.
bool computes(Operation *op);
/// Returns whether kernels may compute the op together with others.
bool sharesKernel(Operation *op);

/// matmul, convolution.
bool isProduct(Operation *op);
/// broadcast, reshape, transpose, slice, gather, concat, select.
bool moves(Operation *op);
/// Returns whether the result has the samples of a batch where the operands
/// have them.
bool keepsSamples(Operation *op);

/// The value whose bytes `value` is under another shape.
Value stripReshapes(Value value);

/// Returns whether every micro-batch makes a new value of the parameter with
/// this name.
bool hasNextValue(ProgramOp program, StringAttr parameter);

/// The same parameter, which is not trained.
ParameterAttr frozen(ParameterAttr parameter);
/// The same, beside which `adapter` is trained; null: nothing is.
ParameterAttr withAdapter(ParameterAttr parameter, AdapterAttr adapter);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_QUERIES_H
