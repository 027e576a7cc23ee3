// npgpu roofline: what bounds a kernel on a measured device, and how far it is from there.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/files/input.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

constexpr std::array types{"fp32", "fp64", "fp16", "bf16", "int32"};
constexpr std::array tensor_types{"fp16", "bf16", "tf32", "fp8", "int8", "fp64"};

// "fp64", "tensor-fp16": the name of a roof.
std::string roof_of_type(const std::string& word) {
  for (const char* type : types)
    if (word == type) return word;
  for (const char* type : tensor_types)
    if (word == fmt::format("tensor-{}", type)) return fmt::format("tensor {}", type);
  throw Error(ErrorKind::usage, fmt::format("--counts: '{}' is none of {}, tensor-{}", word, fmt::join(types, ", "),
                                            fmt::join(tensor_types, ", tensor-")));
}

// "mine=2TFLOP,80GB,40ms,fp64"
UserKernel parse_kernel(const std::string& text) {
  const CountedWords c =
      parse_counted(text, 2, "NAME=FLOP,BYTES,TIME or NAME=FLOP,BYTES,TIME,TYPE, as in mine=2TFLOP,80GB,40ms");
  return {.name = c.name,
          .work = {{roof_of_type(c.more.size() > 1 ? c.more[1] : "fp32"), c.flops}, {"memory", c.bytes}},
          .time = parse_duration("counts", c.more[0])};
}

std::vector<UserKernel> kernels_of(const Options& options) {
  std::vector<UserKernel> all;
  for (const std::string& text : options.texts("counts")) all.push_back(parse_kernel(text));
  for (const std::string& path : options.texts("profile"))
    std::ranges::move(kernels_of_profile(files::read_input("--profile", path), "--profile: " + path),
                      std::back_inserter(all));
  return all;
}

// Kernels are compared with the GPUs of the trace, and against a host where it has none.
std::vector<Roofline> chosen(std::vector<Roofline> all, const Options& options, bool has_kernels) {
  if (const auto list = options.maybe("device")) {
    std::vector<Roofline> named;
    for (const std::string& id : split_names("device", *list)) {
      const auto found = std::ranges::find(all, id, &Roofline::device);
      if (found == all.end()) {
        std::vector<std::string> ids;
        for (const Roofline& one : all) ids.push_back(one.device);
        throw Error(ErrorKind::usage, fmt::format("--device: the trace has no roof of '{}'; it has some of {}", id,
                                                  fmt::join(ids, ", ")));
      }
      named.push_back(*found);
    }
    return named;
  }
  const auto is_host = [](const Roofline& one) { return one.device == "host"; };
  if (has_kernels && !std::ranges::all_of(all, is_host)) std::erase_if(all, is_host);
  return all;
}

int run_roofline(const Options& options) {
  const auto kernels = kernels_of(options);
  auto all = rooflines_of(read_for_figures(options.place("TRACE")));
  if (all.empty())
    throw Error(ErrorKind::usage, options.place("TRACE") +
                                      " holds no roof of a memory or of arithmetic: npgpu characterize measures all, "
                                      "npgpu probe bandwidth,compute,tensor,onchip these alone");
  std::vector<RooflineReport> reports;
  for (Roofline& device : chosen(std::move(all), options, !kernels.empty())) {
    RooflineReport& report = reports.emplace_back();
    for (const UserKernel& kernel : kernels) report.kernels.push_back(placed(device, kernel));
    report.roofline = std::move(device);
  }
  if (options.on("json")) roofline_json(std::cout, reports);
  else roofline_text(std::cout, reports, terminal_style());
  return exit_code::done;
}

}  // namespace

Command roofline() {
  return {"roofline",
          "what bounds a kernel on a measured device, and how far from that it is",
          "Shows the roofs of a device (its memory, L2, shared memory, and arithmetic by type) from the probes of a "
          "trace, and the intensity in operations a byte at which they meet. Kernels of your own, from counts or from "
          "Nsight Compute, are compared with the roofs: which of them bounds each, and how much faster it could be. "
          "Needs no device.",
          {"TRACE"},
          {"npgpu roofline node.h5", "npgpu roofline node.h5 --counts mine=2TFLOP,80GB,40ms",
           "npgpu roofline node.h5 --profile kernels.csv"},
          {{"Kernels of your own",
            {"counts", "profile",
             Option("device", {}, "A list. Default: all of the trace; for kernels of your own all GPUs.")}},
           {"Output", {"json"}}},
          run_roofline};
}

const Joined<ListedCommand> listed_roofline({Asks::mine, 3, roofline});

}  // namespace npgpu::cli
