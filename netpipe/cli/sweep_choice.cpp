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

// The elements of `all`, each a `noun`, that --option names; nothing where it was not given.
template <class T>
std::optional<std::vector<T>> chosen(const Options& options, const std::string& option, const std::string& noun,
                                     const std::vector<T>& all) {
  const auto text = options.maybe(option);
  if (!text) return std::nullopt;
  std::vector<T> some;
  for (const std::string& number : split_words(option, *text)) {
    const std::uint64_t index = parse_count(option, number, 0);
    if (index >= all.size())
      throw Error(ErrorKind::usage, fmt::format("--{}: {} is not in the trace, which has {} {}{}{}", option, index,
                                                all.empty() ? "no" : std::to_string(all.size()), noun,
                                                all.size() == 1 ? "" : "s",
                                                all.empty() ? "" : ":\n" + titles_text(all)));
    some.push_back(all[index]);
  }
  return some;
}

}  // namespace

void declare_choice(po::options_description& group) {
  group.add_options()
      ("sweep", word(), "only these sweeps of transfers (numbers: 0,3)")
      ("probe", word(), "only these probes (numbers: 0,3)")
      ("streams", word(), "only these cases of jobs in streams (numbers: 0,3)");
}

void choose_sweeps(const Options& options, Trace& trace) {
  auto sweeps = chosen(options, "sweep", "sweep", trace.of<Transfers>());
  auto probes = chosen(options, "probe", "probe", trace.of<Probes>());
  auto streams = chosen(options, "streams", "stream case", trace.of<Jobs>());
  if (!sweeps && !probes && !streams) return;
  trace.of<Transfers>() = std::move(sweeps).value_or(std::vector<TransferSeries>{});
  trace.of<Probes>() = std::move(probes).value_or(std::vector<ProbeSeries>{});
  trace.of<Jobs>() = std::move(streams).value_or(std::vector<JobSeries>{});
}

std::string sweeps_text(const Trace& trace) { return titles_text(trace.of<Transfers>()); }

}  // namespace npgpu::cli
