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

Json json_of(double);
Json json_of(const Provenance&);
Json json_of(const std::vector<Lane>&);
template <class T>
requires(std::is_integral_v<T> || std::is_convertible_v<T, std::string> ||
         std::is_convertible_v<T, std::string_view>) Json json_of(const T& value) {
  return value;
}
template <class E>
requires std::is_enum_v<E> Json json_of(E value) { return name(value); }
inline Json json_of(const ShortText& text) { return std::string_view(text); }

// ---- described structs ----------------------------------------------------------------------------------------------

struct JsonMember;
// What a schema says of a type. Only the program npgpu_schemas reads it (docs/schemas).
struct JsonType {
  std::string_view name{};  // "number", "array", ...
  bool is_nullable = false;
  std::span<const std::string_view> words{};
  const JsonType* items = nullptr;
  std::span<const JsonMember> (*members)() = nullptr;
};
// Without a name: its own members stand in its place.
struct JsonMember {
  std::string_view name;
  Json (*json)(const void* row);
  const JsonType* type;
  std::string_view unit{};
};
template <class Row> inline constexpr auto form = nullptr;
template <class T>
concept Formed = !std::is_same_v<decltype(form<T>), const std::nullptr_t>;
template <class T>
concept FormedElsewhere = requires {
  form<T>(nullptr);
};

template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_list = false;
template <class T> inline constexpr bool is_list<std::vector<T>> = true;
template <> inline constexpr bool is_list<std::vector<Lane>> = false;  // which is one text
template <> inline constexpr bool is_list<Provenance> = false;
template <class T, std::size_t n> inline constexpr bool is_list<std::array<T, n>> = true;

void add_member(Json& object, std::string_view name, Json member);
Json object_of(std::span<const JsonMember>, const void* row);
template <class T> std::span<const JsonMember> form_members() {
  if constexpr (FormedElsewhere<T>) return form<T>(nullptr);
  else return form<T>;
}

template <class T> Json form_of(const T& value) {
  if constexpr (Formed<T>) {
    return object_of(form_members<T>(), &value);
  } else if constexpr (is_optional<T>) {
    return value ? form_of(*value) : Json(nullptr);
  } else if constexpr (is_list<T>) {
    Json all = Json::array();
    for (const auto& one : value) all.push_back(form_of(one));
    return all;
  } else if constexpr (Described<T>) {
    Json object = Json::object();
    visit_fields(value, [&](const FieldInfo& f, const auto& member) { add_member(object, f.name, form_of(member)); });
    return object;
  } else {
    return json_of(value);
  }
}

// ---- their types ----------------------------------------------------------------------------------------------------

template <class Row, class Visit> constexpr void visit_field_types(Visit& visit) {
  fields_of<Row>([&]<class Of, class T>(const Field<Of, T>& field) {
    if constexpr (Described<T>) visit_field_types<T>(visit);
    else visit(field, std::type_identity<T>());
  });
}
template <class T> constexpr JsonType type_of();
template <class T> inline constexpr JsonType json_type = type_of<T>();
template <class Row>
inline constexpr auto field_members = [] {
  constexpr std::size_t n = [] {
    std::size_t count = 0;
    const auto counts = [&](const auto&, auto) { ++count; };
    visit_field_types<Row>(counts);
    return count;
  }();
  std::array<JsonMember, n> all{};
  std::size_t at = 0;
  const auto adds = [&]<class T>(const FieldInfo& field, std::type_identity<T>) {
    all[at++] = {field.name, nullptr, &json_type<T>, field.unit};
  };
  visit_field_types<Row>(adds);
  return all;
}();
template <class T> constexpr JsonType type_of() {
  static_assert(!std::is_same_v<T, Json>, "what is written by hand has no type");
  if constexpr (Formed<T>) {
    return {.name = "object", .members = &form_members<T>};
  } else if constexpr (is_optional<T>) {
    JsonType type = json_type<typename T::value_type>;
    type.is_nullable = true;
    return type;
  } else if constexpr (is_list<T>) {
    return {.name = "array", .items = &json_type<typename T::value_type>};
  } else if constexpr (Described<T>) {
    return {.name = "object", .members = [] { return std::span<const JsonMember>(field_members<T>); }};
  } else if constexpr (std::is_same_v<T, bool>) {
    return {.name = "boolean"};
  } else if constexpr (std::is_enum_v<T>) {
    return {.name = "string", .words = names_of<T>};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return {.name = std::is_integral_v<T> ? "integer" : "number", .is_nullable = std::is_floating_point_v<T>};
  } else {
    return {.name = std::is_same_v<T, Provenance> ? "object" : "string"};
  }
}

// ---- their members --------------------------------------------------------------------------------------------------

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
// null where it is empty or 0; microseconds; the members of a member, of a base, or of a list (&list) in place of
// itself.
template <JsonName text, auto At> inline constexpr NamedMember<text, At> called{};
template <auto First, auto Then> inline constexpr MemberOfMember<First, Then> within{};
template <auto At> inline constexpr KnownMember<At> known{};
template <auto At> inline constexpr NamedMember<"", At> in_place{};
template <class Base> inline constexpr BaseMembers<Base> base{};
template <JsonName text, auto At>
inline constexpr auto us = called<text, [](const auto& row) { return microseconds(std::invoke(At, row)); }>;

template <auto list>
inline constexpr JsonType type_of_list{.name = "object", .members = [] { return std::span<const JsonMember>(*list); }};
template <class Row, auto At> constexpr JsonMember member_of() {
  if constexpr (requires { At->size(); }) {
    return {"", [](const void* row) { return object_of(*At, row); }, &type_of_list<At>};
  } else {
    return {name_of_member<At>(),
            [](const void* row) { return form_of(std::invoke(At, *static_cast<const Row*>(row))); },
            &json_type<std::remove_cvref_t<std::invoke_result_t<decltype(At), const Row&>>>};
  }
}
template <class Row, auto... At>
inline constexpr std::array<JsonMember, sizeof...(At)> members{member_of<Row, At>()...};

// form<Row>; the items say T for it.
#define NPGPU_FORM(Row, ...)             \
  template <>                            \
  inline constexpr auto form<Row> = [] { \
    using T = Row;                       \
    return members<T, __VA_ARGS__>;      \
  }()
// The same for other files as well, which know it by the declaration.
#define NPGPU_DECLARE_FORM(Row)                              \
  std::span<const JsonMember> members_elsewhere(const Row*); \
  template <>                                                \
  inline constexpr auto form<Row> = static_cast<std::span<const JsonMember> (*)(const Row*)>(&members_elsewhere)
#define NPGPU_DEFINE_FORM(Row, ...)                           \
  std::span<const JsonMember> members_elsewhere(const Row*) { \
    using T = Row;                                            \
    return members<T, __VA_ARGS__>;                           \
  }                                                           \
  static_assert(FormedElsewhere<Row>)

// An object with a member for each word.
template <const auto& words, class T> struct ByWord { std::array<T, words.size()> all{}; };
template <class Row, std::size_t... i> constexpr auto members_by(const auto& words, std::index_sequence<i...>) {
  return std::array{JsonMember{words[i], [](const void* row) { return form_of(static_cast<const Row*>(row)->all[i]); },
                               &json_type<typename decltype(Row::all)::value_type>}...};
}
template <const auto& words, class T>
inline constexpr auto form<ByWord<words, T>> = members_by<ByWord<words, T>>(words,
                                                                            std::make_index_sequence<words.size()>());

// Structs that only differ in their form.
template <class As, class T> std::vector<As> each_as(const std::vector<T>& all) {
  std::vector<As> found;
  for (const T& one : all) found.push_back(As{one});
  return found;
}

NPGPU_FORM(Estimate, &T::value, &T::low, &T::high, &T::method);
NPGPU_FORM(TraceRoot, &T::run_uuid, &T::tool_version, &T::git_commit, &T::argv, &T::start_time_utc, &T::hostname,
           &T::complete);
NPGPU_FORM(Explanation, &T::cause, &T::what, &T::evidence, &T::remedy);
NPGPU_FORM(KeyFigure, &T::device, &T::metric, &T::value, &T::low, &T::high, &T::unit);
NPGPU_FORM(HealthFinding, &T::device, &T::metric, &T::health, &T::value, &T::limit, &T::unit, &T::text, &T::low,
           &T::high, &T::would_see, called<"case", known<&T::of_case>>, called<"point", known<&T::of_point>>,
           known<&T::basis>, &T::if_failed, &T::explanations);
NPGPU_FORM(KernelTime::Used, &T::key, called<"value", within<&T::figure, &Estimate::value>>,
           called<"low", within<&T::figure, &Estimate::low>>, called<"high", within<&T::figure, &Estimate::high>>,
           called<"from", within<&T::figure, &Estimate::method>>, &T::longer);
NPGPU_FORM(KernelTime, us<"likely_us", &T::likely>, us<"low_us", &T::low>, us<"high_us", &T::high>, &T::bound,
           us<"arithmetic_us", &T::arithmetic>, us<"memory_us", &T::memory>, us<"launch_us", &T::launch>, &T::slots,
           &T::waves, &T::last_wave, &T::used, &T::notes);
NPGPU_FORM(MeasuredCosts, &T::device, &T::device_name, &T::simulated);
NPGPU_DECLARE_FORM(SoakDevice);
struct SlicedSoak : SoakDevice {};  // with the course of each load
NPGPU_DECLARE_FORM(SlicedSoak);
NPGPU_DECLARE_FORM(PieceTable);
NPGPU_DECLARE_FORM(CollectiveStudy);
NPGPU_DECLARE_FORM(PartitionStudy);
NPGPU_DECLARE_FORM(RooflineReport);
NPGPU_DECLARE_FORM(StagedMessages);

// A document that is one list.
template <JsonName key, class T> struct Listed { std::vector<T> all; };
template <JsonName key, class T>
inline constexpr auto form<Listed<key, T>> = members<Listed<key, T>, called<key, &Listed<key, T>::all>>;

// Writes a document: its name, its version, then the members of `of`. Where `takes_types` is set it takes the type, and
// nothing is written.
inline void (*takes_types)(std::string_view name, int version, const JsonType&) = nullptr;
void write_document(std::ostream&, std::string_view name, int version, const JsonType&, Json (*form)(const void*),
                    const void* of, int indent);
template <class T>
void write_document(std::ostream& out, std::string_view name, int version, const T& of, int indent = 1) {
  write_document(
      out, name, version, json_type<T>, [](const void* row) { return form_of(*static_cast<const T*>(row)); }, &of,
      indent);
}

// ---- written by hand ------------------------------------------------------------------------------------------------

template <class Rows, class One> Json array_of(const Rows& rows, One one) {
  Json all = Json::array();
  for (const auto& row : rows) all.push_back(one(row));
  return all;
}

// A member of an object: Json({entry("bytes", 8), entry("stop", point.stop)}).
template <class T> Json entry(const char* key, const T& value) { return Json::array({key, form_of(value)}); }

// Writes it: bytes that are not UTF-8 as replacement characters, what a terminal would act on as \uXXXX. `indent` -1:
// all in one line.
void write_json(std::ostream&, const Json&, int indent);

}  // namespace npgpu
