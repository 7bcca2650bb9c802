//===- ScoreWindow.cpp - which scores a mask leaves by structure ----------===//

#include "codegen/emit/loops/ScoreWindow.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

namespace {

/// Bounds the numbers that are followed, so that their sums do not overflow.
constexpr int64_t kFar = int64_t(1) << 40;

/// An integer that is `query` times the query's place, `key` times the key's,
/// and `rest`.
struct Linear {
  int64_t query = 0, key = 0, rest = 0;

  Linear plus(const Linear &other, int64_t factor) const {
    return {query + factor * other.query, key + factor * other.key,
            rest + factor * other.rest};
  }
};

class Finder {
public:
  explicit Finder(int64_t keys) : keys(keys) {}

  /// Returns the window outside of which `node` is masked.
  ScoreWindow ofScores(Node *node) const {
    if (auto binary = opOf<nn::BinaryOp>(node);
        binary && binary.getKind() == nn::BinaryKind::add) {
      return both(node);
    }
    if (!opOf<nn::SelectOp>(node)) {
      return {};
    }
    Node *condition = node->operands[0];
    if (isMasked(node->operands[2])) {
      return where(condition, true);
    }
    return isMasked(node->operands[1]) ? where(condition, false)
                                       : ScoreWindow();
  }

private:
  template <typename Op>
  static Op opOf(const Node *node) {
    return node->kind == Node::Kind::Op ? dyn_cast<Op>(node->op) : Op();
  }

  ScoreWindow both(Node *node) const {
    ScoreWindow window = ofScores(node->operands[0]);
    window.intersect(ofScores(node->operands[1]));
    return window;
  }

  static bool isMasked(const Node *node) {
    auto number = node->kind == Node::Kind::Constant
                      ? dyn_cast<FloatAttr>(node->value)
                      : FloatAttr();
    return number && number.getValueAsDouble() <= kMasked;
  }

  /// Returns the window outside of which a condition cannot be `holds`.
  ScoreWindow where(Node *condition, bool holds) const {
    if (auto unary = opOf<nn::UnaryOp>(condition);
        unary && unary.getKind() == nn::UnaryKind::logical_not) {
      return where(condition->operands[0], !holds);
    }
    if (auto binary = opOf<nn::BinaryOp>(condition)) {
      bool all = binary.getKind() == (holds ? nn::BinaryKind::logical_and
                                            : nn::BinaryKind::logical_or);
      if (!all) {
        return {};
      }
      ScoreWindow window = where(condition->operands[0], holds);
      window.intersect(where(condition->operands[1], holds));
      return window;
    }
    auto compare = opOf<nn::CompareOp>(condition);
    if (!compare) {
      return {};
    }
    std::optional<Linear> a = linear(condition->operands[0]);
    std::optional<Linear> b = linear(condition->operands[1]);
    ScoreWindow window;
    if (a && b) {
      window = compared(compare.getKind(), a->plus(*b, -1), holds);
    }
    if (!window.isWhole()) {
      window.known.push_back({condition, holds});
    }
    return window;
  }

  /// Returns what `difference` compared with 0 leaves.
  static ScoreWindow compared(nn::CompareKind kind, Linear difference,
                              bool holds) {
    using nn::CompareKind;
    if (!holds) {
      switch (kind) {
      case CompareKind::lt:
        return compared(CompareKind::ge, difference, true);
      case CompareKind::le:
        return compared(CompareKind::gt, difference, true);
      case CompareKind::gt:
        return compared(CompareKind::le, difference, true);
      case CompareKind::ge:
        return compared(CompareKind::lt, difference, true);
      default:
        return {};
      }
    }
    switch (kind) {
    case CompareKind::lt:
    case CompareKind::le:
      // a < 0 is -a > 0.
      return compared(kind == CompareKind::lt ? CompareKind::gt
                                              : CompareKind::ge,
                      Linear().plus(difference, -1), true);
    case CompareKind::gt:
      difference.rest -= 1;
      break;
    case CompareKind::ge:
      break;
    default:
      return {};
    }
    // query * i + key * j + rest >= 0.
    ScoreWindow window;
    if (difference.query == 1 && difference.key == -1) {
      window.ahead = difference.rest;
    } else if (difference.query == -1 && difference.key == 1) {
      window.behind = difference.rest;
    }
    return window;
  }

  std::optional<Linear> linear(const Node *node) const {
    if (node->kind == Node::Kind::Constant) {
      auto number = dyn_cast<IntegerAttr>(node->value);
      return number && std::abs(number.getInt()) < kFar
                 ? std::optional(Linear{0, 0, number.getInt()})
                 : std::nullopt;
    }
    if (node->kind == Node::Kind::Iota) {
      return counted(node);
    }
    if (opOf<nn::ConvertOp>(node)) {
      return node->element.isInteger(32) || node->element.isInteger(64)
                 ? linear(node->operands[0])
                 : std::nullopt;
    }
    auto binary = opOf<nn::BinaryOp>(node);
    bool adds = binary && binary.getKind() == nn::BinaryKind::add;
    if (!adds && !(binary && binary.getKind() == nn::BinaryKind::sub)) {
      return std::nullopt;
    }
    std::optional<Linear> a = linear(node->operands[0]);
    std::optional<Linear> b = linear(node->operands[1]);
    return a && b ? std::optional(a->plus(*b, adds ? 1 : -1)) : std::nullopt;
  }

  /// Returns the formula of an iota.
  std::optional<Linear> counted(const Node *node) const {
    const Access &access = node->access;
    if (access.flat || node->view.indirection || node->view.padValue ||
        access.inner.size() > 1) {
      return std::nullopt;
    }
    Linear result;
    result.rest = access.offset;
    result.query = access.inner.empty() ? 0 : access.inner.front().stride;
    for (auto [number, dim] : llvm::enumerate(access.outer)) {
      bool isKey = number + 1 == access.outer.size() && dim.size == keys &&
                   !dim.isBounded();
      if (dim.stride != 0 && !isKey) {
        return std::nullopt;
      }
      result.key += dim.stride;
    }
    return result;
  }

  int64_t keys;
};

} // namespace

ScoreWindow ScoreWindow::of(Node *x, int64_t keys, int64_t queries) {
  ScoreWindow window = Finder(keys).ofScores(x);
  // No key is further away.
  auto limit = [&](std::optional<int64_t> &places) {
    if (places) {
      places = std::clamp(*places, -(keys + queries), keys + queries);
    }
  };
  limit(window.ahead);
  limit(window.behind);
  return window;
}

void ScoreWindow::intersect(const ScoreWindow &other) {
  auto least = [](std::optional<int64_t> &own, std::optional<int64_t> number) {
    if (number) {
      own = own ? std::min(*own, *number) : *number;
    }
  };
  least(ahead, other.ahead);
  least(behind, other.behind);
  llvm::append_range(known, other.known);
}
