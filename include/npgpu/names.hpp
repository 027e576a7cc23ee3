// The names of enumerators. The user types the same words that the trace stores and the report prints. An enum has
// names by a specialization of `names_of`, with one word for each enumerator, in order.
//
// Example:
//   const std::string word = "pinned";  // as a user types it
//   if (const auto memory = npgpu::named<npgpu::Memory>(word)) std::cout << npgpu::name(*memory) << " memory\n";
//   else std::cout << word << " is none of " << npgpu::choices<npgpu::Memory>() << '\n';
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace npgpu {

template <class E> inline constexpr std::array<std::string_view, 0> names_of{};

template <class E> constexpr std::string_view name(E value) { return names_of<E>[static_cast<std::size_t>(value)]; }

// The enumerator called `word`, or nothing.
template <class E> constexpr std::optional<E> named(std::string_view word) {
  for (std::size_t i = 0; i < names_of<E>.size(); ++i)
    if (names_of<E>[i] == word) return static_cast<E>(i);
  return std::nullopt;
}

// "stream, pingpong, duplex": for messages and help texts.
template <class E> std::string choices() {
  std::string text;
  for (std::string_view word : names_of<E>) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace npgpu
