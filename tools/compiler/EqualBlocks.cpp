//===- EqualBlocks.cpp - models of fewer layers ---------------------------===//

#include "tools/compiler/EqualBlocks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <map>

namespace zerograph {
namespace {

namespace nn = mlir::zg::nn;

/// The least blocks of a run, and the most operations of a block.
constexpr size_t kLeastBlocks = 3, kLongestBlock = 4096;

/// Where a value is made: by an operation, or by none (-1) where it is an
/// argument of the program.
struct Place {
  int64_t operation = -1;
  unsigned result = 0;
};

/// The operations of a program, numbered.
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
    llvm::SmallVector<const void *> key = {
        operation.getName().getAsOpaquePointer()};
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
    auto [found, added] = known.try_emplace(
        std::vector<const void *>(key.begin(), key.end()), last + 1);
    last += added ? 1 : 0;
    return found->second;
  }

  std::vector<mlir::Operation *> all;
  std::vector<size_t> kinds;
  llvm::DenseMap<mlir::Operation *, size_t> places;
  std::map<std::vector<const void *>, size_t> known;
  size_t last = 0;
};

/// Returns whether an operation after the first block reads what its twin, a
/// block before it, reads: either both read what is before the run; or the same
/// place of their own block; or that of the block before their own, which for a
/// twin in the first block is before the run.
bool readsAlike(const Operations &operations, const EqualBlocks &run,
                size_t at) {
  mlir::Operation *twin = operations[at - run.length];
  auto begin = int64_t(run.begin), length = int64_t(run.length);
  auto blockOf = [&](int64_t operation) {
    return operation < begin ? -1 : (operation - begin) / length;
  };
  for (auto [value, of_twin] :
       llvm::zip(operations[at]->getOperands(), twin->getOperands())) {
    Place place = operations.placeOf(value);
    Place other = operations.placeOf(of_twin);
    int64_t block = blockOf(place.operation);
    bool alike = block <= 0 ? blockOf(other.operation) == -1
                            : place.operation - other.operation == length &&
                                  place.result == other.result;
    bool near = block == -1 || block + 1 >= blockOf(int64_t(at));
    if (!alike || !near) {
      return false;
    }
  }
  return true;
}

/// Returns the longest part of a run of equal kinds whose blocks also read
/// alike.
EqualBlocks alikeIn(const Operations &operations, const EqualBlocks &kinds) {
  EqualBlocks best, run{kinds.begin, kinds.length, 1};
  auto end = [&] {
    if (run.count >= kLeastBlocks && run.count > best.count) {
      best = run;
    }
  };
  for (size_t block = kinds.begin + kinds.length; block < kinds.end();
       block += kinds.length) {
    bool alike = true;
    for (size_t at = block; alike && at < block + kinds.length; ++at) {
      alike = readsAlike(operations, run, at);
    }
    if (!alike) {
      end();
      run = {block, kinds.length, 0};
    }
    ++run.count;
  }
  end();
  return best;
}

EqualBlocks findIn(const Operations &operations) {
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
      if (kinds.count < kLeastBlocks ||
          kinds.length * kinds.count <= best.length * best.count) {
        continue;
      }
      EqualBlocks run = alikeIn(operations, kinds);
      if (run.length * run.count > best.length * best.count) {
        best = run;
      }
    }
  }
  return best;
}

/// Returns the results of the program that are made in [begin, end); nothing
/// where another operation after `end` reads one that is made before `last`.
std::optional<llvm::BitVector> resultsOf(const Operations &operations,
                                         nn::ProgramOp program, size_t begin,
                                         size_t last, size_t end) {
  llvm::BitVector results(program.getNumResults());
  for (size_t i = begin; i < last; ++i) {
    for (mlir::OpOperand &use : operations[i]->getUses()) {
      if (use.getOwner() == program.front().getTerminator()) {
        results.set(use.getOperandNumber());
      } else if (operations.placeOf(use.getOwner()) >= end) {
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
  return findIn(Operations(program));
}

size_t keepBlocks(nn::ProgramOp program, size_t kept) {
  Operations operations(program);
  EqualBlocks run = findIn(operations);
  if (run.count <= kept) {
    return run.count;
  }
  size_t begin = run.begin + run.length * kept;
  size_t last = run.end() - run.length;
  auto results = resultsOf(operations, program, begin, last, run.end());
  if (!results) {
    return 0;
  }
  llvm::BitVector unread = readArguments(program);
  program.front().getTerminator()->eraseOperands(*results);
  program.eraseResults(*results);
  for (size_t i = last; i < run.end(); ++i) {
    operations[i]->replaceAllUsesWith(
        operations[i - last + begin - run.length]->getResults());
  }
  for (size_t i = run.end(); i-- > begin;) {
    operations[i]->erase();
  }
  eraseUnread(operations, run.begin);
  unread.reset(readArguments(program));
  program.eraseArguments(unread);
  return run.count;
}

} // namespace zerograph
