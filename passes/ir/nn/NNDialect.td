//===- NNDialect.td - the nn dialect ------------------------*- tablegen -*-===//
//
// File map: NNDialect.td <- NNEnums.td <- NNAttrs.td
//             <- NNBase.td, with NNInterfaces.td and NNTraits.td
//             <- NN{Elementwise,Shape,Reduce,Composite,Kernel,Program}Ops.td <- NNOps.td
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_NN_DIALECT
#define ZEROGRAPH_NN_DIALECT

include "mlir/IR/OpBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::mlir::zg::nn";
  let summary = "Training graphs over statically shaped tensors.";
  let description = [{
    What a model computes, on one device, without any thought of ranks:

        ONNX --import--> nn --differentiate--> nn --zero--> nn + zero
             --decompose--> nn core + zero
             --form kernels--> nn.kernel, nn.matmul + zero

    Values are builtin ranked tensors with static shapes. The core is small on
    purpose: elementwise ops carry their function as an enum, nothing
    broadcasts implicitly, a reduction keeps its dimensions with size 1, and
    gather and scatter work on the leading dimension only. The importer
    brings everything else into this form.

    Arguments of a `nn.program` carry `nn.input` or `nn.parameter`, its results
    `nn.output`, or `nn.next_value` where the result is what a parameter becomes
    after every micro-batch (running statistics).
    Every op's location is a `NameLoc` with the name of the ONNX node it came
    from, by which its results are printed.

    Composite ops (softmax, layer_norm, softmax_cross_entropy) and their
    gradient ops stay whole until `nn-decompose` asks the target, which may
    compute them by a library or a kernel of its own; the others become core.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif // ZEROGRAPH_NN_DIALECT
