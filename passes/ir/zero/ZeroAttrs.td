//===- ZeroAttrs.td - units, states, handles ------------------------------===//

#ifndef ZEROGRAPH_ZERO_ATTRS
#define ZEROGRAPH_ZERO_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "passes/ir/nn/NNAttrs.td"
include "passes/ir/zero/ZeroDialect.td"
include "passes/ir/zero/ZeroEnums.td"

class Zero_Attr<string name, string attrMnemonic> : AttrDef<Zero_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Zero_PlacementAttr : Zero_Attr<"Placement", "placement"> {
  let summary = "A parameter's place in its unit's flat buffer.";
  let description = [{
    `offset` in elements, a multiple of 256. `type` is the parameter's tensor
    type, `parameter` all the importer knows about it. Stands in `#zero.unit`.
  }];
  let parameters = (ins "::mlir::zg::nn::ParameterAttr":$parameter,
                        "::mlir::TypeAttr":$type, "int64_t":$offset);
  let assemblyFormat = "`<` $parameter `,` $type `,` `offset` `=` $offset `>`";
}

def Zero_ParamUnitAttr : Zero_Attr<"ParamUnit", "unit"> {
  let summary = "Parameters that are gathered and reduced together.";
  let description = [{
    `elements` is the padded length of the flat buffer, the sum of
    `segments`, whose entries are lengths in elements. `persistent`: kept whole
    on every rank although the stage shards parameters (at most the persistence
    threshold). `local`: the parameters are each rank's own, as running statistics
    are: every micro-batch makes new ones of the rank's samples; they are frozen
    and whole. `reason` says what made it a unit.

    ```mlir
    module attributes {zero.world = 2 : i64, zero.units = [
        #zero.unit<"fc1", f32, elements = 512, trainable = true,
                   persistent = false, reason = "module of the exporter",
                   segments = [512],
                   placements = [<<"fc1.bias", module = "fc1",
                                   trainable = true, init = zeros>,
                                  tensor<128xf32>, offset = 0>]>]} {
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        "::mlir::Type":$element_type, "int64_t":$elements,
                        "bool":$trainable, "bool":$persistent,
                        "::mlir::StringAttr":$reason,
                        ArrayRefParameter<"int64_t">:$segments,
                        ArrayRefParameter<"PlacementAttr">:$placements,
                        DefaultValuedParameter<"bool", "false">:$local);
  let assemblyFormat = [{
    `<` $name `,` $element_type `,` `elements` `=` $elements `,` `trainable` `=`
    $trainable `,` `persistent` `=` $persistent `,` `reason` `=` $reason `,`
    `segments` `=` `[` $segments `]` `,` `placements` `=` `[` $placements `]`
    (`,` `local` `=` $local^)? `>`
  }];
}

def Zero_StateAttr : Zero_Attr<"State", "state"> {
  let summary = "Names storage that lives across programs.";
  let description = [{
    On an argument as `zero.state`, on a result as `zero.updates`. Two programs
    that name the same state share its storage.

    `role` is "param", "grad" (the accumulated sum of gradients), the name of
    an optimizer state such as "exp_avg", or "loss" and "stop" (unit and segment
    -1). `segment` is -1 where the value is the unit's whole flat buffer
    `tensor<U>`; else it is this rank's shard of that segment, or the whole
    segment where `sharded` is false.

    ```mlir
    func.func @update(%w: tensor<256xf32> {zero.state =
        #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
      return
    }
    ```
  }];
  let parameters = (ins "int64_t":$unit, "int64_t":$segment,
                        "::mlir::StringAttr":$role, "bool":$sharded);
  let assemblyFormat = [{
    `<` `unit` `=` $unit `,` `segment` `=` $segment `,` $role `,`
        `sharded` `=` $sharded `>`
  }];
}

def Zero_OutputAttr : Zero_Attr<"Output", "output"> {
  let summary = "Names a result of @forward that the runtime reads.";
  let description = [{
    On a result as `zero.output`. `per_sample`: its leading dimension is
    samples.

    ```mlir
    func.func @forward(%x: tensor<4x8xf32>
        {nn.input = #nn.input<"x", per_sample = true>})
        -> (tensor<4x8xf32> {zero.output =
            #zero.output<"logits", per_sample = true>}) {
      return %x : tensor<4x8xf32>
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "bool":$per_sample);
  let assemblyFormat = "`<` $name `,` `per_sample` `=` $per_sample `>`";
}

def Zero_Handle : TypeDef<Zero_Dialect, "Handle"> {
  let mnemonic = "handle";
  let summary = "A gather under way.";
  let description = [{
    What `zero.prefetch` gives and `zero.await` takes; `result` is the type of
    the flat buffer that arrives.

    ```mlir
    func.func private @started() -> !zero.handle<tensor<4096xf32>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$result);
  let assemblyFormat = "`<` $result `>`";
}

#endif // ZEROGRAPH_ZERO_ATTRS
