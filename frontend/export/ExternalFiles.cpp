//===- ExternalFiles.cpp - files of external data, under other names ------===//
//
// Each file that the model names gets one beside the exported model, with the
// same bytes at the same places but for the weights.
//
//===----------------------------------------------------------------------===//

#include "frontend/base/Error.h"
#include "frontend/export/PlaceWeights.h"
#include "frontend/export/Tensors.h"
#include "frontend/file/ExternalData.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "llvm/ADT/STLExtras.h"

#include <sys/stat.h>

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// One file that the model names, and who is in it.
struct Source {
  bool exists = false;
  int64_t bytes = 0;
  struct Tenant {
    TensorProto *tensor;
    ByteRange range;
    const std::string *weight; ///< null: its bytes stay
  };
  std::vector<Tenant> tenants;
};

/// "model.onnx.data" beside model.onnx is "OUT.onnx.data" beside OUT.onnx; any
/// other "w.bin" is "OUT.onnx.w.bin".
std::string nameBeside(const std::string &output, const ModelFile &file,
                       const std::string &location) {
  absl::string_view rest = location;
  absl::ConsumePrefix(&rest, "./");
  if (absl::ConsumePrefix(&rest, file.fileName) &&
      absl::StartsWith(rest, ".")) {
    return absl::StrCat(output, rest);
  }
  return absl::StrCat(output, ".", absl::StrReplaceAll(location, {{"/", "."}}));
}

/// Two tensors may share bytes as long as none of them is trained.
void checkShared(const std::string &location, std::vector<Source::Tenant> all) {
  llvm::stable_sort(all, [](const auto &a, const auto &b) {
    return a.range.offset < b.range.offset;
  });
  const Source::Tenant *last = nullptr; // of those before, who reaches furthest
  for (const Source::Tenant &tenant : all) {
    int64_t end = tenant.range.offset + tenant.range.length;
    bool shares = last != nullptr && tenant.range.length > 0 &&
                  last->range.offset + last->range.length > tenant.range.offset;
    if (shares && (tenant.weight != nullptr || last->weight != nullptr)) {
      fail("tensors '", last->tensor->name(), "' and '", tenant.tensor->name(),
           "' share bytes of '", location,
           "', and no longer have the same values: save the model with a place "
           "for each of them");
    }
    if (last == nullptr || end > last->range.offset + last->range.length) {
      last = &tenant;
    }
  }
}

/// Checks that every byte that is read of a file that is not there is new.
void checkComplete(const std::string &location, const Source &source) {
  std::vector<std::string> missing;
  for (const Source::Tenant &tenant : source.tenants) {
    if (tenant.weight == nullptr) {
      missing.push_back(tenant.tensor->name());
    }
  }
  if (!source.exists && !missing.empty()) {
    fail("'", location,
         "' is not beside the model, and the weights do not "
         "have ",
         listNames(missing));
  }
}

std::map<std::string, Source>
collect(ModelFile &file,
        const std::map<const TensorProto *, std::string> &placed) {
  std::map<std::string, Source> sources;
  eachTensor(file.model, [&](TensorProto &tensor) {
    if (!isExternal(tensor)) {
      return;
    }
    External external = openExternal(file, tensor);
    Source &source = sources[external.range.file];
    struct stat info = {};
    if (external.file >= 0 && fstat(external.file, &info) == 0) {
      source.exists = true;
      source.bytes = info.st_size;
    } else {
      source.bytes =
          std::max(source.bytes, external.range.offset + external.range.length);
    }
    auto weight = placed.find(&tensor);
    source.tenants.push_back(
        {&tensor, external.range,
         weight == placed.end() ? nullptr : &weight->second});
  });
  return sources;
}

/// Names another file; a checksum of other bytes would be wrong.
bool rename(TensorProto &tensor, const std::string &name, bool changed) {
  bool dropped = false;
  auto &entries = *tensor.mutable_external_data();
  for (int i = 0; i < entries.size(); ++i) {
    if (entries.Get(i).key() == "location") {
      entries.Mutable(i)->set_value(name);
    } else if (entries.Get(i).key() == "checksum" && changed) {
      entries.DeleteSubrange(i--, 1);
      dropped = true;
    }
  }
  return dropped;
}

} // namespace

void moveExternalData(ModelFile &file, const std::string &output,
                      const std::map<const TensorProto *, std::string> &placed,
                      std::vector<DataFile> &data,
                      std::vector<std::string> &notes) {
  int64_t checksums = 0;
  for (auto &[location, source] : collect(file, placed)) {
    checkComplete(location, source);
    checkShared(location, source.tenants);
    DataFile written;
    written.name = nameBeside(output, file, location);
    written.source = source.exists ? location : "";
    written.bytes = source.bytes;
    for (const Source::Tenant &tenant : source.tenants) {
      checksums +=
          rename(*tenant.tensor, written.name, tenant.weight != nullptr);
      if (tenant.weight != nullptr) {
        written.parts.push_back({tenant.range.offset, *tenant.weight,
                                 safetensorsName(tenant.tensor->data_type())});
      }
    }
    data.push_back(std::move(written));
  }
  if (checksums > 0) {
    notes.push_back(absl::StrCat(checksums, " checksums of external data are "
                                            "left out: the bytes are others"));
  }
}

} // namespace zerograph::frontend
