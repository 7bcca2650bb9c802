//===- OneDnn.cpp - how oneDNN is called ----------------------------------===//

#include "runtime/device/host/OneDnn.h"

#include "runtime/device/host/LibraryCall.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <omp.h>
#include <unistd.h>

using namespace zerograph;
using namespace zerograph::onednn;

namespace {

/// The environment changes oneDNN's choice of code, and so bits: what could is
/// removed before its first use.
void forgetEnvironment() {
  std::vector<std::string> names;
  for (char **entry = environ; entry && *entry; ++entry) {
    std::string text = *entry;
    if (text.rfind("DNNL_", 0) == 0 || text.rfind("ONEDNN_", 0) == 0) {
      names.push_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string &name : names) {
    unsetenv(name.c_str());
  }
}

struct Isa {
  dnnl_cpu_isa_t value;
  const char *name;
};

constexpr Isa kIsas[] = {
    {dnnl_cpu_isa_sse41, "sse41"},
    {dnnl_cpu_isa_avx, "avx"},
    {dnnl_cpu_isa_avx2, "avx2"},
    {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
    {dnnl_cpu_isa_avx512_mic, "avx512_mic"},
    {dnnl_cpu_isa_avx512_mic_4ops, "avx512_mic_4ops"},
    {dnnl_cpu_isa_avx512_core, "avx512_core"},
    {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
    {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
    {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
};

/// Starts the library. The first call decides what it may use.
dnnl::engine &start(dnnl_cpu_isa_t most) {
  static dnnl::engine *engine = [&] {
    forgetEnvironment();
    dnnl_set_verbose(0);
    dnnl_set_max_cpu_isa(most);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *engine;
}

dnnl_stream_t threadStream() {
  thread_local std::optional<dnnl::stream> stream;
  if (!stream) {
    omp_set_num_threads(1);
    stream.emplace(engine());
  }
  return stream->get();
}

} // namespace

dnnl::engine &onednn::engine() { return start(dnnl_cpu_isa_all); }

SingleThread::SingleThread() : before(omp_get_max_threads()) {
  omp_set_num_threads(1);
}
SingleThread::~SingleThread() { omp_set_num_threads(before); }

absl::Status onednn::checkScratch(const char *what, uint64_t needed,
                                  uint64_t planned) {
  if (needed == planned) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the ", what, " needs ", needed, " bytes of scratch here, the plan has ",
      planned, " for it; compile the plan on this machine"));
}

void Arguments::add(int index, const dnnl::memory::desc &description,
                    void *address) {
  memories.emplace_back(description, engine(), address);
  arguments.push_back({index, memories.back().get()});
}

absl::Status Arguments::execute(const dnnl::primitive &primitive,
                                const char *what) const {
  dnnl_status_t status = dnnl_primitive_execute(
      primitive.get(), threadStream(), int(arguments.size()), arguments.data());
  if (status != dnnl_success) {
    return absl::InternalError(
        absl::StrCat("oneDNN's ", what, " failed with status ", int(status)));
  }
  return absl::OkStatus();
}

std::string zerograph::libraryVersion() {
  const dnnl_version_t *version = dnnl_version();
  return absl::StrCat("oneDNN ", version->major, ".", version->minor, ".",
                      version->patch);
}

std::string zerograph::effectiveIsa() {
  engine();
  dnnl_cpu_isa_t effective = dnnl_get_effective_cpu_isa();
  for (const Isa &isa : kIsas) {
    if (isa.value == effective) {
      return isa.name;
    }
  }
  return absl::StrCat("isa ", int(effective));
}

bool zerograph::hasAmx() { return effectiveIsa() == "avx512_core_amx"; }

bool zerograph::multipliesBf16() {
  // Without, it emulates them on AVX-512 and has none for less.
  return hasAmx() || effectiveIsa() == "avx512_core_bf16";
}

absl::Status zerograph::limitIsa(const std::string &isa) {
  if (isa.empty()) {
    engine();
    return absl::OkStatus();
  }
  for (const Isa &known : kIsas) {
    if (known.name == isa) {
      start(known.value);
    }
  }
  std::string effective = effectiveIsa();
  return effective == isa ? absl::OkStatus()
                          : absl::FailedPreconditionError(absl::StrCat(
                                "its library calls are for ", isa,
                                ", oneDNN uses ", effective, " here"));
}
