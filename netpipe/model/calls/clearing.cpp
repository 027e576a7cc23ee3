// What the driver does to memory that was freed: how fast it clears it, and what that takes from whoever reads memory.
#include <algorithm>
#include <cmath>

#include "netpipe/model/calls/calls.hpp"
#include "netpipe/model/jobs/job_points.hpp"
#include "netpipe/model/medians.hpp"

namespace npgpu::model {

namespace {

struct Frees {
  std::string call{};
  std::vector<CallResult> slowed{};  // sizes that were followed by slower reads
};
// Of cudaFree itself, where two sizes or more were followed by clearing; else of what else frees memory.
Frees frees_of(const std::vector<const CallSeries*>& all) {
  for (const Call call : {Call::free, Call::pool_trim, Call::process_free, Call::process_end, Call::managed_free})
    for (const CallSeries* series : all) {
      if (series->question.call != call) continue;
      Frees frees{std::string(name(call)), results(*series)};
      std::erase_if(frees.slowed, [](const CallResult& r) { return !r.usable() || !(r.slowed.value > 1); });
      if (frees.slowed.size() >= 2) return frees;
    }
  return {};
}

Estimate inverse(const Estimate& us_per_byte) {
  const auto rate = [](double us) { return us > 0 ? 1e6 / us : not_measured; };
  return {rate(us_per_byte.value), rate(us_per_byte.high), rate(us_per_byte.low), "bytes per second",
          us_per_byte.method};
}

}  // namespace

std::vector<Parameter> clearing_parameters(const std::vector<const CallSeries*>& of_device) {
  const auto [call, frees] = frees_of(of_device);
  if (frees.empty()) return {};
  std::vector<XY> done;
  std::vector<Estimate> slowed;
  for (const CallResult& r : frees) {
    done.push_back({static_cast<double>(r.axes.bytes), r.done_us.value - r.host_us.value});
    slowed.push_back(r.slowed);
  }
  Parameter rate = parameter(
      "clearing rate",
      inverse(theil_sen(
          done, "us",
          "slope of the bytes freed over the time from the call's return until reads are as fast as before: " + call)),
      "how fast the driver clears memory that was freed");
  leave_unchecked(rate, "NVIDIA documents none");
  const Estimate factor = middle_of(slowed);
  const auto share = [](double times) { return 1 - 1 / times; };
  Parameter taken = parameter(
      "clearing share",
      {share(factor.value), share(factor.low), share(factor.high), "1", "1 - a read's time alone / meanwhile: " + call},
      "part of the memory's bandwidth that clearing takes from a kernel that reads");
  leave_unchecked(taken, "NVIDIA documents none");
  return {std::move(rate), std::move(taken)};
}

}  // namespace npgpu::model
