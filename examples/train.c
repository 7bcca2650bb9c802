/* Trains a model with batches in memory, through libzerograph's C interface.

     train MODEL.onnx WEIGHTS.safetensors

   The model has inputs x, f32 [batch, 64], and labels, i64 [batch], as
   models/mlp-digits has. */

#include <stdio.h>
#include <stdlib.h>

#include "zerograph.h"

enum { kSamples = 32, kPixels = 64, kClasses = 10, kSteps = 20 };

/* Ends the program where a call has failed. */
static void check(zg_code code) {
  if (code != ZG_OK) {
    fprintf(stderr, "train: %s\n", zg_error());
    exit(1);
  }
}

/* Makes images whose brightest row is the label. */
static void make_batch(float *x, int64_t *labels) {
  for (int i = 0; i < kSamples; ++i) {
    labels[i] = rand() % kClasses;
    for (int j = 0; j < kPixels; ++j) {
      int bright = j / 6 == labels[i];
      x[i * kPixels + j] = (float)bright + (float)rand() / (float)RAND_MAX / 2;
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: train MODEL.onnx WEIGHTS.safetensors\n");
    return 2;
  }

  /* Two ranks that are threads of this process, and half the states each. */
  const char *options[] = {"--ranks", "2", "--zero", "2", "--micro-batch", "16"};
  zg_plan *plan;
  check(zg_compile(argv[1], options, sizeof(options) / sizeof(*options), NULL,
                   0, &plan));
  char *summary;
  check(zg_plan_inspect(plan, "summary", &summary));
  puts(summary);
  zg_text_free(summary);

  zg_trainer *trainer;
  check(zg_trainer_create(plan, NULL, 0, &trainer));

  static float x[kSamples * kPixels];
  static int64_t labels[kSamples];
  const uint64_t shape[] = {kSamples, kPixels};
  const zg_array batch[] = {{"x", "F32", 2, shape, x},
                            {"labels", "I64", 1, shape, labels}};
  for (int i = 0; i < kSteps; ++i) {
    zg_step step;
    make_batch(x, labels);
    check(zg_trainer_set_rate(trainer, 1e-2 * (kSteps - i) / kSteps));
    check(zg_trainer_step(trainer, batch, 2, &step));
    printf("step %d  loss %.6f  lr %g\n", i + 1, step.loss, step.learning_rate);
  }

  check(zg_trainer_save(trainer, argv[2], /*adapters_alone=*/0));
  check(zg_trainer_end(trainer));
  zg_trainer_free(trainer);
  zg_plan_free(plan);
  return 0;
}
