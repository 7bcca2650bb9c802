//===- ExportFiles.cpp - the files of an exported model -------------------===//

#include "tools/cli/ExportFiles.h"

#include "runtime/io/NewFile.h"

#include <algorithm>
#include <filesystem>

namespace zerograph {

namespace {

std::string besideOf(const std::string &path, const std::string &name) {
  return (std::filesystem::path(path).parent_path() / name).string();
}

std::string folderOf(const std::string &path) {
  return std::filesystem::path(path).parent_path().string();
}

absl::Status copyFile(const File &from, NewFile &to) {
  constexpr uint64_t kPiece = 1 << 20;
  std::string piece(kPiece, '\0');
  for (uint64_t at = 0; at < from.bytes(); at += kPiece) {
    uint64_t bytes = std::min(kPiece, from.bytes() - at);
    ZG_RETURN_IF_ERROR(from.read(at, bytes, piece.data()));
    ZG_RETURN_IF_ERROR(to.write(at, bytes, piece.data()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<NewFile>>
writeData(const frontend::DataFile &data,
          const frontend::TrainedWeights &weights, const std::string &model,
          const std::string &output) {
  std::shared_ptr<File> source;
  auto bytes = uint64_t(data.bytes);
  if (!data.source.empty()) {
    ZG_ASSIGN_OR_RETURN(source,
                        File::openBeneath(folderOf(model), data.source));
    bytes = source->bytes();
  }
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<NewFile> file,
                      NewFile::create(besideOf(output, data.name), bytes));
  if (source) {
    ZG_RETURN_IF_ERROR(copyFile(*source, *file));
  }
  for (const frontend::DataFile::Part &part : data.parts) {
    ZG_ASSIGN_OR_RETURN(std::string values,
                        weights.at(part.weight).read(part.dtype));
    ZG_RETURN_IF_ERROR(
        file->write(uint64_t(part.offset), values.size(), values.data()));
  }
  return file;
}

} // namespace

absl::Status writeExported(const frontend::ExportedModel &exported,
                           const frontend::TrainedWeights &weights,
                           const std::string &model, const std::string &output,
                           std::vector<NamedFile> inputs) {
  std::vector<NamedFile> outputs = {{"--output", output}};
  for (const frontend::DataFile &data : exported.data) {
    outputs.push_back({"--output (its data)", besideOf(output, data.name)});
    if (!data.source.empty()) {
      inputs.push_back({"the model's data", besideOf(model, data.source)});
    }
  }
  ZG_RETURN_IF_ERROR(checkOverwrites(inputs, outputs));
  std::vector<std::unique_ptr<NewFile>> files;
  for (const frontend::DataFile &data : exported.data) {
    ZG_ASSIGN_OR_RETURN(files.emplace_back(),
                        writeData(data, weights, model, output));
  }
  ZG_ASSIGN_OR_RETURN(files.emplace_back(),
                      NewFile::create(output, exported.bytes.size()));
  ZG_RETURN_IF_ERROR(
      files.back()->write(0, exported.bytes.size(), exported.bytes.data()));
  for (std::unique_ptr<NewFile> &file : files) {
    ZG_RETURN_IF_ERROR(file->commit());
  }
  return absl::OkStatus();
}

} // namespace zerograph
