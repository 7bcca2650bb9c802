//===- NNTraits.td - what an op tells of itself by being it ---------------===//
//
// Traits say what only classifies an op, once, here and on the op; passes and
// codegen ask for it through Queries.h. An op without a trait is treated with
// care: it shares no kernel, overwrites nothing, and its samples are unknown.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_NN_TRAITS
#define ZEROGRAPH_NN_TRAITS

include "mlir/IR/OpBase.td"

class NN_Trait<string name> : NativeOpTrait<name> {
  let cppNamespace = "::mlir::zg::nn::traits";
}

// A kernel may write the result over an operand: element i, in row-major
// order, is made of elements i of the operands alone.
def NN_MayOverwrite : NN_Trait<"MayOverwrite">;

// The result has the operands' shape, and each element is made of those at its
// own place alone. Kernels may compute it again where they need it, unless it is
// costly.
def NN_IsElementwise : NN_Trait<"Elementwise">;
def NN_Elementwise : TraitList<[NN_IsElementwise, NN_MayOverwrite]>;

// An elementwise op that costs so much more than a load that nothing should
// compute it again. Of a unary or binary op its function says so (NNEnums.td).
def NN_Costly : NN_Trait<"Costly">;

// Elements of the first operand, or padding, at other places: kernels read
// through it by an address formula (passes/kernels/View.h).
def NN_View : NN_Trait<"View">;
// A view that is worth repeating wherever it is read.
def NN_IsPlainView : NN_Trait<"PlainView">;
def NN_PlainView : TraitList<[NN_View, NN_IsPlainView]>;

// Its elements follow from the op alone, without operands: it needs no buffer.
def NN_Literal : NN_Trait<"Literal">;

// It computes nothing and is in no kernel: its result and its operands share
// bytes.
def NN_SharesBytes : NN_Trait<"SharesBytes">;

// A call of the device's library, in no kernel.
def NN_LibraryCall : NN_Trait<"LibraryCall">;

// It has a kernel of this form to itself, together with what makes its operands.
class NN_Alone<string form>
    : ParamNativeOpTrait<"Alone", "::mlir::zg::nn::KernelForm::" # form> {
  let cppNamespace = "::mlir::zg::nn::traits";
}
def NN_AloneInScan : NN_Alone<"scan">;
def NN_AloneInScatter : NN_Alone<"scatter">;
def NN_AloneInAttention : NN_Alone<"attention">;

// It computes with numbers and does not only move their bits, so that f16 and
// bf16 are widened for it.
def NN_Computes : NN_Trait<"Computes">;

// It multiplies and adds the products up: what is trained in 16 bits is rounded
// for it, and so is what it gives.
def NN_Product : NN_Trait<"Product">;

// Elements of the result are those of operands of its type, or zeros: it gives
// the same numbers in any type that holds them.
def NN_Moves : NN_Trait<"Moves">;

// One result element an operand element, or a row for a row: where an operand
// has the samples of a batch, so has the result.
def NN_KeepsSamples : NN_Trait<"KeepsSamples">;

#endif // ZEROGRAPH_NN_TRAITS
