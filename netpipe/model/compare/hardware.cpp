// Whether two sides measured the same hardware, as far as it decides what may be called a regression.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "npgpu/compare.hpp"

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

}  // namespace

std::string other_hardware(Runs a, Runs b) {
  std::string why = differing("the GPUs differ", devices_of(a, false), devices_of(b, false));
  if (why.empty() && !devices_of(a, false).empty() && !devices_of(b, false).empty())
    why = differing("the GPUs differ", sizes_of(a), sizes_of(b));
  return why.empty() ? differing("the hosts' processors differ", devices_of(a, true), devices_of(b, true)) : why;
}

}  // namespace npgpu
