// The names of enumerators, and descriptions of the members of structs. The user types the same words that the trace
// stores and the report prints. An enum has names by a specialization of `names_of`, with one word for each enumerator,
// in order.
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
#include <type_traits>

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

// Each struct that a trace holds describes its members once. Writer, reader, CSV, JSON, tables and comparisons use that
// description, and know no kind of measurement by name.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   const npgpu::ProbeSeries& series = trace.of<npgpu::Probes>().at(0);
//   npgpu::visit_fields(series.question, [](const npgpu::FieldInfo& field, const auto& value) {
//     if constexpr (requires { std::cout << value; }) std::cout << field.name << ": " << value << '\n';
//     else std::cout << field.name << ": " << npgpu::name(value) << '\n';  // of an enum
//   });
//   npgpu::visit_fields(series.visits.at(0).axes, [](const npgpu::FieldInfo& field, const auto& value) {
//     if constexpr (requires { std::cout << value; })
//       std::cout << field.name << ": " << value << ' ' << field.unit << '\n';
//   });

// The name of a column, its unit (ASCII, "1" for a plain number), and the meaning of its codes, if it has any.
struct FieldInfo {
  std::string_view name;
  std::string_view unit = "1";
  std::string_view codes = {};
  bool optional = false;  // an attribute or column that older traces do not have: the member keeps its default
};

template <class Row, class T> struct Field : FieldInfo { T Row::*at; };
template <class Row, class T>
constexpr Field<Row, T> field(std::string_view name, T Row::*at, std::string_view unit = "1",
                              std::string_view codes = {}) {
  return {{name, unit, codes}, at};
}

template <class Row, class T>
constexpr Field<Row, T> optional_field(std::string_view name, T Row::*at, std::string_view unit = "1",
                                       std::string_view codes = {}) {
  return {{name, unit, codes, true}, at};
}

// A text in a column: its first 32 bytes.
class ShortText {
 public:
  static constexpr std::size_t size = 32;
  ShortText() = default;
  ShortText(std::string_view text) { text.substr(0, size).copy(text_.data(), size); }
  explicit ShortText(const std::array<char, size>& raw) : text_(raw) {}
  const std::array<char, size>& raw() const { return text_; }
  operator std::string_view() const {
    const std::string_view all(text_.data(), size);
    return all.substr(0, all.find('\0'));
  }
  bool operator==(const ShortText&) const = default;

 private:
  std::array<char, size> text_{};
};

// A struct is described by a specialization of this with its fields(), in the order of the columns. If a member is
// itself described, its members stand in its place.
template <class Row> inline constexpr auto fields_of = nullptr;

// fields(): a function that calls visit(field) for each field, in order. joined(): the same for several lists of
// fields. Neither is a std::tuple, because its many templates would slow every file that includes a row.
template <class... Fields> constexpr auto fields(Fields... all) {
  return [=](auto&& visit) { (visit(all), ...); };
}
template <class... Lists> constexpr auto joined(Lists... lists) {
  return [=](auto&& visit) { (lists(visit), ...); };
}

template <class Row>
concept Described = !std::is_same_v<decltype(fields_of<Row>), const std::nullptr_t>;

// Calls visit(const FieldInfo&, member) for every member that is not itself described, in order. `Row` may be const.
template <class Row, class Visit>
requires Described<std::remove_const_t<Row>>
constexpr void visit_fields(Row& row, Visit&& visit) {
  fields_of<std::remove_const_t<Row>>([&](const auto& field) {
    auto& member = row.*field.at;
    if constexpr (Described<std::remove_cvref_t<decltype(member)>>) visit_fields(member, visit);
    else visit(static_cast<const FieldInfo&>(field), member);
  });
}

}  // namespace npgpu
