//===- Estimate.cpp - what a plan needs, by plans of fewer blocks ---------===//

#include "tools/advise/Estimate.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Memory.h"

#include <algorithm>

namespace zerograph {
namespace {

/// Blocks of the two shorter models. With fewer than the first, what a stream
/// fetches for the blocks ahead does not fit in; of a model with at most twice
/// the second, the whole plan is soon made.
constexpr uint64_t kFew = 4, kMore = 6;
constexpr uint64_t kManyBlocks = 2 * kMore;

/// Returns whether few blocks tell what all need: not where a stream fetches
/// further ahead, one unit may be several blocks, or some blocks are treated
/// otherwise than others.
bool fewTell(const CompileOptions &options) {
  return options.prefetch <= 1 && options.units.empty() &&
         options.recompute_ratio == 1 && options.offload_ratio == 1;
}

/// Extends a figure of the two shorter models to so many blocks. What grows
/// with a model never shrinks.
double extended(double few, double more, uint64_t blocks) {
  double block = std::max(0.0, more - few) / double(kMore - kFew);
  return more + block * double(blocks - kMore);
}

Estimate extended(const Estimate &few, const Estimate &more, uint64_t blocks) {
  Estimate all = more;
  all.whole = false;
  all.device_bytes = uint64_t(
      extended(double(few.device_bytes), double(more.device_bytes), blocks));
  all.state_bytes = uint64_t(
      extended(double(few.state_bytes), double(more.state_bytes), blocks));
  all.seconds = extended(few.seconds, more.seconds, blocks);
  all.samples_per_second *= more.seconds / all.seconds;
  all.tokens_per_second *= more.seconds / all.seconds;
  for (const simulate::Part &part : simulate::kParts) {
    all.parts.*part.seconds =
        extended(few.parts.*part.seconds, more.parts.*part.seconds, blocks);
  }
  return all;
}

} // namespace

absl::StatusOr<std::shared_ptr<Estimator::Imports>>
Estimator::importsOf(const CompileOptions &options) {
  std::shared_ptr<Imports> found;
  {
    std::lock_guard<std::mutex> lock(finding);
    std::shared_ptr<Imports> &entry = all[options.samples];
    entry = entry ? entry : std::make_shared<Imports>();
    found = entry;
  }
  std::lock_guard<std::mutex> lock(found->importing);
  if (found->whole || found->more) {
    return found;
  }
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<const SavedImport> model,
                      saveImport(options));
  ZG_ASSIGN_OR_RETURN(ShortImport more, keepBlocks(*model, kMore));
  if (more.blocks > kManyBlocks) {
    ZG_ASSIGN_OR_RETURN(ShortImport few, keepBlocks(*model, kFew));
    found->blocks = more.blocks;
    found->few = few.import;
    found->more = more.import;
  } else {
    found->whole = model;
  }
  return found;
}

absl::StatusOr<Estimate>
Estimator::simulated(const CompileOptions &given,
                     const simulate::Cluster &cluster,
                     std::shared_ptr<const SavedImport> import) const {
  CompileOptions options = given;
  options.imported = std::move(import);
  options.until = CompileOptions::Until::Costed;
  options.dump_ir.clear();
  ZG_ASSIGN_OR_RETURN(CompileResult result, compile(options));
  ZG_ASSIGN_OR_RETURN(simulate::Prediction prediction,
                      simulate::predict(result.plan, machine, cluster));
  const simulate::Summary &summary = prediction.summary;
  Estimate estimate;
  estimate.device_bytes = summary.device_bytes;
  estimate.state_bytes =
      (Checked(statesOnDevice(result.plan)) * summary.ranks_per_device)
          .saturated();
  estimate.seconds = prediction.seconds;
  estimate.samples_per_second = summary.samples_per_second;
  estimate.tokens_per_second = summary.tokens_per_second;
  estimate.parts = prediction.parts;
  return estimate;
}

absl::StatusOr<Estimate>
Estimator::whole(const CompileOptions &options,
                 const simulate::Cluster &cluster) const {
  return simulated(options, cluster, nullptr);
}

absl::StatusOr<Estimate> Estimator::estimate(const CompileOptions &options,
                                             const simulate::Cluster &cluster) {
  if (!fewTell(options)) {
    return whole(options, cluster);
  }
  ZG_ASSIGN_OR_RETURN(std::shared_ptr<Imports> imports, importsOf(options));
  if (imports->whole) {
    return simulated(options, cluster, imports->whole);
  }
  absl::StatusOr<Estimate> few = simulated(options, cluster, imports->few);
  if (!few.ok()) { // an option may be about a block that is not there
    return whole(options, cluster);
  }
  absl::StatusOr<Estimate> more = simulated(options, cluster, imports->more);
  return more.ok() ? extended(*few, *more, imports->blocks)
                   : whole(options, cluster);
}

} // namespace zerograph
