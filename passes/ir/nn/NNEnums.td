//===- NNEnums.td - kinds of functions, reductions and kernels ------------===//

#ifndef ZEROGRAPH_NN_ENUMS
#define ZEROGRAPH_NN_ENUMS

include "mlir/IR/EnumAttr.td"
include "passes/ir/nn/NNDialect.td"

class NN_Case<string name, int value> : I32EnumAttrCase<name, value>;
class NN_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::zg::nn";
  let genSpecializedAttr = 0;
}

// To add an elementwise function: see CONTRIBUTING.md.
def NN_UnaryKind : NN_Enum<"UnaryKind", "elementwise function of one value", [
  NN_Case<"neg", 0>, NN_Case<"abs", 1>, NN_Case<"sign", 2>,
  NN_Case<"exp", 3>, NN_Case<"log", 4>, NN_Case<"sqrt", 5>,
  NN_Case<"reciprocal", 6>, NN_Case<"tanh", 7>, NN_Case<"sigmoid", 8>,
  NN_Case<"erf", 9>, NN_Case<"sin", 10>, NN_Case<"cos", 11>,
  NN_Case<"floor", 12>, NN_Case<"ceil", 13>, NN_Case<"round", 14>,
  NN_Case<"is_nan", 15>, NN_Case<"is_inf", 16>, NN_Case<"logical_not", 17>
]>;
def NN_UnaryKindAttr : EnumAttr<NN_Dialect, NN_UnaryKind, "unary_kind">;

// `div` truncates on integers; `mod` has the sign of the divisor (ONNX Mod,
// fmod=0), `rem` that of the dividend. Of max and min the order of the operands
// does not matter: -0 is less than +0, and a NaN wins.
def NN_BinaryKind : NN_Enum<"BinaryKind", "elementwise function of two values", [
  NN_Case<"add", 0>, NN_Case<"sub", 1>, NN_Case<"mul", 2>, NN_Case<"div", 3>,
  NN_Case<"max", 4>, NN_Case<"min", 5>, NN_Case<"pow", 6>,
  NN_Case<"mod", 7>, NN_Case<"rem", 8>,
  NN_Case<"logical_and", 9>, NN_Case<"logical_or", 10>,
  NN_Case<"logical_xor", 11>
]>;
def NN_BinaryKindAttr : EnumAttr<NN_Dialect, NN_BinaryKind, "binary_kind">;

def NN_CompareKind : NN_Enum<"CompareKind", "ordered comparison (ne: unordered)", [
  NN_Case<"eq", 0>, NN_Case<"ne", 1>, NN_Case<"lt", 2>, NN_Case<"le", 3>,
  NN_Case<"gt", 4>, NN_Case<"ge", 5>
]>;
def NN_CompareKindAttr : EnumAttr<NN_Dialect, NN_CompareKind, "compare_kind">;

def NN_ReduceKind : NN_Enum<"ReduceKind", "how a reduction combines", [
  NN_Case<"sum", 0>, NN_Case<"max", 1>, NN_Case<"min", 2>, NN_Case<"prod", 3>
]>;
def NN_ReduceKindAttr : EnumAttr<NN_Dialect, NN_ReduceKind, "reduce_kind">;

// `set`: the last row replaces what was there.
def NN_ScatterKind : NN_Enum<"ScatterKind", "how a row enters a table", [
  NN_Case<"sum", 0>, NN_Case<"max", 1>, NN_Case<"min", 2>, NN_Case<"prod", 3>,
  NN_Case<"set", 4>
]>;
def NN_ScatterKindAttr : EnumAttr<NN_Dialect, NN_ScatterKind, "scatter_kind">;

// Which of the three tensors of a convolution is computed from the others.
def NN_ConvolutionKind : NN_Enum<"ConvolutionKind", "what a convolution gives", [
  NN_Case<"forward", 0>, NN_Case<"input", 1>, NN_Case<"weights", 2>
]>;
def NN_ConvolutionKindAttr
    : EnumAttr<NN_Dialect, NN_ConvolutionKind, "convolution_kind">;

// How a kernel runs over its elements: see `nn.kernel`.
def NN_KernelForm : NN_Enum<"KernelForm", "loops of a kernel", [
  NN_Case<"rows", 0>, NN_Case<"columns", 1>, NN_Case<"scan", 2>,
  NN_Case<"scatter", 3>
]>;
def NN_KernelFormAttr : EnumAttr<NN_Dialect, NN_KernelForm, "kernel_form">;

// How a parameter that no file holds begins (`--init-missing`).
def NN_InitKind : NN_Enum<"InitKind", "initial value of a missing parameter", [
  NN_Case<"normal", 0>, NN_Case<"zeros", 1>, NN_Case<"ones", 2>
]>;
def NN_InitKindAttr : EnumAttr<NN_Dialect, NN_InitKind, "init_kind">;

#endif // ZEROGRAPH_NN_ENUMS
