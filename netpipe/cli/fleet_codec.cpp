#include "netpipe/cli/fleet_codec.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

namespace npgpu::cli {

namespace {

class FleetPacker {
 public:
  static constexpr bool unpacks = false;
  void raw(const void* from, std::size_t count) { bytes_.append(static_cast<const char*>(from), count); }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class FleetUnpacker {
 public:
  static constexpr bool unpacks = true;
  explicit FleetUnpacker(std::string_view bytes) : left_(bytes) {}
  void raw(void* to, std::size_t count) {
    if (count > left_.size()) throw std::out_of_range("too short");
    if (count > 0) std::memcpy(to, left_.data(), count);
    left_.remove_prefix(count);
  }
  std::size_t left() const { return left_.size(); }

 private:
  std::string_view left_;
};

// One description of what is sent serves both ways: values are const where they are packed. First those of the parts.
template <class Way, class Defect>
requires std::is_same_v<std::remove_const_t<Defect>, FleetDefect>
void pass(Way&, Defect&);
template <class Way, class Curve>
requires std::is_same_v<std::remove_const_t<Curve>, FleetCurve>
void pass(Way&, Curve&);
template <class Way, class Figure>
requires std::is_same_v<std::remove_const_t<Figure>, FleetFigure>
void pass(Way&, Figure&);
template <class Way, class Course>
requires std::is_same_v<std::remove_const_t<Course>, FleetCourse>
void pass(Way&, Course&);
template <class Way, class Setting>
requires std::is_same_v<std::remove_const_t<Setting>, FleetSetting>
void pass(Way&, Setting&);
template <class Way, class Gpu>
requires std::is_same_v<std::remove_const_t<Gpu>, FleetGpu>
void pass(Way&, Gpu&);

template <class Way, class T>
requires std::is_arithmetic_v<T>
void pass(Way& way, T& value) {
  if constexpr (Way::unpacks && std::is_same_v<T, bool>) {
    unsigned char byte = 0;  // a bool that is neither is undefined
    way.raw(&byte, 1);
    value = byte != 0;
  } else {
    way.raw(&value, sizeof value);
  }
}

template <class Way, class E>
requires std::is_enum_v<E>
void pass(Way& way, E& value) {
  auto number = static_cast<std::uint32_t>(value);
  pass(way, number);
  if (number >= names_of<std::remove_const_t<E>>.size()) throw std::out_of_range("no such code");
  if constexpr (Way::unpacks) value = static_cast<E>(number);
}

// Texts and lists: the count, then what is in it, which has a byte or more each.
template <class Way, class List>
requires requires(List& list) { list.begin(), list.size(), list.data(); }
void pass(Way& way, List& list) {
  std::uint64_t count = list.size();
  pass(way, count);
  if constexpr (Way::unpacks) {
    if (count > way.left()) throw std::out_of_range("too short");
    if constexpr (requires { list.resize(count); }) list.resize(count);
    else if (count != list.size()) throw std::out_of_range("another number of them");
  }
  for (auto& one : list) pass(way, one);
}

template <class Way, class... Parts> void pass_all(Way& way, Parts&... parts) { (pass(way, parts), ...); }

template <class Way, class Defect>
requires std::is_same_v<std::remove_const_t<Defect>, FleetDefect>
void pass(Way& way, Defect& defect) { pass_all(way, defect.metric, defect.text, defect.remedy); }

template <class Way, class Question> void pass_question(Way& way, Question& asked) {
  pass_all(way, asked.kind, asked.title, asked.lane, asked.time_class, asked.axes, asked.sizes);
}

template <class Way, class Curve>
requires std::is_same_v<std::remove_const_t<Curve>, FleetCurve>
void pass(Way& way, Curve& curve) {
  if constexpr (Way::unpacks) {
    FleetQuestion question;
    pass_question(way, question);
    curve.question = std::make_shared<const FleetQuestion>(std::move(question));
  } else {
    pass_question(way, *curve.question);
  }
  pass_all(way, curve.us, curve.disturbed, curve.why);
  const std::size_t points = curve.question->axes.size();
  if (curve.question->sizes.size() != points || curve.us.size() != points)
    throw std::out_of_range("another number of points");
}

template <class Way, class Figure>
requires std::is_same_v<std::remove_const_t<Figure>, FleetFigure>
void pass(Way& way, Figure& one) {
  pass_all(way, one.kind, one.name, one.at, one.unit, one.value, one.low, one.high, one.disturbed);
}

template <class Way, class Course>
requires std::is_same_v<std::remove_const_t<Course>, FleetCourse>
void pass(Way& way, Course& one) { pass_all(way, one.kind, one.rounds, one.scatter, one.two_times); }

template <class Way, class Setting>
requires std::is_same_v<std::remove_const_t<Setting>, FleetSetting>
void pass(Way& way, Setting& one) { pass_all(way, one.name, one.value); }

template <class Way, class Gpu>
requires std::is_same_v<std::remove_const_t<Gpu>, FleetGpu>
void pass(Way& way, Gpu& gpu) {
  pass_all(way, gpu.id, gpu.name, gpu.uuid, gpu.bus, gpu.simulated, gpu.is_under_load, gpu.driver, gpu.link, gpu.facts,
           gpu.throttle, gpu.defects, gpu.slow, gpu.signs, gpu.settings, gpu.curves, gpu.figures, gpu.courses);
}

template <class Way, class Run> void pass_run(Way& way, Run& run) {
  pass_all(way, run.run_uuid, run.host, run.date, run.plan, run.hash, run.complete, run.defects, run.gpus);
}

}  // namespace

std::string to_bytes(const FleetRun& run) {
  FleetPacker way;
  pass_run(way, run);
  return way.take();
}

std::optional<FleetRun> from_bytes(const std::string& bytes, Questions& questions) {
  try {
    FleetUnpacker way(bytes);
    FleetRun run;
    pass_run(way, run);
    if (way.left() > 0) return std::nullopt;
    for (FleetGpu& gpu : run.gpus)
      for (FleetCurve& curve : gpu.curves) curve.question = questions.of(curve.question);
    return run;
  } catch (const std::out_of_range&) {
    return std::nullopt;
  }
}

}  // namespace npgpu::cli
