//===- MachineTest.cpp - files of machines --------------------------------===//

#include "simulate/Machine.h"
#include "simulate/MachineFiles.h"
#include "tests/support/Says.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"

namespace zerograph::simulate {
namespace {

TEST(Machine, FilesOfTheProjectAreWhole) {
  ASSERT_GE(machineFiles().size(), 9u);
  for (const EmbeddedFile &file : machineFiles()) {
    auto machine = parseMachine(file.text, file.name);
    ASSERT_TRUE(machine.ok()) << machine.status();
    EXPECT_GT(machine->memory_bandwidth, 0) << file.name;
  }
  auto h100 = findMachine("h100-sxm");
  ASSERT_TRUE(h100.ok()) << h100.status();
  EXPECT_EQ(h100->processors, 132);
  EXPECT_EQ(h100->card->architecture, 90);
  EXPECT_NEAR(h100->memory, 84.98, 0.01) << "79.14 GiB";
}

std::string changed(const std::string &from, const std::string &to) {
  for (const EmbeddedFile &file : machineFiles()) {
    if (file.name == "x86-server") {
      std::string text = absl::StrReplaceAll(file.text, {{from, to}});
      EXPECT_NE(text, file.text);
      return text;
    }
  }
  return "";
}

TEST(Machine, ErrorsNameFileLineAndFigure) {
  auto expectRefused = [](const std::string &text, const auto &...parts) {
    expectSays(parseMachine(text, "my.yaml").status(), "my.yaml", parts...);
  };
  expectRefused(
      changed("disk_read:", "disk_raed:"), "line 18",
      "'disk_raed' is no figure of a machine; did you mean disk_read?");
  expectRefused(changed("value: 256", "value: many"), "line 12", "'memory' is",
                "expected {value: NUMBER, source: TEXT}, in 10^9 bytes");
  expectRefused(changed("value: 256", "value: -1"),
                "memory is -1; expected at least 1e-09 and at most 1e+09");
  expectRefused(changed("value: 0.75", "value: 1.5"), "product_share is 1.5",
                "at most 1");
  expectRefused(changed("memory:", "processors:"),
                "'processors' is there twice");
  expectRefused(changed("device: host", "device: tpu"),
                "'device' is 'tpu'; expected cuda or host");
  expectRefused(changed("device: host", "device: cuda"),
                "there is no 'card'; expected the nearest of a10,");
  expectRefused(changed("device: host", "device: cuda\ncard: h100"),
                "there is no devices, multiply_tf32, host_link");
  expectRefused(changed("device: host", "device: cuda\ncard: h1000"), "line 3",
                "'card' is 'h1000'");
  expectRefused(changed("name: an", "name: \"\\e[31m\" #"), "line 1",
                "'name' is no text of printable letters");
  expectRefused("- 1", "expected one mapping of keys to values");
  expectSays(findMachine("h100-sx").status(),
             "no file and no machine 'h100-sx'; machines are a100-40,",
             "h100-sxm");
  expectSays(findMachine("/").status(), "is a folder");
}

TEST(Machine, Changes) {
  Machine machine;
  machine.link_bandwidth = 100;
  machine.memory = 80;
  ASSERT_TRUE(
      change(machine, "link_bandwidth = 2x,memory=+16,launch=1.5").ok());
  EXPECT_EQ(machine.link_bandwidth, 200);
  EXPECT_EQ(machine.memory, 96);
  EXPECT_EQ(machine.launch, 1.5);
  expectSays(change(machine, "links=2x"), "'links' is no figure");
  expectSays(change(machine, "memory=x"), "'memory=x' is no change",
             "=NUMBERx");
  expectSays(change(machine, "memory=0"), "expected at least 1e-09");
  expectSays(change(machine, "memory=+1x"), "is no change");
}

} // namespace
} // namespace zerograph::simulate
