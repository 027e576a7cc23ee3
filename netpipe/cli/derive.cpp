// npgpu derive: how the devices of a trace are built.
#include <iostream>

#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/error.hpp"
#include "npgpu/report.hpp"

namespace npgpu::cli {

int derive_parameters(const Arguments& arguments) {
  Options options("derive", "npgpu derive TRACE [options]",
                  "Derives from the probes of a trace how its devices are built, and from its streams what those cost, and holds\n"
                  "that against what the devices say of themselves. Needs no device.",
                  {"TRACE"});
  options.group("How").add_options()
      ("brief", po::bool_switch(), "a line a parameter, without formula and meaning")
      ("json", po::bool_switch(), "as JSON");
  if (!options.read(arguments)) return exit_code::done;
  const Trace trace = read_trace(options.place("TRACE"));
  const auto devices = derive(trace);
  if (devices.empty())
    throw Error(ErrorKind::usage,
                options.place("TRACE") +
                    " holds no probes and no costs of streams: npgpu probe all, or npgpu characterize, measure the "
                    "first, npgpu streams --experiment overheads the second");
  if (options.on("json"))
    parameters_json(std::cout, devices);
  else
    parameters_text(std::cout, devices, options.on("brief") ? Detail::brief : Detail::full, terminal_style());
  return exit_code::done;
}

}  // namespace npgpu::cli
