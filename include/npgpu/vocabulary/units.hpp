// Quantities and errors. A time is a Seconds; a size is an integer with a name that ends in bytes; a rate is a double
// with a name that ends in bytes_per_s. Rates print as decimal GB/s (1e9 bytes per second).
//
// Example:
//   const std::uint64_t bytes = npgpu::padded(3 * npgpu::MiB / 2 + 1, 4 * npgpu::KiB);  // in whole pages
//   const npgpu::Seconds time = npgpu::from_microseconds(30);
//   std::cout << npgpu::size_text(bytes) << " in " << npgpu::microseconds(time) << " us\n";
//   std::cout << 1e-9 * static_cast<double>(bytes) / time.count() << " GB/s\n";
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace npgpu {

using Seconds = std::chrono::duration<double>;

constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

constexpr double microseconds(Seconds t) { return t.count() * 1e6; }
constexpr Seconds from_microseconds(double us) { return Seconds{us * 1e-6}; }

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;
constexpr std::uint64_t GiB = 1024 * MiB;

// A sum of sizes that saturates instead of wrapping, so that an absurd size is found too large.
constexpr std::uint64_t saturating_plus(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max() : a + b;
}
// Rounded up to whole units; saturates, too.
constexpr std::uint64_t padded(std::uint64_t bytes, std::uint64_t unit) {
  const std::uint64_t end = saturating_plus(bytes, unit - 1);
  return end == std::numeric_limits<std::uint64_t>::max() ? end : end / unit * unit;
}

// "4 KiB", "1.5 MiB", "4093 B": always exact.
std::string size_text(std::uint64_t bytes);

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
constexpr int undecided = 8;       // check, matrix: the limit lies inside the confidence interval
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

// An error with a list: files that are refused, cases that there are.
//
// Example:
//   const std::vector<std::filesystem::path> files{"node.h5", "missing.h5", "gone.h5"};
//   try {
//     npgpu::merge_traces("all.h5", files, {});
//   } catch (const npgpu::ListedError& error) {
//     std::cout << error.what() << '\n';
//     for (const std::string& line : error.below()) std::cout << "  " << line << '\n';
//   }

class ListedError : public Error {
 public:
  // `below`: the lines of the list, which are printed below the sentence.
  ListedError(ErrorKind kind, const std::string& message, std::vector<std::string> below)
      : Error(kind, message), below_(std::make_shared<const std::vector<std::string>>(std::move(below))) {}
  const std::vector<std::string>& below() const noexcept { return *below_; }

 private:
  std::shared_ptr<const std::vector<std::string>> below_;  // shared: a copy of an exception must not throw
};

}  // namespace npgpu
