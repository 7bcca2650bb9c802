// The kernels of LinearPlan: a shared object as the compiler makes them. Plain
// loops in a fixed order; contraction is off like everywhere.
#include <stdint.h>

// x[2, 8], w[], y[2, 8] -> loss
void linear_loss(void *const *buffers, int64_t begin, int64_t end) {
  const float *x = buffers[0], *w = buffers[1], *y = buffers[2];
  float *loss = buffers[3];
  float sum = 0;
  for (int i = 0; i < 16; ++i) {
    sum += x[i] * w[64 + i] + y[i];
  }
  *loss = sum;
}

// x[2, 8] -> gradients
void linear_gradient(void *const *buffers, int64_t begin, int64_t end) {
  const float *x = buffers[0];
  float *g = buffers[1];
  for (int64_t i = begin; i < end; ++i) {
    g[i] = x[i % 16] * (1.0f + 0.001f * (float)i);
  }
}

// gradients, learning_rate, gradient_scale, parameters
void linear_update(void *const *buffers, int64_t begin, int64_t end) {
  const float *g = buffers[0], *rate = buffers[1], *scale = buffers[2];
  float *w = buffers[3];
  for (int64_t i = begin; i < end; ++i) {
    w[i] = w[i] - *rate * (g[i] * *scale);
  }
}
