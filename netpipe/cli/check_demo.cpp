#include <iostream>

#include "netpipe/cli/check_ending.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/options.hpp"
#include "netpipe/cli/terminal.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

int demonstrate(const Options& options) {
  if (options.typed("device") || options.typed("trace"))
    throw Error(ErrorKind::usage, "--demo has simulated devices of its own: leave --device and --trace out");
  Arguments words{"check"};
  for (const char* one : {"all", "quiet"})
    if (options.on(one)) words.push_back(std::string("--") + one);
  if (options.has("level")) words.push_back("--level=" + options.text("level"));
  for (const std::string& id : devices::node("sim:sick")) {
    const std::string line = "npgpu check --device " + id;
    std::cout << '\n'
              << line << "\n  " << one_line(text_fact(devices::find(id).facts, "spec_source")) << '\n'
              << std::flush;
    Arguments its = words;
    its.insert(its.end(), {"--device=" + id, "--progress=none"});
    run(its, called());
  }
  return exit_code::done;
}

}  // namespace npgpu::cli
