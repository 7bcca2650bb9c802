//===- MpiCalls.h - what the runtime calls of MPI -------------------------===//
//
// Each MPI has types and constants of its own, which its mpi.h gives. Here is
// nothing of them: the program is compiled without MPI and opens the module
// that is compiled with it (MpiModule.c). In C, so that any mpicc takes it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_MPI_MODULE_MPICALLS_H
#define ZEROGRAPH_RUNTIME_COMM_MPI_MODULE_MPICALLS_H

#ifdef __cplusplus
namespace zerograph {
#endif

/// The module's file, in the folder lib beside that of the program.
#define ZEROGRAPH_MPI_MODULE "libzerograph-mpi.so"
/// The table's symbol in it. Count its number up when the table changes.
#define ZEROGRAPH_MPI_CALLS "zerograph_mpi_calls_1"

enum {
  kMpiText = 8192, ///< bytes that any text of `version` and `explain` fits in
  kMpiAnyPeer = -1
};

/// MPI's calls over MPI_COMM_WORLD, on bytes, from one thread. Those that
/// return an int return MPI's error code, which is 0 where all went well.
/// `requests`: 8 bytes for each request, aligned to 8, in which MPI's own lie
/// one after the other from the first; `at` counts them.
struct MpiCalls {
  /// Writes the library's name and version as a string; needs no launcher.
  void (*version)(char *text);
  /// Writes what an error code means, as a string.
  void (*explain)(int code, char *text);

  /// MPI_Init_thread. If it sets `*threads` to 0, this MPI does not allow a
  /// process to have other threads.
  int (*start)(int *rank, int *world, int *threads);
  /// `peer`: a rank or kMpiAnyPeer.
  int (*receive)(void *data, int bytes, int peer, int tag, void *requests,
                 int at);
  int (*send)(const void *data, int bytes, int peer, int tag, void *requests,
              int at);
  /// Sets `*done` to the number of requests that have come to their end since
  /// the last call, and `indices` (room for `count`) to which they are.
  int (*testSome)(int count, void *requests, int *done, int *indices);
  int (*testAll)(int count, void *requests, int *all);
  /// Tests the first request, a receive: whether it has arrived, from which
  /// rank, and how many bytes.
  int (*testMessage)(void *requests, int *arrived, int *peer, int *bytes);
  /// Lets MPI end the first request by itself.
  void (*release)(void *requests);
  /// Cancels the first request, and waits until that is done.
  void (*cancel)(void *requests);
  void (*finish)(void);
  void (*abort)(void);
};

#ifdef __cplusplus
} // namespace zerograph
#endif

#endif // ZEROGRAPH_RUNTIME_COMM_MPI_MODULE_MPICALLS_H
