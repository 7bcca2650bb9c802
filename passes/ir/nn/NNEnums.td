//===- NNEnums.td - kinds of functions, reductions and kernels ------------===//

#ifndef ZEROGRAPH_NN_ENUMS
#define ZEROGRAPH_NN_ENUMS

include "llvm/TableGen/SearchableTable.td"
include "mlir/IR/EnumAttr.td"
include "passes/ir/nn/NNDialect.td"

class NN_Case<string name, int value> : I32EnumAttrCase<name, value>;
class NN_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::zg::nn";
  let genSpecializedAttr = 0;
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

// Says of a function, beside its name and number, which elements it takes;
// whether it costs so much more than a load that nothing should compute it
// again; whether it is a test, which gives i1 instead of what it takes.
// NNFunctions.h has it as tables.
class NN_FunctionCase<string name, int number, code elements, bit costly,
                      bit test> : NN_Case<name, number> {
  bits<8> kind = number;
  code takes = elements;
  bit isCostly = costly;
  bit isTest = test;
}
class NN_UnaryCase<string name, int number, code elements, bit costly = 0,
                   bit test = 0>
    : NN_FunctionCase<name, number, elements, costly, test>;
class NN_BinaryCase<string name, int number, code elements, bit costly = 0>
    : NN_FunctionCase<name, number, elements, costly, 0>;

defvar NN_Floats = [{Takes::Floats}];
defvar NN_Numbers = [{Takes::Numbers}]; // floats and integers, but not i1
defvar NN_Bools = [{Takes::Bools}];     // i1

class NN_FunctionTable<string cases> : GenericTable {
  let FilterClass = cases;
  let CppTypeName = "FunctionFacts";
  let Fields = ["kind", "takes", "isCostly", "isTest"];
  string TypeOf_takes = "code";
  let PrimaryKey = ["kind"];
}
def UnaryFunctions : NN_FunctionTable<"NN_UnaryCase"> {
  let PrimaryKeyName = "lookupUnary";
}
def BinaryFunctions : NN_FunctionTable<"NN_BinaryCase"> {
  let PrimaryKeyName = "lookupBinary";
}

// To add an elementwise function: see CONTRIBUTING.md.
def NN_UnaryKind : NN_Enum<"UnaryKind", "elementwise function of one value", [
  NN_UnaryCase<"neg", 0, NN_Numbers>,
  NN_UnaryCase<"abs", 1, NN_Numbers>,
  NN_UnaryCase<"sign", 2, NN_Numbers>,
  NN_UnaryCase<"exp", 3, NN_Floats, costly=1>,
  NN_UnaryCase<"log", 4, NN_Floats, costly=1>,
  NN_UnaryCase<"sqrt", 5, NN_Floats, costly=1>,
  NN_UnaryCase<"reciprocal", 6, NN_Floats, costly=1>,
  NN_UnaryCase<"tanh", 7, NN_Floats, costly=1>,
  NN_UnaryCase<"sigmoid", 8, NN_Floats, costly=1>,
  NN_UnaryCase<"erf", 9, NN_Floats, costly=1>,
  NN_UnaryCase<"sin", 10, NN_Floats, costly=1>,
  NN_UnaryCase<"cos", 11, NN_Floats, costly=1>,
  NN_UnaryCase<"floor", 12, NN_Floats>,
  NN_UnaryCase<"ceil", 13, NN_Floats>,
  NN_UnaryCase<"round", 14, NN_Floats>,
  NN_UnaryCase<"is_nan", 15, NN_Floats, test=1>,
  NN_UnaryCase<"is_inf", 16, NN_Floats, test=1>,
  NN_UnaryCase<"logical_not", 17, NN_Bools>,
  NN_UnaryCase<"log1p", 18, NN_Floats, costly=1>, // log(1 + x)
  NN_UnaryCase<"expm1", 19, NN_Floats, costly=1>  // exp(x) - 1
]>;
def NN_UnaryKindAttr : EnumAttr<NN_Dialect, NN_UnaryKind, "unary_kind">;

// `div` truncates on integers; `mod` has the sign of the divisor (ONNX Mod,
// fmod=0), `rem` that of the dividend. Of max and min the order of the operands
// does not matter: -0 is less than +0, and a NaN wins. `cross_entropy` is that
// of a probability p and a target t, with logarithms of at least -100:
// (t - 1) * max(log1p(-p), -100) - t * max(log(p), -100).
def NN_BinaryKind : NN_Enum<"BinaryKind", "elementwise function of two values", [
  NN_BinaryCase<"add", 0, NN_Numbers>,
  NN_BinaryCase<"sub", 1, NN_Numbers>,
  NN_BinaryCase<"mul", 2, NN_Numbers>,
  NN_BinaryCase<"div", 3, NN_Numbers, costly=1>,
  NN_BinaryCase<"max", 4, NN_Numbers>,
  NN_BinaryCase<"min", 5, NN_Numbers>,
  NN_BinaryCase<"pow", 6, NN_Floats, costly=1>,
  NN_BinaryCase<"mod", 7, NN_Numbers, costly=1>,
  NN_BinaryCase<"rem", 8, NN_Numbers, costly=1>,
  NN_BinaryCase<"logical_and", 9, NN_Bools>,
  NN_BinaryCase<"logical_or", 10, NN_Bools>,
  NN_BinaryCase<"logical_xor", 11, NN_Bools>,
  NN_BinaryCase<"cross_entropy", 12, NN_Floats, costly=1>
]>;
def NN_BinaryKindAttr : EnumAttr<NN_Dialect, NN_BinaryKind, "binary_kind">;

//===----------------------------------------------------------------------===//
// Kinds of other ops
//===----------------------------------------------------------------------===//

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

// Says which of the three tensors of a convolution is computed from the others.
def NN_ConvolutionKind : NN_Enum<"ConvolutionKind", "what a convolution gives", [
  NN_Case<"forward", 0>, NN_Case<"input", 1>, NN_Case<"weights", 2>
]>;
def NN_ConvolutionKindAttr
    : EnumAttr<NN_Dialect, NN_ConvolutionKind, "convolution_kind">;

// How a kernel runs over its elements: see `nn.kernel`.
def NN_KernelForm : NN_Enum<"KernelForm", "loops of a kernel", [
  NN_Case<"rows", 0>, NN_Case<"columns", 1>, NN_Case<"scan", 2>,
  NN_Case<"scatter", 3>, NN_Case<"attention", 4>
]>;
def NN_KernelFormAttr : EnumAttr<NN_Dialect, NN_KernelForm, "kernel_form">;

// How a parameter that no file holds begins (`--init-missing`). The two matrices
// of an adapter begin so without being asked to: A as the weight of a Linear of
// PyTorch's, B as zeros.
def NN_InitKind : NN_Enum<"InitKind", "initial value of a missing parameter", [
  NN_Case<"normal", 0>, NN_Case<"zeros", 1>, NN_Case<"ones", 2>,
  NN_Case<"lora_a", 3>, NN_Case<"lora_b", 4>
]>;
def NN_InitKindAttr : EnumAttr<NN_Dialect, NN_InitKind, "init_kind">;

#endif // ZEROGRAPH_NN_ENUMS
