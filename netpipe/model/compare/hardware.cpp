// Whether two sides measured the same hardware, as far as it decides what may be called a regression.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "netpipe/model/compare/questions.hpp"

namespace npgpu {

namespace {

using Texts = std::set<std::string>;

bool is_host(const std::string& device) { return device == "host"; }

// Names of the devices that its series are about.
Texts devices_of(Runs runs, bool host) {
  Texts all;
  for (const Trace* trace : runs)
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : trace->of<K>())
        if (is_host(device_of(series.question)) == host && !series.device_name.empty()) all.insert(series.device_name);
    });
  return all;
}

// "132 multiprocessors", as provenance has it.
Texts sizes_of(Runs runs) {
  Texts all;
  for (const Trace* trace : runs)
    for (const auto& [group, facts] : trace->provenance)
      for (const char* key : {"multiprocessors", "sms"})
        if (const double count = number_fact(facts, key); group != "host" && count > 0)
          all.insert(fmt::format("{:.0f} multiprocessors", count));
  return all;
}

// Empty where they are the same, or one of them is not known.
std::string differing(std::string_view what, const Texts& a, const Texts& b) {
  if (a == b || a.empty() || b.empty()) return {};
  return fmt::format("{}: {} in A, {} in B", what, fmt::join(a, ", "), fmt::join(b, ", "));
}

// By slot: UUIDs of the GPUs that stood there.
std::map<std::string, Texts> cards_of(Runs runs) {
  std::map<std::string, Texts> all;
  for (const Trace* trace : runs) {
    const model::DeviceSlots slots = model::device_slots(*trace);
    for_each_kind([&]<class K>() {
      for (const Series<K>& series : trace->of<K>())
        if (const auto slot = slots.find(device_of(series.question));
            slot != slots.end() && !series.simulated && !series.device_uuid.empty())
          all[slot->second].insert(series.device_uuid.substr(0, std::string_view("GPU-00000000").size()));
    });
  }
  return all;
}

}  // namespace

std::string other_cards(Runs a, Runs b) {
  const auto of_a = cards_of(a), of_b = cards_of(b);
  Texts apart_a, apart_b;
  for (const auto& [slot, cards] : of_a) {
    const auto same_slot = of_b.find(slot);
    if (same_slot == of_b.end()) continue;
    if (std::ranges::any_of(cards, [&](const std::string& card) { return same_slot->second.contains(card); })) continue;
    apart_a.insert(cards.begin(), cards.end());
    apart_b.insert(same_slot->second.begin(), same_slot->second.end());
  }
  if (apart_a.empty()) return {};
  return fmt::format("{} in A, {} in B", fmt::join(apart_a, ", "), fmt::join(apart_b, ", "));
}

std::string other_hardware(Runs a, Runs b) {
  std::string why = differing("the GPUs differ", devices_of(a, false), devices_of(b, false));
  if (why.empty() && !devices_of(a, false).empty() && !devices_of(b, false).empty())
    why = differing("the GPUs differ", sizes_of(a), sizes_of(b));
  return why.empty() ? differing("the hosts' processors differ", devices_of(a, true), devices_of(b, true)) : why;
}

}  // namespace npgpu
