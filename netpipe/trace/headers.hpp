// What a described struct is in the attributes of a group, in and out. Throws FormatError.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <string>
#include <type_traits>

#include "netpipe/trace/attributes.hpp"
#include "npgpu/field.hpp"
#include "npgpu/names.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu::trace {

// Texts as they are, enumerators and lanes as words, a yes or no as uint8, counts as uint64, measures as float64.
template <class T>
void put_value(hid_t group, const std::string& attribute, const T& value) {
  if constexpr (std::is_same_v<T, std::vector<Lane>>)
    put(group, attribute, lanes_text(value));
  else if constexpr (std::is_enum_v<T>)
    put(group, attribute, std::string(name(value)));
  else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>)
    put(group, attribute, std::uint64_t{value});
  else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    put(group, attribute, std::int64_t{value});
  else
    put(group, attribute, value);
}

template <class T>
void get_value(hid_t group, const std::string& where, const std::string& attribute, T& value) {
  const auto refuse = [&](const auto& found, const std::string& why) {
    throw FormatError(fmt::format("attribute '{}' of {} is '{}', {}", attribute, where, found, why));
  };
  const auto in_range = [&](auto found) {
    if (found > std::numeric_limits<T>::max()) refuse(found, "which is too large");
    if (found < std::numeric_limits<T>::min()) refuse(found, "which is too small");
    value = static_cast<T>(found);
  };
  if constexpr (std::is_same_v<T, std::string>) {
    value = get_text(group, where, attribute);
  } else if constexpr (std::is_same_v<T, std::vector<Lane>>) {
    const std::string text = get_text(group, where, attribute);
    auto lanes = parse_lanes(text);
    if (!lanes) refuse(text, "which does not describe lanes");
    value = *lanes;
  } else if constexpr (std::is_enum_v<T>) {
    const std::string word = get_text(group, where, attribute);
    const auto known = named<T>(word);
    if (!known) refuse(word, "none of " + choices<T>());
    value = *known;
  } else if constexpr (std::is_same_v<T, bool>) {
    value = get_flag(group, where, attribute);
  } else if constexpr (std::is_unsigned_v<T>) {
    in_range(get_count(group, where, attribute));
  } else if constexpr (std::is_integral_v<T>) {
    in_range(get_integer(group, where, attribute));
  } else {
    value = get_real(group, where, attribute);
  }
}

template <class Struct>
void put_header(hid_t group, const Struct& header) {
  visit_fields(header, [&](const FieldInfo& f, const auto& value) { put_value(group, std::string(f.name), value); });
}

template <class Struct>
void get_header(hid_t group, const std::string& where, Struct& header) {
  visit_fields(header, [&](const FieldInfo& f, auto& value) { get_value(group, where, std::string(f.name), value); });
}

}  // namespace npgpu::trace
