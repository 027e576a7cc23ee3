// The overview as JSON, with all cases and intervals.
#include "netpipe/report/json.hpp"

#include "netpipe/report/overview/sections.hpp"

namespace npgpu {

struct ShownSize : TransferResult {};
NPGPU_FORM(ShownSize, within<&T::axes, &Transfers::Axes::bytes>, &T::time_us, called<"rate_bytes_per_s", &T::rate>,
           &T::percent_of_limit, &T::stop, known<&T::disturbed>);
struct ShownCurve : CopyCurve {
  std::vector<ShownSize> sizes{};  // those of the screen, the largest last
};
NPGPU_FORM(ShownCurve, &T::name, called<"title", [](const T& curve) { return std::string(title(curve.question)); }>,
           called<"usual", &T::is_usual>, in_place<&T::limit>, called<"half_rate_bytes", &T::half_bytes>,
           in_place<&T::counts>, known<&T::error>, &T::sizes);
NPGPU_FORM(Figure, &T::name, in_place<&T::value>, within<&T::value, &Estimate::unit>, &T::percent_of_peak,
           &T::percent_at_clock, &T::clock_mhz, &T::unsteady, known<&T::disturbed>, known<&T::note>);
struct LevelFigure : Parameter {};
NPGPU_FORM(LevelFigure, in_place<&T::estimate>, called<"reported", &T::reference>, known<&T::note>);
template <auto At>
inline constexpr auto level_figure =
    [](const MemoryLevel& level) { return level.*At ? std::optional(LevelFigure{*(level.*At)}) : std::nullopt; };
NPGPU_FORM(MemoryLevel, &T::name, called<"latency_ns", level_figure<&T::latency>>,
           called<"size_bytes", level_figure<&T::size>>);
NPGPU_FORM(StreamAdvice, &T::name, within<&T::job, &Job::in_bytes>, within<&T::job, &Job::out_bytes>,
           us<"kernel_us", within<&T::job, &Job::kernel>>, called<"one_stream_us", &T::one_us>, &T::enough_chunks,
           called<"enough_streams", &T::enough>, &T::enough_us, called<"best_streams", &T::best>, &T::best_us,
           &T::speed_up, &T::bound, us<"bound_us", &T::bound_time>);

namespace {

std::vector<ShownCurve> shown_curves(const DeviceOverview& device) {
  std::vector<const CopyCurve*> all;
  for (const CopyCurve& curve : device.copies) all.push_back(&curve);
  const CopySizes sizes = sizes_of(all);
  std::vector<ShownCurve> shown;
  for (const CopyCurve& curve : device.copies) {
    ShownCurve& one = shown.emplace_back(ShownCurve{curve, {}});
    for (const TransferResult& p : curve.points) {
      const bool on_screen = p.axes.bytes == sizes.small || std::ranges::count(sizes.rates, p.axes.bytes) != 0;
      if (on_screen || &p == curve.largest()) one.sizes.push_back({p});
    }
  }
  return shown;
}

}  // namespace

NPGPU_FORM(DeviceOverview, &T::id, known<&T::uuid>, &T::name, &T::simulated, called<"copies", &shown_curves>,
           &T::bandwidth, &T::compute, &T::tensor, &T::energy, &T::levels, &T::calls, &T::stream_costs, &T::advice,
           called<"telemetry", [](const T& device) { return range_of(device.telemetry); }>);
NPGPU_FORM(Difference, &T::device, &T::what, within<&T::value, &Estimate::value>, within<&T::value, &Estimate::low>,
           within<&T::value, &Estimate::high>, &T::others, &T::worse_by);
using ClassCounts = std::pair<TimeClass, PointCounts>;
NPGPU_FORM(ClassCounts, called<"time_class", &T::first>, in_place<&T::second>);
struct DriftOf : Drift {};  // without its intervals
NPGPU_FORM(DriftOf, &T::time_class, &T::points, &T::by_round);
NPGPU_FORM(BesideOthers, &T::gpu, &T::what, &T::beside_us, &T::alone_us);
using SeriesFault = std::pair<std::string, std::string>;
NPGPU_FORM(SeriesFault, called<"title", &T::first>, called<"error", &T::second>);
NPGPU_FORM(Quality, in_place<&T::all>, &T::compared, &T::wrong, &T::classes,
           called<"drift",
                  [](const T& q) {
                    std::vector<DriftOf> all;
                    for (const Drift& drift : q.drift) all.push_back({drift});
                    return all;
                  }>,
           called<"beside_others", &T::beside>, called<"busy_sibling", &T::siblings>, &T::errors);
NPGPU_FORM(Overview, called<"headline", &headline_of>, &T::run, &T::seconds, &T::series,
           called<"verdict", [](const T& all) { return worst_of(all.health); }>,
           called<"key_figures", [](const T& all) { return key_figures(all.health); }>, &T::health,
           called<"devices",
                  [](const T& all) {
                    std::vector<DeviceOverview> devices = all.gpus;
                    if (all.host) devices.push_back(*all.host);
                    return devices;
                  }>,
           &T::differences, &T::quality, called<"not_measured", &T::missing>);

void report_overview_json(std::ostream& out, const Overview& all) { write_document(out, "npgpu-overview", 3, all); }

}  // namespace npgpu
