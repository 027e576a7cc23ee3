#include <csignal>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"

int main(int argc, char** argv) {
  npgpu::process::keep_standard_descriptors();
  // Past a limit on file sizes writing is an error, which says which file; the signal would end the program.
  std::signal(SIGXFSZ, SIG_IGN);
  if (argc == 2 && argv[1] == npgpu::devices::second_process_word)
    if (const auto exit_code = npgpu::devices::serve_as_second_process()) return *exit_code;
  npgpu::skip_hdf5_cleanup_at_exit();
  const npgpu::cli::PlainStream output(std::cout), errors(std::cerr);
  return argc < 1 ? npgpu::cli::run({}) : npgpu::cli::run({argv + 1, argv + argc}, argv[0]);
}
