//===- AttentionCase.h - attentions that tests compute --------------------===//

#ifndef ZEROGRAPH_TESTS_SUPPORT_ATTENTIONCASE_H
#define ZEROGRAPH_TESTS_SUPPORT_ATTENTIONCASE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mlir::zg::testing {

/// Changes the scores, all of which are scaled.
enum class Scores {
  Scaled,
  Causal,   ///< A finite mask, by comparison of places.
  Infinite, ///< Only keys before the query, else -infinity: the first sees
            ///< none.
  Window,   ///< Causal, and only the last few keys.
  Padding,  ///< Keys that data mask, with causal ones.
  Added, ///< Causal, as a number that is added, from a comparison turned round.
  Late,  ///< Only keys at least 70 before the query, else -infinity.
  Excluded,      ///< Causal, and query 70 sees none, by a finite mask.
  Bias,          ///< A number a head, query and key is added, which is trained.
  BiasOfWeighed, ///< Such a number is added to causal scores, and the
                 ///< probabilities of keys from 2 on are multiplied by 1.25.
  BiasOfPadded,  ///< Such a number, times 2, is added to scores of keys that
                 ///< data mask.
  Capped,        ///< tanh.
  Weighed, ///< Probabilities of keys from 2 on are multiplied by 1.25, else 0.
};

struct AttentionCase {
  std::string name;
  int64_t batch, queries, keys, heads, keyHeads, size, valueSize;
  Scores scores = Scores::Scaled;
  std::string element = "f32";
  bool zeroMasked = false;
  /// Counts the elements that lie between rows of q, k and v.
  int64_t between = 0;

  /// Returns names and types, without % and tensor<>: of q, k, v and, of some,
  /// of a mask and of a bias.
  std::vector<std::pair<std::string, std::string>> arguments() const;
  std::string outType() const;
  /// Makes %out, %max and %inverse of the arguments.
  std::string text() const;

private:
  std::string scoreType() const;
  std::string region() const;
};

} // namespace mlir::zg::testing

#endif // ZEROGRAPH_TESTS_SUPPORT_ATTENTIONCASE_H
