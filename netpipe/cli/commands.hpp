// One file a command. Each takes the arguments behind its name and returns an exit code, or throws Error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace npgpu::cli {

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const Arguments&);
};

int info(const Arguments&);
int list(const Arguments&);
int transfer(const Arguments&);
int probe(const Arguments&);
int streams(const Arguments&);
int derive_parameters(const Arguments&);
int simulate_job(const Arguments&);
int characterize(const Arguments&);
int export_trace(const Arguments&);
int predict(const Arguments&);
int report(const Arguments&);
int compare_traces(const Arguments&);

const std::vector<Command>& commands();

// The whole program: arguments without its own name, argv as one line for the trace's provenance.
int run(const Arguments&);
// The command line as it was typed.
const std::string& typed();

}  // namespace npgpu::cli
