//===- MpiModule.c - all code that is compiled with mpi.h -----------------===//
//
// For another MPI than the one that the program came with:
//
//   mpicc -shared -fPIC -O2 -o lib/libzerograph-mpi.so MpiModule.c
//
//===----------------------------------------------------------------------===//

#include "MpiCalls.h"

#include <mpi.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= 8, "the runtime has 8 bytes for each");
_Static_assert(MPI_MAX_LIBRARY_VERSION_STRING <= kMpiText &&
                   MPI_MAX_ERROR_STRING <= kMpiText,
               "the runtime has this room for a text");
_Static_assert(MPI_SUCCESS == 0, "as the standard says");

static void version(char *text) {
  int length = 0;
  memset(text, 0, kMpiText);
  MPI_Get_library_version(text, &length);
}

static void explain(int code, char *text) {
  int length = 0;
  memset(text, 0, kMpiText);
  MPI_Error_string(code, text, &length);
}

static int start(int *rank, int *world, int *threads) {
  int provided = 0;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  if (code != MPI_SUCCESS) {
    return code;
  }
  *threads = provided >= MPI_THREAD_FUNNELED;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_size(MPI_COMM_WORLD, world);
  return MPI_Comm_rank(MPI_COMM_WORLD, rank);
}

static MPI_Request *request(void *requests, int at) {
  MPI_Request *place = (MPI_Request *)requests + at;
  *place = MPI_REQUEST_NULL;
  return place;
}

static int receive(void *data, int bytes, int peer, int tag, void *requests,
                   int at) {
  return MPI_Irecv(data, bytes, MPI_BYTE,
                   peer == kMpiAnyPeer ? MPI_ANY_SOURCE : peer, tag,
                   MPI_COMM_WORLD, request(requests, at));
}

static int send(const void *data, int bytes, int peer, int tag, void *requests,
                int at) {
  return MPI_Isend(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                   request(requests, at));
}

static int testSome(int count, void *requests, int *done, int *indices) {
  int code = MPI_Testsome(count, requests, done, indices, MPI_STATUSES_IGNORE);
  if (*done == MPI_UNDEFINED) {
    *done = 0;
  }
  return code;
}

static int testAll(int count, void *requests, int *all) {
  return MPI_Testall(count, requests, all, MPI_STATUSES_IGNORE);
}

static int testMessage(void *requests, int *arrived, int *peer, int *bytes) {
  MPI_Status status;
  int code = MPI_Test(requests, arrived, &status);
  if (code == MPI_SUCCESS && *arrived) {
    *peer = status.MPI_SOURCE;
    MPI_Get_count(&status, MPI_BYTE, bytes);
  }
  return code;
}

static void release(void *requests) { MPI_Request_free(requests); }

static void cancel(void *requests) {
  MPI_Cancel(requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
}

static void finish(void) { MPI_Finalize(); }

static void abortAll(void) { MPI_Abort(MPI_COMM_WORLD, 1); }

__attribute__((visibility("default")))
const struct MpiCalls zerograph_mpi_calls_1 = {
    version, explain,     start,   receive, send,   testSome,
    testAll, testMessage, release, cancel,  finish, abortAll};
