//===- ProgramBuilder.h - a program whose arguments are found on the way --===//

#ifndef ZEROGRAPH_PASSES_ZERO_PROGRAMBUILDER_H
#define ZEROGRAPH_PASSES_ZERO_PROGRAMBUILDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::zg::zero {

/// Builds one `func.func`: asks for inputs, scalars and states make arguments
/// (once each), `update` and `output` make results, `finish` sets the type.
class ProgramBuilder {
public:
  /// Appends an empty function `name` to `module`.
  ProgramBuilder(ModuleOp module, StringRef name, Location location);

  /// At the end of the program.
  OpBuilder &builder() { return body; }
  Location location() { return function.getLoc(); }

  Value input(Type type, nn::InputAttr attribute, Location location);
  /// The one number, of this tensor type, that the runtime writes before each
  /// run.
  Value scalar(StringRef name, RankedTensorType type);
  /// The same as a `tensor<1xf32>`.
  Value scalar(StringRef name) {
    return scalar(name, RankedTensorType::get({1}, body.getF32Type()));
  }
  Value state(StateAttr attribute, RankedTensorType type);

  /// The value replaces what `attribute` names when the program has run.
  void update(Value value, StateAttr attribute);
  /// The runtime reads the value when the program has run.
  void output(Value value, OutputAttr attribute);

  void finish();

private:
  void result(Value value, StringRef attributeName, Attribute attribute);
  Value argument(Type type, StringRef attributeName, Attribute attribute,
                 Location location);

  func::FuncOp function;
  OpBuilder body;
  llvm::MapVector<Attribute, Value> arguments;
  SmallVector<DictionaryAttr> argumentAttributes;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> resultAttributes;
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_PROGRAMBUILDER_H
