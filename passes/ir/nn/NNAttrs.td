//===- NNAttrs.td - what a program's arguments are ------------------------===//

#ifndef ZEROGRAPH_NN_ATTRS
#define ZEROGRAPH_NN_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "passes/ir/nn/NNEnums.td"

class NN_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<NN_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def NN_RowStrideAttr : NN_Attr<"RowStride", "row_stride", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How far apart the rows of a tensor lie.";
  let description = [{
    The encoding of a tensor whose rows, its innermost dimension, begin `stride`
    elements apart. What lies between the end of a row and the next one is
    neither read nor written. A tensor without it is dense. `nn-pad-rows` gives it to what a library
    multiplies; only operands and results of ops have it, not what is within a
    kernel.

    ```mlir
    nn.program @example(%x: tensor<4x50257xbf16, #nn.row_stride<50304>>) {
      nn.return
    }
    ```

    **Constraints:**
    - The tensor has a dimension, of at most `stride` elements.
  }];
  let parameters = (ins "int64_t":$stride);
  let assemblyFormat = "`<` $stride `>`";
}

def NN_InputAttr : NN_Attr<"Input", "input"> {
  let summary = "An argument the user feeds each step.";
  let description = [{
    Function argument attribute `nn.input`. `per_sample` inputs have samples
    as their leading dimension and are split over ranks and micro-batches; the
    others are given whole to every rank. `min` and `max` bound the legal
    values of integer inputs that index something; those in `ignored` are legal
    besides: the program puts no index in their place.

    ```mlir
    nn.program @forward(%labels: tensor<4xi64> {nn.input =
        #nn.input<"labels", per_sample = true, min = 0, max = 9, ignored = [-100]>}) {
      nn.return
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "bool":$per_sample,
                        OptionalParameter<"::std::optional<int64_t>">:$min,
                        OptionalParameter<"::std::optional<int64_t>">:$max,
                        OptionalArrayRefParameter<"int64_t">:$ignored);
  let assemblyFormat = [{
    `<` $name `,` `per_sample` `=` $per_sample
        (`,` `min` `=` $min^ `,` `max` `=` $max
         (`,` `ignored` `=` `[` $ignored^ `]`)?)? `>`
  }];
  let genVerifyDecl = 1;
}

def NN_ScalarAttr : NN_Attr<"Scalar", "scalar"> {
  let summary = "An argument the runtime computes before each run.";
  let description = [{
    Function argument attribute `nn.scalar`. `name` is that of a kind of scalar
    of the plan (runtime/plan/plan.proto), in small letters, and `group` the
    group of parameters whose hyperparameters it is of.

    ```mlir
    nn.program @update(%rate: tensor<1xf32> {nn.scalar =
        #nn.scalar<"learning_rate", group = 1>}) {
      nn.return
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
                        DefaultValuedParameter<"int64_t", "0">:$group);
  let assemblyFormat = "`<` $name (`,` `group` `=` $group^)? `>`";
  let extraClassDeclaration = [{
    /// Returns what people read: "learning_rate", of another group than the
    /// first "learning_rate.1".
    std::string label() const {
      return getGroup() == 0 ? getName().str()
                             : getName().str() + "." + std::to_string(getGroup());
    }
  }];
}

def NN_SourceAttr : NN_Attr<"Source", "source"> {
  let summary = "Where a parameter's bytes lie.";
  let description = [{
    `length` bytes from `offset` of `file`, plain little-endian in the
    parameter's own type. `file` is relative to the folder of the model.
  }];
  let parameters = (ins "::mlir::StringAttr":$file, "int64_t":$offset,
                        "int64_t":$length);
  let assemblyFormat = "`<` $file `,` `offset` `=` $offset `,` `length` `=` "
                       "$length `>`";
}

def NN_AdapterAttr : NN_Attr<"Adapter", "adapter"> {
  let summary = "How a weight is adapted.";
  let description = [{
    Of a frozen parameter `W` that `--lora` names by `pattern`: it is computed
    with as if it were `W + alpha / rank * (B A)`. A `[rank, in]` and B
    `[out, rank]` are the parameters `W.lora_A` and `W.lora_B`, which
    `nn-add-adapters` makes. W is `[out, in]`, or `[in, out]` where it is
    `transposed`, or a reshape of that: then `B A` is transposed first.
  }];
  let parameters = (ins "::mlir::StringAttr":$pattern, "int64_t":$rank,
                        "::mlir::FloatAttr":$alpha, "bool":$transposed);
  let assemblyFormat = "`<` $pattern `,` `rank` `=` $rank `,` `alpha` `=` "
                       "$alpha `,` `transposed` `=` $transposed `>`";
}

def NN_ParameterAttr : NN_Attr<"Parameter", "parameter"> {
  let summary = "An argument that lives across steps.";
  let description = [{
    Function argument attribute `nn.parameter`: `name` is the initializer's
    name, the key of weight files; `module` the dotted path of the module that
    owns it, from which units are made (empty: unknown); `init` what
    `--init-missing` does. No source: the file holds no bytes for it. `type` is
    its own type, that of the model, where the argument has another. `adapter`:
    what is trained in its place.

    ```mlir
    nn.program @forward(%w: tensor<128xf32> {nn.parameter =
        #nn.parameter<"h.0.ln_1.weight", module = "h.0.ln_1",
                      trainable = true, init = ones,
                      source = <"model.onnx", offset = 128, length = 512>>}) {
      nn.return
    }
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::StringAttr":$module,
                        "bool":$trainable,
                        EnumParameter<NN_InitKind>:$init,
                        OptionalParameter<"SourceAttr">:$source,
                        OptionalParameter<"::mlir::Type">:$type,
                        OptionalParameter<"AdapterAttr">:$adapter);
  let assemblyFormat = [{
    `<` $name `,` `module` `=` $module `,` `trainable` `=` $trainable `,`
        `init` `=` $init (`,` `source` `=` $source^)? (`,` `type` `=` $type^)?
        (`adapter` `=` $adapter^)? `>`
  }];
}

#endif // ZEROGRAPH_NN_ATTRS
