#include "netpipe/trace/decoded_file.hpp"

#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "netpipe/trace/series.hpp"
#include "npgpu/field.hpp"
#include "npgpu/kinds.hpp"
#include "npgpu/names.hpp"

namespace npgpu::trace {

namespace {

class Packer {
 public:
  void raw(const void* from, std::size_t count) { bytes_.append(static_cast<const char*>(from), count); }
  std::size_t count(std::size_t count) {
    const std::uint64_t number = count;
    raw(&number, sizeof number);
    return count;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}
  void raw(void* to, std::size_t count) {
    if (count > left_.size()) garbled();
    if (count > 0) std::memcpy(to, left_.data(), count);
    left_.remove_prefix(count);
  }
  // Of things that have a byte or more each.
  std::size_t count(std::size_t) {
    std::uint64_t number = 0;
    raw(&number, sizeof number);
    if (number > left_.size()) garbled();
    return static_cast<std::size_t>(number);
  }
  bool ended() const { return left_.empty(); }
  [[noreturn]] static void garbled() { throw FormatError("is damaged: what HDF5 makes of it is garbled"); }

 private:
  std::string_view left_;
};

template <class T> inline constexpr bool is_list = false;
template <class T> inline constexpr bool is_list<std::vector<T>> = true;

// One description of what is sent serves both ways: values are const where they are packed.
template <class Way> constexpr bool unpacks = std::is_same_v<Way, Unpacker>;

template <class Way, class Text> void pass_text(Way& way, Text& text) {
  const std::size_t count = way.count(text.size());
  if constexpr (unpacks<Way>) text.resize(count);
  way.raw(text.data(), count);
}

template <class Way, class T> void pass_enum(Way& way, T& value) {
  using Plain = std::remove_const_t<T>;
  auto code = static_cast<std::int32_t>(value);
  way.raw(&code, sizeof code);
  if constexpr (unpacks<Way>) {
    if (code < 0 || static_cast<std::size_t>(code) >= names_of<Plain>.size()) Unpacker::garbled();
    value = static_cast<Plain>(code);
  }
}

template <class Way, class T> void pass(Way& way, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, std::string> || std::is_same_v<Plain, Bytes>) {
    pass_text(way, value);
  } else if constexpr (is_list<Plain>) {
    const std::size_t count = way.count(value.size());
    if constexpr (unpacks<Way>) value.resize(count);
    for (auto& one : value) pass(way, one);
  } else if constexpr (Described<Plain>) {
    visit_fields(value, [&](const FieldInfo&, auto& member) { pass(way, member); });
  } else if constexpr (std::is_same_v<Plain, Lane>) {
    pass(way, value.direction);
    pass(way, value.source);
    pass(way, value.target);
    pass(way, value.executor);
    pass(way, value.measured);
  } else if constexpr (std::is_same_v<Plain, ShortText>) {
    auto text = value.raw();
    way.raw(text.data(), text.size());
    if constexpr (unpacks<Way>) value = ShortText(text);
  } else if constexpr (std::is_same_v<Plain, bool>) {
    std::uint8_t flag = value;
    way.raw(&flag, sizeof flag);
    if constexpr (unpacks<Way>) value = flag != 0;
  } else if constexpr (std::is_enum_v<Plain>) {
    pass_enum(way, value);
  } else {
    static_assert(std::is_arithmetic_v<Plain>);
    way.raw(&value, sizeof value);
  }
}

template <class Way, class AnyFact> void pass_fact(Way& way, AnyFact& fact) {
  std::uint8_t kind = static_cast<std::uint8_t>(fact.index());
  way.raw(&kind, sizeof kind);
  if constexpr (unpacks<Way>) {
    switch (kind) {
      case 0: fact.template emplace<0>(); break;
      case 1: fact.template emplace<1>(); break;
      case 2: fact.template emplace<2>(); break;
      default: Unpacker::garbled();
    }
  }
  std::visit([&](auto& value) { pass(way, value); }, fact);
}

template <class Way, class AnyTrace> void pass_trace(Way& way, AnyTrace& trace) {
  pass(way, trace.version_major);
  pass(way, trace.version_minor);
  pass(way, trace.root);
  pass(way, trace.root.complete);
  const std::size_t groups = way.count(trace.provenance.size());
  if constexpr (unpacks<Way>) trace.provenance.resize(groups);
  for (auto& [group, facts] : trace.provenance) {
    pass(way, group);
    const std::size_t count = way.count(facts.size());
    if constexpr (unpacks<Way>) facts.resize(count);
    for (auto& [name, fact] : facts) {
      pass(way, name);
      pass_fact(way, fact);
    }
  }
  for_each_kind([&]<class K>() {
    auto& all = trace.template of<K>();
    const std::size_t count = way.count(all.size());
    if constexpr (unpacks<Way>) all.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      auto& series = all[i];
      pass(way, series);
      pass(way, series.visits);
      pass(way, series.samples);
      if constexpr (unpacks<Way>) check_rows(series, "/" + std::string(K::name) + "/" + group_name(i));
    }
  });
}

template <class Way, class AnyHanded> void pass_handed(Way& way, AnyHanded& handed) {
  auto& contents = handed.contents;
  const std::size_t runs = way.count(contents.runs.size());
  if constexpr (unpacks<Way>) contents.runs.resize(runs);
  for (auto& run : contents.runs) pass_trace(way, run);
  pass(way, contents.count);
  pass(way, contents.is_merged);
  pass(way, handed.image);
}

}  // namespace

std::string packed(const DecodedFile& handed) {
  Packer packer;
  pass_handed(packer, handed);
  return packer.take();
}

DecodedFile unpacked(std::string_view bytes) {
  Unpacker unpacker(bytes);
  DecodedFile handed;
  pass_handed(unpacker, handed);
  if (!unpacker.ended()) Unpacker::garbled();
  return handed;
}

}  // namespace npgpu::trace
