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

def Zero_MeshAttr : Zero_Attr<"Mesh", "mesh"> {
  let summary = "The ranks, as a mesh of named axes.";
  let description = [{
    On the module as `zero.mesh`. A rank's coordinates are row-major, the last
    axis fastest. A collective names the axes that it goes over, its `group`;
    ranks that agree on the other axes take part in it together.

    ```mlir
    module attributes {zero.mesh = #zero.mesh<["data" = 8]>} {
    }
    ```

    **Constraints:**
    - There is an axis, each with a name of its own and at least one rank.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Ranks of the whole mesh.
    int64_t ranks() const;
    /// Ranks along the axes of a group, an array of names; fails on one that
    /// the mesh has not.
    ::mlir::FailureOr<int64_t> ranks(::mlir::ArrayAttr group) const;
  }];
}

def Zero_OptimizerGroupAttr : Zero_Attr<"OptimizerGroup", "group"> {
  let summary = "Parameters that are updated by the same hyperparameters.";
  let description = [{
    An entry of `zero.layout`; a placement names its group by the number of the
    entry. `options` are at first what the group has of its own, and then all
    that `zero-updates` updates it with.

    ```mlir
    zero.layout units [] groups [
      #zero.group<"default", {lr = 0.1 : f64, optimizer = "sgd"}>
    ]
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        OptionalParameter<"::mlir::DictionaryAttr">:$options);
  let assemblyFormat = "`<` $name (`,` $options^)? `>`";
}

def Zero_UnitStateAttr : Zero_Attr<"UnitState", "unit_state"> {
  let summary = "A state that a unit keeps across programs.";
  let description = [{
    Stands in `#zero.unit`. `role` is that of `#zero.state`, `type` that of its
    elements; states share the offsets of elements, whatever their type.
    `sharded`: each rank holds its shards of it; else, all of it. `space`: the
    memory that it lies in, that of the device unless it says `pinned` or
    `host`, both of which the host has, or `nvme`, a file that the host reads
    and writes. What is pinned crosses to the device and back as it lies there.

    ```mlir
    module attributes {
        zero.keeps = #zero.unit_state<"exp_avg", f32, sharded = true,
                                      space = host>} {
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$role, "::mlir::Type":$type,
                        "bool":$sharded,
                        DefaultValuedParameter<"Space", "Space::device">:$space);
  let assemblyFormat = [{
    `<` $role `,` $type `,` `sharded` `=` $sharded
    (`,` `space` `=` $space^)? `>`
  }];
}

def Zero_PlacementAttr : Zero_Attr<"Placement", "placement"> {
  let summary = "A parameter's place in its unit's flat buffer.";
  let description = [{
    `offset` in elements, a multiple of 256. `type` is the parameter's tensor
    type, `parameter` all the importer knows about it, `group` the number of its
    optimizer's group. Stands in `#zero.unit`.
  }];
  let parameters = (ins "::mlir::zg::nn::ParameterAttr":$parameter,
                        "::mlir::TypeAttr":$type, "int64_t":$offset,
                        DefaultValuedParameter<"int64_t", "0">:$group);
  let assemblyFormat = [{
    `<` $parameter `,` $type `,` `offset` `=` $offset
    (`,` `group` `=` $group^)? `>`
  }];
}

def Zero_ParamUnitAttr : Zero_Attr<"ParamUnit", "unit"> {
  let summary = "Parameters that are gathered and reduced together.";
  let description = [{
    The type is that which parameters are computed with. `elements` is the padded length of the
    flat buffer, the sum of `segments`, whose entries are lengths in elements.
    `axes` of the mesh are those that its shards are spread over. `states` is
    what it keeps across programs; `zero-updates` adds what the optimizer keeps.
    `persistent`: kept whole
    on every rank although the stage shards parameters (at most the persistence
    threshold). `local`: the parameters are each rank's own, as running statistics
    are: every micro-batch makes new ones of the rank's samples; they are frozen
    and whole. `reason` says what made it a unit. `block`: where the parameters of
    a block are several units, as some are frozen, of another type or of another
    group of the optimizer, the name of the block. Such units are gathered and
    computed again at the same times. `place`: where its parameters are used in
    the code that the model was exported from, as far as the name does not say it.

    ```mlir
    zero.layout units [
      #zero.unit<"fc1", f32, elements = 512, trainable = true,
                 persistent = false, reason = "module of the exporter",
                 axes = ["data"], segments = [512],
                 states = [<"param", f32, sharded = true>,
                           <"grad", f32, sharded = true>],
                 placements = [<<"fc1.bias", module = "fc1",
                                 trainable = true, init = zeros>,
                                tensor<128xf32>, offset = 0>]>
    ]
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        "::mlir::Type":$element_type, "int64_t":$elements,
                        "bool":$trainable, "bool":$persistent,
                        "::mlir::StringAttr":$reason,
                        "::mlir::ArrayAttr":$axes,
                        ArrayRefParameter<"int64_t">:$segments,
                        ArrayRefParameter<"UnitStateAttr">:$states,
                        ArrayRefParameter<"PlacementAttr">:$placements,
                        DefaultValuedParameter<"bool", "false">:$local,
                        OptionalParameter<"::mlir::StringAttr">:$block,
                        OptionalParameter<"::mlir::StringAttr">:$place);
  let extraClassDeclaration = [{
    /// Returns the location of ops that are about the unit, in a program at
    /// `program`.
    ::mlir::Location location(::mlir::Location program) const;
    /// Returns the name of the block that the unit is, or is a part of.
    ::llvm::StringRef blockName() const {
      return (getBlock() ? getBlock() : getName()).getValue();
    }
  }];
  let assemblyFormat = [{
    `<` $name `,` $element_type `,` `elements` `=` $elements `,` `trainable` `=`
    $trainable `,` `persistent` `=` $persistent `,` `reason` `=` $reason `,`
    `axes` `=` $axes `,` `segments` `=` `[` $segments `]` `,`
    `states` `=` `[` $states `]` `,` `placements` `=` custom<Placements>($placements)
    (`,` `local` `=` $local^)? (`block` `=` $block^)?
    (`place` `=` $place^)? `>`
  }];
}

def Zero_StateAttr : Zero_Attr<"State", "state"> {
  let summary = "Names storage that lives across programs.";
  let description = [{
    On an argument as `zero.state`, on a result as `zero.updates`. Two programs
    that name the same state share its storage.

    `role` is "param", "grad" (the accumulated sum of gradients), "master" (what
    the update works on where parameters have 16 bits), the name of an optimizer
    state such as "exp_avg", or "loss" and "stop" (unit and segment -1); of a
    "metric" the segment is its place among them.
    `segment` is -1 where the value is the unit's whole flat buffer `tensor<U>`;
    else it is this rank's shard of that segment.

    ```mlir
    nn.program @update(%w: tensor<256xf32> {zero.state =
        #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
      nn.return
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
    nn.program @forward(%x: tensor<4x8xf32>
        {nn.input = #nn.input<"x", per_sample = true>})
        -> (tensor<4x8xf32> {zero.output =
            #zero.output<"logits", per_sample = true>}) {
      nn.return %x : tensor<4x8xf32>
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
    nn.program @example(%started: !zero.handle<tensor<4096xf32>>) {
      %flat = zero.await %started
          : <tensor<4096xf32>> -> tensor<4096xf32>
      nn.return
    }
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$result);
  let assemblyFormat = "`<` $result `>`";
}

#endif // ZEROGRAPH_ZERO_ATTRS
