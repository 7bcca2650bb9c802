//===- ZeroDialect.td - the zero dialect: who holds what ----*- tablegen -*-===//
//
// File map: ZeroDialect.td <- ZeroAttrs.td <- ZeroOpBase.td
//           <- ZeroTransferOps.td <- ZeroOps.td
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_ZERO_DIALECT
#define ZEROGRAPH_ZERO_DIALECT

include "mlir/IR/OpBase.td"

def Zero_Dialect : Dialect {
  let name = "zero";
  let cppNamespace = "::mlir::zg::zero";
  let summary = "Parameters, gradients and optimizer state over ranks.";
  let description = [{
    The same tensors as nn, plus who holds what. One program runs on every
    rank; a tensor type here is what one rank holds.

    Parameters are grouped into **units**. A unit has one **flat buffer**
    `tensor<U>` in which every parameter begins at a multiple of 256 elements.
    The flat buffer is cut into **segments** of a multiple of N x 256 elements,
    N the ranks along the unit's `axes` of the mesh; the r-th of them owns the
    r-th of N equal parts of each segment, its **shard** `tensor<S/N>`:

        flat buffer  |  segment 0          |  segment 1          |
        owners       | r0 | r1 | r2 | r3 | r0 | r1 | r2 | r3 |

    The layout is the same for every stage. A parameter is a `zero.view` of the
    flat buffer, its gradient a part of the `zero.pack` that the reduction
    reads, so collectives copy nothing in or out.

    A tensor lies in memory of the device unless its type says another: that of
    the host, `tensor<512xf32, #zero<space host>>`, or a file of the rank,
    `nvme`. An op computes where its results lie, and takes its operands from
    there; only `offload`, `fetch`, `read` and `write` cross. `zero-offload`
    decides it. Until then, types say nothing of memory, and transfers may be
    there already.

    The module carries `zero.mesh`, `zero.stage`, `zero.accumulate` and, where
    backward computes ops again, `zero.recomputed`, their number; its
    `zero.layout` lists the units. Program arguments carry `nn.input`,
    `nn.scalar` or `zero.state`; a result carries `zero.output` or
    `zero.updates` with the `#zero.state` whose storage it replaces.
  }];
  // Their attributes stand in ops of this one.
  let dependentDialects = ["::mlir::zg::nn::NNDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // ZEROGRAPH_ZERO_DIALECT
