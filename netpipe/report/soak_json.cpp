#include "netpipe/report/json.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu {

// A column of all slices.
template <auto At>
inline constexpr auto column = [](const SoakFigure& f) {
  std::vector<double> all;
  for (const SoakSample& sample : f.samples) all.push_back(std::invoke(At, sample));
  return all;
};
struct SoakCourse : SoakFigure {};
NPGPU_FORM(SoakCourse, called<"elapsed_s", column<&SoakSample::elapsed_s>>,
           called<"rate_per_s", column<static_cast<double (*)(const SoakSample&)>(&rate_of)>>,
           called<"clock_mhz", column<&SoakSample::sm_clock_mhz>>,
           called<"temperature_c", column<&SoakSample::temperature_c>>,
           called<"power_w", column<&SoakSample::power_w>>);

NPGPU_FORM(
    SoakFigure, &T::name, &T::part, called<"together", &T::is_together>,
    called<"counts", [](const T& f) -> std::string { return counts_operations(f.part) ? "operations" : "bytes"; }>,
    &T::slices, called<"begin_per_s", &T::begin>, called<"end_per_s", &T::end>, called<"lowest_per_s", &T::lowest>,
    &T::change, &T::clock_mhz, &T::temperature_c, &T::power_w, &T::compared, &T::mismatches);
struct SlicedFigure : SoakFigure {};
NPGPU_FORM(SlicedFigure, in_place<base<SoakFigure>>, called<"course", [](const T& f) { return SoakCourse{f}; }>);

NPGPU_FORM(SoakDevice::Throttle, called<"reason", [](const T& t) { return throttle_text(t.reason); }>, &T::at_s,
           &T::last_s, &T::slices);
template <>
inline constexpr auto form<SoakSample> =  // of a word that was found wrong
    members<SoakSample, &SoakSample::address, &SoakSample::pattern, &SoakSample::expected, &SoakSample::found,
            called<"bits", [](const SoakSample& w) { return w.expected ^ w.found; }>, &SoakSample::again>;
NPGPU_FORM(SoakDevice, called<"device", &T::id>, called<"device_name", &T::name>, &T::simulated, &T::elapsed_s,
           &T::slices, &T::temperature_c, called<"highest_temperature_c", &T::highest_c>, &T::loads, &T::throttles,
           called<"wrong_words", &T::words>, &T::errors);
struct SlicedDevice : SoakDevice {
  std::vector<SlicedFigure> sliced() const {
    std::vector<SlicedFigure> all;
    for (const SoakFigure& load : loads) all.push_back({load});
    return all;
  }
};
NPGPU_FORM(SlicedDevice, in_place<base<SoakDevice>>, called<"loads", &T::sliced>);

Json soak_json(const SoakDevice& d, JsonOf as) { return form_of(d, as); }
Json sliced_soak_json(const SoakDevice& d, JsonOf as) { return form_of(SlicedDevice{d}, as); }

}  // namespace npgpu
