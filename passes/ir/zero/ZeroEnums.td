//===- ZeroEnums.td - when parameters are whole, where states lie ---------===//

#ifndef ZEROGRAPH_ZERO_ENUMS
#define ZEROGRAPH_ZERO_ENUMS

include "mlir/IR/EnumAttr.td"
include "passes/ir/zero/ZeroDialect.td"

def Zero_Stay
    : I32EnumAttr<"Stay", "which part of a step a gathered unit is whole for",
                  [I32EnumAttrCase<"forward", 0>,
                   I32EnumAttrCase<"backward", 1>,
                   // From its use in forward to that in backward.
                   I32EnumAttrCase<"kept", 2>]> {
  let cppNamespace = "::mlir::zg::zero";
  let genSpecializedAttr = 0;
}
def Zero_StayAttr : EnumAttr<Zero_Dialect, Zero_Stay, "stay">;

def Zero_Space
    : I32EnumAttr<"Space", "kind of memory",
                  [I32EnumAttrCase<"device", 0>,
                   // Memory of the host; the device copies from it and to it.
                   I32EnumAttrCase<"pinned", 1>,
                   I32EnumAttrCase<"host", 2>,
                   // A file of the rank, which the host reads and writes.
                   I32EnumAttrCase<"nvme", 3>]> {
  let cppNamespace = "::mlir::zg::zero";
  let genSpecializedAttr = 0;
}
def Zero_SpaceAttr : EnumAttr<Zero_Dialect, Zero_Space, "space">;

#endif // ZEROGRAPH_ZERO_ENUMS
