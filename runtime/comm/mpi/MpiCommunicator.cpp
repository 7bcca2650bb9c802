//===- MpiCommunicator.cpp - ranks that are MPI processes -----------------===//

#include "runtime/comm/mpi/MpiCommunicator.h"

#include <algorithm>

using namespace zerograph;

namespace {

std::byte *bytesOf(const void *data) {
  return static_cast<std::byte *>(const_cast<void *>(data));
}

} // namespace

absl::StatusOr<std::unique_ptr<MpiCommunicator>>
MpiCommunicator::join(const Launch &launch, const MpiOptions &options) {
  std::unique_ptr<MpiCommunicator> self(new MpiCommunicator(options));
  ZG_ASSIGN_OR_RETURN(
      self->engine,
      Engine::start(std::chrono::duration_cast<Engine::Clock::duration>(
                        std::min(options.deadline, kLongestDeadline)),
                    options.told_to_end));
  if (launch.world != 0 && launch.world != self->world()) {
    return absl::FailedPreconditionError(absl::StrCat(
        launch.launcher, " started ", launch.world, " processes and MPI knows ",
        self->world(),
        ": start this by the mpirun of the MPI that `zerograph env` names, or "
        "by srun --mpi=pmix"));
  }
  ZG_ASSIGN_OR_RETURN(
      std::vector<std::string> processes,
      self->exchange("meeting the other ranks", describeThisProcess()));
  self->engine->watch(processes);
  // Processes that are watched must not have ended before.
  ZG_RETURN_IF_ERROR(self->barrier("meeting the other ranks"));
  return self;
}

std::vector<unsigned> MpiCommunicator::others() const {
  std::vector<unsigned> result;
  forPeers([&](unsigned peer) { result.push_back(peer); });
  return result;
}

absl::StatusOr<HostCommunicator::Clock::time_point>
MpiCommunicator::transfer(const CollectiveSite &site, const char *what,
                          absl::Span<const Message> receives,
                          absl::Span<const Message> sends) {
  ZG_RETURN_IF_ERROR(
      engine->transfer(receives, sends, [&] { return describe(site, what); }));
  return engine->met();
}

absl::Status MpiCommunicator::lostTurn(const absl::Status &turn,
                                       const std::string &where) {
  absl::Status failure = engine->failure();
  return annotate(failure.ok() ? turn : failure, where);
}

absl::StatusOr<std::vector<std::string>>
MpiCommunicator::transferTexts(const std::string &what, const std::string &text,
                               absl::Span<const unsigned> to,
                               absl::Span<const unsigned> from) {
  auto where = [&] { return what; };
  uint64_t own = text.size();
  std::vector<uint64_t> sizes(world());
  std::vector<Message> in, out;
  for (unsigned peer : from) {
    in.push_back({peer, bytesOf(&sizes[peer]), sizeof(uint64_t)});
  }
  for (unsigned peer : to) {
    out.push_back({peer, bytesOf(&own), sizeof(own)});
  }
  ZG_RETURN_IF_ERROR(engine->transfer(in, out, where));
  in.clear();
  out.clear();
  std::vector<std::string> texts(world());
  texts[rank()] = text;
  for (unsigned peer : from) {
    texts[peer].resize(sizes[peer]);
    in.push_back({peer, bytesOf(texts[peer].data()), sizes[peer]});
  }
  for (unsigned peer : to) {
    out.push_back({peer, bytesOf(text.data()), own});
  }
  ZG_RETURN_IF_ERROR(engine->transfer(in, out, where));
  return texts;
}

absl::StatusOr<std::vector<std::string>>
MpiCommunicator::exchange(const std::string &what, const std::string &text) {
  return transferTexts(what, text, others(), others());
}

absl::Status MpiCommunicator::barrier(const std::string &what) {
  return exchange(what, "").status();
}

absl::StatusOr<std::vector<std::string>>
MpiCommunicator::collect(const std::string &what, const std::string &text) {
  if (rank() == 0) {
    return transferTexts(what, text, {}, others());
  }
  ZG_RETURN_IF_ERROR(transferTexts(what, text, {0u}, {}).status());
  return std::vector<std::string>();
}

absl::Status MpiCommunicator::finish() {
  ZG_RETURN_IF_ERROR(barrier("the end of the run"));
  return engine->finish();
}
