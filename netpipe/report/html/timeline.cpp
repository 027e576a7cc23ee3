// The step of a recorded application, played as it is and with the best advice, one below the other: a row for the
// host, and one for each stream.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "netpipe/report/foreign.hpp"
#include "netpipe/report/format.hpp"
#include "netpipe/report/html/html.hpp"
#include "netpipe/report/layout.hpp"
#include "netpipe/report/record_text.hpp"

namespace npgpu::html {

namespace {

constexpr double timeline_width = 900, label_width = 90, lane_height = 26, title_height = 26;

// A colour of the style sheet, and what the legend says.
struct SpanSort {
  const char* style;
  const char* name;
};
constexpr SpanSort copy_in{"s0", "copy in"}, copy_out{"s1", "copy out"}, kernel_runs{"s2", "kernel"},
    memset_runs{"s3", "memset"}, other_copy{"s4", "other copy"}, in_call{"s7", "the host is in a call"},
    host_waits{"waits", "the host waits"};
constexpr const SpanSort* span_sorts[] = {&copy_in,     &copy_out, &other_copy, &kernel_runs,
                                          &memset_runs, &in_call,  &host_waits};

const SpanSort& sort_of(const StepItem& item, bool on_host) {
  const auto is_host = [](RecordMemory m) { return m == RecordMemory::pageable || m == RecordMemory::pinned; };
  if (on_host) return item.blocks ? host_waits : in_call;
  if (item.activity == Activity::kernel) return kernel_runs;
  if (item.activity == Activity::memset) return memset_runs;
  if (is_host(item.source) == is_host(item.target)) return other_copy;
  return is_host(item.source) ? copy_in : copy_out;
}

// What is drawn as one: neighbours of a sort between which nobody would see a gap.
struct DrawnSpan {
  const SpanSort* sort;
  double start, end;
  std::string text{};
  std::size_t count = 1;
};

using Lanes = std::map<std::pair<bool, std::uint32_t>, std::vector<DrawnSpan>>;  // the host's is the first

Lanes lanes_of(const AppPlayed& played, double per_us) {
  std::vector<AppSpan> spans = played.timeline.spans;
  std::ranges::stable_sort(spans, {}, &AppSpan::start_us);
  Lanes lanes;
  for (const AppSpan& span : spans) {
    const StepItem& item = played.items[span.item];
    std::vector<DrawnSpan>& lane = lanes[{!span.on_host, span.on_host ? 0 : item.stream}];
    const SpanSort& sort = sort_of(item, span.on_host);
    const double start = span.start_us * per_us, end = span.end_us * per_us;
    if (!lane.empty() && lane.back().sort == &sort && start - lane.back().end < 0.5 && end - lane.back().start < 4) {
      lane.back().end = std::max(lane.back().end, end);
      ++lane.back().count;
    } else {
      lane.push_back({&sort, start, end, item_text(item)});
    }
  }
  return lanes;
}

std::string lane_name(std::pair<bool, std::uint32_t> key) {
  constexpr std::uint32_t first_new = 0xffff0000;  // of streams that a change adds
  if (!key.first) return "host";
  return key.second >= first_new ? fmt::format("new stream {}", key.second - first_new + 1)
                                 : fmt::format("stream {}", key.second);
}

std::string span_svg(const DrawnSpan& span, double y) {
  const double width = std::max(0.6, span.end - span.start);
  const std::string what = span.count > 1 ? fmt::format("{} of these: {}", span.count, span.text) : span.text;
  std::string svg = fmt::format(
      "<g class=\"{}\"><rect class=\"span\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>"
      "<title>{}, {}</title>",
      span.sort->style, label_width + span.start, y + 3, width, lane_height - 6, html_text(span.sort->name),
      html_text(what));
  constexpr double letter = 6.8;
  if (const auto fit = static_cast<std::size_t>(width / letter); fit >= 8)
    svg += fmt::format("<text class=\"x inside\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>",
                       label_width + (span.start + span.end) / 2, y + lane_height - 9, html_text(cut_to(what, fit)));
  return svg + "</g>\n";
}

}  // namespace

std::string timeline_figure(const AppForecast& of) {
  if (of.played.empty()) return {};
  double longest = 0;
  for (const AppPlayed& played : of.played) longest = std::max(longest, played.timeline.step_us);
  if (!(longest > 0)) return {};
  const double per_us = (timeline_width - label_width - 4) / longest;
  std::string svg, described;
  double y = 0;
  std::vector<const SpanSort*> used;
  for (const AppPlayed& played : of.played) {
    const std::string title = fmt::format("{}: {} a step", played.what, short_time_text(played.timeline.step_us));
    described += (described.empty() ? "" : "; ") + title;
    svg += fmt::format("<text class=\"strong\" x=\"0\" y=\"{:.0f}\">{}</text>\n", y + 18, html_text(title));
    y += title_height;
    const double top = y;
    for (const auto& [key, spans] : lanes_of(played, per_us)) {
      svg += fmt::format("<text x=\"0\" y=\"{:.0f}\">{}</text>\n", y + lane_height - 9, lane_name(key));
      for (const DrawnSpan& span : spans) {
        svg += span_svg(span, y);
        if (std::ranges::find(used, span.sort) == used.end()) used.push_back(span.sort);
      }
      y += lane_height;
    }
    svg += fmt::format("<path class=\"axis\" d=\"M{0} {1:.0f}V{2:.0f}M{3:.1f} {1:.0f}V{2:.0f}\"/>\n", label_width, top,
                       y, label_width + played.timeline.step_us * per_us);
    y += 8;
  }
  std::string legend;
  for (const SpanSort* sort : span_sorts)
    if (std::ranges::find(used, sort) != used.end())
      legend += fmt::format(
          "<li class=\"{}\"><svg aria-hidden=\"true\" viewBox=\"0 0 24 12\"><rect class=\"span\" "
          "width=\"24\" height=\"12\"/></svg>{}</li>",
          sort->style, sort->name);
  return fmt::format(
      "<figure class=\"node\">\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"One step\">\n"
      "<svg role=\"img\" aria-labelledby=\"step-t\" aria-describedby=\"step-d\" viewBox=\"0 0 {} {:.0f}\">\n<title "
      "id=\"step-t\">One "
      "step</title>\n<desc id=\"step-d\">{}</desc>\n{}</svg>\n</div>\n<figcaption><ul class=\"legend\">{}</ul>"
      "</figcaption>\n</figure>\n",
      timeline_width, y, html_text(described), svg, legend);
}

}  // namespace npgpu::html
