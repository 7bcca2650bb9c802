//===- CudaProgram.cpp - a program issued to queues -----------------------===//

#include "runtime/device/cuda/CudaProgram.h"

#include <algorithm>
#include <chrono>

using namespace zerograph;

CudaProgram::~CudaProgram() {
  if (context->enter().ok()) {
    for (CUevent event : events) {
      context->api.cuEventDestroy(event);
    }
  }
}

absl::Status CudaProgram::makeEvent(CUevent &event, unsigned flags) {
  ZG_CUDA(context->api, cuEventCreate, &event, flags);
  events.push_back(event);
  return absl::OkStatus();
}

absl::Status CudaProgram::add(CUstream stream, uint32_t number,
                              std::unique_ptr<Operation> operation,
                              const std::vector<uint32_t> &waits) {
  Entry entry;
  entry.stream = stream;
  entry.number = number;
  entry.operation = std::move(operation);
  for (uint32_t place : waits) {
    Entry &earlier = entries[place];
    if (earlier.stream == stream) {
      continue; // in order anyway
    }
    if (!earlier.done) {
      ZG_RETURN_IF_ERROR(makeEvent(earlier.done, CU_EVENT_DISABLE_TIMING));
    }
    entry.waits.push_back(earlier.done);
  }
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) {
    streams.push_back(stream);
  }
  entries.push_back(std::move(entry));
  return absl::OkStatus();
}

absl::Status CudaProgram::issue(const Entry &entry, unsigned slot) {
  const CudaApi &api = context->api;
  for (CUevent event : entry.waits) {
    ZG_CUDA(api, cuStreamWaitEvent, entry.stream, event, 0);
  }
  if (entry.begun) {
    ZG_CUDA(api, cuEventRecord, entry.begun, entry.stream);
  }
  ZG_RETURN_IF_ERROR(entry.operation->issue({entry.stream, slot}));
  if (entry.ended) {
    ZG_CUDA(api, cuEventRecord, entry.ended, entry.stream);
  }
  if (entry.done) {
    ZG_CUDA(api, cuEventRecord, entry.done, entry.stream);
  }
  return absl::OkStatus();
}

absl::Status CudaProgram::makeTimers() {
  if (!timed || origin || entries.empty()) {
    return absl::OkStatus();
  }
  ZG_RETURN_IF_ERROR(makeEvent(origin, CU_EVENT_DEFAULT));
  for (Entry &entry : entries) {
    ZG_RETURN_IF_ERROR(makeEvent(entry.begun, CU_EVENT_DEFAULT));
    ZG_RETURN_IF_ERROR(makeEvent(entry.ended, CU_EVENT_DEFAULT));
  }
  step_times.resize(entries.size());
  return absl::OkStatus();
}

void CudaProgram::start(unsigned slot) {
  failed_step = entries.empty() ? 0 : entries.front().number;
  result = context->enter();
  result.Update(makeTimers());
  if (result.ok() && origin) {
    result = cudaStatus(context->api,
                        context->api.cuEventRecord(origin, streams.front()),
                        "cuEventRecord");
    began = std::chrono::steady_clock::now().time_since_epoch() /
            std::chrono::nanoseconds(1);
  }
  for (const Entry &entry : entries) {
    if (!result.ok()) {
      break;
    }
    // The driver may tell here what an earlier step has done.
    result = annotate(issue(entry, slot), "this step or an earlier one");
    failed_step = entry.number;
  }
  if (!result.ok()) {
    failed(result, failed_step);
  }
}

/// Milliseconds since `origin`, as the GPU counts them.
absl::Status CudaProgram::readTimes() {
  auto at = [&](CUevent event, int64_t &time) {
    float milliseconds = 0;
    ZG_CUDA(context->api, cuEventElapsedTime, &milliseconds, origin, event);
    time = began + int64_t(double(milliseconds) * 1e6);
    return absl::OkStatus();
  };
  for (size_t i = 0; i < entries.size(); ++i) {
    ZG_RETURN_IF_ERROR(at(entries[i].begun, step_times[i].begin));
    ZG_RETURN_IF_ERROR(at(entries[i].ended, step_times[i].end));
  }
  return absl::OkStatus();
}

// What has been issued is not told apart any more: the driver says that
// something has failed, and not what.
absl::Status CudaProgram::finish(uint32_t &number) {
  absl::Status status = context->enter();
  for (CUstream stream : streams) {
    status.Update(cudaStatus(context->api,
                             context->api.cuStreamSynchronize(stream),
                             "cuStreamSynchronize"));
  }
  if (result.ok() && !status.ok()) {
    result = annotate(status, "this step or a later one of the program");
    failed_step = entries.empty() ? 0 : entries.front().number;
    failed(result, failed_step);
  }
  if (result.ok() && origin) {
    result = readTimes();
  }
  number = failed_step;
  return result;
}
