//===- ZeroOpBase.td - what the ops of the zero dialect share -------------===//

#ifndef ZEROGRAPH_ZERO_OP_BASE
#define ZEROGRAPH_ZERO_OP_BASE

include "mlir/IR/OpAsmInterface.td"
include "passes/ir/zero/ZeroAttrs.td"

def Zero_Tensor : StaticShapeTensorOf<[AnyFloat, AnySignlessInteger]>;
def Zero_Flat : 1DTensorOf<[AnyFloat, AnySignlessInteger]>;

// A printed op names its results; see nameResults.
class Zero_Op<string mnemonic, list<Trait> traits = []>
    : Op<Zero_Dialect, mnemonic, !listconcat([
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>],
          traits)> {
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      ::mlir::zg::zero::detail::nameResults(*this, setName);
    }
  }];
}

#endif // ZEROGRAPH_ZERO_OP_BASE
