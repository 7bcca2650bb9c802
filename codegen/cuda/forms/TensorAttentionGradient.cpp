//===- TensorAttentionGradient.cpp - the gradient on tensor cores ---------===//

#include "codegen/cuda/forms/TensorAttention.h"
#include "codegen/cuda/forms/Together.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Computes the gradient of a block of queries by all keys, that of a block of
/// keys and values by all queries, or that of a block of a bias by all samples.
class Backward final : public TensorAttention {
public:
  Backward(CudaBody &body, AttentionLoops &loops, StringRef name)
      : TensorAttention(body, loops, name) {
    stay = slots == 1;
    by = columns;
    if (stay) {
      by.pitch = std::min(columns.pitch, pitchOf(kPart));
      by.pointer = body.declareShared((name + "_rows").str(), l.b.getI16Type(),
                                      kBlock * by.pitch);
    }
    ofCols = body.declareShared((name + "_softmax").str(), loops.element,
                                slots * 3 * turn);
  }

  void emit(Value item) {
    auto [ofAll, ownPart] = l.divide(item, sharersOf(loops));
    Value part = ownPart;
    int64_t ofKeys = partsOf(shape.size), ofValues = partsOf(shape.valueSize);
    loops.forItem(
        body, ofAll,
        [&](Value number, Value query) {
          inParts(part, 0, ofKeys, [&](Value own) {
            head = number;
            emitQueries(lastFirst(query), partOf(shape.size, own));
          });
        },
        [&](Value keyHead, Value key) {
          Value first = l.mul(keyHead, l.index(shape.group()));
          if (!isWide(loops)) {
            emitKeys(first, key, allOf(shape.size), allOf(shape.valueSize));
            return;
          }
          inParts(part, 0, ofKeys, [&](Value own) {
            emitKeys(first, key, partOf(shape.size, own), {});
          });
          inParts(part, ofKeys, ofKeys + ofValues, [&](Value own) {
            emitKeys(first, key, {}, partOf(shape.valueSize, own));
          });
        },
        [&](Value number, Value query, Value key) {
          inParts(part, 0, 1, [&](Value) { emitBias(number, query, key); });
        });
  }

private:
  /// Emits for parts [first, end) of an item, counted from 0.
  void inParts(Value part, int64_t first, int64_t end,
               llvm::function_ref<void(Value)> emit) {
    if (sharersOf(loops) == 1) {
      emit(part);
      return;
    }
    Value own = l.sub(part, l.index(first));
    Value isOwn =
        l.compare(arith::CmpIPredicate::ult, own, l.index(end - first));
    body.when(isOwn, [&] { emit(own); });
  }
  /// Has the rows of a block of keys, and the columns of which a block of
  /// threads computes gradients; without values, it needs no scores' gradients.
  struct Keys {
    Value first;
    Rows k;
    std::optional<Rows> v;
    Columns ofKeys, ofValues;
  };
  /// Holds what the softmax of some queries was.
  struct Softmax {
    Value max, inverse, delta;
  };
  Softmax softmaxOf(Value query) {
    return {ofQuery(loops.max, query), ofQuery(loops.inverse, query),
            ofQuery(loops.delta, query)};
  }
  /// Brings those of a turn's queries to where the threads share them.
  void bringSoftmax(const Turn &queries) {
    Value thread = threadOfBlock(l);
    Value isCol = l.compare(arith::CmpIPredicate::slt, thread, l.index(turn));
    body.when(isCol, [&] {
      Softmax own = softmaxOf(l.add(queries.first, thread));
      Value numbers[] = {own.max, own.inverse, own.delta};
      for (auto [i, value] : llvm::enumerate(numbers)) {
        storeTogether(l, ofCols, placeOf(queries, int64_t(i), thread), value);
      }
    });
  }
  Value placeOf(const Turn &queries, int64_t which, Value col) {
    Value begin = l.mul(queries.slot, l.index(3 * turn));
    return l.add(begin, l.add(col, l.index(which * turn)));
  }
  /// Returns those of this thread's columns.
  SmallVector<Softmax> softmaxOfCols(const Turn &queries) {
    SmallVector<Softmax> result;
    for (int64_t i = 0; i < turn / TensorCores::kCols; ++i) {
      auto load = [&](int64_t which) {
        Value place = placeOf(queries, which, colOf(i * kSums));
        return elementsOf(l, loadTogether(l, ofCols, place, loops.element, 2));
      };
      Values max = load(0), inverse = load(1), delta = load(2);
      for (int64_t side = 0; side < 2; ++side) {
        result.push_back({max[side], inverse[side], delta[side]});
      }
    }
    return result;
  }
  void emitQueries(Value query, const Columns &cols) {
    OperandRows rows = loops.queriesFrom(l, head, query);
    Rows dout = bringRows(loops.dout, rows, shape.valueSize, by);
    Rows q = bringRows(loops.q, rows, shape.size, by, stay);
    Softmax own[] = {softmaxOf(l.add(query, rowOf(0))),
                     softmaxOf(l.add(query, rowOf(1)))};
    auto [lo, hi] = loops.keyBlocksOf(l, query);
    if (loops.mayMaskAll()) {
      Value all = isMasked(query);
      lo = l.select(all, l.index(0), lo);
      hi = l.select(all, l.index(loops.keyBlocks()), hi);
    }
    Values dq = forTurns(
        lo, hi, zeros(cols.count),
        [&](const Turn &keys) {
          OperandRows ofTurn = loops.keysFrom(l, head, keys.first);
          bring(loops.k, ofTurn, turn, keys.a, allOf(shape.size));
          bring(loops.v, ofTurn, turn, keys.b, allOf(shape.valueSize));
        },
        [&](const Turn &keys, ValueRange carried) {
          auto [weights, gradients] = computeGradients(
              q, &dout, keys, query, keys.first, /*rowsAreKeys=*/false,
              [&](int64_t, int64_t row) { return own[row]; });
          return addProduct(carried, gradients, keys.a, cols);
        });
    storeRows(0, dq, rows, shape.size, same, cols.first);
  }
  Keys bringKeys(Value key, bool needsValues) {
    OperandRows rows = loops.keysFrom(l, head, key);
    Keys keys;
    keys.first = key;
    if (needsValues) {
      keys.v = bringRows(loops.v, rows, shape.valueSize, by);
    }
    keys.k = bringRows(loops.k, rows, shape.size, by, stay);
    return keys;
  }
  /// Computes a block of keys, whose heads of queries begin with `first`:
  /// columns of the gradients of keys and of values.
  void emitKeys(Value first, Value key, const Columns &ofKeys,
                const Columns &ofValues) {
    head = first;
    Keys keys = bringKeys(key, /*needsValues=*/ofKeys.count > 0);
    keys.ofKeys = ofKeys;
    keys.ofValues = ofValues;
    size_t count = sumsOf(ofKeys.count);
    Values sums = zeros(ofKeys.count + ofValues.count);
    sums = body.loop(l.index(0), l.index(shape.group()), 1, sums,
                     [&](Value member, ValueRange carried) {
                       head = l.add(first, member);
                       return addHead(keys, carried);
                     });
    OperandRows rows = loops.keysFrom(l, first, key);
    storeRows(1, ArrayRef(sums).take_front(count), rows, shape.size, same,
              ofKeys.first);
    storeRows(2, ArrayRef(sums).drop_front(count), rows, shape.valueSize, same,
              ofValues.first);
  }
  /// Adds what the queries of a head contribute to the gradients of keys, whose
  /// sums are first, and of values.
  Values addHead(const Keys &keys, ValueRange sums) {
    auto addBlocks = [&](Value lo, Value hi, ValueRange before) {
      return forTurns(
          lo, hi, before,
          [&](const Turn &queries) { bringQueries(keys, queries); },
          [&](const Turn &queries, ValueRange carried) {
            return addQueries(keys, queries, carried);
          });
    };
    auto [lo, hi] = loops.queryBlocksOf(l, keys.first);
    if (!loops.mayMaskAll()) {
      return addBlocks(lo, hi, sums);
    }
    // Adds blocks of queries that the window leaves, and those in which some
    // query sees nothing but masked keys.
    Value all = l.index(loops.queryBlocks());
    return body.loop(
        l.index(0), all, 1, sums,
        [&, lo = lo, hi = hi](Value block, ValueRange carried) {
          Value inside =
              l.logicalAnd(l.compare(arith::CmpIPredicate::sge, block, lo),
                           l.compare(arith::CmpIPredicate::slt, block, hi));
          Value query = l.mul(block, l.index(kBlock));
          return body.either(
              l.logicalOr(inside, isMasked(query)), carried.getTypes(),
              [&] {
                return addBlocks(block, l.add(block, l.index(1)), carried);
              },
              [&] { return Values(carried); });
        });
  }
  Values addQueries(const Keys &keys, const Turn &queries, ValueRange sums) {
    auto [weights, gradients] =
        gradientsOfKeys(keys, queries, /*isOfBias=*/false);
    size_t count = sumsOf(keys.ofKeys.count);
    Values next =
        addProduct(sums.take_front(count), gradients, queries.a, keys.ofKeys);
    llvm::append_range(next, addProduct(sums.drop_front(count), weights,
                                        queries.b, {{}, keys.ofValues.count}));
    return next;
  }
  /// Computes a block of the bias of a head that each sample has, a turn of its
  /// queries after the other.
  void emitBias(Value ofSample, Value query, Value key) {
    Value lo = l.divide(query, turn).first;
    Value hi = l.add(lo, l.index(kBlock / turn));
    body.loop(lo, hi, 1, {}, [&](Value number, ValueRange) {
      Turn queries = turnOf(number);
      Values sums = loops.addSamples(
          body, ofSample, zeros(turn), [&](Value own, ValueRange carried) {
            head = own;
            return addSample(queries, query, key, carried);
          });
      storeRows(3, sums, loops.biasFrom(l, ofSample, key), shape.queries, same,
                queries.first);
      return Values();
    });
  }
  /// Adds what a sample's head contributes to the gradient of the bias, of a
  /// turn of the block of queries from `query` on.
  Values addSample(const Turn &queries, Value query, Value key,
                   ValueRange sums) {
    auto add = [&] {
      Keys keys = bringKeys(key, /*needsValues=*/true);
      bringQueries(keys, queries);
      arrive();
      return AttentionLoops::added(
          l, sums, gradientsOfKeys(keys, queries, /*isOfBias=*/true).second);
    };
    Value seen = loops.sees(l, query, key, [&] {
      return loops.mayMaskAll() ? isMasked(query)
                                : l.integer(l.b.getI1Type(), 0);
    });
    return seen ? body.either(seen, sums.getTypes(), add,
                              [&] { return Values(sums); })
                : add();
  }
  static Value same(int64_t, Value value) { return value; }

  /// Returns whether some query of a block sees nothing but masked keys.
  Value isMasked(Value query) {
    return anyMasked(
        [&](Value place) { return ofQuery(loops.max, l.add(query, place)); });
  }
  /// Brings what the gradient needs of a turn's queries.
  void bringQueries(const Keys &keys, const Turn &queries) {
    OperandRows rows = loops.queriesFrom(l, head, queries.first);
    bring(loops.q, rows, turn, queries.a, allOf(shape.size));
    bring(loops.dout, rows, turn, queries.b,
          keys.v ? allOf(shape.valueSize) : keys.ofValues);
    bringSoftmax(queries);
  }
  /// Returns the probabilities of a tile of keys by a turn's queries, and the
  /// gradients of its scores or of the bias.
  std::pair<Values, Values>
  gradientsOfKeys(const Keys &keys, const Turn &queries, bool isOfBias) {
    SmallVector<Softmax> own = softmaxOfCols(queries);
    return computeGradients(
        keys.k, keys.v ? &*keys.v : nullptr, queries, queries.first, keys.first,
        /*rowsAreKeys=*/true,
        [&](int64_t number, int64_t) {
          return own[number / kSums * 2 + number % 2];
        },
        isOfBias);
  }
  /// Returns the probabilities of a tile, and the gradients of its scores or of
  /// the bias. Rows of `first` and columns a make the scores, rows of `second`
  /// and columns b the gradients of probabilities; null: none are returned.
  std::pair<Values, Values>
  computeGradients(const Rows &first, const Rows *second, const Turn &cols,
                   Value query, Value key, bool rowsAreKeys,
                   llvm::function_ref<Softmax(int64_t, int64_t)> softmaxOf,
                   bool isOfBias = false) {
    Values products = multiply(first, cols.a, padded(shape.size));
    size_t count = products.size();
    if (second) {
      llvm::append_range(products,
                         multiply(*second, cols.b, padded(shape.valueSize)));
    }
    int64_t allCols = rowsAreKeys ? shape.queries : shape.keys;
    Values both =
        ofTile(query, key, rowsAreKeys, ValueRange(products).getTypes(),
               [&](auto assume) {
                 Values next = products;
                 forScores(query, key, rowsAreKeys,
                           [&](int64_t i, int64_t row, Chunk &chunk) {
                             assume(chunk);
                             Value inside = isCol(cols.first, i, allCols);
                             computeGradient(
                                 softmaxOf(i, row), chunk, inside, isOfBias,
                                 next[i], second ? &next[count + i] : nullptr);
                           });
                 return next;
               });
    return {Values(ArrayRef(both).take_front(count)),
            Values(ArrayRef(both).drop_front(count))};
  }
  /// Makes a score its probability, and the gradient of that, if there is one,
  /// the gradient of the score or of the bias.
  void computeGradient(const Softmax &softmax, Chunk &chunk, Value inside,
                       bool isOfBias, Value &score, Value *gradient) {
    Value x = loops.emitScores(body, chunk, score);
    Value weight = l.mul(power(x, softmax.max), softmax.inverse);
    if (inside) {
      weight = l.select(inside, weight, number(0));
    }
    score = loops.emitWeighed(body, chunk, weight);
    if (gradient) {
      Value above =
          l.sub(loops.emitWeighed(body, chunk, *gradient), softmax.delta);
      *gradient =
          loops.emitGradient(body, chunk, l.mul(weight, above), isOfBias);
    }
  }

  /// Is where rows come through, and those of the first operand stay if
  /// registers have no room for them.
  SharedMatrix by;
  bool stay;
  /// Holds the maxima of a turn's queries, then inverses, then deltas.
  Value ofCols;
};

} // namespace

void cuda::emitTensorAttentionGradient(CudaBody &body, AttentionLoops &loops,
                                       StringRef name, Value item) {
  Backward(body, loops, name).emit(item);
}
