//===- Program.h - a program that passes extend ---------------------------===//

#ifndef ZEROGRAPH_PASSES_ZERO_PROGRAM_H
#define ZEROGRAPH_PASSES_ZERO_PROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "passes/ir/zero/ZeroDialect.h"
#include <utility>

namespace mlir::zg::zero {

/// An `nn.program` of one block whose arguments and results are known by what
/// they mean: `nn.input`, `nn.scalar`, `zero.state`; `zero.updates`,
/// `zero.output`. While it is in use nothing else changes the function's
/// arguments and results, and its type is that of before until `function` is
/// asked for, or the end: each type is kept for ever, so that one for every
/// argument of thousands would take gigabytes.
class Program {
public:
  explicit Program(nn::ProgramOp function);
  Program(Program &&other)
      : func(std::exchange(other.func, nullptr)),
        arguments(std::move(other.arguments)),
        newArguments(std::move(other.newArguments)),
        newResults(std::move(other.newResults)) {}
  Program &operator=(Program &&) = delete;
  ~Program() { declare(); }
  /// Fails, with a diagnostic, where `module` has no program `name`.
  static FailureOr<Program> find(ModuleOp module, StringRef name);
  /// Appends an empty program `name` to `module`.
  static Program create(ModuleOp module, StringRef name, Location location);

  nn::ProgramOp function() {
    declare();
    return func;
  }
  Location location() { return func.getLoc(); }
  Block &body() { return func.front(); }
  Operation *terminator() { return func.front().getTerminator(); }

  /// Returns the argument that has `attribute` under `attributeName`; appends
  /// it where there is none.
  Value argument(Type type, StringRef attributeName, Attribute attribute);
  Value state(StateAttr attribute, RankedTensorType type) {
    return argument(type, kStateAttr, attribute);
  }
  /// Returns the one number, of this tensor type, that the runtime writes
  /// before each run; of `group` where groups of parameters have their own.
  Value scalar(StringRef name, RankedTensorType type, int64_t group = 0);
  /// Returns null where the program reads none of that name and group 0.
  Value findScalar(StringRef name);

  /// Appends a result with `attribute` under `attributeName`.
  void result(Value value, StringRef attributeName, Attribute attribute);
  /// Has the value replace what `attribute` names when the program has run.
  void update(Value value, StateAttr attribute) {
    result(value, kUpdatesAttr, attribute);
  }

  /// Erase arguments that nothing uses, and results.
  void eraseArguments(function_ref<bool(BlockArgument)> selected);
  void eraseResults(function_ref<bool(unsigned)> selected);

private:
  void collect();
  StringAttr nameOf(Attribute attribute);
  nn::ScalarAttr scalarAttr(StringRef name, int64_t group);
  /// Gives the function the type that its body has.
  void declare();

  nn::ProgramOp func;
  /// Maps a meaning to its argument.
  DenseMap<Attribute, Value> arguments;
  /// The meanings of arguments and results that are not declared yet.
  SmallVector<DictionaryAttr> newArguments, newResults;
};

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_PROGRAM_H
