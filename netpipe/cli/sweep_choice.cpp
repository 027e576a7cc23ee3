#include "netpipe/cli/sweep_choice.hpp"

#include <fmt/format.h>

#include "netpipe/cli/quantity.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

template <class T>
std::string titles_text(const std::vector<T>& all) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) text += fmt::format("{:>4}  {}\n", i, title(all[i].question));
  if (!text.empty()) text.pop_back();
  return text;
}

// The elements of `all` that --option names; nothing where it was not given.
template <class T>
std::optional<std::vector<T>> chosen(const Options& options, const std::string& option, const std::vector<T>& all) {
  const auto text = options.maybe(option);
  if (!text) return std::nullopt;
  std::vector<T> some;
  for (const std::string& number : split_words(option, *text)) {
    const std::uint64_t index = parse_count(option, number, 0);
    if (index >= all.size())
      throw Error(ErrorKind::usage, fmt::format("--{0}: {1} is not in the trace, which has {2} {0}{3}{4}", option, index,
                                                all.empty() ? "no" : std::to_string(all.size()),
                                                all.size() == 1 ? "" : "s",
                                                all.empty() ? "" : ":\n" + titles_text(all)));
    some.push_back(all[index]);
  }
  return some;
}

}  // namespace

void choose_sweeps(const Options& options, Trace& trace) {
  auto sweeps = chosen(options, "sweep", trace.sweeps);
  auto probes = chosen(options, "probe", trace.probes);
  if (!sweeps && !probes) return;
  trace.sweeps = sweeps ? std::move(*sweeps) : std::vector<Sweep>{};
  trace.probes = probes ? std::move(*probes) : std::vector<ProbeSweep>{};
  trace.streams.clear();
}

std::string sweeps_text(const Trace& trace) { return titles_text(trace.sweeps); }

}  // namespace npgpu::cli
