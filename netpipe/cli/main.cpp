#include "netpipe/cli/commands.hpp"
#include "npgpu/trace.hpp"

int main(int argc, char** argv) {
  npgpu::skip_hdf5_cleanup_at_exit();
  return npgpu::cli::run({argv + 1, argv + argc});
}
