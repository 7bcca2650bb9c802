//===- LaunchTest.cpp - who started a process, from given environments ----===//

#include "runtime/comm/Launch.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace zerograph;

namespace {

using Environment = std::map<std::string, std::string>;
using Ports = std::vector<uint16_t>;

absl::StatusOr<std::optional<Launch>> detect(const Environment &environment) {
  return detectLaunch([&](const char *name) {
    auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

/// `base` with some variables set otherwise; an empty value takes one away.
Environment with(Environment base, const Environment &changes) {
  for (const auto &[name, value] : changes) {
    base.erase(name);
    if (!value.empty()) {
      base[name] = value;
    }
  }
  return base;
}

Launch found(const Environment &environment) {
  auto launch = detect(environment);
  EXPECT_TRUE(launch.ok()) << launch.status();
  EXPECT_TRUE(launch.ok() && *launch);
  return launch.ok() && *launch ? **launch : Launch();
}

void expectAlone(const Environment &environment) {
  auto launch = detect(environment).value();
  EXPECT_FALSE(launch);
}

void expectError(const Environment &environment,
                 const std::vector<std::string> &parts) {
  auto launch = detect(environment);
  ASSERT_FALSE(launch.ok());
  for (const std::string &part : parts) {
    EXPECT_NE(launch.status().message().find(part), std::string::npos)
        << part << " in " << launch.status();
  }
}

const Environment kTorchrun = {{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"MASTER_ADDR", "node"},
                               {"MASTER_PORT", "29400"},
                               {"TORCHELASTIC_RUN_ID", "7a3"}};
const Environment kMpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "4"},
                             {"PMIX_RANK", "1"}};
const Environment kSrun = {{"SLURM_PROCID", "3"},
                           {"SLURM_STEP_NUM_TASKS", "6"},
                           {"SLURM_STEP_NODELIST", "node[07-09,12],other"},
                           {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
                           {"SLURM_JOB_ID", "123456"},
                           {"SLURM_STEP_ID", "2"}};
const Environment kPmix = with(kSrun, {{"PMIX_RANK", "3"}});

TEST(Launch, AProcessThatNobodyStartedIsAlone) {
  expectAlone({});
  expectAlone({{"MASTER_ADDR", "node"}, {"SLURM_JOB_ID", "1"}});
  // A batch script of Slurm; a step of one process.
  expectAlone({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}});
  expectAlone(
      with(kSrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}));
  expectAlone(with(kTorchrun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
}

TEST(Launch, Torchrun) {
  Launch launch = found(kTorchrun);
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.world, 8);
  ASSERT_TRUE(launch.place);
  EXPECT_EQ(launch.place->host, "node");
  EXPECT_EQ(launch.place->ports, Ports({24400, 16903, 19406, 21909}));
  EXPECT_EQ(launch.place->source, "MASTER_ADDR and MASTER_PORT");
  EXPECT_EQ(launch.place->run, "7a3, MASTER_PORT 29400");
  EXPECT_EQ(found(with(kTorchrun, {{"ZEROGRAPH_PORT", "1234"}})).place->ports,
            Ports({1234}));
  // By hand, without what torchrun alone sets.
  launch = found(with(kTorchrun, {{"TORCHELASTIC_RUN_ID", ""}}));
  EXPECT_EQ(launch.launcher, "the launcher");
  EXPECT_EQ(launch.place->run, "MASTER_PORT 29400");
}

/// Jobs of one node have MASTER_PORT 29500, 29501, ... by custom, and all are
/// called "none": each tries others first, and none that an agent holds.
TEST(Launch, JobsOfOneNodeDoNotMeet) {
  std::set<uint16_t> tried;
  for (unsigned job = 29500; job < 29564; ++job) {
    Launch launch = found(with(kTorchrun, {{"MASTER_PORT", std::to_string(job)},
                                           {"TORCHELASTIC_RUN_ID", "none"}}));
    EXPECT_EQ(launch.place->run, "none, MASTER_PORT " + std::to_string(job));
    for (uint16_t port : launch.place->ports) {
      EXPECT_TRUE(tried.insert(port).second) << job << " " << port;
      EXPECT_LT(port, 29500);
    }
  }
}

TEST(Launch, Mpirun) {
  Launch launch = found(kMpirun);
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.world, 4);
  EXPECT_FALSE(launch.place);
  EXPECT_TRUE(needMpi(launch).ok());
}

TEST(Launch, SrunWithPmixIsMpi) {
  Launch launch = found(kPmix);
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.world, 6);
  EXPECT_EQ(launch.doubt, "");
  EXPECT_FALSE(launch.place);
  launch = found(with(kSrun, {{"PMI_RANK", "3"}, {"PMI_SIZE", "6"}}));
  expectSays(launch.doubt, "srun --mpi=pmix");
}

TEST(Launch, PlainSrunMeetsOnTheFirstNode) {
  Launch launch = found(kSrun);
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.world, 6);
  ASSERT_TRUE(launch.place);
  EXPECT_EQ(launch.place->host, "node07");
  EXPECT_EQ(launch.place->ports, Ports({18458, 20961, 23464, 15967}));
  EXPECT_EQ(launch.place->source, "SLURM_STEP_NODELIST and the job's number");
  EXPECT_EQ(launch.place->run, "job 123456, step 2");
  expectSays(needMpi(launch), "srun started 6 processes without MPI",
             "srun --mpi=pmix", "--ranks 6");
  // A user who says where knows the network.
  launch = found(
      with(kSrun, {{"MASTER_ADDR", "10.1.2.3"}, {"MASTER_PORT", "2000"}}));
  EXPECT_EQ(launch.place->host, "10.1.2.3");
  EXPECT_EQ(launch.place->ports[0], 17000);
  launch = found(with(kSrun, {{"SLURM_STEP_NODELIST", ""}}));
  EXPECT_EQ(launch.place->host, "10.0.0.1");
  expectError(with(kSrun, {{"SLURM_STEP_NODELIST", ""},
                           {"SLURM_LAUNCH_NODE_IPADDR", ""}}),
              {"SLURM_STEP_NODELIST", "set MASTER_ADDR"});
  // The other processes of its step may be shells that have ended.
  expectError(with(kSrun, {{"SLURM_PTY_PORT", "40000"}}),
              {"unset SLURM_STEP_NUM_TASKS"});
}

/// torchrun is often itself started by srun or mpirun, once a host.
TEST(Launch, WhatTorchrunStartedIsItsOwn) {
  for (const Environment &outer : {kSrun, kPmix, kMpirun}) {
    Launch launch = found(with(outer, kTorchrun));
    EXPECT_EQ(launch.launcher, "torchrun");
    EXPECT_EQ(launch.rank, 5);
    EXPECT_EQ(launch.place->ports[0], 24400);
  }
}

/// Scripts set torchrun's variables beside a launcher's.
TEST(Launch, MpiIsPreferredWhereBothSayTheSame) {
  Environment both =
      with(kTorchrun,
           {{"TORCHELASTIC_RUN_ID", ""}, {"RANK", "1"}, {"WORLD_SIZE", "4"}});
  EXPECT_FALSE(found(with(both, kMpirun)).place);
  // Variables that MPI does not need may be missing.
  EXPECT_FALSE(
      found(with(kMpirun, {{"RANK", "1"}, {"WORLD_SIZE", "4"}})).place);
  expectError(with(with(both, kMpirun), {{"RANK", "2"}}),
              {"mpirun says that this is rank 1 of 4",
               "RANK and WORLD_SIZE that it is rank 2 of 4", "unset"});
  // Slurm without MPI knows less than who sets them.
  EXPECT_EQ(found(with(kSrun, both)).rank, 1);
}

TEST(Launch, VariablesThatMakeNoSenseAreNamed) {
  expectError(with(kTorchrun, {{"RANK", "8"}}),
              {"RANK is 8", "WORLD_SIZE is 8", "from 0 to 7"});
  expectError(with(kTorchrun, {{"RANK", ""}}),
              {"WORLD_SIZE is set and RANK is not"});
  expectError({{"RANK", "1"}}, {"RANK is set and WORLD_SIZE is not"});
  expectError(with(kTorchrun, {{"RANK", "-1"}}), {"RANK is '-1'"});
  expectError(with(kTorchrun, {{"RANK", "1x"}}), {"RANK is '1x'"});
  expectError(with(kTorchrun, {{"WORLD_SIZE", "0"}}), {"WORLD_SIZE is '0'"});
  expectError(with(kTorchrun, {{"WORLD_SIZE", "99999999999999999999"}}),
              {"WORLD_SIZE is '99999999999999999999'"});
  expectError(with(kTorchrun, {{"MASTER_ADDR", ""}}),
              {"MASTER_ADDR is not set"});
  expectError(with(kTorchrun, {{"MASTER_PORT", ""}}),
              {"MASTER_PORT", "ZEROGRAPH_PORT"});
  for (const char *port : {"0", "65536", "http"}) {
    expectError(with(kTorchrun, {{"MASTER_PORT", port}}), {"MASTER_PORT is '"});
  }
  EXPECT_EQ(found(with(kTorchrun, {{"MASTER_PORT", "65535"}})).place->ports[0],
            20535);
  for (const char *port : {"0", "65536", "-3"}) {
    expectError(with(kTorchrun, {{"ZEROGRAPH_PORT", port}}),
                {"ZEROGRAPH_PORT is '"});
    expectError(with(kSrun, {{"ZEROGRAPH_PORT", port}}),
                {"ZEROGRAPH_PORT is '"});
  }
  expectError(with(kSrun, {{"SLURM_PROCID", "6"}}),
              {"SLURM_PROCID is 6", "SLURM_STEP_NUM_TASKS is 6"});
  expectError(with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "one"}}),
              {"OMPI_COMM_WORLD_RANK is 'one'"});
}

TEST(Launch, TheFirstHostOfAListOfSlurm) {
  for (const auto &[list, first] :
       Environment{{"node", "node"},
                   {"a,b", "a"},
                   {"node[3-5]", "node3"},
                   {"node[007-100,200]", "node007"},
                   {"rack[2,5]-n[01-04],login", "rack2-n01"},
                   {"n[1-2]x,m", "n1x"},
                   {"", ""},
                   {",a", ""},
                   {"broken[1-2", ""},
                   {"gpu[4]", "gpu4"}}) {
    EXPECT_EQ(firstHost(list), first) << list;
  }
}

} // namespace
