// What jobs do to words of memory, in OpenCL C: the same kernels, and the same words before and after them, as
// workload_kernels.cu has for CUDA. Every word follows from its place; nothing a run leaves passes for the next
// one's result.
#pragma once

namespace npgpu::opencl {

// Number, factor and start of a run lie in a buffer, so that the arguments of a launch are the same in every run.
inline constexpr const char* job_kernels = R"(
uint mixed(uint x) {
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  return x ^ (x >> 16);
}
uint input_word(uint number) { return mixed(number + 0x10000001u); }
uint device_word(uint number, uint run) { return mixed(number ^ mixed(run + 0x20000003u)); }
uint scratch_word(uint number) { return number * 2654435761u + 7; }

// Arguments of all three: the job's words, where the chunk's begin and how many it has, the number of the first among
// all, iterations, the run, the scratch words less one, and the words from one iteration to the next.
#define LAUNCH global uint* words, uint at, uint count, uint first, uint iterations, global const uint* run, \
               global const uint* scratch, uint mask, uint stride

// Factor and word may be the same memory for all the compiler knows: both are accessed in each iteration.
kernel void increment(LAUNCH) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  global uint* const word = words + at + i;
  global const uint* const factor = run + 1;
#pragma unroll 4
  for (uint k = 0; k < iterations; ++k) *word += *factor;
}

kernel void memory(LAUNCH) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  uint sum = words[at + i] + run[1];
  uint place = run[2] + first + i;
#pragma unroll 8
  for (uint k = 0; k < iterations; ++k, place += stride) sum += scratch[place & mask];
  words[at + i] = sum;
}

// Multiply-adds of ones: a chain counts its steps, exactly as long as it stays under 2^24.
kernel void compute(LAUNCH) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  const uint word = words[at + i];
  const float one = run[1] ? 1.0f : 0.0f;  // the factor is never 0, which the compiler does not know
  float x0 = (float)(word & 0xffffu), x1 = x0 + 1, x2 = x0 + 2, x3 = x0 + 3;
#pragma unroll 1
  for (uint k = 0; k < iterations; ++k) {
#pragma unroll
    for (uint step = 0; step < 8; ++step) {
      x0 = fma(x0, one, one);
      x1 = fma(x1, one, one);
      x2 = fma(x2, one, one);
      x3 = fma(x3, one, one);
    }
  }
  words[at + i] = word + run[1] + (uint)x0 + (uint)x1 + (uint)x2 + (uint)x3;
}

// What words hold before a run: 0 the host's input, 1 the scratch, 2 the device's words of this run.
kernel void fill_words(global uint* words, ulong count, uint what, uint run) {
  for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
    const uint number = (uint)i;
    words[i] = what == 0 ? input_word(number) : what == 1 ? scratch_word(number) : device_word(number, run);
  }
}

// What a stretch of words must be: input over the first of them, then the kernel over the first of them.
struct stretch {
  uint at, count;                            // of what is compared
  uint device_first, in_words, in_first;     // the number on the device of the first; how many came from the host
  uint work_count, work_first, iterations;   // of the kernel; 0: none
  uint workload, run, factor, start, mask, stride, label, labels;
};
// Of the answer the first word is the lowest label that is wrong; then each label's first wrong word; then the run, by
// which it is seen that a label was compared.
kernel void compare_words(global const uint* actual, struct stretch s, global uint* answer) {
  if (get_global_id(0) == 0) answer[1 + s.labels + s.label] = s.run;
  for (uint i = get_global_id(0); i < s.count; i += get_global_size(0)) {
    uint word = i < s.in_words ? input_word(s.in_first + i) : device_word(s.device_first + i, s.run);
    if (i < s.work_count && s.workload == 1) word += s.iterations * s.factor;
    if (i < s.work_count && s.workload == 2) {
      word += s.factor;
      for (uint k = 0; k < s.iterations; ++k)
        word += scratch_word((s.start + s.work_first + i + k * s.stride) & s.mask);
    }
    if (i < s.work_count && s.workload == 3) word += s.factor + 4 * ((word & 0xffffu) + 8 * s.iterations) + 6;
    if (actual[s.at + i] != word) {
      atomic_min(answer, s.label);
      atomic_min(answer + 1 + s.label, i);
    }
  }
}
)";

}  // namespace npgpu::opencl
