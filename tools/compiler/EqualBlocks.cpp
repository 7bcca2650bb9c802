//===- EqualBlocks.cpp - models of fewer layers ---------------------------===//

#include "tools/compiler/EqualBlocks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace zerograph {
namespace {

namespace nn = mlir::zg::nn;

/// A run has at least so many blocks, and a block at most so many operations.
constexpr size_t kLeastBlocks = 3, kLongestBlock = 4096;

/// Names the operation that makes a value, and which of its results the value
/// is. An argument of the program is made by no operation: -1.
struct Place {
  int64_t operation = -1;
  unsigned result = 0;
};

/// Numbers the operations of a program in their order.
class Operations {
public:
  explicit Operations(nn::ProgramOp program) {
    for (mlir::Operation &operation : program.front().without_terminator()) {
      places[&operation] = all.size();
      all.push_back(&operation);
      kinds.push_back(kindOf(operation));
    }
  }

  size_t size() const { return all.size(); }
  mlir::Operation *operator[](size_t i) const { return all[i]; }
  /// Returns the same number for operations that differ in operands alone.
  size_t kind(size_t i) const { return kinds[i]; }
  /// Returns the place of an operation; the program's end has the last.
  size_t placeOf(mlir::Operation *operation) const {
    auto found = places.find(operation);
    return found == places.end() ? all.size() : found->second;
  }
  Place placeOf(mlir::Value value) const {
    auto result = llvm::dyn_cast<mlir::OpResult>(value);
    return result ? Place{int64_t(placeOf(result.getOwner())),
                          result.getResultNumber()}
                  : Place{};
  }

private:
  /// Random numbers differ between equal blocks, as parameters do: `number` is
  /// left out. An operation that has a region is equal to no other.
  size_t kindOf(mlir::Operation &operation) {
    if (operation.getNumRegions() > 0) {
      return ++last;
    }
    std::vector<const void *> key = {operation.getName().getAsOpaquePointer()};
    for (mlir::NamedAttribute attribute : operation.getAttrs()) {
      if (attribute.getName() != "number") {
        key.push_back(attribute.getName().getAsOpaquePointer());
        key.push_back(attribute.getValue().getAsOpaquePointer());
      }
    }
    for (mlir::Type type : operation.getOperandTypes()) {
      key.push_back(type.getAsOpaquePointer());
    }
    key.push_back(nullptr);
    for (mlir::Type type : operation.getResultTypes()) {
      key.push_back(type.getAsOpaquePointer());
    }
    auto [found, added] = known.try_emplace(std::move(key), last + 1);
    last += added ? 1 : 0;
    return found->second;
  }

  std::vector<mlir::Operation *> all;
  std::vector<size_t> kinds;
  llvm::DenseMap<mlir::Operation *, size_t> places;
  std::map<std::vector<const void *>, size_t> known;
  size_t last = 0;
};

/// Returns what an argument is, but for its name and where its bytes are.
mlir::Attribute kindOf(nn::ProgramOp program, mlir::BlockArgument argument) {
  auto parameter = program.getArgAttrOfType<nn::ParameterAttr>(
      argument.getArgNumber(), nn::kParameterAttr);
  if (!parameter) {
    return program.getArgAttrDict(argument.getArgNumber());
  }
  auto none = mlir::StringAttr::get(program.getContext());
  return nn::ParameterAttr::get(program.getContext(), none, none,
                                parameter.getTrainable(), parameter.getInit(),
                                /*source=*/nullptr, parameter.getType(),
                                parameter.getAdapter());
}

/// Compares what the blocks of a run read. The run may change between two
/// calls.
class Readings {
public:
  Readings(const Operations &operations, nn::ProgramOp program,
           const EqualBlocks &run)
      : operations(operations), program(program), run(run) {}

  /// Returns whether the operations of a block after the first, which begins
  /// with `first`, read what their twins, a block before, do.
  bool alikeFrom(size_t first) {
    twin_of.clear();
    of_twin.clear();
    for (size_t at = first; at < first + run.length; ++at) {
      if (!alike(at)) {
        return false;
      }
    }
    return true;
  }

private:
  /// Returns whether an operation and its twin either both read what is before
  /// the run; or the same place of their own block; or that of the block before
  /// their own, which for a twin in the first block is before the run.
  bool alike(size_t at) {
    mlir::Operation *twin = operations[at - run.length];
    for (unsigned i = 0; i < twin->getNumOperands(); ++i) {
      Place place = operations.placeOf(operations[at]->getOperand(i));
      Place other = operations.placeOf(twin->getOperand(i));
      int64_t block = blockOf(place.operation);
      bool same = place.operation - other.operation == int64_t(run.length) &&
                  place.result == other.result;
      bool near = block == -1 || block + 1 >= blockOf(int64_t(at));
      bool other_before = blockOf(other.operation) == -1;
      bool alike = block == -1  ? other_before && alikeBefore(at, i)
                   : block == 0 ? other_before
                                : same;
      if (!alike || !near) {
        return false;
      }
    }
    return true;
  }

  int64_t blockOf(int64_t operation) const {
    auto begin = int64_t(run.begin);
    return operation < begin ? -1 : (operation - begin) / int64_t(run.length);
  }
  mlir::Value read(size_t at, unsigned operand) const {
    return operations[at]->getOperand(operand);
  }

  /// Returns whether an operand from before the run is the twin's wherever the
  /// twin's is that of its own twin, and else another of the same kind; and
  /// whether what is one value in one of the blocks is one in the other.
  bool alikeBefore(size_t at, unsigned operand) {
    mlir::Value value = read(at, operand);
    mlir::Value twin = read(at - run.length, operand);
    if (twin_of.try_emplace(value, twin).first->second != twin ||
        of_twin.try_emplace(twin, value).first->second != value) {
      return false;
    }
    if (at >= run.begin + 2 * run.length) {
      mlir::Value third = read(at - 2 * run.length, operand);
      if ((value == twin) != (twin == third) ||
          (value != twin && value == third)) {
        return false;
      }
    }
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    auto other = llvm::dyn_cast<mlir::BlockArgument>(twin);
    return argument && other ? value == twin || kindOf(program, argument) ==
                                                    kindOf(program, other)
                             : !argument && !other;
  }

  const Operations &operations;
  nn::ProgramOp program;
  const EqualBlocks &run;
  /// Map what a block reads from before the run to what its twin reads there,
  /// and back.
  llvm::DenseMap<mlir::Value, mlir::Value> twin_of, of_twin;
};

/// Returns the longest part of a run of equal kinds whose blocks also read
/// alike.
EqualBlocks alikeIn(const Operations &operations, nn::ProgramOp program,
                    const EqualBlocks &kinds) {
  EqualBlocks best, run{kinds.begin, kinds.length, 1};
  auto end = [&] {
    if (run.count >= kLeastBlocks && run.count > best.count) {
      best = run;
    }
  };
  Readings readings(operations, program, run);
  for (size_t block = kinds.begin + kinds.length; block < kinds.end();
       block += kinds.length) {
    if (!readings.alikeFrom(block)) {
      end();
      run = {block, kinds.length, 0};
    }
    ++run.count;
  }
  end();
  return best;
}

EqualBlocks findIn(const Operations &operations, nn::ProgramOp program) {
  EqualBlocks best;
  size_t most = std::min(operations.size() / kLeastBlocks, kLongestBlock);
  for (size_t length = 1; length <= most; ++length) {
    size_t same = 0; // operations whose kind is that of the one `length` later
    for (size_t i = 0; i + length <= operations.size(); ++i) {
      bool last = i + length == operations.size();
      if (!last && operations.kind(i) == operations.kind(i + length)) {
        ++same;
        continue;
      }
      EqualBlocks kinds{i - same, length, same / length + 1};
      same = 0;
      if (kinds.count >= kLeastBlocks && kinds.size() > best.size()) {
        EqualBlocks run = alikeIn(operations, program, kinds);
        best = run.size() > best.size() ? run : best;
      }
    }
  }
  return best;
}

/// Says which operations a program loses: those from `begin` to the end of a
/// run.
struct Removal {
  const Operations &operations;
  nn::ProgramOp program;
  EqualBlocks run;
  size_t begin;

  size_t lastBlock() const { return run.end() - run.length; }
  /// Returns the operation that takes the place of one of the last block.
  mlir::Operation *replacement(size_t at) const {
    return operations[at - lastBlock() + begin - run.length];
  }
};

/// Returns the results of the program that go: those that blocks before the
/// last make, and those of the last that its replacement makes too. Nothing
/// where something else after the run reads a block before the last.
std::optional<llvm::BitVector> removedResults(const Removal &removal) {
  nn::ProgramOp program = removal.program;
  mlir::Operation *end = program.front().getTerminator();
  llvm::BitVector results(program.getNumResults());
  for (size_t i = removal.begin; i < removal.run.end(); ++i) {
    bool last = i >= removal.lastBlock();
    for (mlir::OpOperand &use : removal.operations[i]->getUses()) {
      auto result = llvm::cast<mlir::OpResult>(use.get()).getResultNumber();
      if (use.getOwner() == end) {
        results[use.getOperandNumber()] =
            !last ||
            llvm::is_contained(end->getOperands(),
                               removal.replacement(i)->getResult(result));
      } else if (!last && removal.operations.placeOf(use.getOwner()) >=
                              removal.run.end()) {
        return std::nullopt;
      }
    }
  }
  return results;
}

/// Erases operations before `end` that nothing reads any more.
void eraseUnread(const Operations &operations, size_t end) {
  for (size_t i = end; i-- > 0;) {
    if (operations[i]->use_empty() && mlir::isPure(operations[i])) {
      operations[i]->erase();
    }
  }
}

/// Returns the arguments that something reads.
llvm::BitVector readArguments(nn::ProgramOp program) {
  llvm::BitVector read(program.getNumArguments());
  for (mlir::BlockArgument argument : program.getArguments()) {
    read[argument.getArgNumber()] = !argument.use_empty();
  }
  return read;
}

} // namespace

EqualBlocks findEqualBlocks(nn::ProgramOp program) {
  return findIn(Operations(program), program);
}

size_t keepBlocks(nn::ProgramOp program, size_t kept) {
  Operations operations(program);
  EqualBlocks run = findIn(operations, program);
  if (run.count <= kept) {
    return run.count;
  }
  Removal removal{operations, program, run, run.begin + run.length * kept};
  std::optional<llvm::BitVector> results = removedResults(removal);
  if (!results) {
    return 0;
  }
  llvm::BitVector orphaned = readArguments(program);
  program.front().getTerminator()->eraseOperands(*results);
  program.eraseResults(*results);
  for (size_t i = removal.lastBlock(); i < run.end(); ++i) {
    operations[i]->replaceAllUsesWith(removal.replacement(i)->getResults());
  }
  for (size_t i = run.end(); i-- > removal.begin;) {
    operations[i]->erase();
  }
  eraseUnread(operations, run.begin);
  orphaned.reset(readArguments(program));
  program.eraseArguments(orphaned);
  return run.count;
}

} // namespace zerograph
