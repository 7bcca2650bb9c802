//===- NNBase.td - types and classes of the ops of nn ---------------------===//

#ifndef ZEROGRAPH_NN_BASE
#define ZEROGRAPH_NN_BASE

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "passes/ir/nn/NNAttrs.td"
include "passes/ir/nn/NNInterfaces.td"
include "passes/ir/nn/NNTraits.td"

def NN_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def NN_Int : AnyTypeOf<[AnySignlessInteger, UI8]>; // i1, i8, ui8, i16, i32, i64
def NN_Element : AnyTypeOf<[NN_Float, NN_Int]>;
def NN_Tensor : StaticShapeTensorOf<[NN_Element]>;
def NN_FloatTensor : StaticShapeTensorOf<[NN_Float]>;
def NN_IntTensor : StaticShapeTensorOf<[NN_Int]>;
def NN_BoolTensor : StaticShapeTensorOf<[I1]>;
def NN_IndexTensor : StaticShapeTensorOf<[I32, I64]>;

// A printed op names its results; see nameResults.
class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, !listconcat([
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>],
          traits)> {
  string resultNames = !interleave(!foreach(i, !range(!size(results)),
      "\"" # !getdagname(results, i) # "\""), ", ");
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      ::mlir::zg::nn::detail::nameResults(
          *this, }] # "{" # resultNames # "}" # [{, setName);
    }
  }];
  // An enum attribute prints a space before itself: none but that one.
  string kindFirst = "`` $kind ";
}
class NN_PureOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([Pure], traits)>;

#endif // ZEROGRAPH_NN_BASE
