#include "npgpu/error.hpp"
#include "npgpu/job.hpp"

namespace npgpu {

namespace {

// A function's static, because backends register before main in no particular order.
std::vector<std::unique_ptr<Backend<Jobs>>>& registry() {
  static std::vector<std::unique_ptr<Backend<Jobs>>> all;
  return all;
}

bool is_of_kind(const std::string& device, std::string_view kind) {
  return device == kind || device.rfind(std::string(kind) + ':', 0) == 0;
}

}  // namespace

DeviceInfo Backend<Jobs>::device(const std::string& id) const {
  const std::vector<DeviceInfo> all = devices();
  if (all.empty())
    throw Error(ErrorKind::nothing, "streams: there is no " + std::string(kind()) + " device: " + why_none());
  std::string ids;
  for (const DeviceInfo& one : all) {
    if (one.id == id) return one;
    ids += (ids.empty() ? "" : ", ") + one.id;
  }
  throw Error(ErrorKind::usage, "--device: there is no '" + id + "'; there is " + ids);
}

void register_overlap_backend(std::unique_ptr<Backend<Jobs>> backend) { registry().push_back(std::move(backend)); }

const std::vector<std::unique_ptr<Backend<Jobs>>>& job_backends() { return registry(); }

const Backend<Jobs>& find_job_backend(const std::string& device) {
  for (const auto& backend : registry())
    if (is_of_kind(device, backend->kind())) return *backend;
  if (is_of_kind(device, "cuda"))
    throw Error(ErrorKind::nothing,
                "--device: no jobs in streams run on '" + device + "': this build was made without CUDA");
  throw Error(ErrorKind::usage,
              "--device: '" + device + "' has no streams; write cuda:N or sim:NAME (npgpu list shows them)");
}

}  // namespace npgpu
