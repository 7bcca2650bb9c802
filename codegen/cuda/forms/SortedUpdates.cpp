//===- SortedUpdates.cpp - a scatter's updates in the order of rows -------===//
//
// A pass sorts by some bits of the row, from the lowest on: the digit. Each
// warp has a part of the updates. First it counts them by digit. Sums of these
// counts say where its first update of each digit goes. Then it reads its part
// again, and puts each update after those before it that have the same digit.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/SortedUpdates.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;
using IP = arith::CmpIPredicate;

namespace {

/// Threads of the block.
constexpr int64_t kThreads = 1024;
constexpr int64_t kWarps = kThreads / kWarp;
/// Words of a digit's counts. One is free, so that those of one warp, or of
/// neighbouring threads, lie in different banks.
constexpr int64_t kDigitWords = kWarps + 1;
/// Bits of the widest digit: 33 KiB of shared memory have its counts.
constexpr unsigned kDigitBits = 8;
/// Bits of the narrowest: a thread has a count.
constexpr unsigned kLeastBits = 5;
static_assert((kWarps << kDigitBits) / kThreads <= kWarps &&
                  kWarps % ((kWarps << kDigitBits) / kThreads) == 0,
              "the counts that a thread adds up are of one digit");

} // namespace

unsigned SortedUpdates::rowBits() const {
  return llvm::Log2_64_Ceil(uint64_t(std::max<int64_t>(tableRows, 2)));
}

unsigned SortedUpdates::passes() const {
  return llvm::divideCeil(rowBits(), kDigitBits);
}

unsigned SortedUpdates::digitBits() const {
  return std::max<unsigned>(llvm::divideCeil(rowBits(), passes()), kLeastBits);
}

Value SortedUpdates::load(CudaBody &body, unsigned array, Value place) const {
  Lanes &l = body.lanes;
  return body.load(body.scratchPointer,
                   l.add(place, l.index(int64_t(array) * updates)),
                   l.b.getI32Type(), /*asVector=*/false, {});
}

void SortedUpdates::store(CudaBody &body, unsigned array, Value place,
                          Value word) const {
  Lanes &l = body.lanes;
  body.store(body.scratchPointer,
             l.add(place, l.index(int64_t(array) * updates)), word, {});
}

Value SortedUpdates::row(CudaBody &body, Value place) const {
  return body.lanes.toIndex(load(body, 2 * (passes() % 2), place));
}

Value SortedUpdates::update(CudaBody &body, Value place) const {
  return body.lanes.toIndex(load(body, 2 * (passes() % 2) + 1, place));
}

/// Emits the passes, as one thread of the block runs them.
class SortedUpdates::Sorter {
public:
  Sorter(const SortedUpdates &sorted, CudaBody &body, ScatterLoops &scatter,
         const std::string &name)
      : sorted(sorted), body(body), scatter(scatter), l(body.lanes),
        i32(l.b.getI32Type()),
        counts(body.declareShared(name + "_counts", i32, countWords())),
        sums(body.declareShared(name + "_sums", i32, kThreads)),
        thread(threadOfBlock(l)) {
    std::tie(warp, lane) = l.divide(thread, kWarp);
    int64_t part =
        llvm::alignTo(llvm::divideCeil(sorted.updates, kWarps), kWarp);
    begin = l.mul(warp, l.index(part));
    end = l.min(l.add(begin, l.index(part)), l.index(sorted.updates));
  }

  void emit() {
    for (unsigned pass = 0; pass < sorted.passes(); ++pass) {
      clearCounts();
      forPart(pass, [&](const Update &update) {
        addToCounts(update);
        body.syncWarp();
      });
      body.syncBlock();
      sumCounts();
      forPart(pass, [&](const Update &update) {
        put(pass, update);
        body.syncWarp();
        addToCounts(update);
        body.syncWarp();
      });
      body.syncBlock();
    }
  }

private:
  /// Knows of a thread's update whether there is one, its row and number,
  /// the place of its digit's count, and the threads of its warp, as bits of an
  /// i32, whose updates have the same digit.
  struct Update {
    Value exists, row, number, count, peers;
  };

  int64_t digits() const { return int64_t(1) << sorted.digitBits(); }
  int64_t countsOfAll() const { return digits() * kWarps; }
  int64_t countWords() const { return digits() * kDigitWords; }

  Value word(int64_t value) { return l.integer(i32, value); }
  Value toWord(Value index) {
    return index.getType() == i32
               ? index
               : l.b.create<arith::TruncIOp>(i32, index).getResult();
  }
  Value loadShared(Value array, Value place) {
    return body.load(array, place, i32, /*asVector=*/false, {});
  }

  void clearCounts() {
    body.loop(thread, l.index(countWords()), kThreads, {},
              [&](Value place, ValueRange) {
                body.store(counts, place, word(0), {});
                return SmallVector<Value>();
              });
    body.syncBlock();
  }

  /// Emits for the updates of the warp's part, 32 at a time.
  void forPart(unsigned pass, llvm::function_ref<void(const Update &)> emit) {
    body.loop(begin, end, kWarp, {}, [&](Value first, ValueRange) {
      emit(find(pass, l.add(first, lane)));
      return SmallVector<Value>();
    });
  }

  /// Finds the update that stands at a place before a pass.
  Update find(unsigned pass, Value place) {
    Update update;
    update.exists = l.compare(IP::slt, place, end);
    place = l.min(place, l.index(sorted.updates - 1));
    unsigned from = 2 * (pass % 2);
    update.row = pass == 0 ? toWord(scatter.enterUpdate(body, place))
                           : sorted.load(body, from, place);
    update.number =
        pass == 0 ? toWord(place) : sorted.load(body, from + 1, place);
    ImplicitLocOpBuilder &b = l.b;
    Value shifted = b.create<arith::ShRUIOp>(
        update.row, word(int64_t(pass) * sorted.digitBits()));
    Value digit = b.create<arith::AndIOp>(shifted, word(digits() - 1));
    update.count = l.add(l.mul(l.toIndex(digit), l.index(kDigitWords)), warp);
    update.peers = body.ballot(update.exists);
    for (unsigned bit = 0; bit < sorted.digitBits(); ++bit) {
      Value own = b.create<arith::AndIOp>(digit, word(int64_t(1) << bit));
      Value isSet = l.compare(IP::ne, own, word(0));
      Value set = body.ballot(isSet);
      Value others = b.create<arith::XOrIOp>(set, word(-1));
      update.peers =
          b.create<arith::AndIOp>(update.peers, l.select(isSet, set, others));
    }
    return update;
  }

  /// Returns how many of the threads have a lower place than this one.
  Value countBefore(Value threads) {
    ImplicitLocOpBuilder &b = l.b;
    Value bit = b.create<arith::ShLIOp>(word(1), toWord(lane));
    Value lower = l.sub(bit, word(1));
    return b.create<LLVM::CtPopOp>(
        i32, b.create<arith::AndIOp>(threads, lower).getResult());
  }

  /// Lets the first thread of each digit add the warp's updates of it.
  void addToCounts(const Update &update) {
    Value before = countBefore(update.peers);
    Value isFirst =
        l.logicalAnd(update.exists, l.compare(IP::eq, before, word(0)));
    body.when(isFirst, [&] {
      Value many = l.b.create<LLVM::CtPopOp>(i32, update.peers);
      body.store(counts, update.count,
                 l.add(loadShared(counts, update.count), many), {});
    });
  }

  /// Replaces each count by the sum of those before it.
  void sumCounts() {
    int64_t own = countsOfAll() / kThreads;
    // They are of one digit: `own` divides kWarps.
    auto [digit, part] = l.divide(thread, kWarps / own);
    Value first = body.address(
        counts,
        l.add(l.mul(digit, l.index(kDigitWords)), l.mul(part, l.index(own))),
        i32);
    Value sum = word(0);
    for (int64_t i = 0; i < own; ++i) {
      sum = l.add(sum, loadShared(first, l.index(i)));
    }
    Value next = l.sub(sumOfThreads(sum), sum);
    for (int64_t i = 0; i < own; ++i) {
      Value count = loadShared(first, l.index(i));
      body.store(first, l.index(i), next, {});
      next = l.add(next, count);
    }
    body.syncBlock();
  }

  /// Returns the sum of what the threads up to this one have: of 2, 4, 8, ...
  /// threads (Hillis and Steele, Data Parallel Algorithms, 1986).
  Value sumOfThreads(Value sum) {
    for (int64_t apart = 1; apart < kThreads; apart *= 2) {
      body.store(sums, thread, sum, {});
      body.syncBlock();
      Value other = l.sub(thread, l.index(apart));
      Value exists = l.compare(IP::sge, thread, l.index(apart));
      Value before = loadShared(sums, l.select(exists, other, thread));
      sum = l.add(sum, l.select(exists, before, word(0)));
      body.syncBlock();
    }
    return sum;
  }

  /// Writes an update to its place after the pass.
  void put(unsigned pass, const Update &update) {
    body.when(update.exists, [&] {
      Value place = l.toIndex(
          l.add(loadShared(counts, update.count), countBefore(update.peers)));
      unsigned to = 2 * ((pass + 1) % 2);
      sorted.store(body, to, place, update.row);
      sorted.store(body, to + 1, place, update.number);
    });
  }

  const SortedUpdates &sorted;
  CudaBody &body;
  ScatterLoops &scatter;
  Lanes &l;
  Type i32;
  Value counts; ///< shared: by digit, then by warp
  Value sums;   ///< shared: one a thread
  Value thread, warp, lane, begin, end;
};

CudaLaunch SortedUpdates::emitSort(ImplicitLocOpBuilder &b, nn::KernelOp kernel,
                                   ScatterLoops &scatter,
                                   const std::string &name) const {
  CudaBody body(b, kernel, *scatter.graph, name,
                {.block = kThreads,
                 // ptxas spilled 20 bytes to fit a second block, and there is
                 // one alone.
                 .blocksAtLeast = 1,
                 .scratch = true});
  body.enterKernel();
  Sorter(*this, body, scatter, name).emit();
  body.finish();
  return {name, 1, kThreads};
}
