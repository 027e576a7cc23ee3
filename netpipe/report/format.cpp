#include "netpipe/report/format.hpp"

#include <fmt/format.h>

#include "npgpu/report/report.hpp"

namespace npgpu {

namespace {

constexpr int most_digits = 15;  // of a number that is written out: no figure has more

constexpr std::array<const char*, 4> binary_units{"KiB", "MiB", "GiB", "TiB"};

struct Unit {
  double scale;
  const char* name;
};

// In the largest unit that leaves at least 1; below the smallest unit in that.
template <std::size_t N>
std::string with_unit(double value, const std::array<Unit, N>& descending, int significant = 4) {
  if (!std::isfinite(value)) return "-";
  const double rounds_to_one = 1 - 0.5 * std::pow(10, -significant);
  for (const Unit& unit : descending)
    // 999.97 of a unit is written as 1.000 of the next.
    if (std::abs(value) >= unit.scale * rounds_to_one)
      return digits_text(value / unit.scale, significant) + ' ' + unit.name;
  return digits_text(value / descending.back().scale, significant) + ' ' + descending.back().name;
}

constexpr std::array<Unit, 4> time_units{{{1e6, "s"}, {1e3, "ms"}, {1, "us"}, {1e-3, "ns"}}};

}  // namespace

std::string digits_text(double value, int significant, int max_decimals) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  // The exponent after rounding: 9.9996 has two digits before the point.
  const std::string scientific = fmt::format("{:.{}e}", value, significant - 1);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent >= most_digits) return scientific;
  return fmt::format("{:.{}f}", value, std::clamp(significant - 1 - exponent, 0, max_decimals));
}

std::string about_size_text(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  // Three digits; 1000 to 1023 of a unit would else get an exponent.
  const auto digits = [](double value) {
    return fmt::format(fmt::runtime(value < 999.5 || value > 1e15 ? "{:.3g}" : "{:.0f}"), value);
  };
  for (std::size_t i = binary_units.size(); i-- > 0;) {
    const double unit = std::exp2(10.0 * static_cast<double>(i + 1));
    if (bytes >= unit * 0.9995) return digits(bytes / unit) + ' ' + binary_units[i];
  }
  return digits(bytes) + " B";
}

std::string rate_text(double bytes_per_s) {
  return with_unit(bytes_per_s, std::array<Unit, 4>{{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}});
}

std::string time_text(double us) { return with_unit(us, time_units); }
std::string short_time_text(double us) { return with_unit(us, time_units, 3); }

std::string percent_text(double percent) {
  if (!std::isfinite(percent)) return "-";
  if (std::abs(percent) > 1e15) return fmt::format("{:.3g}", percent);
  return fmt::format("{:.{}f}", percent, std::abs(percent) < 9.995 ? 2 : 1);
}

std::string typed_size_text(std::uint64_t bytes) {
  struct Scale {
    std::uint64_t bytes;
    const char* name;
  };
  // The first of equally short texts is taken.
  constexpr std::array<Scale, 7> scales{
      {{GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}, {1'000'000'000, "GB"}, {1'000'000, "MB"}, {1000, "kB"}, {1, "B"}}};
  std::string shortest;
  for (const Scale& scale : scales) {
    if (bytes < scale.bytes) continue;
    const std::string number = fmt::format("{}", static_cast<double>(bytes) / static_cast<double>(scale.bytes));
    if (number.find('e') == std::string::npos && (shortest.empty() || number.size() < shortest.find(' ')))
      shortest = number + ' ' + scale.name;
  }
  return shortest.empty() ? size_text(bytes) : shortest;
}

std::string interval_text(const Estimate& e) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high) || !(e.value > 0)) return "-";
  const double above = 100 * (e.high / e.value - 1);
  return fmt::format("{:+.1f} {} %", 100 * (e.low / e.value - 1),
                     above > 999.9 ? "> 999" : fmt::format("{:+.1f}", above));
}

double plus_minus(const Estimate& e) { return std::fmax(e.high / e.value - 1, 1 - e.low / e.value); }

std::string plus_minus_text(double share) {
  constexpr double little = 0.001, beyond = 9.99;
  if (!std::isfinite(share)) return "-";
  if (share > beyond) return "> 999 %";
  return share < little ? "0.1 %" : fmt::format("{} %", digits_text(100 * share, 2, 1));
}

std::string range_text(const Estimate& e, double factor) {
  if (!std::isfinite(e.low) || !std::isfinite(e.high)) return "-";
  return digits_text(e.low * factor) + " .. " + digits_text(e.high * factor);
}

std::string upper_case(std::string_view ascii) {
  std::string text(ascii);
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 || what.ends_with("series") ? "" : "s");
}

std::string not_checked_text(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> reasons;  // in order
  for (const std::string& text : texts) {
    std::size_t colon = text.find(": ");
    // "cuda:0: NVLink: this GPU has none": the name of a device belongs to what it is of.
    if (colon != std::string::npos && text.find(' ') > colon && text.find(':') < colon)
      colon = text.find(": ", colon + 1);
    colon = std::min(colon, text.size());
    const std::string what = text.substr(0, colon), reason = colon < text.size() ? text.substr(colon + 2) : "";
    const auto known = std::ranges::find(reasons, reason, &std::pair<std::string, std::string>::first);
    if (known == reasons.end()) reasons.emplace_back(reason, what);
    else known->second += ", " + what;
  }
  std::string said;
  for (const auto& [reason, what] : reasons)
    said += (said.empty() ? "Not checked: " : "; ") + what + (reason.empty() ? "" : " (" + reason + ')');
  return said;
}

std::string device_text(const std::string& device, const std::string& name) {
  return device + (name.empty() ? "" : " (" + name + ')');
}

std::string limit_source_text(const std::string& source) {
  constexpr std::string_view sign = " * ";
  const std::size_t first = source.find(sign), last = source.rfind(sign);
  if (first == std::string::npos) return source;
  if (const std::size_t name = source.rfind(": ", first); name != std::string::npos) return source.substr(0, name);
  const std::size_t begin = source.starts_with("half of ") ? 8 : 0;
  const std::size_t end = std::min({source.size(), source.find(", ", last + 1), source.find(": ", last + 1)});
  return source.substr(0, begin) + "what clock and widths give" + source.substr(end);
}

std::string class_text(TimeClass of) {
  if (of == TimeClass::gated_jobs) return "jobs timed by the device";
  std::string text(name(of));
  std::ranges::replace(text, '-', ' ');
  return text;
}

std::string length_text(const LengthClass& c) {
  const auto time = [](double us) {
    return us < 1000 ? fmt::format("{:g} us", us) : fmt::format("{:g} ms", us / 1000);
  };
  if (!std::isfinite(c.to_us)) return "longer than " + time(c.from_us);
  if (!(c.from_us > 0)) return "shorter than " + time(c.to_us);
  return fmt::format("of {} to {}", time(c.from_us), time(c.to_us));
}

std::string bottleneck_text(Bound bound, Seconds busy, Seconds total) {
  constexpr std::array names{"H2D copy engine", "D2H copy engine", "the only copy engine", "kernel",
                             "host, issuing calls"};
  static_assert(names.size() == names_of<Bound>.size());
  const std::string name = names[static_cast<std::size_t>(bound)];
  return total.count() > 0 ? fmt::format("{}, {:.0f} % busy", name, 100 * (busy / total)) : name;
}

std::string figure_text(double value, FigureUnit unit) {
  switch (unit) {
    case FigureUnit::us:
    case FigureUnit::us_a_load: return time_text(value);
    case FigureUnit::bytes_per_s: return rate_text(value);
    case FigureUnit::flop_per_s:
    case FigureUnit::operations_per_s: break;
  }
  const bool tera = value >= 0.99995e12;
  return fmt::format("{} {}{}", digits_text(value / (tera ? 1e12 : 1e9)), tera ? 'T' : 'G', name(unit));
}

}  // namespace npgpu
