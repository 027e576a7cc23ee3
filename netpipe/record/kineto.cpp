// Chrome's trace, as PyTorch's profiler (Kineto) exports it: one object, whose "traceEvents" say in "cat" what they
// are. It is read event by event, because as a value it would take many times its size.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "netpipe/files/input.hpp"
#include "netpipe/record/import.hpp"
#include "netpipe/record/unpacked.hpp"

namespace npgpu::record {

namespace {

using nlohmann::json;

constexpr std::uint64_t most_text = std::uint64_t{8} << 30;

// A value as it stood there. `text`: of a text; of a number with a point, its digits, which a double would round.
struct Scalar {
  enum { absent, whole, real, text_value, other } sort = absent;
  std::int64_t number = 0;
  double value = 0;
  std::string text{};
};

struct KinetoField {
  std::string_view key;
  bool in_args = true;
};

class KinetoReader final : public nlohmann::json_sax<json> {
 public:
  explicit KinetoReader(const std::filesystem::path& path) : path_(path) {
    all_.process.imported_from = "torch.profiler";
    all_.process.ended = true;
  }

  ProcessEvents finished() {
    if (!has_events_) refuse_import(path_, "has no list of traceEvents, so it is no trace of torch.profiler");
    if (all_.events.empty())
      refuse_import(path_,
                    "holds no kernel, copy or call of CUDA: its profiler has to record ProfilerActivity.CUDA, too");
    auto& lacks = all_.process.lacks;
    const auto lack = [&](bool is_there, const char* what) {
      if (!is_there) lacks.emplace_back(what);
    };
    lack(seen_.contains("kernel"), "kernels");
    lack(seen_.contains("gpu_memcpy"), "copies");
    lack(seen_.contains("cuda_runtime") || seen_.contains("cuda_driver"), "calls of CUDA");
    lack(seen_.contains("cuda_sync"), "what was waited for");
    lack(!lacks_registers_, "registers");
    lacks.emplace_back("static and dynamic shared memory apart");
    lack(std::ranges::any_of(all_.devices, [](const auto& one) { return !one.second.name.empty(); }), "names of GPUs");
    lacks.emplace_back("UUIDs of GPUs");
    lacks.emplace_back("how many records were dropped");
    return std::move(all_);
  }

  bool null() override { return take({Scalar::other}); }
  bool boolean(bool) override { return take({Scalar::other}); }
  bool number_integer(number_integer_t n) override { return take({Scalar::whole, n}); }
  bool number_unsigned(number_unsigned_t n) override {
    return n > INT64_MAX ? take({Scalar::other}) : take({Scalar::whole, static_cast<std::int64_t>(n)});
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    return take({Scalar::real, 0, value, digits});
  }
  bool string(string_t& text) override { return take({Scalar::text_value, 0, 0, std::move(text)}); }
  bool binary(binary_t&) override { return take({Scalar::other}); }
  bool key(string_t& text) override {
    key_ = std::move(text);
    return true;
  }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_object() override {
    --depth_;
    if (depth_ == 2 && part_ == Part::events) event();
    if (depth_ == 2 && part_ == Part::devices) device_named();
    if (depth_ == 3) in_args_ = false;
    return true;
  }
  bool end_array() override {
    --depth_;
    if (depth_ == 1) part_ = Part::none;
    list_ = nullptr;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& e) override {
    refuse_import(path_, files::flaw_of_json(e));
  }

 private:
  enum class Part { none, events, devices };
  enum Field {
    ph,
    cat,
    called,
    ts,
    dur,
    pid,
    tid,
    device,
    stream,
    correlation,
    bytes,
    registers,
    shared,
    graph,
    sync,
    in_device
  };
  static constexpr std::array<KinetoField, 16> field_names{{{"ph", false},
                                                            {"cat", false},
                                                            {"name", false},
                                                            {"ts", false},
                                                            {"dur", false},
                                                            {"pid", false},
                                                            {"tid", false},
                                                            {"device"},
                                                            {"stream"},
                                                            {"correlation"},
                                                            {"bytes"},
                                                            {"registers per thread"},
                                                            {"shared memory"},
                                                            {"graph id"},
                                                            {"cuda_sync_kind"},
                                                            {"inDevice"}}};

  bool open(bool is_list) {
    if (depth_ == 1 && is_list && key_ == "traceEvents") part_ = Part::events, has_events_ = true;
    if (depth_ == 1 && is_list && key_ == "deviceProperties") part_ = Part::devices;
    if (depth_ == 2 && part_ != Part::none) {
      is_object_ = !is_list;
      for (Scalar& one : scalars_) one = {};
      sides_ = {};
      counts_ = {};
      in_args_ = false;
    }
    if (part_ == Part::events && is_object_ && is_of_event()) store({Scalar::other});
    if (depth_ == 3 && part_ == Part::events && is_object_) in_args_ = !is_list && key_ == "args";
    if (depth_ == 4 && in_args_ && is_list)
      list_ = key_ == "grid" ? &sides_[0] : key_ == "block" ? &sides_[1] : nullptr;
    ++depth_;
    return true;
  }

  // What stands here is the event's own, or one of its "args".
  bool is_of_event() const { return depth_ == 3 || (depth_ == 4 && in_args_); }
  void store(Scalar&& value) {
    for (std::size_t i = 0; i < field_names.size(); ++i)
      if (field_names[i].in_args == (depth_ == 4) && field_names[i].key == key_) scalars_[i] = std::move(value);
  }
  bool take(Scalar&& value) {
    if (part_ == Part::events && is_object_) {
      if (is_of_event()) {
        store(std::move(value));
      } else if (depth_ == 5 && list_) {
        const std::size_t which = list_ == &sides_[0] ? 0 : 1;
        if (counts_[which] < 3) (*list_)[counts_[which]++] = number(value, which == 0 ? "grid" : "block");
      }
    } else if (part_ == Part::devices && is_object_ && depth_ == 3) {
      if (key_ == "id") scalars_[device] = std::move(value);
      if (key_ == "name") scalars_[called] = std::move(value);
    }
    return true;
  }

  [[noreturn]] void refuse(std::string_view key, std::string_view why) const {
    refuse_import(path_, fmt::format("event {} of traceEvents: {} {}", count_, key, why));
  }
  std::uint32_t number(const Scalar& of, std::string_view key) const {
    if (of.sort != Scalar::whole || of.number < 0 || of.number > UINT32_MAX) refuse(key, "is no number from 0 to 2^32");
    return static_cast<std::uint32_t>(of.number);
  }
  std::uint32_t number(Field which, std::uint32_t otherwise = 0) const {
    return scalars_[which].sort == Scalar::absent ? otherwise : number(scalars_[which], field_names[which].key);
  }
  const std::string& text(Field which) const {
    if (scalars_[which].sort != Scalar::text_value) refuse(field_names[which].key, "is no text");
    return scalars_[which].text;
  }
  // Kineto writes microseconds with three digits behind the point.
  std::uint64_t nanoseconds(Field which) const {
    constexpr double most_us = 9e15;  // three centuries
    const Scalar& of = scalars_[which];
    const double us = of.sort == Scalar::whole ? static_cast<double>(of.number) : of.value;
    if ((of.sort != Scalar::whole && of.sort != Scalar::real) || !(us >= 0 && us < most_us))
      refuse(field_names[which].key, "is no time");
    if (of.sort == Scalar::whole) return static_cast<std::uint64_t>(of.number) * 1000;
    const std::size_t point = of.text.find('.');
    if (point == std::string::npos || of.text.find_first_of("eE") != std::string::npos)
      return static_cast<std::uint64_t>(us * 1000);
    std::uint64_t ns = 0;
    const std::string digits = of.text.substr(0, point) + (of.text.substr(point + 1) + "000").substr(0, 3);
    for (const char digit : digits) ns = ns * 10 + static_cast<std::uint64_t>(digit - '0');
    return ns;
  }

  void device_named() {
    const Scalar &id = scalars_[device], &name = scalars_[called];
    if (is_object_ && id.sort == Scalar::whole && id.number >= 0 && id.number < 1024 && name.sort == Scalar::text_value)
      all_.devices[static_cast<std::uint32_t>(id.number)].name = sound(name.text);
  }

  void event() {
    ++count_;
    if (!is_object_ || scalars_[ph].text != "X") return;
    const std::string& what = scalars_[cat].text;
    if (what == "kernel") kernel();
    else if (what == "gpu_memcpy") copy();
    else if (what == "gpu_memset") memset();
    else if (what == "cuda_runtime" || what == "cuda_driver") call();
    else if (what == "cuda_sync") wait();
    else return;
    seen_.insert(what);
    refuse_too_many(path_, all_.events.size());
  }
  Event& add(Activity activity) {
    const std::uint64_t start = nanoseconds(ts);
    Event& e = all_.add(activity, start, start + nanoseconds(dur));
    e.correlation = number(correlation);
    return e;
  }
  Event& on_device(Activity activity) {
    Event& e = add(activity);
    e.device = number(device, number(in_device));  // the second of a copy between two devices
    e.stream = number(stream);
    e.graph = number(graph);
    all_.devices.try_emplace(e.device);
    return e;
  }
  void kernel() {
    Event& e = on_device(Activity::kernel);
    e.question.name = sound(demangled(text(called)));
    if (counts_[0] != 3 || counts_[1] != 3) refuse("grid or block", "has not three numbers");
    e.shape = {
        0, sides_[0][0],  sides_[0][1], sides_[0][2], sides_[1][0], sides_[1][1], sides_[1][2], number(registers),
        0, number(shared)};
    lacks_registers_ = lacks_registers_ || scalars_[registers].sort == Scalar::absent;
    all_.drop_flawed_kernel();
  }
  // "Memcpy HtoD (Pageable -> Device)"
  void copy() {
    Event& e = on_device(Activity::copy);
    const std::string_view name = text(called);
    const std::size_t begin = name.find('('), arrow = name.find(" -> "), end = name.rfind(')');
    if (begin < arrow && arrow < end && end != name.npos) {
      e.question.source = memory_called(name.substr(begin + 1, arrow - begin - 1));
      e.question.target = memory_called(name.substr(arrow + 4, end - arrow - 4));
    }
    e.shape.bytes = size();
  }
  // "Memset (Device)"
  void memset() {
    Event& e = on_device(Activity::memset);
    const std::string_view name = text(called);
    const std::size_t begin = name.find('('), end = name.rfind(')');
    if (begin < end && end != name.npos) e.question.target = memory_called(name.substr(begin + 1, end - begin - 1));
    e.shape.bytes = size();
  }
  std::uint64_t size() const {
    const Scalar& of = scalars_[bytes];
    if (of.sort != Scalar::whole || of.number < 0) refuse("bytes", "is no size");
    return static_cast<std::uint64_t>(of.number);
  }
  void call() {
    Event& e = add(Activity::call);
    e.question.name = sound(call_name(text(called)));
    if (scalars_[tid].sort == Scalar::whole) e.thread = static_cast<std::uint32_t>(scalars_[tid].number);
    if (!all_.process.pid && scalars_[pid].sort == Scalar::whole)
      all_.process.pid = static_cast<std::uint32_t>(scalars_[pid].number);
  }
  void wait() {
    constexpr std::array<std::string_view, 5> kinds{"", "Event Sync", "Stream Wait Event", "Stream Sync",
                                                    "Context Sync"};
    Event& e = add(Activity::wait);
    const auto kind = std::ranges::find(kinds, scalars_[sync].sort == Scalar::absent ? text(called) : text(sync));
    e.question.name = wait_called(static_cast<std::uint32_t>(kind - kinds.begin()));
    // -1 where it is for no stream.
    if (const Scalar& of = scalars_[stream]; of.sort == Scalar::whole) e.stream = static_cast<std::uint32_t>(of.number);
  }

  const std::filesystem::path& path_;
  ProcessEvents all_{};
  std::set<std::string> seen_{};
  bool has_events_ = false, lacks_registers_ = false;
  std::size_t count_ = 0;

  std::size_t depth_ = 0;
  Part part_ = Part::none;
  bool is_object_ = false, in_args_ = false;
  std::string key_{};
  std::array<Scalar, field_names.size()> scalars_{};
  std::array<std::array<std::uint32_t, 3>, 2> sides_{};  // grid and block
  std::array<std::size_t, 2> counts_{};
  std::array<std::uint32_t, 3>* list_ = nullptr;
};

}  // namespace

std::vector<ProcessEvents> read_kineto(const std::filesystem::path& path) {
  Unpacked text(path, most_text);
  std::istream stream(&text);
  KinetoReader reader(path);
  json::sax_parse(stream, &reader);
  std::vector<ProcessEvents> all;
  all.push_back(reader.finished());
  return all;
}

}  // namespace npgpu::record
