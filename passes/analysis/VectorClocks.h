//===- VectorClocks.h - which step is done before which begins ------------===//

#ifndef ZEROGRAPH_PASSES_ANALYSIS_VECTORCLOCKS_H
#define ZEROGRAPH_PASSES_ANALYSIS_VECTORCLOCKS_H

#include <cstdint>
#include <vector>

namespace mlir::zg {

/// Orders the steps of one straight-line program: stream order, awaits, and
/// the order of collectives. Steps are added in issue order.
class VectorClocks {
public:
  explicit VectorClocks(unsigned streams)
      : streams(streams), lastOnStream(streams, -1), lengths(streams) {}

  /// Adds a step; gives its index. The order among collectives is that in
  /// which they are added.
  unsigned add(unsigned stream, bool collective);
  /// The last step added begins only when the earlier `step` is done.
  void await(unsigned step);

  /// Returns whether `a` is always done when `b` begins.
  bool before(unsigned a, unsigned b) const {
    return a < b && clocks[b * streams + streamOf[a]] > positionOf[a];
  }
  /// Steps of `stream` that are done when `step` is, `step` itself included:
  /// always the first ones of the stream.
  unsigned done(unsigned step, unsigned stream) const {
    return clocks[step * streams + stream];
  }
  unsigned size() const { return streamOf.size(); }
  unsigned numStreams() const { return streams; }
  unsigned stream(unsigned step) const { return streamOf[step]; }
  /// Place on its own stream.
  unsigned position(unsigned step) const { return positionOf[step]; }

private:
  void join(unsigned step);

  unsigned streams;
  std::vector<uint32_t> clocks; // streams a step
  std::vector<unsigned> streamOf, positionOf;
  std::vector<int64_t> lastOnStream;
  std::vector<unsigned> lengths;
  int64_t lastCollective = -1;
};

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_ANALYSIS_VECTORCLOCKS_H
