#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "netpipe/devices/cuda/nvml.hpp"
#include "netpipe/devices/cuda/nvml_library.hpp"
#include "netpipe/devices/host/kernel_log.hpp"

namespace npgpu::cuda {

namespace {

using nvml::Handle;
using nvml::success;

using nvml::max_nvlinks;

void add_ecc(Facts& facts, Handle gpu) {
  const nvml::Library& n = nvml::library();
  if (!n.ecc_errors) return;
  struct Counter {
    const char* name;
    int type, since;  // corrected 0, uncorrected 1; since the driver was loaded 0, in the GPU's life 1
  };
  for (const Counter& one : {Counter{"ecc_corrected_volatile", 0, 0},
                             {"ecc_uncorrected_volatile", 1, 0},
                             {"ecc_corrected_aggregate", 0, 1},
                             {"ecc_uncorrected_aggregate", 1, 1}}) {
    unsigned long long count = 0;
    if (n.ecc_errors(gpu, one.type, one.since, &count) == success)
      facts.emplace_back(one.name, static_cast<std::int64_t>(count));
  }
}

void add_rows_and_pages(Facts& facts, Handle gpu) {
  const nvml::Library& n = nvml::library();
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (n.remapped_rows && n.remapped_rows(gpu, &corrected, &uncorrected, &pending, &failed) == success) {
    facts.emplace_back("remapped_rows_corrected", std::int64_t{corrected});
    facts.emplace_back("remapped_rows_uncorrected", std::int64_t{uncorrected});
    facts.emplace_back("remapped_rows_pending", std::int64_t{pending});
    facts.emplace_back("remapped_rows_failed", std::int64_t{failed});
  }
  std::int64_t pages = 0;
  bool is_known = n.retired_pages != nullptr;
  for (const int cause : {0, 1}) {  // several single-bit errors, a double-bit error
    unsigned count = 0;             // asked for with room for none
    const nvml::Result result = is_known ? n.retired_pages(gpu, cause, &count, nullptr) : success;
    is_known = is_known && (result == success || result == nvml::insufficient_size);
    pages += count;
  }
  if (!is_known) return;
  facts.emplace_back("retired_pages", pages);
  if (const auto waiting = nvml::ask(n.retired_pages_pending, gpu))
    facts.emplace_back("retired_pages_pending", std::int64_t{*waiting});
}

std::optional<std::int64_t> field(Handle gpu, unsigned which) {
  const nvml::Library& n = nvml::library();
  nvml::FieldValue value{};
  value.field = which;
  if (!n.fields || n.fields(gpu, 1, &value) != success || value.result != success) return std::nullopt;
  constexpr int is_unsigned_int = 1;
  return static_cast<std::int64_t>(value.type == is_unsigned_int ? value.value.number : value.value.large);
}

void add_nvlinks(Facts& facts, Handle gpu) {
  const nvml::Library& n = nvml::library();
  if (!n.nvlink_state) return;
  std::int64_t active = 0, inactive = 0;
  for (unsigned link = 0; link < max_nvlinks; ++link) {
    unsigned is_active = 0;
    if (n.nvlink_state(gpu, link, &is_active) == success) ++(is_active ? active : inactive);
  }
  facts.emplace_back("nvlinks_active", active);
  facts.emplace_back("nvlinks_inactive", inactive);
  if (active == 0) return;
  struct Total {
    const char* name;
    unsigned field;  // NVML_FI_DEV_NVLINK_..._ERROR_COUNT_TOTAL
  };
  for (const Total& one :
       {Total{"nvlink_crc_errors", 38}, {"nvlink_replay_errors", 52}, {"nvlink_recovery_errors", 59}})
    if (const auto count = field(gpu, one.field)) facts.emplace_back(one.name, *count);
}

// "4.0" of NVML's number of a version.
std::string nvlink_version_text(unsigned version) {
  constexpr const char* texts[] = {"1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0"};
  return version >= 1 && version <= std::size(texts) ? texts[version - 1] : "unknown";
}

// Xids of a GPU since it was first asked for them, as events, which need no rights. Those that programs cause are left
// out.
class XidEvents {
 public:
  void add(Facts& facts, Handle gpu) {
    const nvml::Library& n = nvml::library();
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = listeners_.try_emplace(gpu);
    Listener& listener = at->second;
    if (is_new && n.make_event_set && n.register_events && n.wait_for_event &&
        n.make_event_set(&listener.set) == success)
      listener.is_listening = n.register_events(gpu, xid_errors, listener.set) == success;
    if (!listener.is_listening) return;
    nvml::EventData event{};
    while (n.wait_for_event(listener.set, &event, 0) == success) {
      if (event.type != xid_errors || host::is_of_a_program(event.data)) continue;
      ++listener.count;
      listener.last = static_cast<std::int64_t>(event.data);
    }
    facts.emplace_back("xids", listener.count);
    if (listener.count > 0) facts.emplace_back("xid_last", listener.last);
  }

 private:
  static constexpr unsigned long long xid_errors = 0x8;
  struct Listener {
    Handle set = nullptr;  // held as long as the process
    bool is_listening = false;
    std::int64_t count = 0, last = 0;
  };
  std::mutex mutex_;
  std::map<Handle, Listener> listeners_;
};

}  // namespace

Facts NvmlDevice::nvlink_facts() const {
  const nvml::Library& n = nvml::library();
  Facts facts;
  std::map<std::string, int> remotes;
  std::int64_t active = 0;
  unsigned version = 0;
  for (unsigned link = 0; n.nvlink_state && link < max_nvlinks; ++link) {
    unsigned is_active = 0;
    if (n.nvlink_state(handle_, link, &is_active) != success || !is_active) continue;
    ++active;
    if (n.nvlink_version) (void)n.nvlink_version(handle_, link, &version);
    int type = -1;
    constexpr int gpu = 0, link_switch = 2;
    nvml::PciInfo remote{};
    if (n.nvlink_remote_type && n.nvlink_remote_type(handle_, link, &type) == success && type == link_switch)
      ++remotes["switch"];
    else if (type == gpu && n.nvlink_remote && n.nvlink_remote(handle_, link, &remote) == success)
      ++remotes[remote.bus_id];
  }
  if (active == 0) return facts;
  facts.emplace_back("nvlinks", active);
  facts.emplace_back("nvlink_version", nvlink_version_text(version));
  if (const auto speed = field(handle_, nvml::nvlink_speed_mb_s)) facts.emplace_back("nvlink_mb_s", *speed);
  std::string text;
  for (const auto& [remote, links] : remotes)
    text += (text.empty() ? "" : ", ") + remote + " x" + std::to_string(links);
  if (!text.empty()) facts.emplace_back("nvlinks_to", text);
  return facts;
}

Facts NvmlDevice::counters() const {
  static XidEvents xids;
  Facts facts;
  add_ecc(facts, handle_);
  add_rows_and_pages(facts, handle_);
  if (const auto count = nvml::ask(nvml::library().pcie_replays, handle_))
    facts.emplace_back("pcie_replays", std::int64_t{*count});
  add_nvlinks(facts, handle_);
  xids.add(facts, handle_);
  return facts;
}

LinkState NvmlDevice::link_state() const {
  const nvml::Library& n = nvml::library();
  return {nvml::ask(n.link_generation, handle_).value_or(0), nvml::ask(n.link_width, handle_).value_or(0)};
}

}  // namespace npgpu::cuda
