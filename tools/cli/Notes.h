//===- Notes.h - what a command says besides its result -------------------===//

#ifndef ZEROGRAPH_TOOLS_CLI_NOTES_H
#define ZEROGRAPH_TOOLS_CLI_NOTES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace zerograph {

/// The kinds of messages on standard error, the most important first: warnings,
/// that something may be wrong; notes of the run and its options, that it may
/// be other than was thought; notes of how the model is compiled; and remarks,
/// about which there is nothing to do.
enum class Matter { Warning, Run, Compilation, Remark };

/// Says "note: TEXT" or "warning: TEXT", or keeps it for `releaseNotes`. Any
/// thread may call these functions.
void say(Matter matter, const std::string &text);
inline void warn(const std::string &text) { say(Matter::Warning, text); }

/// Gives what is said to `handler` in place of standard error; null: to that.
void handleNotes(
    std::function<void(Matter matter, const std::string &text)> handler);

/// Keeps what is said from here on, so that what matters most can come first,
/// and of a command that fails the error alone. Each command begins so.
void holdNotes();
/// The most notes before a run; more are not read.
constexpr size_t kMostNotes = 3;

/// Says what was kept, each text once, and at most `most` of them, with the
/// number of the others; of what matters less than `least`, nothing. Then `say`
/// speaks at once again.
void releaseNotes(size_t most = SIZE_MAX, Matter least = Matter::Remark);

} // namespace zerograph

#endif // ZEROGRAPH_TOOLS_CLI_NOTES_H
