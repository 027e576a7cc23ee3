#include <fmt/format.h>
#include <fmt/ranges.h>

#include "npgpu/error.hpp"
#include "npgpu/job.hpp"

namespace npgpu {

const Backend<Jobs>& find_job_backend(const std::string& device) {
  (void)devices::find(device);
  std::vector<std::string_view> kinds;
  for (const auto& backend : job_backends()) {
    if (backend->device_kind() == devices::kind_of(device)) return *backend;
    kinds.push_back(backend->device_kind());
  }
  throw Error(ErrorKind::usage, fmt::format("--device: '{}' has no streams; jobs run on devices of kind {}", device,
                                            fmt::join(kinds, ", ")));
}

}  // namespace npgpu
