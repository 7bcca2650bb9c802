//===- MakeSeeds.cpp - small inputs out of the files there are ------------===//
//
//   fuzz_seeds FOLDER FILE...
//
// Writes FOLDER/onnx, FOLDER/plan, FOLDER/safetensors, FOLDER/npy,
// FOLDER/names, FOLDER/checkpoint and FOLDER/frames, one seed a file: models
// without the bytes of their large weights, plans without their kernels' code
// (nothing reads it before a run), the beginning of arrays.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Index.h"
#include "runtime/comm/tcp/Messages.h"
#include "runtime/plan/PlanFile.h"
#include "tests/support/StoredZip.h"

#include "onnx/onnx_pb.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace zerograph;
namespace fs = std::filesystem;

namespace {

/// Weights above this many bytes are taken out.
constexpr size_t kLargeWeight = 256;
/// Models above this many bytes, without weights, would make a slow corpus.
constexpr size_t kLargestSeed = 128 << 10;

std::string contentOf(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool write(const fs::path &path, const std::string &bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream stream(path, std::ios::binary);
  stream << bytes;
  return stream.flush().good();
}

/// `model` with large weights as external data of no file.
bool seedOfModel(const fs::path &model, const fs::path &seed) {
  onnx::ModelProto proto;
  if (!proto.ParseFromString(contentOf(model))) {
    return false;
  }
  for (onnx::TensorProto &tensor :
       *proto.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() > kLargeWeight) {
      tensor.clear_raw_data();
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      auto *entry = tensor.add_external_data();
      entry->set_key("location");
      entry->set_value("weights");
    }
  }
  // The place in somebody's source that a node came from is most of an exported
  // file.
  for (onnx::NodeProto &node : *proto.mutable_graph()->mutable_node()) {
    node.clear_doc_string();
    node.clear_metadata_props();
  }
  std::string bytes = proto.SerializeAsString();
  return bytes.size() > kLargestSeed || write(seed, bytes);
}

bool seedOfPlan(const fs::path &file, const fs::path &seed) {
  auto loaded = readPlan(file);
  if (!loaded.ok()) {
    return false;
  }
  for (plan::Module &module : *loaded->plan.mutable_modules()) {
    module.mutable_elf()->resize(64);
  }
  return write(seed, loaded->plan.SerializeAsString());
}

/// A file whose one array is what follows the header.
std::string npy(int version, const std::string &dictionary,
                const std::string &data) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  bytes += static_cast<char>(dictionary.size());
  bytes += '\0';
  if (version > 1) {
    bytes.append(2, '\0');
  }
  return bytes + dictionary + data;
}

bool seedsOfArrays(const fs::path &folder) {
  std::string zeros(24, '\0');
  std::string one =
      R"({"x":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";
  std::string two = one +
                    R"(,"y":{"dtype":"I64","shape":[],)"
                    R"("data_offsets":[24,32]},"__metadata__":{"a":"b"}})";
  one += "}";
  auto safetensors = [](const std::string &header, size_t bytes) {
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    return file + header + std::string(bytes, '\1');
  };
  return write(folder / "safetensors/one", safetensors(one, 24)) &&
         write(folder / "safetensors/two", safetensors(two, 32)) &&
         write(folder / "npy/one",
               npy(1,
                   "{'descr': '<f4', 'fortran_order': False, 'shape': "
                   "(2, 3), }\n",
                   zeros)) &&
         write(folder / "npy/two",
               npy(2,
                   "{'descr': '<i8', 'fortran_order': False, 'shape': "
                   "(3,), }\n",
                   zeros)) &&
         write(folder / "npy/zip",
               testing::storedZip(
                   "x.npy", npy(1,
                                "{'descr': '<f4', 'fortran_order': False, "
                                "'shape': (6,), }\n",
                                zeros)));
}

bool seedOfNames(const fs::path &folder) {
  return write(folder / "names/both",
               R"({"a": "b", "c": {"name": "d", "transposed": true}})");
}

/// Writes what three ranks say in turn, in pieces of 66 bytes: calls that meet,
/// and ways to end.
bool seedsOfFrames(const fs::path &folder) {
  using namespace tcp;
  auto frame = [](FrameKind kind, const auto &message) {
    return *encode(kind, pack(message));
  };
  auto calls = [&](uint64_t round, Operation operation) {
    std::string bytes = frame(
        FrameKind::kCall, Call{round, operation, "what", std::string(40, 'x')});
    return bytes + bytes + bytes;
  };
  std::string met = "A" + calls(0, Operation::kExchange) +
                    calls(1, Operation::kCollect) +
                    calls(2, Operation::kExchange);
  std::string bye = *encode(FrameKind::kBye, "");
  std::string failure =
      frame(FrameKind::kFailure, Failure{1, absl::StatusCode::kAborted, "why"});
  return write(folder / "frames/met", met) &&
         write(folder / "frames/left", met + bye) &&
         write(folder / "frames/failed",
               met + frame(FrameKind::kAlive, Alive{true}) + failure) &&
         write(folder / "frames/strange",
               "A" + frame(FrameKind::kHello, Hello{"run", 1, 3, "process"}) +
                   frame(FrameKind::kResult, Result{0, {"a", "b"}}) +
                   frame(FrameKind::kRefused, Text{"why"}));
}

/// Indexes without their last line.
bool seedsOfCheckpoints(const fs::path &folder) {
  CheckpointIndex index;
  index.run.steps = 1;
  index.files = {{shardName(0), 40, 8, 1}};
  index.tensors = {{"w",
                    "param",
                    plan::F32,
                    plan::F32,
                    {2, 4},
                    std::nullopt,
                    {{0, 8, 0, 8, {2}}}}};
  auto body = [&] {
    std::string text = textOf(index);
    return text.substr(0, text.rfind(std::string(kChecksumBegin)));
  };
  std::string small = body();
  index.run.shuffle = 2;
  index.run.loss_scale.emplace();
  index.run.adapters = {{"r", "8"}};
  index.tensors[0].rank = 0;
  return write(folder / "checkpoint/small", small) &&
         write(folder / "checkpoint/all", body());
}

/// A trace and a log, of the plan that FuzzRun.cpp has.
bool seedsOfRuns(const fs::path &folder) {
  return write(
             folder / "run/trace",
             R"({"traceEvents": [{"ph": "M", "name": "process_name", "pid": 0},
{"ph": "X", "name": "a", "cat": "fill", "pid": 0, "tid": 0, "ts": 0, "dur": 2.5,
"args": {"program": "step", "step": 0}}, {"ph": "X", "name": "wait: b", "cat":
"wait", "pid": 0, "tid": 0, "ts": 2.5, "dur": 1, "args": {"program": "step",
"step": 1}}]})") &&
         write(folder / "run/log",
               "{\"step\": 0, \"loss\": 5.5, \"grad_norm\": null}\n"
               "{\"step\": 1, \"loss\": 4.5, \"skipped\": true}\n");
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER FILE...\n");
    return 2;
  }
  fs::path folder = argv[1];
  bool good = seedsOfArrays(folder) && seedsOfCheckpoints(folder) &&
              seedOfNames(folder) && seedsOfFrames(folder) &&
              seedsOfRuns(folder);
  for (int i = 2; i < argc && good; ++i) {
    fs::path file = argv[i];
    std::string name =
        file.parent_path().filename().string() + "-" + file.stem().string();
    good = file.extension() == ".onnx"
               ? seedOfModel(file, folder / "onnx" / name)
               : seedOfPlan(file, folder / "plan" / name);
    if (!good) {
      std::fprintf(stderr, "no seed could be made of %s\n", argv[i]);
    }
  }
  return good ? 0 : 1;
}
