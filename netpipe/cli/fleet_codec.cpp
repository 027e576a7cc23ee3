#include "netpipe/cli/fleet_codec.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace npgpu::cli {

namespace {

// Numbers as the machine has them: an index is read where it was written, or made again.
template <class Numbers> Cbor numbers(const Numbers& values) {
  std::vector<std::uint8_t> raw(values.size() * sizeof(double));
  if (!raw.empty()) std::memcpy(raw.data(), values.data(), raw.size());
  return Cbor::binary(std::move(raw));
}
std::vector<double> numbers_of(const Cbor& packed) {
  const auto& raw = packed.get_binary();
  if (raw.size() % sizeof(double)) throw std::out_of_range("no whole number of values");
  std::vector<double> values(raw.size() / sizeof(double));
  if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

template <class E> Cbor code(E value) { return static_cast<std::size_t>(value); }
template <class E> E of_code(const Cbor& packed) {
  const auto value = packed.get<std::size_t>();
  if (value >= names_of<E>.size()) throw std::out_of_range("no such code");
  return static_cast<E>(value);
}

// Values in the order in which they were packed.
class Reading {
 public:
  explicit Reading(const Cbor& packed) : packed_(packed) {}
  const Cbor& next() { return packed_.at(at_++); }
  template <class T> T get() { return next().get<T>(); }
  template <class E> E code() { return of_code<E>(next()); }

 private:
  const Cbor& packed_;
  std::size_t at_ = 0;
};

Cbor packed(const FleetGpu& gpu, QuestionBook& book) {
  Cbor defects = Cbor::array(), curves = Cbor::array(), figures = Cbor::array();
  for (const FleetDefect& one : gpu.defects) defects.push_back({one.metric, one.text, one.remedy});
  for (const FleetCurve& one : gpu.curves) {
    Cbor values = Cbor::array({book.number_of(one.question), numbers(one.us), numbers(one.spread)});
    values.push_back(one.disturbed);
    values.push_back(one.why);
    curves.push_back(std::move(values));
  }
  for (const FleetFigure& one : gpu.figures)
    figures.push_back(Cbor::array({one.name, one.at, code(one.unit), code(one.time_class), code(one.third), one.value,
                                   one.disturbed, one.curve}));
  return Cbor::array({gpu.id, gpu.name, gpu.uuid, gpu.simulated, gpu.driver, gpu.link, numbers(gpu.facts), gpu.throttle,
                      std::move(defects), std::move(curves), std::move(figures)});
}

FleetGpu gpu_of(const Cbor& values, const std::vector<Question>& questions) {
  Reading in(values);
  FleetGpu gpu;
  gpu.id = in.get<std::string>();
  gpu.name = in.get<std::string>();
  gpu.uuid = in.get<std::string>();
  gpu.simulated = in.get<bool>();
  gpu.driver = in.get<std::string>();
  gpu.link = in.get<std::string>();
  const std::vector<double> facts = numbers_of(in.next());
  if (facts.size() != gpu.facts.size()) throw std::out_of_range("another number of facts");
  std::copy(facts.begin(), facts.end(), gpu.facts.begin());
  gpu.throttle = in.get<std::string>();
  for (const Cbor& one : in.next())
    gpu.defects.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>(), one.at(2).get<std::string>()});
  for (const Cbor& one : in.next()) {
    Reading its(one);
    FleetCurve& curve = gpu.curves.emplace_back();
    curve.question = questions.at(its.get<std::size_t>());
    curve.us = numbers_of(its.next());
    curve.spread = numbers_of(its.next());
    curve.disturbed = its.get<std::uint32_t>();
    curve.why = its.get<std::string>();
    if (curve.us.size() != curve.question->axes.size() || curve.spread.size() != curve.us.size())
      throw std::out_of_range("another number of points");
  }
  for (const Cbor& one : in.next()) {
    Reading its(one);
    FleetFigure& figure = gpu.figures.emplace_back();
    figure.name = its.get<std::string>();
    figure.at = its.get<std::string>();
    figure.unit = its.code<FigureUnit>();
    figure.time_class = its.code<TimeClass>();
    figure.third = its.code<Third>();
    figure.value = its.get<double>();
    figure.disturbed = its.get<bool>();
    figure.curve = its.get<std::size_t>();
    if (figure.curve >= gpu.curves.size()) throw std::out_of_range("a figure of no curve");
  }
  return gpu;
}

}  // namespace

std::size_t QuestionBook::number_of(const Question& one) {
  if (const auto known = by_address_.find(one.get()); known != by_address_.end()) return known->second;
  const auto [entry, is_new] = by_content_.try_emplace(one, all_.size());
  if (is_new) {
    all_.push_back(one);
    by_address_[one.get()] = entry->second;  // which stays, as it is kept here
  }
  return entry->second;
}

Cbor QuestionBook::packed() const {
  Cbor all = Cbor::array();
  for (const Question& one : all_)
    all.push_back(
        Cbor::array({one->kind, one->title, one->lane, code(one->time_class), one->axes, numbers(one->sizes)}));
  return all;
}

std::vector<Question> QuestionBook::add(const Cbor& packed) {
  std::vector<Question> added;
  for (const Cbor& one : packed) {
    Reading in(one);
    auto question = std::make_shared<FleetQuestion>();
    question->kind = in.get<std::string>();
    question->title = in.get<std::string>();
    question->lane = in.get<std::uint32_t>();
    question->time_class = in.code<TimeClass>();
    question->axes = in.get<std::vector<std::string>>();
    question->sizes = numbers_of(in.next());
    if (question->sizes.size() != question->axes.size()) throw std::out_of_range("another number of sizes");
    added.push_back(all_[number_of(std::move(question))]);
  }
  return added;
}

Cbor packed(const FleetRun& run, QuestionBook& book) {
  Cbor gpus = Cbor::array();
  for (const FleetGpu& gpu : run.gpus) gpus.push_back(packed(gpu, book));
  return Cbor::array({run.run_uuid, run.host, run.date, run.hash, run.complete, std::move(gpus)});
}

FleetRun unpacked(const Cbor& values, const std::vector<Question>& questions) {
  Reading in(values);
  FleetRun run;
  run.run_uuid = in.get<std::string>();
  run.host = in.get<std::string>();
  run.date = in.get<std::string>();
  run.hash = in.get<std::uint64_t>();
  run.complete = in.get<bool>();
  for (const Cbor& gpu : in.next()) run.gpus.push_back(gpu_of(gpu, questions));
  return run;
}

std::string to_bytes(const FleetRun& run) {
  QuestionBook book;
  Cbor its = packed(run, book);
  std::string bytes;
  Cbor::to_cbor(Cbor::array({book.packed(), std::move(its)}), bytes);
  return bytes;
}

FleetRun from_bytes(const std::string& bytes, QuestionBook& book) {
  const Cbor all = Cbor::from_cbor(bytes);
  return unpacked(all.at(1), book.add(all.at(0)));
}

}  // namespace npgpu::cli
