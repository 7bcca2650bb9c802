//===- SchedInterfaces.td - what all steps have in common -----------------===//

#ifndef ZEROGRAPH_SCHED_INTERFACES
#define ZEROGRAPH_SCHED_INTERFACES

include "mlir/IR/OpBase.td"

def Sched_Step : OpInterface<"Step"> {
  let cppNamespace = "::mlir::zg::sched";
  let description = [{
    One entry of a stream: what it awaits and which bytes it touches.
    `getAccesses()[i]` is an `AccessAttr` of the slice `getSlices()[i]`.
  }];
  let methods = [
    InterfaceMethod<"The stream it runs on.",
                    "::mlir::zg::sched::Stream", "getStream">,
    InterfaceMethod<"Timepoints of steps that must be done before.",
                    "::mlir::OperandRange", "getAwaits">,
    InterfaceMethod<"The same, to be changed.",
                    "::mlir::MutableOperandRange", "getAwaitsMutable">,
    InterfaceMethod<"The slices it touches, one an access.",
                    "::mlir::OperandRange", "getSlices">,
    InterfaceMethod<"The byte ranges of the slices.",
                    "::mlir::ArrayAttr", "getAccesses">,
    InterfaceMethod<"The ONNX node or unit it comes from.",
                    "::llvm::StringRef", "getLabel">
  ];
  let extraClassDeclaration = [{
    /// Access `i`.
    AccessAttr access(unsigned i) {
      return ::mlir::cast<AccessAttr>(getAccesses()[i]);
    }
    /// The slice of access `i`.
    SliceOp slice(unsigned i);
  }];
  let verify = [{ return ::mlir::zg::sched::detail::verifyStep($_op); }];
}

def Sched_Collective : OpInterface<"Collective", [Sched_Step]> {
  let cppNamespace = "::mlir::zg::sched";
  let description = [{
    A step that all ranks do together, in the order of sequence numbers.
  }];
  let methods = [
    InterfaceMethod<"Place in the one order of a program's collectives.",
                    "uint64_t", "getSequence">,
    InterfaceMethod<"The axes of the mesh that it goes over.",
                    "::mlir::ArrayAttr", "getGroup">,
    InterfaceMethod<"Why it was inserted.", "::llvm::StringRef", "getReason">
  ];
}

#endif // ZEROGRAPH_SCHED_INTERFACES
