#include <iostream>

#include "npgpu/error.hpp"
#include "npgpu/model.hpp"
#include "npgpu/trace.hpp"

int main(int, char** argv) {
  const npgpu::Trace trace = npgpu::read_trace(argv[1]);
  for (const npgpu::Sweep& sweep : trace.sweeps)
    std::cout << title(sweep.question) << ": " << npgpu::summarize(sweep).size() << " points\n";
  return trace.sweeps.empty();
}
