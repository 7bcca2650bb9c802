//===- ApiTest.cpp - the C interface --------------------------------------===//

#include "api/zerograph.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr char kModel[] = ZEROGRAPH_MODELS "/mlp-digits/model.onnx";

struct Plan {
  explicit Plan(std::vector<const char *> options) {
    code =
        zg_compile(kModel, options.data(), options.size(), nullptr, 0, &handle);
  }
  ~Plan() { zg_plan_free(handle); }
  zg_plan *handle = nullptr;
  zg_code code;
};

/// A batch of eight samples, and as many arrays as it is told.
struct Batch {
  std::vector<float> x = std::vector<float>(8 * 64, 0.5f);
  std::vector<int64_t> labels = {0, 1, 2, 3, 4, 5, 6, 7};
  uint64_t shape[2] = {8, 64};
  zg_array arrays[2] = {{"x", "F32", 2, shape, x.data()},
                        {"labels", "I64", 1, shape, labels.data()}};
};

TEST(Api, SaysItsVersion) {
  EXPECT_EQ(zg_interface(), ZG_INTERFACE);
  EXPECT_STREQ(zg_version(), "0.1.0");
}

TEST(Api, Trains) {
  Plan plan({"--micro-batch", "8", "--evaluate"});
  ASSERT_EQ(plan.code, ZG_OK) << zg_error();
  zg_trainer *trainer = nullptr;
  ASSERT_EQ(zg_trainer_create(plan.handle, nullptr, 0, &trainer), ZG_OK);
  Batch batch;
  zg_step first, second;
  ASSERT_EQ(zg_trainer_step(trainer, batch.arrays, 2, &first), ZG_OK);
  ASSERT_EQ(zg_trainer_accumulate(trainer, batch.arrays, 2), ZG_OK);
  ASSERT_EQ(zg_trainer_update(trainer, &second), ZG_OK);
  EXPECT_LT(second.loss, first.loss);
  EXPECT_TRUE(std::isnan(first.gradient_norm));
  EXPECT_EQ(first.learning_rate, 1e-3);
  EXPECT_EQ(first.skipped, 0);
  double loss = 0, divisor = 0;
  ASSERT_EQ(zg_trainer_evaluate(trainer, batch.arrays, 2, &loss, &divisor),
            ZG_OK);
  EXPECT_LT(loss / divisor, second.loss);
  uint64_t steps = 0, updates = 0;
  ASSERT_EQ(zg_trainer_position(trainer, &steps, &updates), ZG_OK);
  EXPECT_EQ(steps, 2u);
  EXPECT_EQ(zg_trainer_end(trainer), ZG_OK);
  EXPECT_EQ(zg_trainer_step(trainer, batch.arrays, 2, &first),
            ZG_FAILED_PRECONDITION);
  zg_trainer_free(trainer);
}

// A batch of four samples is of the second plan, which goes on with what the
// first has trained.
TEST(Api, TrainsBySeveralPlans) {
  Plan plan({"--micro-batch", "8"}), smaller({"--micro-batch", "4"});
  const zg_plan *plans[] = {plan.handle, smaller.handle};
  zg_trainer *trainer = nullptr;
  EXPECT_EQ(zg_trainer_create_of(plans, 0, nullptr, 0, &trainer),
            ZG_INVALID_ARGUMENT);
  ASSERT_EQ(zg_trainer_create_of(plans, 2, nullptr, 0, &trainer), ZG_OK);
  Batch batch;
  zg_step first, second;
  ASSERT_EQ(zg_trainer_step(trainer, batch.arrays, 2, &first), ZG_OK);
  batch.shape[0] = 4;
  ASSERT_EQ(zg_trainer_step(trainer, batch.arrays, 2, &first), ZG_OK);
  ASSERT_EQ(zg_trainer_step(trainer, batch.arrays, 2, &second), ZG_OK);
  EXPECT_LT(second.loss, first.loss);
  uint64_t steps = 0, updates = 0;
  ASSERT_EQ(zg_trainer_position(trainer, &steps, &updates), ZG_OK);
  EXPECT_EQ(steps, 3u);
  batch.shape[0] = 3;
  EXPECT_EQ(zg_trainer_step(trainer, batch.arrays, 2, &second),
            ZG_INVALID_ARGUMENT);
  EXPECT_NE(strstr(zg_error(), "none of the trainer's plans"), nullptr)
      << zg_error();
  zg_trainer_free(trainer);
}

TEST(Api, InspectsEveryPart) {
  Plan plan({"--micro-batch", "8", "--ranks", "2", "--zero", "3"});
  ASSERT_EQ(plan.code, ZG_OK) << zg_error();
  char *text = nullptr;
  ASSERT_EQ(zg_plan_inspect(plan.handle, "no part", &text),
            ZG_INVALID_ARGUMENT);
  std::string parts = zg_error();
  parts = parts.substr(parts.find("there are ") + strlen("there are "));
  size_t count = 0;
  for (size_t begin = 0; begin < parts.size(); ++count) {
    size_t end = std::min(parts.find(", ", begin), parts.size());
    std::string part = parts.substr(begin, end - begin);
    EXPECT_EQ(zg_plan_inspect(plan.handle, part.c_str(), &text), ZG_OK)
        << part << ": " << zg_error();
    EXPECT_NE(strlen(text), 0u) << part;
    zg_text_free(text);
    begin = end + 2;
  }
  EXPECT_GT(count, 8u);
}

TEST(Api, Advises) {
  Batch batch;
  const char *options[] = {"--machine", "h100-sxm", "--convolution",
                           "generated"};
  char *json = nullptr;
  ASSERT_EQ(zg_advise(kModel, options, 4, batch.arrays, 2, &json), ZG_OK)
      << zg_error();
  EXPECT_NE(strstr(json, "\"trials\""), nullptr);
  zg_text_free(json);
  EXPECT_EQ(zg_advise(kModel, options + 2, 2, batch.arrays, 2, &json),
            ZG_INVALID_ARGUMENT);
  EXPECT_NE(strstr(zg_error(), "--machine"), nullptr) << zg_error();
}

/// Parameters of one rank are read where they are, or copied: the same.
TEST(Api, ReadsParameters) {
  Plan plan({"--micro-batch", "8"});
  zg_trainer *trainer = nullptr;
  ASSERT_EQ(zg_trainer_create(plan.handle, nullptr, 0, &trainer), ZG_OK);
  char *json = nullptr;
  ASSERT_EQ(zg_trainer_arrays(trainer, "parameters", &json), ZG_OK);
  EXPECT_NE(
      std::string(json).find(R"({"name":"fc1.weight","type":"F32","shape":[)"),
      std::string::npos)
      << json;
  zg_text_free(json);
  const void *found[4] = {};
  EXPECT_EQ(zg_trainer_find(trainer, "parameters", found, 3),
            ZG_INVALID_ARGUMENT);
  ASSERT_EQ(zg_trainer_find(trainer, "parameters", found, 4), ZG_OK);
  std::vector<float> copies[4];
  void *to[4];
  for (size_t i = 0; i < 4; ++i) {
    copies[i].resize(1 << 16);
    to[i] = i == 3 ? nullptr : copies[i].data();
  }
  ASSERT_EQ(zg_trainer_read(trainer, "parameters", to, 4), ZG_OK);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_NE(found[i], nullptr);
    EXPECT_EQ(std::memcmp(found[i], copies[i].data(), 10 * sizeof(float)), 0);
    EXPECT_NE(copies[i][0], 0);
  }
  EXPECT_EQ(copies[3][0], 0); // it was not wanted
  EXPECT_EQ(zg_trainer_find(trainer, "biases", found, 4), ZG_INVALID_ARGUMENT);
  zg_trainer_free(trainer);
}

TEST(Api, RefusesWhatAPlanHasNot) {
  Plan plan({"--micro-batch", "8"});
  zg_trainer *trainer = nullptr;
  ASSERT_EQ(zg_trainer_create(plan.handle, nullptr, 0, &trainer), ZG_OK);
  double value = 0, divisor = 0;
  EXPECT_EQ(zg_trainer_metrics(trainer, 0, nullptr, 0, &divisor), ZG_OK);
  EXPECT_EQ(divisor, 1);
  EXPECT_EQ(zg_trainer_metrics(trainer, 0, &value, 1, &divisor),
            ZG_INVALID_ARGUMENT);
  EXPECT_EQ(zg_trainer_set_group_rate(trainer, "default", 0.5), ZG_OK);
  EXPECT_EQ(zg_trainer_set_group_rate(trainer, "none", 0.5),
            ZG_INVALID_ARGUMENT);
  EXPECT_EQ(zg_trainer_set_group_rate(trainer, "default", -1),
            ZG_INVALID_ARGUMENT);
  EXPECT_EQ(zg_trainer_discard(trainer), ZG_FAILED_PRECONDITION);
  zg_trainer_free(trainer);
}

/// Reads again what it has written; an error writes nothing.
TEST(Api, WritesParameters) {
  Plan plan({"--micro-batch", "8", "--ranks", "2", "--zero", "3"});
  zg_trainer *trainer = nullptr;
  ASSERT_EQ(zg_trainer_create(plan.handle, nullptr, 0, &trainer), ZG_OK);
  std::vector<float> bias(10), begin(10), given(10, 0.5f);
  std::vector<uint16_t> halves(10, 0x3f80); // 1 in BF16
  char *json = nullptr;
  ASSERT_EQ(zg_trainer_arrays(trainer, "parameters", &json), ZG_OK);
  std::string names = json;
  zg_text_free(json);
  auto read = [&](std::vector<float> &to) {
    void *addresses[4] = {};
    size_t place = 0;
    for (size_t at = names.find("name");
         names.compare(at + 7, 8, "fc2.bias") != 0;
         at = names.find("name", at + 1)) {
      ++place;
    }
    addresses[place] = to.data();
    EXPECT_EQ(zg_trainer_read(trainer, "parameters", addresses, 4), ZG_OK);
  };
  uint64_t shape[] = {10}, other[] = {5, 2};
  zg_array arrays[] = {{"fc2.bias", "F32", 1, shape, given.data()},
                       {"fc1.bias", "F32", 2, other, given.data()}};
  read(begin);
  EXPECT_EQ(zg_trainer_write(trainer, "parameters", arrays, 2, 0),
            ZG_INVALID_ARGUMENT);
  EXPECT_NE(strstr(zg_error(), "'fc1.bias' is F32 [5, 2], expected F32 ["),
            nullptr)
      << zg_error();
  read(bias);
  EXPECT_EQ(bias, begin);
  ASSERT_EQ(zg_trainer_write(trainer, "parameters", arrays, 1, 0), ZG_OK)
      << zg_error();
  read(bias);
  EXPECT_EQ(bias, given);
  arrays[0].type = "BF16";
  arrays[0].data = halves.data();
  ASSERT_EQ(zg_trainer_write(trainer, "parameters", arrays, 1, 0), ZG_OK);
  read(bias);
  EXPECT_EQ(bias, std::vector<float>(10, 1));
  arrays[0] = {"fc2.bias.exp_avg", "F32", 1, shape, given.data()};
  EXPECT_EQ(zg_trainer_write(trainer, "states", arrays, 1, 0), ZG_OK)
      << zg_error();
  EXPECT_EQ(zg_trainer_write(trainer, "gradients", arrays, 1, 0),
            ZG_UNIMPLEMENTED);
  EXPECT_EQ(zg_trainer_write(trainer, "biases", arrays, 1, 0),
            ZG_INVALID_ARGUMENT);
  zg_trainer_free(trainer);
}

TEST(Api, ErrorsHaveACodeAndAText) {
  zg_plan *plan = nullptr;
  const char *options[] = {"--zero", "4"};
  EXPECT_EQ(zg_compile(kModel, options, 2, nullptr, 0, &plan),
            ZG_INVALID_ARGUMENT);
  EXPECT_STREQ(zg_error(), "--zero is '4', expected 0 to 3");
  EXPECT_EQ(zg_plan_read("/nowhere", &plan), ZG_NOT_FOUND);
  EXPECT_EQ(plan, nullptr);
  std::string text = zg_error();
  std::thread([] { EXPECT_STREQ(zg_error(), ""); }).join();
  EXPECT_EQ(zg_error(), text);
  zg_plan_free(nullptr);
  zg_trainer_free(nullptr);
  zg_text_free(nullptr);
}

TEST(Api, RefusesArraysThatNoInputIs) {
  Plan plan({"--micro-batch", "8"});
  zg_trainer *trainer = nullptr;
  ASSERT_EQ(zg_trainer_create(plan.handle, nullptr, 0, &trainer), ZG_OK);
  Batch batch;
  zg_array arrays[3] = {batch.arrays[0], batch.arrays[1], batch.arrays[0]};
  EXPECT_EQ(zg_trainer_step(trainer, arrays, 3, nullptr), ZG_INVALID_ARGUMENT);
  EXPECT_STREQ(zg_error(), "the batch: array 'x' is given twice");
  arrays[0].type = "C64";
  EXPECT_EQ(zg_trainer_step(trainer, arrays, 2, nullptr), ZG_INVALID_ARGUMENT);
  EXPECT_STREQ(zg_error(),
               "the batch: array 'x' is C64 [8, 64], which no input is");
  uint64_t huge[2] = {UINT64_MAX / 2, 64};
  arrays[0] = {"x", "F32", 2, huge, batch.x.data()};
  EXPECT_EQ(zg_trainer_step(trainer, arrays, 2, nullptr), ZG_INVALID_ARGUMENT);
  // The trainer goes on.
  EXPECT_EQ(zg_trainer_step(trainer, batch.arrays, 2, nullptr), ZG_OK);
  zg_trainer_free(trainer);
}

TEST(Api, GivesNotes) {
  std::vector<std::string> notes;
  zg_on_note(
      [](void *context, int warning, const char *text) {
        static_cast<std::vector<std::string> *>(context)->push_back(
            (warning ? "warning: " : "note: ") + std::string(text));
      },
      &notes);
  Plan plan({"--micro-batch", "8", "--allow-tf32"});
  EXPECT_EQ(plan.code, ZG_OK) << zg_error();
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes[0].substr(0, 22), "warning: --allow-tf32 ");
  zg_on_note(nullptr, nullptr);
}

} // namespace
