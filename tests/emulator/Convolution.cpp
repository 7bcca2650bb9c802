//===- Convolution.cpp - a convolution, as a GPU's library does it --------===//

#include "tests/emulator/Convolution.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

int64_t countOf(const Convolution::Sizes &sizes, size_t first = 0) {
  int64_t count = 1;
  for (size_t i = first; i < sizes.size(); ++i) {
    count *= sizes[i];
  }
  return count;
}

/// Adds up products x * w * y of one shape, without the factor that is the
/// result.
template <typename T>
class Work {
public:
  using Sums = Convolution::Sums;

  Work(const Convolution &c, Sums sums, char *const (&memory)[3],
       std::mt19937 &random)
      : c(c), sums(sums), random(random) {
    for (int i = 0; i < 3; ++i) {
      values[i].resize(size_t(countOf(c.tensors[i])));
      for (size_t n = 0; i != c.result && n < values[i].size(); ++n) {
        values[i][n] = T(loadElement(
            c.type, memory[i] + n * emulator::elementBytes(c.type)));
      }
    }
    if (sums == Sums::Rough) {
      for (std::vector<T> &all : values) {
        for (T &value : all) {
          value = T(rounded(float(value), 13));
        }
      }
    }
    added.resize(values[c.result].size());
    for (std::vector<T> &part : parts) {
      part.resize(added.size());
    }
  }

  void run() {
    const int64_t places = int64_t(c.strides.size());
    const int64_t windows = countOf(c.tensors[2], 2);
    const int64_t taps = countOf(c.tensors[1], 2);
    for (int64_t window = 0; window < windows; ++window) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t at = 0, o = window, w = tap, scale = 1;
        bool inside = true;
        for (int64_t i = places - 1; i >= 0; --i) {
          size_t d = size_t(i), size = d + 2;
          int64_t place = o % c.tensors[2][size] * c.strides[d] - c.low[d] +
                          w % c.tensors[1][size] * c.dilations[d];
          inside = inside && place >= 0 && place < c.tensors[0][size];
          at += place * scale;
          scale *= c.tensors[0][size];
          o /= c.tensors[2][size];
          w /= c.tensors[1][size];
        }
        if (inside) {
          addAll(at, window, tap);
        }
      }
    }
  }

  /// Stores a value: for halves, by way of the workspace.
  void store(char *to, char *workspace) {
    const size_t bytes = parts[0].size() * sizeof(T);
    if (workspace && sums == Sums::Halves) {
      for (int i : {0, 1}) {
        std::memcpy(workspace + size_t(i) * bytes, parts[i].data(), bytes);
      }
      for (int i : {0, 1}) {
        std::memcpy(parts[i].data(), workspace + size_t(i) * bytes, bytes);
      }
    }
    for (size_t i = 0; i < parts[0].size(); ++i) {
      parts[0][i] += parts[1][i];
    }
    for (size_t i = 0; i < parts[0].size(); ++i) {
      storeElement(c.type, to + i * emulator::elementBytes(c.type),
                   double(parts[0][i]));
    }
  }

private:
  /// Adds up all samples, features and channels.
  void addAll(int64_t at, int64_t window, int64_t tap) {
    const auto &[x, w, y] = c.tensors;
    const int64_t image = countOf(x, 2), taps = countOf(w, 2),
                  windows = countOf(y, 2);
    const int64_t group_features = w[0] / (x[1] / w[1]);
    for (int64_t n = 0; n < x[0]; ++n) {
      for (int64_t k = 0; k < w[0]; ++k) {
        for (int64_t channel = 0; channel < w[1]; ++channel) {
          int64_t input = k / group_features * w[1] + channel;
          const size_t indices[] = {size_t((n * x[1] + input) * image + at),
                                    size_t((k * w[1] + channel) * taps + tap),
                                    size_t((n * y[1] + k) * windows + window)};
          add(indices);
        }
      }
    }
  }

  void add(const size_t (&indices)[3]) {
    const int a = c.result == 0 ? 1 : 0, b = c.result == 2 ? 1 : 2;
    size_t to = indices[c.result];
    unsigned part = 0;
    if (sums == Sums::Halves) {
      part = added[to]++ % 2;
    } else if (sums == Sums::AnyOrder) {
      part = random() % 2;
    }
    parts[part][to] += values[a][indices[a]] * values[b][indices[b]];
  }

  const Convolution &c;
  const Sums sums;
  std::mt19937 &random;
  std::vector<T> values[3], parts[2];
  std::vector<uint32_t> added; // to each element
};

} // namespace

std::string Convolution::wrong() const {
  const auto &[x, w, y] = tensors;
  size_t places = strides.size();
  for (const Sizes &sizes : {x, w, y}) {
    if (sizes.size() != places + 2) {
      return "tensors of another number of dimensions than its windows";
    }
  }
  if (x[0] != y[0] || w[0] != y[1] || x[1] % w[1] != 0 ||
      w[0] % (x[1] / w[1]) != 0) {
    return "samples, channels or features that do not fit";
  }
  for (size_t i = 0; i < places; ++i) {
    int64_t reach = (w[i + 2] - 1) * dilations[i] + 1;
    int64_t room = x[i + 2] + low[i] + high[i] - reach;
    if (room < 0 || y[i + 2] != room / strides[i] + 1) {
      return absl::StrCat("an output of ", y[i + 2], " places, where ",
                          room < 0 ? 0 : room / strides[i] + 1, " windows fit");
    }
  }
  return {};
}

uint64_t Convolution::bytes(int tensor) const {
  return uint64_t(countOf(tensors[tensor])) * emulator::elementBytes(type);
}

uint64_t Convolution::workspaceBytes() const {
  return uint64_t(countOf(tensors[result])) * 2 * (type == CUDA_R_64F ? 8 : 4);
}

std::string Convolution::text() const {
  std::string text = absl::StrCat(result, ",", type);
  for (const Sizes &sizes :
       {tensors[0], tensors[1], tensors[2], strides, low, high, dilations}) {
    absl::StrAppend(&text, ";", absl::StrJoin(sizes, ","));
  }
  return text;
}

void Convolution::compute(Sums sums, char *const (&memory)[3], char *workspace,
                          std::mt19937 &random) const {
  auto as = [&](auto type) {
    Work<decltype(type)> work(*this, sums, memory, random);
    work.run();
    work.store(memory[result], workspace);
  };
  type == CUDA_R_64F ? as(double()) : as(float());
}
