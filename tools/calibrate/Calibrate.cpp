//===- Calibrate.cpp - measures this machine ------------------------------===//

#include "tools/calibrate/Calibrate.h"

#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/WorkerPool.h"

#include "absl/strings/str_format.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>
#include <vector>

namespace zerograph {
namespace {

/// Seconds for which one thing is measured.
constexpr double kLong = 0.5;
constexpr size_t kArray = 32 << 20; // floats: 128 MiB, more than caches hold

/// Returns the seconds of the fastest of several calls.
template <typename Function>
double fastest(const Function &function) {
  using Clock = std::chrono::steady_clock;
  auto seconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  double best = 1e9;
  for (Clock::time_point start = Clock::now();
       seconds(Clock::now() - start) < kLong;) {
    Clock::time_point begin = Clock::now();
    function();
    best = std::min(best, seconds(Clock::now() - begin));
  }
  return best;
}

/// Memory at a multiple of 4096 bytes, as direct I/O asks.
class Bytes {
public:
  explicit Bytes(size_t size) : memory(size + 4096) {}
  std::byte *data() {
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    return memory.data() + (4096 - address % 4096) % 4096;
  }

private:
  std::vector<std::byte> memory;
};

class Host {
public:
  explicit Host(unsigned threads) : pool(threads) {}

  /// 10^12 operations a second of a product of 1024 x 768 by 768 x 3072
  /// numbers, as a language model has them.
  absl::StatusOr<double> products(plan::ElementType type) {
    constexpr uint64_t kRows = 1024, kInner = 768, kColumns = 3072;
    plan::Matmul matmul;
    matmul.set_element_type(type);
    matmul.set_batch(1);
    matmul.set_m(kRows);
    matmul.set_n(kColumns);
    matmul.set_k(kInner);
    size_t element = type == plan::F32 ? 4 : 2;
    Bytes a(kRows * kInner * element), b(kInner * kColumns * element);
    Bytes c(kRows * kColumns * element);
    ZG_ASSIGN_OR_RETURN(uint64_t scratch_bytes, scratchBytes(matmul));
    Bytes scratch(scratch_bytes);
    ZG_ASSIGN_OR_RETURN(auto call,
                        bindMatmul(matmul, {a.data(), b.data(), c.data()},
                                   scratch.data(), scratch_bytes));
    absl::Status status;
    std::vector<absl::Status> of_parts(call->parts());
    double seconds = fastest([&] {
      pool.run(call->parts(),
               [&](uint32_t part) { of_parts[part] = call->run(part); });
    });
    for (const absl::Status &part : of_parts) {
      status.Update(part);
    }
    ZG_RETURN_IF_ERROR(status);
    return 2.0 * kRows * kInner * kColumns / seconds / 1e12;
  }

  /// 10^9 bytes a second of a = b + 3 c.
  double memory() {
    std::vector<float> a(kArray), b(kArray, 1), c(kArray, 2);
    double seconds = fastest([&] {
      pool.run(pool.size(), [&](uint32_t part) {
        WorkRange range = partOf(kArray, 16, part, pool.size());
        for (uint64_t i = range.begin; i < range.end; ++i) {
          a[i] = b[i] + 3 * c[i];
        }
      });
    });
    return 3.0 * kArray * sizeof(float) / seconds / 1e9;
  }

  /// Microseconds in which threads meet.
  double launch() {
    constexpr int kTimes = 1000;
    return fastest([&] {
             for (int i = 0; i < kTimes; ++i) {
               pool.run(pool.size(), [](uint32_t) {});
             }
           }) /
           kTimes * 1e6;
  }

  /// 10^9 bytes a second that one thread copies.
  double copies() {
    std::vector<float> from(kArray, 1), to(kArray);
    double seconds = fastest(
        [&] { std::memcpy(to.data(), from.data(), kArray * sizeof(float)); });
    return double(kArray * sizeof(float)) / seconds / 1e9;
  }

private:
  WorkerPool pool;
};

/// 10^9 bytes a second, read and written.
struct DiskRates {
  double read = 0, write = 0;
};

absl::StatusOr<DiskRates> measureDisk(const std::string &folder) {
  constexpr size_t kBlock = 8 << 20, kBlocks = 32;
  std::string path;
  int file = -1;
  for (int flags : {O_DIRECT | O_DSYNC, O_DSYNC}) { // some know no direct I/O
    if (file < 0) {
      path = folder + "/zerograph-calibrate-XXXXXX"; // each call changes it
      file = mkostemp(path.data(), flags);
    }
  }
  if (file < 0) {
    return absl::UnavailableError(absl::StrCat(
        folder,
        ": cannot write a file to measure the disk: ", std::strerror(errno)));
  }
  unlink(path.c_str());
  Bytes block(kBlock);
  bool fine = true;
  auto each = [&](auto transfer) {
    return double(kBlock * kBlocks) / 1e9 / fastest([&] {
             for (size_t i = 0; i < kBlocks; ++i) {
               fine &= transfer(file, block.data(), kBlock,
                                off_t(i * kBlock)) == ssize_t(kBlock);
             }
           });
  };
  DiskRates rates;
  rates.write = each(pwrite);
  rates.read = each(pread);
  int error = errno;
  close(file);
  if (!fine) {
    return absl::UnavailableError(absl::StrCat(
        folder, ": the disk cannot be measured: ", std::strerror(error)));
  }
  return rates;
}

} // namespace

absl::StatusOr<std::string> calibrateHost(unsigned threads,
                                          const std::string &folder) {
  Host host(threads);
  ZG_ASSIGN_OR_RETURN(double f32, host.products(plan::F32));
  double bf16 = f32;
  if (multipliesBf16()) {
    ZG_ASSIGN_OR_RETURN(bf16, host.products(plan::BF16));
  }
  ZG_ASSIGN_OR_RETURN(DiskRates disk, measureDisk(folder));
  std::string text = "name: this machine\ndevice: host\n";
  auto add = [&](const char *figure, double value, const std::string &source) {
    absl::StrAppendFormat(&text, "%s: {value: %.4g, source: \"%s\"}\n", figure,
                          value, source);
  };
  std::string by = absl::StrCat("measured with ", threads, " threads");
  std::string product = "1024 x 768 by 768 x 3072, by oneDNN, " + by;
  add("processors", threads, "its threads");
  add("multiply_f64", f32 / 2, "half of f32");
  add("multiply_f32", f32, product);
  add("multiply_f16", f32, "as f32, in which f16 is computed");
  add("multiply_bf16", bf16, product);
  add("vector_f32", f32 / 2, "half of multiply_f32");
  add("vector_f64", f32 / 4, "half of vector_f32");
  add("product_share", 1, "what was measured was reached");
  add("memory_share", 1, "what was measured was reached");
  add("memory",
      double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE)) / 1e9,
      "its memory");
  add("memory_bandwidth", host.memory(), "a = b + 3 c of 128 MiB, " + by);
  double launch = host.launch();
  add("launch", launch, "threads meet, " + by);
  add("link_bandwidth", host.copies(), "one thread copies 128 MiB");
  add("link_latency", launch, "as launch: threads meet");
  add("network_bandwidth", 1.25, "not measured: 10 Gb/s");
  add("disk_read", disk.read, "256 MiB in blocks of 8 MiB");
  add("disk_write", disk.write, "256 MiB in blocks of 8 MiB");
  return text;
}

} // namespace zerograph
