//===- Processes.h - ranks that are processes of a test -------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_COMM_TCP_PROCESSES_H
#define ZEROGRAPH_TESTS_RUNTIME_COMM_TCP_PROCESSES_H

#include "tests/runtime/comm/ControlPlanes.h"

#include <csignal>
#include <functional>
#include <sys/wait.h>

namespace zerograph::testing {

/// Processes that are forked, while this one has no other threads, and killed
/// with it. Each joins a run and does something; what it then says is kept.
class Processes {
public:
  /// Called in a process of its own.
  using Body = std::function<absl::Status(TcpControlPlane &)>;

  Processes(unsigned world, Deadline deadline)
      : world(world), deadline(deadline), port(freePort()) {}
  ~Processes() {
    for (const Process &process : processes) {
      kill(process.number, SIGKILL);
      waitpid(process.number, nullptr, 0);
      close(process.pipe);
    }
  }

  void start(unsigned rank, const Body &body) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t number = fork();
    ASSERT_GE(number, 0);
    if (number == 0) {
      close(ends[0]);
      say(ends[1], run(rank, body));
      _exit(0);
    }
    close(ends[1]);
    processes.push_back({rank, number, ends[0], ""});
  }

  /// The process of a rank.
  pid_t numberOf(unsigned rank) const {
    for (const Process &process : processes) {
      if (process.rank == rank) {
        return process.number;
      }
    }
    return 0;
  }

  /// Returns what a rank's body gave, once it has: "OK", or its error. "" of
  /// one that died.
  std::string said(unsigned rank) {
    for (Process &process : processes) {
      char buffer[4096];
      ssize_t bytes = 1;
      while (process.rank == rank && bytes > 0) {
        bytes = read(process.pipe, buffer, sizeof(buffer));
        process.said.append(buffer, size_t(std::max<ssize_t>(bytes, 0)));
      }
      if (process.rank == rank) {
        return process.said;
      }
    }
    return "";
  }

  uint16_t portOfRun() const { return port; }

private:
  struct Process {
    unsigned rank;
    pid_t number;
    int pipe;
    std::string said;
  };

  absl::Status run(unsigned rank, const Body &body) const {
    TcpOptions options;
    options.deadline = deadline;
    ZG_ASSIGN_OR_RETURN(
        std::unique_ptr<TcpControlPlane> plane,
        TcpControlPlane::join(launchOf(rank, world, port), options));
    return body(*plane);
  }

  static void say(int pipe, const absl::Status &status) {
    std::string text = status.ToString();
    (void)!write(pipe, text.data(), text.size());
  }

  unsigned world;
  Deadline deadline;
  uint16_t port;
  std::vector<Process> processes;
};

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_COMM_TCP_PROCESSES_H
