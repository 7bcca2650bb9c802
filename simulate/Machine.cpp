//===- Machine.cpp - what a machine can do --------------------------------===//

#include "simulate/Machine.h"

#include "config/Value.h"
#include "runtime/base/Status.h"
#include "simulate/MachineFiles.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

namespace zerograph::simulate {
namespace {

using config::Value;

constexpr absl::string_view kTera = "10^12 a second";
constexpr absl::string_view kGigabytes = "10^9 bytes a second";

const Figure *findFigure(absl::string_view name) {
  for (const Figure &figure : figures()) {
    if (figure.name == name) {
      return &figure;
    }
  }
  return nullptr;
}

std::vector<absl::string_view> figureNames() {
  std::vector<absl::string_view> names;
  for (const Figure &figure : figures()) {
    names.push_back(figure.name);
  }
  return names;
}

absl::Status unknownFigure(absl::string_view name) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is no figure of a machine; there are ",
                   absl::StrJoin(figureNames(), ", ")));
}

absl::Status setFigure(Machine &machine, const Figure &figure, double value) {
  bool share = figure.unit.empty();
  if (!std::isfinite(value) || value <= 0 || (share && value > 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(figure.name, " is ", value, "; expected more than 0",
                     share ? " and at most 1" : ""));
  }
  machine.*figure.value = value;
  return absl::OkStatus();
}

const Value *child(const Value &map, absl::string_view name) {
  for (const Value &value : map.children) {
    if (value.name == name) {
      return &value;
    }
  }
  return nullptr;
}

/// Reads one entry of a file.
absl::Status readEntry(const Value &entry, Machine &machine) {
  if (entry.name == "name" || entry.name == "device") {
    if (entry.kind != Value::Kind::Scalar || entry.text.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", entry.name, "' has no text"));
    }
    (entry.name == "name" ? machine.name : machine.device) = entry.text;
    return absl::OkStatus();
  }
  const Figure *figure = findFigure(entry.name);
  if (!figure) {
    return unknownFigure(entry.name);
  }
  const Value *value = child(entry, "value"), *source = child(entry, "source");
  if (!entry.isMap() || entry.children.size() != 2 || !value || !source ||
      !value->number() || source->text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", entry.name, "' is ", entry.shown(),
                     "; expected {value: NUMBER, source: TEXT}, in ",
                     figure->unit.empty() ? "parts of 1" : figure->unit));
  }
  return setFigure(machine, *figure, *value->number());
}

absl::Status checkWhole(const Machine &machine) {
  if (machine.name.empty()) {
    return absl::InvalidArgumentError("there is no 'name'");
  }
  bool host = machine.device == "host";
  if (!host && machine.device != "cuda") {
    return absl::InvalidArgumentError(absl::StrCat(
        "'device' is '", machine.device, "'; expected cuda or host"));
  }
  std::vector<absl::string_view> missing;
  for (const Figure &figure : figures()) {
    if (machine.*figure.value == 0 && (!host || figure.host)) {
      missing.push_back(figure.name);
    }
  }
  return missing.empty() ? absl::OkStatus()
                         : absl::InvalidArgumentError(absl::StrCat(
                               "there is no ", absl::StrJoin(missing, ", ")));
}

} // namespace

const std::vector<Figure> &figures() {
  using M = Machine;
  static const std::vector<Figure> all = {
      {"processors", &M::processors, "multiprocessors or cores", true},
      {"multiply_f64", &M::multiply_f64, kTera, true},
      {"multiply_f32", &M::multiply_f32, kTera, true},
      {"multiply_tf32", &M::multiply_tf32, kTera, false},
      {"multiply_f16", &M::multiply_f16, kTera, true},
      {"multiply_bf16", &M::multiply_bf16, kTera, true},
      {"vector_f32", &M::vector_f32, kTera, true},
      {"vector_f64", &M::vector_f64, kTera, true},
      {"product_share", &M::product_share, "", true},
      {"memory_share", &M::memory_share, "", true},
      {"memory", &M::memory, "10^9 bytes", true},
      {"memory_bandwidth", &M::memory_bandwidth, kGigabytes, true},
      {"launch", &M::launch, "microseconds", true},
      {"link_bandwidth", &M::link_bandwidth, kGigabytes, true},
      {"link_latency", &M::link_latency, "microseconds", true},
      {"network_bandwidth", &M::network_bandwidth, kGigabytes, true},
      {"host_link", &M::host_link, kGigabytes, false},
      {"host_memory_bandwidth", &M::host_memory_bandwidth, kGigabytes, false},
      {"host_processors", &M::host_processors, "cores", false},
      {"disk_read", &M::disk_read, kGigabytes, true},
      {"disk_write", &M::disk_write, kGigabytes, true},
  };
  return all;
}

absl::StatusOr<Machine> parseMachine(absl::string_view text,
                                     absl::string_view name) {
  absl::StatusOr<Value> file = config::parseValue(text);
  if (!file.ok()) {
    return annotate(file.status(), name);
  }
  Machine machine;
  std::set<absl::string_view> seen;
  for (const Value &entry : file->children) {
    absl::Status status = seen.insert(entry.name).second
                              ? readEntry(entry, machine)
                              : absl::InvalidArgumentError(absl::StrCat(
                                    "'", entry.name, "' is there twice"));
    if (!status.ok()) {
      return annotate(status, absl::StrCat(name, ", line ", entry.line));
    }
  }
  absl::Status status = checkWhole(machine);
  if (!status.ok()) {
    return annotate(status, name);
  }
  return machine;
}

absl::StatusOr<Machine> findMachine(const std::string &where) {
  std::vector<absl::string_view> names;
  for (const MachineFile &file : machineFiles()) {
    if (file.name == where) {
      return parseMachine(file.text, file.name);
    }
    names.push_back(file.name);
  }
  std::ifstream file(where);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return absl::NotFoundError(absl::StrCat(
        "'", where, "' is no file that can be read, and no machine of ",
        absl::StrJoin(names, ", ")));
  }
  return parseMachine(text.str(), where);
}

absl::Status change(Machine &machine, absl::string_view changes) {
  for (absl::string_view one : absl::StrSplit(changes, ',')) {
    std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(one, absl::MaxSplits('=', 1));
    auto [name, text] = parts;
    const Figure *figure = findFigure(name);
    if (!figure) {
      return unknownFigure(name);
    }
    double before = machine.*figure->value, number = 0;
    bool times = absl::ConsumeSuffix(&text, "x");
    bool plus = !times && absl::ConsumePrefix(&text, "+");
    if (!absl::SimpleAtod(text, &number)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", one, "' changes nothing; expected ", name,
                       "=NUMBER, =NUMBERx or =+NUMBER, in ",
                       figure->unit.empty() ? "parts of 1" : figure->unit));
    }
    ZG_RETURN_IF_ERROR(setFigure(machine, *figure,
                                 times  ? before * number
                                 : plus ? before + number
                                        : number));
  }
  return absl::OkStatus();
}

} // namespace zerograph::simulate
