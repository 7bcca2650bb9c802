//===- AddAdapters.cpp - low-rank adapters beside weights -----------------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_ADDADAPTERS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

constexpr size_t kMostNamed = 4;

/// The products that a weight is the right factor of.
struct Products {
  /// The product, and whether it takes the stored matrix transposed.
  SmallVector<std::pair<MatmulOp, bool>> all;
  SmallVector<int64_t> matrix; // the stored one
  Operation *other = nullptr;  // what reads the weight in another way

  explicit Products(Value weight) {
    follow(weight, /*swapped=*/false);
    llvm::sort(all, [](const auto &a, const auto &b) {
      return a.first->isBeforeInBlock(b.first);
    });
  }

  bool fit() const { return !other && !all.empty(); }
  int64_t in() const { return matrix[all.front().second ? 1 : 0]; }
  int64_t out() const { return matrix[all.front().second ? 0 : 1]; }

private:
  void follow(Value value, bool swapped) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      auto transpose = dyn_cast<TransposeOp>(user);
      auto product = dyn_cast<MatmulOp>(user);
      if (isa<ReshapeOp>(user) && !swapped) {
        follow(user->getResult(0), swapped);
      } else if (transpose && shapeOf(value).size() == 2) {
        bool swaps = transpose.getPermutation().front() == 1;
        follow(transpose, swapped != swaps);
      } else if (product && use.getOperandNumber() == 1 &&
                 keeps(shapeOf(value), swapped)) {
        all.push_back({product, swapped != product.getTransposeB()});
      } else if (!other) {
        other = user;
      }
    }
  }

  /// Returns whether this is the matrix that other products take.
  bool keeps(ArrayRef<int64_t> shape, bool swapped) {
    SmallVector<int64_t> stored(shape);
    if (swapped) {
      std::reverse(stored.begin(), stored.end());
    }
    if (matrix.empty() && stored.size() == 2) {
      matrix = stored;
    }
    return matrix == stored;
  }
};

class Adapting {
public:
  /// Adapts what fits.
  explicit Adapting(ProgramOp program)
      : program(program), builder(program.getContext()) {}

  /// Adapts exactly what was adapted in `training`, a program of the same
  /// parameters. What fits here may not have fitted there, as a weight that
  /// only training applies dropout to.
  Adapting(ProgramOp program, const Adapting &training)
      : program(program), training(&training), builder(program.getContext()) {}

  void run() {
    // Added parameters have no adapters.
    for (unsigned i = 0, count = program.getNumArguments(); i < count; ++i) {
      auto parameter =
          program.getArgAttrOfType<ParameterAttr>(i, kParameterAttr);
      if (parameter && parameter.getAdapter()) {
        adapt(program.getArgument(i), parameter);
      }
    }
  }

  /// Says which weights have no adapter; fails where a pattern has none at all.
  LogicalResult report();

  /// Fails where a weight was adapted in training, and can't be here.
  LogicalResult reportDiffering();

private:
  /// The outcome for the weights of a pattern.
  struct Outcome {
    int64_t rank = 0;
    unsigned adapted = 0;
    SmallVector<std::string> left, oversized;
  };

  void adapt(BlockArgument weight, ParameterAttr parameter) {
    AdapterAttr adapter = parameter.getAdapter();
    Outcome &outcome = outcomes[adapter.getPattern()];
    outcome.rank = adapter.getRank();
    std::string name = parameter.getName().str();
    Products products(weight);
    bool unwanted = training && !training->adapted.contains(name);
    if (unwanted || !products.fit() || isHalf(elementOf(weight))) {
      // A weight that evaluation doesn't read can't change its loss.
      if (!training || (!unwanted && products.other)) {
        outcome.left.push_back(why(name, weight, products));
      }
      setAdapter(weight, parameter, AdapterAttr());
      return;
    }
    ++outcome.adapted;
    adapted.insert(name);
    if (adapter.getRank() > std::min(products.in(), products.out())) {
      outcome.oversized.push_back(name);
    }
    bool transposed = !products.all.front().second;
    setAdapter(weight, parameter,
               AdapterAttr::get(adapter.getContext(), adapter.getPattern(),
                                adapter.getRank(), adapter.getAlpha(),
                                transposed));
    Value a = addParameter(parameter, kAdapterA, InitKind::lora_a, weight,
                           {adapter.getRank(), products.in()});
    Value b = addParameter(parameter, kAdapterB, InitKind::lora_b, weight,
                           {products.out(), adapter.getRank()});
    double scale =
        adapter.getAlpha().getValueAsDouble() / double(adapter.getRank());
    for (auto [product, swapped] : products.all) {
      if (swapped == transposed) { // the other way round than the first
        addBeside(product, b, a, /*transpose=*/false, scale);
      } else {
        addBeside(product, a, b, /*transpose=*/true, scale);
      }
    }
  }

  /// Adds x `first` `second` to the product of x.
  void addBeside(MatmulOp product, Value first, Value second, bool transpose,
                 double scale) {
    builder.setInsertionPointAfter(product);
    auto name = builder.getStringAttr(nameOf(product.getLoc()) + ".lora");
    NNBuilder b(builder, NameLoc::get(name, product.getLoc()));
    auto type = cast<RankedTensorType>(product.getType());
    int64_t rank = shapeOf(first)[transpose ? 0 : 1];
    Value low = b.matmul(product.getLhs(), first, product.getTransposeA(),
                         transpose, type.clone({type.getDimSize(0), rank}));
    Value high = b.matmul(low, second, false, transpose, type);
    Value scaled = b.scale(high, scale);
    Value sum = b.add(product, scaled);
    product.getResult().replaceAllUsesExcept(sum, sum.getDefiningOp());
  }

  Value addParameter(ParameterAttr of, StringRef suffix, InitKind init,
                     Value like, ArrayRef<int64_t> shape) {
    auto name = builder.getStringAttr(of.getName().getValue() + suffix);
    auto parameter = ParameterAttr::get(
        builder.getContext(), name, of.getModule(), /*trainable=*/true, init,
        SourceAttr(), Type(), AdapterAttr());
    unsigned index = program.getNumArguments();
    program.insertArgument(index, RankedTensorType::get(shape, elementOf(like)),
                           builder.getDictionaryAttr(
                               builder.getNamedAttr(kParameterAttr, parameter)),
                           NameLoc::get(name));
    return program.getArgument(index);
  }

  void setAdapter(BlockArgument weight, ParameterAttr parameter,
                  AdapterAttr adapter) {
    program.setArgAttr(weight.getArgNumber(), kParameterAttr,
                       withAdapter(parameter, adapter));
  }

  static std::string why(StringRef name, Value weight,
                         const Products &products) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "'" << name << "'";
    if (isHalf(elementOf(weight))) {
      stream << " is of " << elementOf(weight)
             << ", and adapters are of f32 or f64";
    } else if (products.other) {
      stream << " is read by '" << nameOf(products.other->getLoc()) << "' ("
             << products.other->getName() << ")";
    } else {
      stream << " is not used";
    }
    return text;
  }

  static std::string list(ArrayRef<std::string> texts) {
    std::string text = llvm::join(texts.take_front(kMostNamed), ", ");
    if (texts.size() > kMostNamed) {
      text += " and " + std::to_string(texts.size() - kMostNamed) + " more";
    }
    return text;
  }

  /// Weights that could be adapted.
  std::string listFitting() {
    SmallVector<std::string> names;
    for (BlockArgument argument : program.getArguments()) {
      auto parameter = program.getArgAttrOfType<ParameterAttr>(
          argument.getArgNumber(), kParameterAttr);
      if (parameter && parameter.getSource() && Products(argument).fit()) {
        names.push_back(parameter.getName().str());
      }
    }
    return names.empty() ? "the model has none" : "there are " + list(names);
  }

  ProgramOp program;
  const Adapting *training = nullptr;
  OpBuilder builder;
  llvm::StringSet<> adapted;                     // names of parameters
  llvm::MapVector<StringAttr, Outcome> outcomes; // by pattern
};

LogicalResult Adapting::reportDiffering() {
  for (auto &[pattern, outcome] : outcomes) {
    if (!outcome.left.empty()) {
      return emitError(program.getLoc())
             << "--lora " << outcome.rank << ":" << pattern.str()
             << ": training adapts weights that evaluation reads in another "
                "way: "
             << list(outcome.left)
             << ". Use a pattern without them, or leave out --eval-data";
    }
  }
  return success();
}

LogicalResult Adapting::report() {
  LogicalResult result = success();
  for (auto &[pattern, outcome] : outcomes) {
    std::string option =
        "--lora " + std::to_string(outcome.rank) + ":" + pattern.str();
    if (outcome.adapted == 0) {
      emitError(program.getLoc())
          << option << ": nothing to adapt: " << list(outcome.left)
          << ". An adapter is for a weight that products of matrices "
             "(MatMul, Gemm), and nothing else, multiply by from the right; "
          << listFitting();
      result = failure();
    } else if (!outcome.left.empty()) {
      emitWarning(program.getLoc())
          << option << " adapts " << outcome.adapted << " of "
          << outcome.adapted + outcome.left.size()
          << " weights that match, and leaves the others as they are: "
          << list(outcome.left);
    }
    if (!outcome.oversized.empty()) {
      emitWarning(program.getLoc())
          << option << ": adapters of more numbers than the weight itself: "
          << list(outcome.oversized);
    }
  }
  return result;
}

struct AddAdaptersPass : mlir::zg::nn::impl::AddAdaptersBase<AddAdaptersPass> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<ProgramOp>(kForwardFunction);
    if (!forward || forward.isExternal()) {
      return;
    }
    Adapting training(forward);
    training.run();
    if (failed(training.report())) {
      return signalPassFailure();
    }
    if (auto evaluate =
            getOperation().lookupSymbol<ProgramOp>(kEvaluateFunction)) {
      Adapting evaluation(evaluate, training);
      evaluation.run();
      if (failed(evaluation.reportDiffering())) {
        signalPassFailure();
      }
    }
  }
};

} // namespace
