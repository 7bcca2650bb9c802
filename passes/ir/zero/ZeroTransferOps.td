//===- ZeroTransferOps.td - between a rank's device, host and file --------===//

#ifndef ZEROGRAPH_ZERO_TRANSFER_OPS
#define ZEROGRAPH_ZERO_TRANSFER_OPS

include "passes/ir/zero/ZeroOpBase.td"

class Zero_TransferOp<string mnemonic> : Zero_Op<mnemonic> {
  // No `Pure` ops either: two fetches of a parameter are two, so that nobody
  // keeps it on the device from one to the other.
  let arguments = (ins Zero_Tensor:$operand, OptionalAttr<I64Attr>:$unit,
                       OptionalAttr<I64Attr>:$segment, I64Attr:$bytes,
                       StrAttr:$reason);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = [{
    $operand (`unit` $unit^)? (`segment` $segment^)? `bytes` $bytes
    `reason` $reason attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_OffloadOp : Zero_TransferOp<"offload"> {
  let summary = "A value of the device, for the host.";
  let description = [{
    ```mlir
    nn.program @example(%s: tensor<512xf32>) {
      %g = zero.offload %s unit 0 segment 1 bytes 2048
          reason "gradients of h.0, for the update on the host"
          : tensor<512xf32> -> tensor<512xf32, #zero<space host>>
      nn.return
    }
    ```
    The result lies in pinned memory, where the host computes with it. What has
    an operand in the memory of the host is computed by the host.

    **Lifespan**: `zero-offload` to lowering into sched.

    **Constraints:**
    - Operand and result are the same tensor, in two memories.
    - `bytes` are those of the operand.
    - `unit` exists.
  }];
}

def Zero_FetchOp : Zero_TransferOp<"fetch"> {
  let summary = "A value of the host, for the device.";
  let description = [{
    ```mlir
    nn.program @example(%p: tensor<512xf32, #zero<space host>> {zero.state =
        #zero.state<unit = 0, segment = 1, "param", sharded = true>}) {
      %w = zero.fetch %p unit 0 segment 1 bytes 2048 reason "forward of h.0"
          : tensor<512xf32, #zero<space host>> -> tensor<512xf32>
      nn.return
    }
    ```
    The operand lies in memory of the host, the result in that of the device.

    **Lifespan**: `zero-one-rank` and `zero-offload` to lowering into sched;
    `zero-prefetch` moves those of parameters.

    **Constraints:**
    - Operand and result are the same tensor, in two memories.
    - `bytes` are those of the operand.
    - `unit` exists.
  }];
}

def Zero_ReadOp : Zero_TransferOp<"read"> {
  let summary = "A state or a parameter in the rank's file, for the host.";
  let description = [{
    ```mlir
    nn.program @example(%m: tensor<512xf32, #zero<space nvme>> {zero.state =
        #zero.state<unit = 0, segment = 1, "exp_avg", sharded = true>}) {
      %r = zero.read %m unit 0 segment 1 bytes 2048 reason "update of h.0"
          : tensor<512xf32, #zero<space nvme>> -> tensor<512xf32, #zero<space host>>
      nn.return
    }
    ```
    The operand lies in the file (`space = nvme`), the result in pinned memory,
    where the host computes with it, or from where the device fetches it.

    **Lifespan**: `zero-file-states` to lowering into sched; `zero-prefetch`
    moves those of parameters with the fetch that takes them, and
    `zero-hoist-updates` others to the update that does.

    **Constraints:**
    - Operand and result are the same tensor, in two memories.
    - `bytes` are those of the operand.
    - `unit` exists.
  }];
}

def Zero_WriteOp : Zero_TransferOp<"write"> {
  let summary = "A value of the host, for the rank's file.";
  let description = [{
    ```mlir
    nn.program @example(%new: tensor<512xf32, #zero<space host>>) {
      %w = zero.write %new unit 0 segment 1 bytes 2048 reason "update of h.0"
          : tensor<512xf32, #zero<space host>> -> tensor<512xf32, #zero<space nvme>>
      nn.return
    }
    ```
    The result lies in the file, where it replaces a state. The operand is made
    in the pinned memory that this was read to for the update; where the update
    reads it not, as parameters that are rounded from a master, in pinned memory
    of its own.

    **Lifespan**: `zero-file-states` to lowering into sched;
    `zero-hoist-updates` moves it to after the update that makes its operand.

    **Constraints:**
    - Operand and result are the same tensor, in two memories.
    - `bytes` are those of the operand.
    - `unit` exists.
  }];
}

#endif // ZEROGRAPH_ZERO_TRANSFER_OPS
