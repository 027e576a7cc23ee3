// What NVML says of a GPU, as facts: a row for each that one question answers, and below them those that take several.
// Each question belongs to a group, so that it can be said why a group's facts are not there.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <span>

#include "netpipe/devices/host/kernel_log.hpp"
#include "netpipe/devices/nvml/library.hpp"
#include "netpipe/devices/nvml/nvml.hpp"

namespace npgpu::nvml {

namespace {

bool is_of_the_device(Result result) { return result == gpu_is_lost || result == reset_required; }

// "not supported", "no permission", ...; "error 999 (Unknown Error)" of all others.
std::string reason_text(Result result) {
  switch (result) {
    case not_supported: return "not supported";
    case no_permission: return "no permission";
    case no_function:
    case function_not_found: return "not in this driver";
    case gpu_is_lost: return "lost";
    case reset_required: return "needs a reset";
    case timeout: return "timeout";
    default: return fmt::format("error {} ({})", result, library().text_of(result));
  }
}

// What of a GPU could not be read, and why: facts unread_<group>.
class Unread {
 public:
  // A question of this group was answered so. Returns whether it has an answer.
  bool note(const std::string& group, Result result) {
    Group& of = groups_[group];
    if (result == success) return of.is_answered = true;
    if (of.first == success) of.first = result;
    const bool is_had = result != not_supported && result != no_function && result != function_not_found;
    if (is_had && (of.gravest == success || (is_of_the_device(result) && !is_of_the_device(of.gravest))))
      of.gravest = result;
    return false;
  }
  const Answer& note(const std::string& group, const Answer& answer) {
    (void)note(group, answer.result);
    return answer;
  }
  // Adds the reason of each group of which no question was answered. A group that has some answers has others that this
  // GPU does not support: no word of these, but of what else failed. Also `unread_device`, where NVML said that the GPU
  // is lost or needs a reset.
  void add_to(Facts& facts) const {
    Result device = success;
    for (const auto& [name, group] : groups_) {
      if (is_of_the_device(group.gravest)) device = group.gravest;
      if (group.gravest != success) facts.emplace_back("unread_" + name, reason_text(group.gravest));
      else if (!group.is_answered) facts.emplace_back("unread_" + name, reason_text(group.first));
    }
    if (device != success) facts.emplace_back("unread_device", reason_text(device));
  }

 private:
  struct Group {
    bool is_answered = false;
    Result first = success;    // of those that failed
    Result gravest = success;  // of those that failed though the GPU and this driver have them
  };
  std::map<std::string, Group> groups_;
};

// A fact that one question answers with a number.
struct Row {
  const char *group, *fact;  // no group: that there is none needs no word
  Answer (*ask)(const Library&, Handle);
  double unit = 0;  // of a fact that is no whole number: what NVML's unit is in the fact's
};

void add(Facts& facts, Unread& unread, Handle gpu, std::span<const Row> rows) {
  for (const Row& row : rows) {
    const Answer answer = row.ask(library(), gpu);
    if (row.group) (void)unread.note(row.group, answer);
    if (answer) facts.emplace_back(row.fact, row.unit > 0 ? Fact(answer.number() * row.unit) : Fact(answer.whole()));
  }
}

// "a" of texts[0], or "action 42" of a number that is not among them.
template <std::size_t count>
std::string word_of(const char* const (&texts)[count], unsigned long long number, const char* what) {
  return number < count ? std::string(texts[number]) : fmt::format("{} {}", what, number);
}

// The whole system's.
Answer confidential_computing(const Library& n, Handle) {
  ConfComputeSettings settings;
  Result result = n.conf_compute_settings ? n.conf_compute_settings(&settings) : no_function;
  unsigned feature = settings.feature;
  if (result != success && n.conf_compute) {
    ConfComputeState state;
    result = n.conf_compute(&state);
    feature = state.feature;
  }
  return {result, feature != 0};
}

Answer mig_mode(const Library& n, Handle gpu) {
  unsigned mig = 0, pending = 0;
  const Result result = n.mig_mode ? n.mig_mode(gpu, &mig, &pending) : no_function;
  return {result, mig};
}

constexpr Row settings[] = {
    {"link", "pcie_generation_now", [](const Library& n, Handle gpu) { return ask(n.link_generation, gpu); }},
    {"link", "pcie_lanes_now", [](const Library& n, Handle gpu) { return ask(n.link_width, gpu); }},
    {"link", "max_pcie_generation", [](const Library& n, Handle gpu) { return ask(n.max_link_generation, gpu); }},
    {"link", "gpu_max_pcie_generation",
     [](const Library& n, Handle gpu) { return ask(n.gpu_max_link_generation, gpu); }},
    {"link", "max_pcie_lanes", [](const Library& n, Handle gpu) { return ask(n.max_link_width, gpu); }},
    {"max_clocks", "max_sm_clock_mhz", [](const Library& n, Handle gpu) { return ask(n.max_clock, gpu, sm_clock); }},
    {"max_clocks", "max_memory_clock_mhz",
     [](const Library& n, Handle gpu) { return ask(n.max_clock, gpu, memory_clock); }},
    {"power_limit", "power_limit_w", [](const Library& n, Handle gpu) { return ask(n.power_limit_mw, gpu); }, 1e-3},
    {"power_limit", "default_power_limit_w",
     [](const Library& n, Handle gpu) { return ask(n.default_power_limit_mw, gpu); }, 1e-3},
    {"slowdown_temperature", "slowdown_temperature_c",
     [](const Library& n, Handle gpu) { return ask(n.temperature_threshold, gpu, slowdown); }},
    {"persistence", "persistence_mode", [](const Library& n, Handle gpu) { return ask(n.persistence, gpu); }}};
constexpr Row modes[] = {{"mig", "mig_mode", mig_mode},
                         {"confidential_computing", "confidential_computing", confidential_computing}};

// Corrected 0, uncorrected 1; since the driver was loaded 0, in the GPU's life 1.
template <int type, int since> Answer ecc(const Library& n, Handle gpu) {
  return ask<unsigned long long>(n.ecc_errors, gpu, type, since);
}
enum RemappedRows { corrected, uncorrected, is_pending, has_failed };
template <RemappedRows which> Answer rows(const Library& n, Handle gpu) {
  unsigned all[4] = {};
  const Result result = n.remapped_rows ? n.remapped_rows(gpu, &all[0], &all[1], &all[2], &all[3]) : no_function;
  return {result, all[which]};
}
// Pages retired for several single-bit errors or for a double-bit error.
Answer retired_pages(const Library& n, Handle gpu) {
  Answer pages{success};
  for (const int cause : {0, 1}) {
    unsigned count = 0;  // asked for with room for none
    const Result result = n.retired_pages ? n.retired_pages(gpu, cause, &count, nullptr) : no_function;
    if (result != success && result != insufficient_size) return {result};
    pages.value += count;
  }
  return pages;
}
template <unsigned which> Answer field(const Library&, Handle gpu) { return ask_field(gpu, which); }

// A GPU has rows that are remapped or pages that are retired, not both.
constexpr Row counted[] = {
    {"ecc", "ecc_corrected_volatile", ecc<0, 0>},
    {"ecc", "ecc_uncorrected_volatile", ecc<1, 0>},
    {"ecc", "ecc_corrected_aggregate", ecc<0, 1>},
    {"ecc", "ecc_uncorrected_aggregate", ecc<1, 1>},
    {"rows", "remapped_rows_corrected", rows<corrected>},
    {"rows", "remapped_rows_uncorrected", rows<uncorrected>},
    {"rows", "remapped_rows_pending", rows<is_pending>},
    {"rows", "remapped_rows_failed", rows<has_failed>},
    {"rows", "retired_pages", retired_pages},
    {"rows", "retired_pages_pending",
     [](const Library& n, Handle gpu) {
       const Answer pages = retired_pages(n, gpu);
       return pages ? ask(n.retired_pages_pending, gpu) : pages;
     }},
    {"replays", "pcie_replays", [](const Library& n, Handle gpu) { return ask(n.pcie_replays, gpu); }}};
// NVML_FI_DEV_NVLINK_..._ERROR_COUNT_TOTAL.
constexpr Row of_nvlinks[] = {{nullptr, "nvlink_crc_errors", field<38>},
                              {nullptr, "nvlink_replay_errors", field<52>},
                              {nullptr, "nvlink_recovery_errors", field<59>}};

void add_nvlinks(Facts& facts, Handle gpu, Unread& unread) {
  const Library& n = library();
  std::int64_t active = 0, inactive = 0;
  Result result = no_function;
  for (unsigned link = 0; n.nvlink_state && link < max_nvlinks; ++link) {
    const Answer is_active = ask(n.nvlink_state, gpu, link);
    if (is_active) ++(is_active.value ? active : inactive);
    if (link == 0 || is_active) result = is_active.result;
  }
  // A GPU without NVLinks says so by "not supported": then it has none, which is an answer.
  if (result != not_supported && !unread.note("nvlink", result)) return;
  facts.emplace_back("nvlinks_active", active);
  facts.emplace_back("nvlinks_inactive", inactive);
  if (active == 0) return;
  add(facts, unread, gpu, of_nvlinks);
}

// NVLink-C2C, between the GPU and its Grace processor.
void add_c2c(Facts& facts, Handle gpu, Unread& unread) {
  const Answer links = ask_field(gpu, c2c_links);
  if (links.result == not_supported || links.result == no_function) return;  // no such GPU, or driver
  if (!unread.note("c2c", links) || links.value == 0) return;
  std::int64_t active = 0;
  for (unsigned link = 0; link < links.value; ++link)
    if (const Answer is_active = unread.note("c2c", ask_field(gpu, c2c_status, link))) active += is_active.value != 0;
  facts.emplace_back("c2c_links_active", active);
  facts.emplace_back("c2c_links_inactive", links.whole() - active);
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
                                             : fmt::format("wrong configuration {}", configuration));
  return text.empty() ? "well" : text;
}

void add_fabric(Facts& facts, Handle gpu, Unread& unread) {
  const Library& n = library();
  FabricInfo info;
  Result result = n.fabric ? n.fabric(gpu, &info) : no_function;
  if (result != success && n.old_fabric) {
    OldFabricInfo old;
    result = n.old_fabric(gpu, &old);
    info.state = old.state;
    info.status = old.status;
    info.health = 0;
  }
  if (!unread.note("fabric", result)) return;
  constexpr const char* states[] = {"not supported", "not started", "in progress", "completed"};
  constexpr unsigned completed = 3;
  facts.emplace_back("fabric_state", word_of(states, info.state, "state"));
  if (info.state == completed) facts.emplace_back("fabric_status", std::int64_t{info.status});
  if (info.health != 0) {
    facts.emplace_back("fabric_health_mask", std::int64_t{info.health});
    facts.emplace_back("fabric_health", fabric_health_text(info.health));
  }
}

// nvmlDeviceGpuRecoveryAction_t.
void add_recovery(Facts& facts, Handle gpu, Unread& unread) {
  const Answer action = unread.note("recovery", ask_field(gpu, recovery_action));
  if (!action) return;
  constexpr const char* actions[] = {"none",
                                     "reset the GPU",
                                     "reboot the node",
                                     "drain P2P",
                                     "drain P2P and reset the GPU",
                                     "recover the IMEX domain",
                                     "reset the PCIe bus",
                                     "reboot the system"};
  facts.emplace_back("recovery_action", word_of(actions, action.value, "action"));
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
    const Library& n = library();
    const std::lock_guard lock(mutex_);
    const auto [at, is_new] = listeners_.try_emplace(gpu);
    Listener& listener = at->second;
    if (is_new && n.make_event_set && n.register_events && n.wait_for_event) {
      listener.listens = n.make_event_set(&listener.set);
      if (listener.listens == success) listener.listens = n.register_events(gpu, xid_errors, listener.set);
    }
    if (!unread.note("xids", listener.listens)) return;
    EventData event{};
    while (n.wait_for_event(listener.set, &event, 0) == success) {
      constexpr unsigned long long recovery_action_changed = 154;  // which is asked for by itself
      if (event.type != xid_errors || host::does_not_count(event.data) || event.data == recovery_action_changed)
        continue;
      if (host::is_of_nvlink5(event.data)) {
        ++listener.of_nvlink;
        continue;
      }
      ++listener.count;
      listener.last = static_cast<std::int64_t>(event.data);
    }
    facts.emplace_back("xids", listener.count);
    if (listener.count > 0) facts.emplace_back("xid_last", listener.last);
    facts.emplace_back("xids_of_nvlink", listener.of_nvlink);
  }

 private:
  static constexpr unsigned long long xid_errors = 0x8;
  struct Listener {
    Handle set = nullptr;  // held as long as the process
    Result listens = no_function;
    std::int64_t count = 0, last = 0, of_nvlink = 0;
  };
  std::mutex mutex_;
  std::map<Handle, Listener> listeners_;
};

// Its active NVLinks: how many, of which version, how fast, and to whom. Nothing where there are none.
void add_links_to(Facts& facts, Handle handle) {
  const Library& n = library();
  std::map<std::string, int> remotes;
  std::int64_t active = 0;
  unsigned version = 0;
  for (unsigned link = 0; n.nvlink_state && link < max_nvlinks; ++link) {
    unsigned is_active = 0;
    if (n.nvlink_state(handle, link, &is_active) != success || !is_active) continue;
    ++active;
    if (n.nvlink_version) (void)n.nvlink_version(handle, link, &version);
    int type = -1;
    constexpr int gpu = 0, link_switch = 2;
    PciInfo remote{};
    if (n.nvlink_remote_type && n.nvlink_remote_type(handle, link, &type) == success && type == link_switch)
      ++remotes["switch"];
    else if (type == gpu && n.nvlink_remote && n.nvlink_remote(handle, link, &remote) == success)
      ++remotes[remote.bus_id];
  }
  if (active == 0) return;
  facts.emplace_back("nvlinks", active);
  facts.emplace_back("nvlink_version", nvlink_version_text(version));
  if (const Answer speed = ask_field(handle, nvlink_speed_mb_s)) facts.emplace_back("nvlink_mb_s", speed.whole());
  std::string text;
  for (const auto& [remote, links] : remotes)
    text += (text.empty() ? "" : ", ") + remote + " x" + std::to_string(links);
  if (!text.empty()) facts.emplace_back("nvlinks_to", text);
}

void add_c2c_links(Facts& facts, Handle gpu) {
  const Answer links = ask_field(gpu, c2c_links);
  if (!links || links.value == 0) return;
  facts.emplace_back("c2c_links", links.whole());
  std::int64_t best = 0;  // "for active links"
  for (unsigned link = 0; link < links.value; ++link)
    if (const Answer rate = ask_field(gpu, c2c_mb_s, link)) best = std::max(best, rate.whole());
  if (best > 0) facts.emplace_back("c2c_mb_s", best);
}

Telemetry read_noting(Handle gpu, Unread& unread) {
  const Library& n = library();
  Telemetry t;
  if (const Answer mhz = unread.note("clocks", ask(n.clock, gpu, sm_clock))) t.sm_clock_mhz = mhz.number();
  if (const Answer mhz = unread.note("clocks", ask(n.clock, gpu, memory_clock))) t.memory_clock_mhz = mhz.number();
  if (const Answer mw = unread.note("power", ask(n.power_mw, gpu))) t.power_w = mw.number() * 1e-3;
  if (const Answer c = unread.note("temperature", ask(n.temperature, gpu, gpu_temperature)))
    t.temperature_c = c.number();
  if (const Answer reasons = unread.note("throttle", ask<unsigned long long>(n.throttle_reasons, gpu)))
    t.throttle_reasons = reasons.value;
  return t;
}

}  // namespace

Telemetry Device::read() const {
  Unread ignored;
  return read_noting(handle_, ignored);
}

Facts Device::facts() const {
  const Library& n = library();
  Facts facts;
  Unread unread;
  (void)read_noting(handle_, unread);
  char version[96] = {}, vbios[64] = {};
  if (n.driver_version && n.driver_version(version, sizeof version) == success)
    facts.emplace_back("driver_version", std::string(version));
  if (n.vbios_version && n.vbios_version(handle_, vbios, sizeof vbios) == success)
    facts.emplace_back("vbios_version", std::string(vbios));
  add(facts, unread, handle_, settings);
  add_links_to(facts, handle_);
  add_c2c_links(facts, handle_);
  add(facts, unread, handle_, modes);
  unread.add_to(facts);
  return facts;
}

Facts Device::counters() const {
  static XidEvents xids;
  Facts facts;
  Unread unread;
  add(facts, unread, handle_, counted);
  add_nvlinks(facts, handle_, unread);
  add_c2c(facts, handle_, unread);
  add_fabric(facts, handle_, unread);
  add_recovery(facts, handle_, unread);
  xids.add(facts, handle_, unread);
  unread.add_to(facts);
  return facts;
}

}  // namespace npgpu::nvml
