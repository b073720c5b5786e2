/* Measures what one core can do at best: f32 fused multiply-adds in registers,
   and reading memory. Prints "<GFLOP/s> <GB/s>". Compiled by compare.py with
   -O3 -march=native -ffp-contract=fast. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES (BYTES / 4)
/* Makes the optimiser believe that a vector is used and changed. */
#if defined(__x86_64__)
#define TOUCH(vector) __asm__ volatile("" : "+x"(vector))
#elif defined(__aarch64__)
#define TOUCH(vector) __asm__ volatile("" : "+w"(vector))
#else
#define TOUCH(vector) __asm__ volatile("" : "+m"(vector))
#endif
/* More accumulators than an FMA unit's latency times two units, fewer than
 * registers. */
#define CHAINS 12
typedef float Vector __attribute__((vector_size(BYTES)));

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double fmaPeak(void) {
  Vector sum[CHAINS], factor, addend;
  for (int lane = 0; lane < LANES; ++lane)
    factor[lane] = 0.999f, addend[lane] = 0.001f;
  for (int chain = 0; chain < CHAINS; ++chain)
    sum[chain] = factor * (float)chain;
  double best = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const long steps = 1000000;
    TOUCH(factor);
    TOUCH(addend);
    double begin = now();
    for (long step = 0; step < steps; ++step)
#pragma GCC unroll 12
      for (int chain = 0; chain < CHAINS; ++chain)
        sum[chain] = sum[chain] * factor + addend;
    for (int chain = 0; chain < CHAINS; ++chain)
      TOUCH(sum[chain]);
    double rate = 2.0 * LANES * CHAINS * steps / (now() - begin);
    if (rate > best)
      best = rate;
  }
  return best * 1e-9;
}

static double readPeak(void) {
  const size_t count = ((size_t)256 << 20) / BYTES;
  Vector *data = aligned_alloc(64, count * BYTES);
  if (!data)
    return 0;
  for (size_t i = 0; i < count; ++i)
    data[i] = (Vector){0} + 1.0f;
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    Vector sum[4] = {{0}};
    double begin = now();
    for (size_t i = 0; i < count; i += 4)
      for (int part = 0; part < 4; ++part)
        sum[part] += data[i + part];
    for (int part = 0; part < 4; ++part)
      TOUCH(sum[part]);
    double rate = count * BYTES / (now() - begin);
    if (rate > best)
      best = rate;
  }
  free(data);
  return best * 1e-9;
}

int main(void) {
  printf("%.1f %.1f\n", fmaPeak(), readPeak());
  return 0;
}
