#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "netpipe/devices/cuda/nvml.hpp"
#include "netpipe/devices/cuda/nvml_library.hpp"
#include "netpipe/devices/cuda/nvml_unread.hpp"
#include "netpipe/devices/host/kernel_log.hpp"

namespace npgpu::cuda {

namespace {

using nvml::ask;
using nvml::ask_field;
using nvml::Handle;
using nvml::max_nvlinks;
using nvml::success;
using nvml::Unread;

void add_ecc(Facts& facts, Handle gpu, Unread& unread) {
  const nvml::Library& n = nvml::library();
  struct Counter {
    const char* name;
    int type, since;  // corrected 0, uncorrected 1; since the driver was loaded 0, in the GPU's life 1
  };
  for (const Counter& one : {Counter{"ecc_corrected_volatile", 0, 0},
                             {"ecc_uncorrected_volatile", 1, 0},
                             {"ecc_corrected_aggregate", 0, 1},
                             {"ecc_uncorrected_aggregate", 1, 1}})
    if (const auto count = unread.note("ecc", ask<unsigned long long>(n.ecc_errors, gpu, one.type, one.since)))
      facts.emplace_back(one.name, static_cast<std::int64_t>(*count));
}

// A GPU has rows that are remapped or pages that are retired, not both.
void add_rows_and_pages(Facts& facts, Handle gpu, Unread& unread) {
  const nvml::Library& n = nvml::library();
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (unread.note("rows", n.remapped_rows ? n.remapped_rows(gpu, &corrected, &uncorrected, &pending, &failed)
                                          : nvml::no_function)) {
    facts.emplace_back("remapped_rows_corrected", std::int64_t{corrected});
    facts.emplace_back("remapped_rows_uncorrected", std::int64_t{uncorrected});
    facts.emplace_back("remapped_rows_pending", std::int64_t{pending});
    facts.emplace_back("remapped_rows_failed", std::int64_t{failed});
  }
  std::int64_t pages = 0;
  bool is_known = true;
  for (const int cause : {0, 1}) {  // several single-bit errors, a double-bit error
    unsigned count = 0;             // asked for with room for none
    const nvml::Result result = n.retired_pages ? n.retired_pages(gpu, cause, &count, nullptr) : nvml::no_function;
    is_known &= unread.note("rows", result == nvml::insufficient_size ? success : result);
    pages += count;
  }
  if (!is_known) return;
  facts.emplace_back("retired_pages", pages);
  if (const auto waiting = unread.note("rows", ask(n.retired_pages_pending, gpu)))
    facts.emplace_back("retired_pages_pending", std::int64_t{*waiting});
}

void add_nvlinks(Facts& facts, Handle gpu, Unread& unread) {
  const nvml::Library& n = nvml::library();
  std::int64_t active = 0, inactive = 0;
  nvml::Result result = nvml::no_function;
  for (unsigned link = 0; n.nvlink_state && link < max_nvlinks; ++link) {
    const auto is_active = ask(n.nvlink_state, gpu, link);
    if (is_active) ++(*is_active ? active : inactive);
    if (link == 0 || is_active) result = is_active.result;
  }
  // A GPU without NVLinks says so by "not supported": then it has none, which is an answer.
  if (result != nvml::not_supported && !unread.note("nvlink", result)) return;
  facts.emplace_back("nvlinks_active", active);
  facts.emplace_back("nvlinks_inactive", inactive);
  if (active == 0) return;
  struct Total {
    const char* name;
    unsigned field;  // NVML_FI_DEV_NVLINK_..._ERROR_COUNT_TOTAL
  };
  for (const Total& one :
       {Total{"nvlink_crc_errors", 38}, {"nvlink_replay_errors", 52}, {"nvlink_recovery_errors", 59}})
    if (const auto count = ask_field(gpu, one.field)) facts.emplace_back(one.name, static_cast<std::int64_t>(*count));
}

// NVLink-C2C, between the GPU and its Grace processor.
void add_c2c(Facts& facts, Handle gpu, Unread& unread) {
  const auto links = ask_field(gpu, nvml::c2c_links);
  if (links.result == nvml::not_supported || links.result == nvml::no_function) return;  // no such GPU, or driver
  if (!unread.note("c2c", links) || *links == 0) return;
  std::int64_t active = 0;
  for (unsigned link = 0; link < *links; ++link)
    if (const auto is_active = unread.note("c2c", ask_field(gpu, nvml::c2c_status, link))) active += *is_active != 0;
  facts.emplace_back("c2c_links_active", active);
  facts.emplace_back("c2c_links_inactive", static_cast<std::int64_t>(*links) - active);
}

// Two bits each of the fabric's health mask (NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_...): 0 not supported, 1 true, 2 false;
// four bits of the configuration, of which 0 and 1 are well.
std::string fabric_health_text(unsigned mask) {
  struct Part {
    unsigned shift;
    const char* text;
  };
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  for (const Part& part : {Part{0, "degraded bandwidth"},
                           {2, "route recovery in progress"},
                           {4, "route unhealthy"},
                           {6, "access timeout recovery in progress"}})
    if ((mask >> part.shift & 3) == 1) add(part.text);
  constexpr const char* wrong[] = {"wrong system GUID",   "wrong chassis serial number", "no partition",
                                   "too few NVLinks",     "incompatible firmware",       "invalid location",
                                   "invalid state of GPU"};
  if (const unsigned configuration = mask >> 8 & 0xf; configuration > 1)
    add(configuration - 2 < std::size(wrong) ? wrong[configuration - 2]
                                             : "wrong configuration " + std::to_string(configuration));
  return text.empty() ? "well" : text;
}

void add_fabric(Facts& facts, Handle gpu, Unread& unread) {
  const nvml::Library& n = nvml::library();
  nvml::FabricInfo info;
  nvml::Result result = n.fabric ? n.fabric(gpu, &info) : nvml::no_function;
  if (result != success && n.old_fabric) {
    nvml::OldFabricInfo old;
    result = n.old_fabric(gpu, &old);
    info.state = old.state;
    info.status = old.status;
    info.health = 0;
  }
  if (!unread.note("fabric", result)) return;
  constexpr const char* states[] = {"not supported", "not started", "in progress", "completed"};
  constexpr unsigned completed = 3;
  facts.emplace_back("fabric_state", info.state < std::size(states) ? std::string(states[info.state])
                                                                    : "state " + std::to_string(info.state));
  if (info.state == completed) facts.emplace_back("fabric_status", std::int64_t{info.status});
  if (info.health != 0) {
    facts.emplace_back("fabric_health_mask", std::int64_t{info.health});
    facts.emplace_back("fabric_health", fabric_health_text(info.health));
  }
}

// nvmlDeviceGpuRecoveryAction_t.
void add_recovery(Facts& facts, Handle gpu, Unread& unread) {
  const auto action = unread.note("recovery", ask_field(gpu, nvml::recovery_action));
  if (!action) return;
  constexpr const char* actions[] = {"none",
                                     "reset the GPU",
                                     "reboot the node",
                                     "drain P2P",
                                     "drain P2P and reset the GPU",
                                     "recover the IMEX domain",
                                     "reset the PCIe bus",
                                     "reboot the system"};
  facts.emplace_back("recovery_action", *action < std::size(actions) ? std::string(actions[*action])
                                                                     : "action " + std::to_string(*action));
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
  void add(Facts& facts, Handle gpu, Unread& unread) {
    const nvml::Library& n = nvml::library();
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = listeners_.try_emplace(gpu);
    Listener& listener = at->second;
    if (is_new && n.make_event_set && n.register_events && n.wait_for_event) {
      listener.listens = n.make_event_set(&listener.set);
      if (listener.listens == success) listener.listens = n.register_events(gpu, xid_errors, listener.set);
    }
    if (!unread.note("xids", listener.listens)) return;
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
    nvml::Result listens = nvml::no_function;
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
  if (const auto speed = ask_field(handle_, nvml::nvlink_speed_mb_s))
    facts.emplace_back("nvlink_mb_s", static_cast<std::int64_t>(*speed));
  std::string text;
  for (const auto& [remote, links] : remotes)
    text += (text.empty() ? "" : ", ") + remote + " x" + std::to_string(links);
  if (!text.empty()) facts.emplace_back("nvlinks_to", text);
  return facts;
}

Facts NvmlDevice::counters() const {
  static XidEvents xids;
  Facts facts;
  Unread unread;
  add_ecc(facts, handle_, unread);
  add_rows_and_pages(facts, handle_, unread);
  if (const auto count = unread.note("replays", ask(nvml::library().pcie_replays, handle_)))
    facts.emplace_back("pcie_replays", std::int64_t{*count});
  add_nvlinks(facts, handle_, unread);
  add_c2c(facts, handle_, unread);
  add_fabric(facts, handle_, unread);
  add_recovery(facts, handle_, unread);
  xids.add(facts, handle_, unread);
  std::ranges::move(unread.facts(), std::back_inserter(facts));
  return facts;
}

LinkState NvmlDevice::link_state() const {
  const nvml::Library& n = nvml::library();
  return {ask(n.link_generation, handle_).value_or(0), ask(n.link_width, handle_).value_or(0)};
}

}  // namespace npgpu::cuda
