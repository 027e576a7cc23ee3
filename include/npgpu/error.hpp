// The one exception type. Its kind decides the program's exit code. Its message is one sentence that names the option,
// file or device at fault and, where known, what would make it work.
//
// Example:
//   try {
//     npgpu::read_trace("missing.h5");
//   } catch (const npgpu::Error& error) {
//     std::cout << error.what() << '\n';
//     if (error.kind() == npgpu::ErrorKind::lost) std::cout << "reset " << error.device() << '\n';
//     std::cout << "exit code " << npgpu::exit_code_of(error.kind()) << '\n';
//   }
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace npgpu {

enum class ErrorKind {
  failed,   // went wrong while running (exit code 1)
  usage,    // bad option, bad input file, impossible request (exit code 2)
  busy,     // others use the device, and the user asked for a quiet one (exit code 4)
  nothing,  // nothing to measure: no driver, no such hardware (exit code 77)
  // What went wrong while running, where the driver says what it is (exit code 1):
  lost,       // the device stopped answering; nothing on it works before a reset
  defect,     // the device reported a defect of its own hardware, as an uncorrectable memory error
  context,    // a kernel of this process faulted, and its context is dead; other processes are not touched
  no_memory,  // the device or the host has not enough memory
};

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string device = {})
      : std::runtime_error(message), kind_(kind), device_(std::move(device)) {}
  ErrorKind kind() const noexcept { return kind_; }
  // The device that is lost or defective, where it may not be the one that was asked for; empty: not known.
  const std::string& device() const noexcept { return device_; }

 private:
  ErrorKind kind_;
  std::string device_;
};

namespace exit_code {
constexpr int done = 0;
constexpr int failed = 1;
constexpr int usage = 2;
constexpr int slower = 3;          // compare: in time, and kernels in cycles too; fleet: suspects
constexpr int busy = 4;            // check, matrix: not judged, others used it or a limit is not known
constexpr int clock = 5;           // compare: slower in time, not in cycles
constexpr int broken = 6;          // compare: wrong results, or no time
constexpr int other_hardware = 7;  // compare: A and B are not of the same hardware, and that was not asked for
constexpr int undecided = 8;       // check, matrix: an interval holds its limit
constexpr int stopped = 75;        // stopped by a signal, trace saved: resume with --resume
constexpr int nothing = 77;
}  // namespace exit_code

constexpr int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return exit_code::usage;
    case ErrorKind::busy: return exit_code::busy;
    case ErrorKind::nothing: return exit_code::nothing;
    case ErrorKind::failed:
    case ErrorKind::lost:
    case ErrorKind::defect:
    case ErrorKind::context:
    case ErrorKind::no_memory: break;
  }
  return exit_code::failed;
}

}  // namespace npgpu
