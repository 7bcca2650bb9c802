//===- Calls.cpp - what every function of the C interface does ------------===//

#include "api/Calls.h"

#include "runtime/base/Version.h"
#include "tools/cli/Notes.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <unistd.h>

namespace zerograph::api {
namespace {

std::string &lastError() {
  thread_local std::string text;
  return text;
}

absl::Status withoutExceptions(absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return absl::ResourceExhaustedError("there is no memory left");
  } catch (const std::exception &error) {
    return absl::InternalError(
        absl::StrCat("a fault of the library: ", error.what()));
  } catch (...) {
    return absl::InternalError("a fault of the library");
  }
}

} // namespace

zg_code guard(absl::FunctionRef<absl::Status()> work) {
  absl::Status status = withoutExceptions(work);
  if (!status.ok()) {
    lastError() = std::string(status.message());
  }
  return zg_code(status.code());
}

std::vector<std::string> textsOf(const char *const *texts, size_t count) {
  return std::vector<std::string>(texts, texts + count);
}

char *copyOf(const std::string &text) {
  char *copy = strdup(text.c_str());
  if (!copy) {
    throw std::bad_alloc();
  }
  return copy;
}

Owner::Owner() : process(getpid()) {}

bool Owner::isHere() const { return process == getpid(); }

absl::Status Owner::check(const char *what) const {
  return isHere() ? absl::OkStatus()
                  : absl::FailedPreconditionError(absl::StrCat(
                        "this ", what, " is of process ", process,
                        ", and this one was forked from it: use it there, or "
                        "make another one here"));
}

} // namespace zerograph::api

using namespace zerograph;

int zg_interface() { return ZG_INTERFACE; }
const char *zg_version() { return kVersion; }
const char *zg_error() { return api::lastError().c_str(); }
void zg_text_free(char *text) { std::free(text); }

void zg_on_note(zg_note_handler handler, void *context) {
  if (!handler) {
    handleNotes(nullptr);
    return;
  }
  handleNotes([=](Matter matter, const std::string &text) {
    handler(context, matter == Matter::Warning, text.c_str());
  });
}
