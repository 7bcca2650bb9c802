//===- Cudnn.cpp - cuDNN on the emulated GPU ------------------------------===//

#include "tests/emulator/Cudnn.h"

#include "tests/emulator/CudnnAttributes.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

/// The workspace begins at a multiple of this.
constexpr uint64_t kWorkspaceAlignment = 16;

bool overlaps(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

template <typename T, typename Value>
std::vector<T> read(const Value &value) {
  std::vector<T> values(value.bytes.size() / sizeof(T));
  std::memcpy(values.data(), value.bytes.data(), values.size() * sizeof(T));
  return values;
}

} // namespace

std::string Cudnn::leftovers() const {
  std::string text;
  auto add = [&](size_t count, const char *what) {
    if (count) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", what);
    }
  };
  add(handles.size(), "handles");
  add(descriptors.size(), "descriptors");
  return text;
}

cudnnStatus_t Cudnn::refuse(const std::string &what) {
  gpu.complain(what);
  return CUDNN_STATUS_BAD_PARAM;
}

Cudnn::Descriptor *Cudnn::find(const void *descriptor, const char *call,
                               bool finalized) {
  auto found = descriptors.find(descriptor);
  if (found == descriptors.end()) {
    refuse(absl::StrCat(call, " is given a descriptor that is gone, or never "
                              "was, or one made of such a one"));
    return nullptr;
  }
  if (finalized && !found->second->finalized) {
    refuse(absl::StrCat(call, " is given a descriptor (of type ",
                        found->second->type, ") that is not finalized"));
    return nullptr;
  }
  for (const void *part : found->second->made_of) {
    if (!find(part, call)) {
      return nullptr;
    }
  }
  return found->second.get();
}

cudnnStatus_t Cudnn::set(Descriptor &descriptor, int name, int type,
                         int64_t count, const void *from) {
  if (descriptor.finalized) {
    return refuse(absl::StrCat("attribute ", name,
                               " is set of a descriptor that is finalized"));
  }
  for (const AttributeRule &rule : attributesOf(descriptor.type)) {
    if (rule.name != name) {
      continue;
    }
    bool factor = rule.type == CUDNN_TYPE_FLOAT && type == CUDNN_TYPE_DOUBLE;
    if (rule.type != type && !factor) {
      return refuse(absl::StrCat("attribute ", name, " is of type ", rule.type,
                                 ", and set to one of ", type));
    }
    if (!from || count < rule.least || count > rule.most) {
      return refuse(absl::StrCat("attribute ", name, " has ", rule.least,
                                 " to ", rule.most, " values, and is set to ",
                                 count));
    }
    Value value{type, count, {}};
    value.bytes.assign(static_cast<const char *>(from),
                       size_t(count) * bytesOf(type));
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      for (const void *part : read<const void *>(value)) {
        if (!find(part, "cudnnBackendSetAttribute")) {
          return CUDNN_STATUS_BAD_PARAM;
        }
        descriptor.made_of.push_back(part);
      }
    }
    descriptor.values[name] = std::move(value);
    return CUDNN_STATUS_SUCCESS;
  }
  return refuse(absl::StrCat("descriptors of type ", descriptor.type,
                             " have no attribute ", name, " to set"));
}

cudnnStatus_t Cudnn::fill(const std::vector<Descriptor> &content, int64_t room,
                          int64_t *count, void *to) {
  *count = int64_t(content.size()); // also where there is no room for all
  auto **given = static_cast<void **>(to);
  for (size_t i = 0; i < content.size() && int64_t(i) < room; ++i) {
    auto found = descriptors.find(given[i]);
    if (found == descriptors.end() || found->second->finalized ||
        found->second->type != content[i].type) {
      return refuse("cudnnBackendGetAttribute is to fill what is no new "
                    "descriptor of the attribute's type");
    }
    *found->second = content[i];
    found->second->finalized = true;
  }
  return CUDNN_STATUS_SUCCESS;
}

Cudnn::Descriptor Cudnn::engineOf(const Descriptor &of) const {
  Descriptor engine = of;
  engine.type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  engine.knobs.clear();
  return engine;
}

cudnnStatus_t Cudnn::get(Descriptor &descriptor, int name, int type,
                         int64_t room, int64_t *count, void *to) {
  auto give = [&](int as, const auto &values) {
    if (type != as) {
      return refuse(absl::StrCat("attribute ", name, " is of type ", as,
                                 ", and asked for as one of ", type));
    }
    *count = int64_t(values.size());
    std::memcpy(to, values.data(),
                std::min(values.size(), size_t(room)) * sizeof(values[0]));
    return CUDNN_STATUS_SUCCESS;
  };
  auto number = [&](int64_t value) {
    return give(CUDNN_TYPE_INT64, std::vector<int64_t>{value});
  };
  std::vector<Descriptor> content;
  Descriptor part = descriptor;
  switch (name) {
  case CUDNN_ATTR_ENGINEHEUR_RESULTS:
    for (const CudnnEngineModel *engine : CudnnEngineModel::namedIn(
             read<int32_t>(descriptor.values[CUDNN_ATTR_ENGINEHEUR_MODE])[0])) {
      part.type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
      part.engine = engine;
      part.knobs = engine->knobs;
      content.push_back(part);
    }
    return fill(content, room, count, to);
  case CUDNN_ATTR_ENGINECFG_ENGINE:
    return fill({engineOf(descriptor)}, room, count, to);
  case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
    for (const auto &knob : descriptor.knobs) {
      part.type = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
      part.knobs = {knob};
      content.push_back(part);
    }
    return fill(content, room, count, to);
  case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
    return give(CUDNN_TYPE_KNOB_TYPE,
                std::vector<int32_t>{descriptor.knobs.begin()->first});
  case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
    return number(descriptor.knobs.begin()->second);
  case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
    return number(descriptor.engine->index);
  case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
    return give(CUDNN_TYPE_NUMERICAL_NOTE, descriptor.engine->notes);
  case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
    return give(CUDNN_TYPE_BEHAVIOR_NOTE, descriptor.engine->behavior);
  case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
    return number(
        int64_t(descriptor.engine->workspaceBytes(descriptor.convolution)));
  default:
    return refuse(absl::StrCat("attribute ", name,
                               " is asked for, which is not emulated"));
  }
}

bool Cudnn::isTorn(Handle &handle) {
  uint64_t now = gpu.recordingOf(handle.stream);
  bool torn = handle.recording != now && gpu.isOpen(handle.recording);
  handle.recording = now;
  return torn;
}

cudnnStatus_t Cudnn::execute(Handle &handle, const Descriptor &plan,
                             const Descriptor &pack) {
  constexpr char kCall[] = "cudnnBackendExecute";
  auto value = [&](int name) { return pack.values.at(name); };
  auto ids = read<int64_t>(value(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
  auto pointers = read<uint64_t>(value(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
  uint64_t workspace =
      read<uint64_t>(value(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))[0];
  Convolution convolution = plan.convolution;
  const CudnnEngineModel *engine = plan.engine;
  uint64_t workspace_bytes = engine->workspaceBytes(convolution);
  uint64_t at[3];
  const int result = convolution.result;
  for (int i = 0; i < 3; ++i) {
    auto known = std::find(ids.begin(), ids.end(), convolution.ids[i]);
    if (known == ids.end()) {
      return refuse(
          absl::StrCat(kCall, ": the pack has no tensor ", convolution.ids[i]));
    }
    at[i] = pointers[size_t(known - ids.begin())];
    if (at[i] % uint64_t(convolution.alignments[i]) != 0) {
      return refuse(absl::StrCat(
          kCall, ": tensor ", convolution.ids[i], " begins at no multiple of ",
          convolution.alignments[i], ", as was said of it"));
    }
  }
  for (int i = 0; i < 3; ++i) {
    if (i != result && overlaps(at[i], convolution.bytes(i), at[result],
                                convolution.bytes(result))) {
      return refuse(absl::StrCat(kCall, ": the result lies on an operand"));
    }
    if (overlaps(at[i], convolution.bytes(i), workspace, workspace_bytes)) {
      return refuse(absl::StrCat(kCall, ": the workspace lies on a tensor"));
    }
  }
  if (workspace_bytes > 0 &&
      (workspace == 0 || workspace % kWorkspaceAlignment != 0)) {
    return refuse(absl::StrCat(kCall,
                               ": the engine needs a workspace, at a "
                               "multiple of ",
                               kWorkspaceAlignment));
  }
  if (loaded.insert(absl::StrCat(engine->index, " ", convolution.text()))
          .second &&
      Gpu::isRecording()) {
    return refuse("cudnnBackendExecute launches a kernel for the first time "
                  "while a graph is recorded: it would have to be loaded");
  }
  if (isTorn(handle)) {
    return refuse("cudnnBackendExecute is given a handle that another stream "
                  "records a graph with");
  }
  auto run = [=, this](Gpu::Touched &touched) {
    char *memory[3];
    bool there = true;
    for (int i = 0; i < 3; ++i) {
      memory[i] =
          gpu.reach(at[i], convolution.bytes(i), i == result, touched, kCall);
      there = there && memory[i];
    }
    char *room = nullptr;
    if (workspace_bytes > 0) { // all of which may be written
      room = gpu.reach(workspace, workspace_bytes, true, touched, kCall);
      there = there && room;
      if (room) {
        std::memset(room, 0x5a, workspace_bytes);
      }
    }
    if (there) {
      convolution.compute(engine->sums, memory, room, gpu.random);
      ++convolution_count;
      engines_used.insert(engine->index);
    }
    return absl::OkStatus();
  };
  return gpu.enqueue(handle.stream, {kCall, run}) == 0
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_EXECUTION_FAILED;
}
