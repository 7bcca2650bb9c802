//===- Evaluation.cpp - the loss of samples that are not trained on -------===//

#include "runtime/exec/Evaluation.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// A rank's blocks.
class Blocks final : public Batch {
public:
  Blocks(const plan::Plan &plan, const DataSource &data,
         const EvaluatedBlocks &blocks, unsigned rank)
      : plan(plan), data(data), blocks(blocks), rank(rank) {}

  double weight(uint64_t micro_batch) const {
    uint64_t number = numberOf(micro_batch);
    return number < blocks.size() ? blocks.weight(number) : 0;
  }

  absl::Status read(uint64_t micro_batch, int input, void *to,
                    uint64_t) const override {
    // A micro-batch that counts nothing may read any block: it reads the first,
    // which counts something.
    uint64_t number = numberOf(micro_batch);
    EvaluatedBlock block = blocks[number < blocks.size() ? number : 0];
    return data.read(
        input,
        [&](uint64_t place) { return block.first + place % block.samples; },
        to);
  }

private:
  uint64_t numberOf(uint64_t micro_batch) const {
    return micro_batch * worldOf(plan) + rank;
  }

  const plan::Plan &plan;
  const DataSource &data;
  const EvaluatedBlocks &blocks;
  unsigned rank;
};

} // namespace

EvaluatedBlocks::EvaluatedBlocks(uint64_t samples, uint64_t micro_batch)
    : micro_batch(micro_batch), whole(samples / micro_batch) {
  uint64_t first = whole * micro_batch;
  while (first < samples) {
    uint64_t part = samples - first;
    while (micro_batch % part != 0) {
      --part;
    }
    parts.push_back({first, part});
    first += part;
  }
}

EvaluatedBlock EvaluatedBlocks::operator[](uint64_t number) const {
  return number < whole ? EvaluatedBlock{number * micro_batch, micro_batch}
                        : parts[number - whole];
}

double EvaluatedBlocks::weight(uint64_t number) const {
  return double((*this)[number].samples) / double(micro_batch);
}

Evaluation::Evaluation(const plan::Plan &plan,
                       std::unique_ptr<DataSource> source)
    : plan(plan), source(std::move(source)),
      blocks(this->source->samples(), plan.micro_batch()) {}

absl::StatusOr<std::unique_ptr<Evaluation>>
Evaluation::open(const std::vector<std::string> &paths,
                 const plan::Plan &plan) {
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<DataSource> source,
                      DataSource::open(paths, plan, Purpose::Evaluation));
  return std::unique_ptr<Evaluation>(new Evaluation(plan, std::move(source)));
}

uint64_t Evaluation::rounds() const {
  return (blocks.size() + worldOf(plan) - 1) / worldOf(plan);
}

absl::Status Evaluation::check(unsigned process, unsigned processes) const {
  uint64_t samples = source->samples();
  uint64_t share = (samples + processes - 1) / processes;
  return source->check(std::min(samples, share * process),
                       std::min(samples, share * (process + 1)),
                       [](uint64_t place) { return place; });
}

absl::StatusOr<EvaluatedSum> Evaluation::run(Trainer &trainer,
                                             unsigned rank) const {
  Blocks batch(plan, *source, blocks, rank);
  std::vector<double> weights;
  for (uint64_t k = 0; k < rounds(); ++k) {
    weights.push_back(batch.weight(k));
  }
  ZG_ASSIGN_OR_RETURN(EvaluatedSum sum, trainer.evaluate(batch, weights));
  // Has the weights of the other ranks too.
  sum.weight = double(source->samples()) / double(plan.micro_batch());
  if (!sum.count) {
    sum.count = sum.weight;
  }
  return sum;
}
