#include "netpipe/cli/version.hpp"

#include <fmt/format.h>

#include "npgpu/module.hpp"
#include "npgpu_build.hpp"
#include "npgpu_git.hpp"

namespace npgpu::cli {

std::string tool_version() { return NPGPU_VERSION; }
std::string git_commit() { return NPGPU_GIT_COMMIT; }

Facts build_facts() {
  const std::string cuda = NPGPU_CUDA_TOOLKIT;
  return {{"version", tool_version()},
          {"git_commit", git_commit()},
          {"compiler", std::string(NPGPU_COMPILER)},
          {"build_type", std::string(NPGPU_BUILD_TYPE)},
          {"cuda_toolkit", cuda.empty() ? "none" : cuda},
          {"cuda_architectures", cuda.empty() ? "none" : std::string(NPGPU_CUDA_ARCHITECTURES)},
          {"hdf5", std::string(NPGPU_HDF5)},
          {"boost", std::string(NPGPU_BOOST)},
          {"hwloc", std::string(NPGPU_HWLOC)}};
}

std::string version_text() {
  std::string text = fmt::format("npgpu {} ({})\n", tool_version(), git_commit());
  const Facts facts = build_facts();
  for (std::size_t i = 2; i < facts.size(); ++i)
    text += fmt::format("{}: {}\n", facts[i].first, std::get<std::string>(facts[i].second));
  text += "modules:";
  for (const auto& module : modules()) text += fmt::format(" {}", module->name());
  text += '\n';
  for (const MissingModule& missing : missing_modules())
    text += fmt::format("left out: {} ({})\n", missing.name, missing.reason);
  return text;
}

}  // namespace npgpu::cli
