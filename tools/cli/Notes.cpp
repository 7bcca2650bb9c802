//===- Notes.cpp - what a command says besides its result -----------------===//

#include "tools/cli/Notes.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

namespace zerograph {
namespace {

using Note = std::pair<Matter, std::string>;

/// The state of the process's standard error, and what waits for it.
struct Held {
  std::mutex mutex;
  bool holds = false;
  std::function<void(Matter, const std::string &)> handler;
  std::vector<Note> notes;
};
Held &held() {
  static Held held;
  return held;
}

using Handler = std::function<void(Matter, const std::string &)>;

/// Says a note; without the mutex, for a handler may do anything.
void print(const Handler &handler, const Note &note,
           const std::string &end = "") {
  if (handler) {
    handler(note.first, note.second + end);
    return;
  }
  std::fprintf(stderr, "%s: %s%s\n",
               note.first == Matter::Warning ? "warning" : "note",
               note.second.c_str(), end.c_str());
}

} // namespace

void say(Matter matter, const std::string &text) {
  std::unique_lock<std::mutex> lock(held().mutex);
  Note note = {matter, text};
  if (!held().holds) {
    Handler handler = held().handler;
    lock.unlock();
    print(handler, note);
    return;
  }
  std::vector<Note> &notes = held().notes;
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) {
    notes.push_back(std::move(note));
  }
}

void handleNotes(Handler handler) {
  std::lock_guard<std::mutex> lock(held().mutex);
  held().handler = std::move(handler);
}

void holdNotes() {
  std::lock_guard<std::mutex> lock(held().mutex);
  held().holds = true;
}

void releaseNotes(size_t most, Matter least) {
  std::unique_lock<std::mutex> lock(held().mutex);
  held().holds = false;
  std::vector<Note> notes = std::exchange(held().notes, {});
  Handler handler = held().handler;
  lock.unlock();
  std::erase_if(notes, [&](const Note &note) { return note.first > least; });
  std::stable_sort(
      notes.begin(), notes.end(),
      [](const Note &a, const Note &b) { return a.first < b.first; });
  size_t warnings =
      std::count_if(notes.begin(), notes.end(), [](const Note &note) {
        return note.first == Matter::Warning;
      });
  size_t shown = std::min(std::max(most, warnings), notes.size());
  for (size_t i = 0; i < shown; ++i) {
    bool cut = i + 1 == shown && shown < notes.size();
    print(handler, notes[i],
          cut ? " (--notes has " + std::to_string(notes.size() - shown) +
                    " more)"
              : "");
  }
}

} // namespace zerograph
