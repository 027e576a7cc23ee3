// A kernel that nobody has run yet, counted: what its options are, and what they say.
#include "netpipe/cli/kernel_counts.hpp"

#include <fmt/format.h>

#include "netpipe/cli/quantity.hpp"

namespace npgpu::cli {

namespace {

// A size, or 12e9.
double parse_bytes(const Options& options, const char* option) {
  const std::string text = options.text(option);
  const bool has_exponent =
      text.find_first_of("eE") != std::string::npos && text.find_first_of("iB") == std::string::npos;
  return has_exponent ? parse_operations(option, text) : static_cast<double>(parse_size(option, text));
}

}  // namespace

bool counts_a_kernel(const Options& options) { return options.has("flops") || options.has("bytes-moved"); }

KernelCounts parse_kernel_counts(const Options& options) {
  constexpr std::uint64_t most_registers = 255, most_in_flight = 64;
  if (options.has("kernel-ms"))
    throw Error(ErrorKind::usage,
                "--kernel-ms: the kernel's time is either given, or follows from --flops and "
                "--bytes-moved");
  if (!options.has("blocks"))
    throw Error(ErrorKind::usage,
                "--blocks is missing: --flops and --bytes-moved are of a kernel of so many --blocks "
                "of --threads");
  KernelCounts c;
  if (const auto text = options.maybe("flops")) c.flops = parse_operations("flops", *text);
  if (options.has("bytes-moved")) c.bytes = parse_bytes(options, "bytes-moved");
  if (options.has("bytes-written")) {
    c.bytes_written = parse_bytes(options, "bytes-written");
    if (c.bytes_written > c.bytes)
      throw Error(ErrorKind::usage, "--bytes-written: they are a part of --bytes-moved, and more than these");
  }
  c.type = parse_name<DataType>("type", options.text("type"));
  const std::string words = options.text("words");
  c.word_bytes = static_cast<std::uint32_t>(parse_count("words", words, 1, 16));
  c.random = options.on("random");
  c.blocks = parse_count("blocks", options.text("blocks"), 1, 1ull << 40);
  c.threads = static_cast<std::uint32_t>(parse_count("threads", options.text("threads"), 1, 1024));
  if (const auto text = options.maybe("registers"))
    c.registers = static_cast<std::uint32_t>(parse_count("registers", *text, 1, most_registers));
  if (const auto text = options.maybe("shared"))
    c.shared_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(parse_size("shared", *text), 1u << 30));
  if (const auto text = options.maybe("in-flight"))
    c.in_flight = static_cast<std::uint32_t>(parse_count("in-flight", *text, 1, most_in_flight));
  if (const auto text = options.maybe("source-registers"))
    c.source_registers = static_cast<std::uint32_t>(parse_count("source-registers", *text, 1, 3));
  return c;
}

OptionGroup kernel_counts_group() {
  return {"Kernel: its time by what it does, in place of --kernel-ms",
          {"flops", "bytes-moved", "bytes-written", Option("type", "fp32", {}, "WORD"),
           Option("words", "4", "Bytes of one access of a thread: 4, 8 or 16.", "N"), "random", "in-flight",
           "source-registers", "registers", "shared"}};
}

}  // namespace npgpu::cli
