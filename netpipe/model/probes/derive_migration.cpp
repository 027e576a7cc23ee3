// What pages that move between host and device cost:
//
//   page fault of the device        time of a load where each touches another page of the host's memory, farthest apart
//   migration by faults             rate of reads of the largest set on the host
//   prefetch to device, to host     rate at the largest set
//   migration by faults of the host rate of the host's reads of the largest set on the device
//   managed memory in place         rate of reads of what stays on the host
#include <cmath>

#include "netpipe/model/probes/derivation.hpp"
#include "netpipe/model/probes/probe_rates.hpp"
#include "npgpu/probe_description.hpp"

namespace npgpu::model {

namespace {

// Of those with these pages, the one whose stride, or set, is largest.
const ProbeResult* largest(const std::vector<ProbeResult>& rates, Pages pages) {
  const ProbeResult* best = nullptr;
  for (const ProbeResult& r : rates) {
    if (r.axes.pages != pages || !(r.rate.value > 0)) continue;
    if (!best || std::pair(r.axes.stride, r.axes.bytes) > std::pair(best->axes.stride, best->axes.bytes)) best = &r;
  }
  return best;
}

struct Wanted {
  Operation operation;
  Pages pages;
  const char *name, *meaning;
};
constexpr Wanted rates_wanted[] = {
    {Operation::read, Pages::host, "B migrated by faults",
     "bytes that a device's reads move from the host, page by page"},
    {Operation::read, Pages::in_place, "B managed in place",
     "bytes that a device reads of pages that stay on the host"},
    {Operation::prefetch, Pages::host, "B prefetched to device", "bytes that a prefetch moves to the device"},
    {Operation::prefetch, Pages::device, "B prefetched to host", "bytes that a prefetch moves to the host"},
    {Operation::host_read, Pages::device, "B migrated by the host's faults",
     "bytes that the host's reads move from the device, page by page"}};

}  // namespace

void derive_migration(const ProbeSeries& series, DeviceParameters& into) {
  const ProbeCase& c = series.question;
  if (!asks(c, ProbeQuestion::migration) || c.space != Space::managed) return;
  const auto rates = rates_of(series);
  const auto add = [&](const char* name, Estimate value, const char* meaning, const Shape& at) {
    value.method += ": " + text_of(at);
    Parameter p = parameter(name, std::move(value), meaning);
    leave_unchecked(p, not_reported(into.device));
    into.parameters.push_back(std::move(p));
  };
  for (const Wanted& wanted : rates_wanted) {
    if (wanted.operation != c.operation) continue;
    const ProbeResult* const found = largest(rates, wanted.pages);
    if (!found) {
      into.missing.push_back(std::string(wanted.name) + ": no usable shape in " + title(c));
      continue;
    }
    Estimate rate = found->rate;
    rate.unit = "bytes per second";
    rate.method = "bytes / time";
    add(wanted.name, rate, wanted.meaning, found->axes);
  }
  if (c.operation != Operation::chase) return;
  const ProbeResult* const found = largest(rates, Pages::host);
  if (!found) return into.missing.push_back("page fault: no usable shape in " + title(c));
  Estimate fault = quotient({exactly(1e9)}, {found->rate}, "ns", "time of a load that touches a page of the host");
  add("page fault", fault, "a load that finds its page on the host, and waits until it has come", found->axes);
}

}  // namespace npgpu::model
