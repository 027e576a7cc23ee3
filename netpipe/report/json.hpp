// The parts that JSON documents are made of. A number that is not finite becomes null, an enumerator its word.
#pragma once

#include <nlohmann/json.hpp>

#include "npgpu/messages.hpp"
#include "npgpu/piece_advice.hpp"
#include "npgpu/report.hpp"
#include "npgpu/soak_figures.hpp"

namespace npgpu {

using Json = nlohmann::ordered_json;

Json or_null(const std::string&);  // null where it is empty
Json json_of(double);
Json json_of(const TraceRoot&);
Json json_of(const Provenance&);
Json json_of(const Estimate&);
// The same in every document.
Json json_of(const HealthFinding&);
enum class SoakDetail { loads, slices };
Json soak_json(const SoakDevice&, SoakDetail = SoakDetail::loads);
Json piece_table_json(const PieceTable&);
Json json_of(const std::vector<Lane>&);
Json chosen_json(const CollectiveResult&);
Json collective_json(const CollectiveStudy&);
Json studies_json(std::span<const PartitionStudy>);
Json json_of(const RooflineReport&);
Json messages_json(std::span<const StagedMessages>);
template <class T>
requires(std::is_integral_v<T> || std::is_convertible_v<T, std::string> ||
         std::is_convertible_v<T, std::string_view>) Json json_of(const T& value) {
  return value;
}
template <class E>
requires std::is_enum_v<E> Json json_of(E value) { return name(value); }

template <class Rows, class One> Json array_of(const Rows& rows, One one) {
  Json all = Json::array();
  for (const auto& row : rows) all.push_back(one(row));
  return all;
}
template <class T> Json json_of(const std::vector<T>& values) {
  return array_of(values, [](const T& value) { return json_of(value); });
}

inline Json json_of(const ShortText& text) { return std::string_view(text); }

// Adds the fields of a struct by name.
template <class Struct> void add_fields(Json& object, const Struct& row) {
  visit_fields(row, [&](const FieldInfo& f, const auto& value) { object[std::string(f.name)] = json_of(value); });
}

template <Described Struct> Json json_of(const Struct& row) {
  Json object = Json::object();
  add_fields(object, row);
  return object;
}

// A member of an object: Json({entry("bytes", 8), entry("stop", point.stop)}).
template <class T> Json entry(const char* key, const T& value) { return Json::array({key, json_of(value)}); }

// All of a series but points and samples: title, case, and the fields of SeriesInfo and of its context. An error that
// is none is null.
template <class K> Json header_json(const Series<K>& series) {
  Json json{{"title", title(series.question)}, {"case", json_of(series.question)}};
  add_fields(json, static_cast<const SeriesInfo&>(series));
  add_fields(json, static_cast<const typename K::Context&>(series));
  json["error"] = or_null(series.error);
  return json;
}

// Writes it: bytes that are not UTF-8 as replacement characters, what a terminal would act on as \uXXXX. `indent` -1:
// all in one line.
void write_json(std::ostream&, const Json&, int indent);

}  // namespace npgpu
