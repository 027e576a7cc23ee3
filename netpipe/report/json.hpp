// The parts that JSON documents are made of. A number that is not finite becomes null, an enumerator its word.
//
// A struct is described by a specialization of form<>: its members, in the order of the document, under the names that
// they have in the source. Documents and their schemas (docs/schemas) come from that:
//   template <> inline constexpr auto form<NumaCell> =
//       members<NumaCell, &NumaCell::host_node, called<"rate_bytes_per_s", &NumaCell::rate>, &NumaCell::doubtful>;
// Keys are stable; new ones may be added, so that readers ignore what they do not know. null is what is not known.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "npgpu/model/advice.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/model/predict.hpp"
#include "npgpu/report/report.hpp"

namespace npgpu {

using Json = nlohmann::ordered_json;

enum class JsonOf { value, schema };  // what is asked for: a value, or what its schema says of all such values

Json json_of(double);
Json json_of(const Provenance&);
Json json_of(const std::vector<Lane>&);
// The same in every document.
Json sliced_soak_json(const SoakDevice&, JsonOf);  // with the course of each load
Json soak_json(const SoakDevice&, JsonOf);
Json piece_table_json(const PieceTable&, JsonOf);
Json study_json(const PartitionStudy&, JsonOf);
Json one_roofline_json(const Roofline&, JsonOf);
template <class T>
requires(std::is_integral_v<T> || std::is_convertible_v<T, std::string> ||
         std::is_convertible_v<T, std::string_view>) Json json_of(const T& value) {
  return value;
}
template <class E>
requires std::is_enum_v<E> Json json_of(E value) { return name(value); }
inline Json json_of(const ShortText& text) { return std::string_view(text); }

// ---- described structs ----------------------------------------------------------------------------------------------

// A member without its type. Without a name: its own members stand in its place.
struct JsonMember {
  std::string_view name;
  Json (*json)(const void* row, JsonOf);
};
template <class Row> inline constexpr auto form = nullptr;
template <class T>
concept Formed = !std::is_same_v<decltype(form<T>), const std::nullptr_t>;

// Parts of schemas. nullable(): of what may be null as well.
Json type_schema(std::string_view type, std::span<const std::string_view> words = {});
Json nullable(Json schema);
// An object without members, and one more in it.
Json empty_object(JsonOf);
void add_member(Json& object, std::string_view name, Json member, JsonOf, std::string_view unit = "1");
Json object_of(std::span<const JsonMember>, const void* row, JsonOf);

template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_list = false;
template <class T> inline constexpr bool is_list<std::vector<T>> = true;
template <> inline constexpr bool is_list<std::vector<Lane>> = false;  // which is one text
template <> inline constexpr bool is_list<Provenance> = false;
template <class T, std::size_t n> inline constexpr bool is_list<std::array<T, n>> = true;

template <class T> Json leaf_schema() {
  if constexpr (std::is_same_v<T, bool>) return type_schema("boolean");
  else if constexpr (std::is_enum_v<T>) return type_schema("string", names_of<T>);
  else if constexpr (std::is_integral_v<T>) return type_schema("integer");
  else if constexpr (std::is_floating_point_v<T>) return nullable(type_schema("number"));
  else if constexpr (std::is_same_v<T, Provenance>) return type_schema("object");
  else return type_schema("string");
}

// What is written of a value. Of a schema, the value only gives its type: an empty list says what its items would be.
template <class T> Json form_of(const T& value, JsonOf as) {
  const bool is_schema = as == JsonOf::schema;
  if constexpr (std::is_same_v<T, Json>) {
    return is_schema ? Json::object() : value;  // written by hand: anything
  } else if constexpr (Formed<T>) {
    return object_of(form<T>, &value, as);
  } else if constexpr (is_optional<T>) {
    if (is_schema) return nullable(form_of(typename T::value_type{}, as));
    return value ? form_of(*value, as) : Json(nullptr);
  } else if constexpr (is_list<T>) {
    if (is_schema) return Json{{"type", "array"}, {"items", form_of(typename T::value_type{}, as)}};
    Json all = Json::array();
    for (const auto& one : value) all.push_back(form_of(one, as));
    return all;
  } else if constexpr (Described<T>) {
    Json object = empty_object(as);
    visit_fields(value, [&](const FieldInfo& field, const auto& member) {
      add_member(object, field.name, form_of(member, as), as, field.unit);
    });
    return object;
  } else {
    return is_schema ? leaf_schema<T>() : json_of(value);
  }
}

// The name of a member in the source, as the compiler has it: "... [with auto At = &CurveFit::notes]".
template <auto At> constexpr auto source_name() {
  constexpr std::string_view text(__PRETTY_FUNCTION__);
  return text.substr(text.rfind(':') + 1, text.rfind(']') - text.rfind(':') - 1);
}
template <auto At> constexpr std::string_view name_of_member() {
  if constexpr (requires { At.name; }) return At.name;
  else return source_name<At>();
}

template <std::size_t n> struct JsonName {
  char text[n];
  constexpr JsonName(const char (&from)[n]) { std::copy_n(from, n, text); }
};
template <JsonName text, auto At> struct NamedMember {
  static constexpr std::string_view name{text.text};
  template <class... Of> constexpr std::invoke_result_t<decltype(At), const Of&...> operator()(const Of&... of) const {
    return std::invoke(At, of...);
  }
};
template <auto First, auto Then> struct MemberOfMember {
  static constexpr std::string_view name = name_of_member<Then>();
  template <class Row> constexpr auto operator()(const Row& row) const {
    const auto& first = std::invoke(First, row);
    return std::invoke(Then, first);
  }
};
template <auto At> struct KnownMember {
  static constexpr std::string_view name = name_of_member<At>();
  template <class Row> constexpr auto operator()(const Row& row) const {
    using T = std::remove_cvref_t<decltype(std::invoke(At, row))>;
    const T& value = std::invoke(At, row);
    return value == T{} ? std::optional<T>() : std::optional<T>(value);
  }
};
template <class Base> struct BaseMembers {
  static constexpr std::string_view name{};
  constexpr const Base& operator()(const Base& row) const { return row; }
};

// What stands in members<>, besides pointers to members and functions of a struct: another name; a member of a member;
// null where it is empty or 0; microseconds; the members of a member or of a base in place of itself.
template <JsonName text, auto At> inline constexpr NamedMember<text, At> called{};
template <auto First, auto Then> inline constexpr MemberOfMember<First, Then> within{};
template <auto At> inline constexpr KnownMember<At> known{};
template <auto At> inline constexpr NamedMember<"", At> in_place{};
template <class Base> inline constexpr BaseMembers<Base> base{};
template <JsonName text, auto At>
inline constexpr auto us = called<text, [](const auto& row) { return microseconds(std::invoke(At, row)); }>;

template <class Row, auto... At>
inline constexpr std::array<JsonMember, sizeof...(At)> members{
    JsonMember{name_of_member<At>(), [](const void* row, JsonOf as) {
                 const Row& of = *static_cast<const Row*>(row);
                 if constexpr (std::is_invocable_v<decltype(At), const Row&, JsonOf>) return std::invoke(At, of, as);
                 else return form_of(std::invoke(At, of), as);
               }}...};

// form<Row>; the items say T for it.
#define NPGPU_FORM(Row, ...)             \
  template <>                            \
  inline constexpr auto form<Row> = [] { \
    using T = Row;                       \
    return members<T, __VA_ARGS__>;      \
  }()

NPGPU_FORM(Estimate, &T::value, &T::low, &T::high, &T::method);
NPGPU_FORM(TraceRoot, &T::run_uuid, &T::tool_version, &T::git_commit, &T::argv, &T::start_time_utc, &T::hostname,
           &T::complete);
NPGPU_FORM(Explanation, &T::cause, &T::what, &T::evidence, &T::remedy);
NPGPU_FORM(HealthFinding, &T::device, &T::metric, &T::health, &T::value, &T::limit, &T::unit, &T::text, &T::low,
           &T::high, &T::would_see, called<"case", known<&T::of_case>>, called<"point", known<&T::of_point>>,
           known<&T::basis>, &T::if_failed, &T::explanations);
NPGPU_FORM(MeasuredCosts, &T::device, &T::device_name, &T::simulated);

// A document that is one list.
template <JsonName key, class T> struct Listed { std::vector<T> all; };
template <JsonName key, class T>
inline constexpr auto form<Listed<key, T>> = members<Listed<key, T>, called<key, &Listed<key, T>::all>>;

// Writes a document: its name, its version, then the members of `of`; to a stream that asks_schemas() its schema.
std::ostream& asks_schemas(std::ostream&);
void write_document(std::ostream&, std::string_view name, int version, Json (*form)(const void*, JsonOf),
                    const void* of, int indent);
template <class T>
void write_document(std::ostream& out, std::string_view name, int version, const T& of, int indent = 1) {
  write_document(
      out, name, version, [](const void* row, JsonOf as) { return form_of(*static_cast<const T*>(row), as); }, &of,
      indent);
}

// ---- written by hand ------------------------------------------------------------------------------------------------

template <class T>
requires Formed<T> Json json_of(const T& value) { return form_of(value, JsonOf::value); }

template <class Rows, class One> Json array_of(const Rows& rows, One one) {
  Json all = Json::array();
  for (const auto& row : rows) all.push_back(one(row));
  return all;
}

// A list of what a function above writes.
template <class T, class Write> Json list_by(const std::vector<T>& all, JsonOf as, Write write) {
  if (as == JsonOf::schema) return Json{{"type", "array"}, {"items", write(T{}, as)}};
  return array_of(all, [&](const T& one) { return write(one, as); });
}

// A member of an object: Json({entry("bytes", 8), entry("stop", point.stop)}).
template <class T> Json entry(const char* key, const T& value) { return Json::array({key, json_of(value)}); }

// Writes it: bytes that are not UTF-8 as replacement characters, what a terminal would act on as \uXXXX. `indent` -1:
// all in one line.
void write_json(std::ostream&, const Json&, int indent);

}  // namespace npgpu
