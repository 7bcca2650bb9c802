//===- NNTraits.h - the traits of nn ops ----------------------------------===//
//
// NNTraits.td tells what each says; ask for it through Queries.h.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_NNTRAITS_H
#define ZEROGRAPH_PASSES_IR_NN_NNTRAITS_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::zg::nn {

enum class KernelForm : uint32_t;

namespace traits {

template <typename Op>
struct MayOverwrite : OpTrait::TraitBase<Op, MayOverwrite> {};
template <typename Op>
struct Elementwise : OpTrait::TraitBase<Op, Elementwise> {};
template <typename Op>
struct Costly : OpTrait::TraitBase<Op, Costly> {};
template <typename Op>
struct View : OpTrait::TraitBase<Op, View> {};
template <typename Op>
struct PlainView : OpTrait::TraitBase<Op, PlainView> {};
template <typename Op>
struct Literal : OpTrait::TraitBase<Op, Literal> {};
template <typename Op>
struct SharesBytes : OpTrait::TraitBase<Op, SharesBytes> {};
template <typename Op>
struct LibraryCall : OpTrait::TraitBase<Op, LibraryCall> {};
template <KernelForm form>
struct Alone {
  template <typename Op>
  struct Impl : OpTrait::TraitBase<Op, Impl> {};
};
template <typename Op>
struct Computes : OpTrait::TraitBase<Op, Computes> {};
template <typename Op>
struct Product : OpTrait::TraitBase<Op, Product> {};
template <typename Op>
struct Moves : OpTrait::TraitBase<Op, Moves> {};
template <typename Op>
struct KeepsSamples : OpTrait::TraitBase<Op, KeepsSamples> {};

} // namespace traits
} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NNTRAITS_H
