#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <new>
#include <string_view>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/process/descriptor.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace {

// Whether what ends the program is that memory ran out: an exception that says so, or none, as there was no memory even
// for that.
bool is_out_of_memory() {
  const std::exception_ptr thrown = std::current_exception();
  if (!thrown)
    return std::unique_ptr<char, decltype(&std::free)>(static_cast<char*>(std::malloc(64)), std::free) == nullptr;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

// A failed allocation that nothing can catch, as before main, in a thread, or in what may not throw, ends the program
// as one that is caught does: by a sentence and an exit code. All else is a fault of npgpu, and leaves a core.
[[noreturn]] void end_uncaught() {
  if (!is_out_of_memory()) std::abort();
  constexpr std::string_view said = "npgpu: out of host memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, said.data(), said.size());
  ::_exit(npgpu::exit_code::failed);
}

// Before the initializers of this program and of its libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_all)() = [] { std::set_terminate(end_uncaught); };

}  // namespace

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
