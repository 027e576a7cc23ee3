// Prints the schemas of all documents whose structs are described (netpipe/report/json.hpp), by name of the document,
// for docs/schemas/make.py.
#include <iostream>
#include <map>
#include <utility>

#include "netpipe/cli/measure.hpp"
#include "netpipe/report/json.hpp"
#include "npgpu/judge/fleet.hpp"
#include "npgpu/model/record.hpp"

namespace {

using namespace npgpu;

// Each type of objects is defined once, under the key that it has first; where another has that, after the object it is
// in.
struct Definitions {
  Json all = Json::object();
  std::map<decltype(JsonType::members), std::string> names{};
  std::string parent{};

  std::string name_of(const JsonType& type, const std::string& key) {
    if (const auto known = names.find(type.members); known != names.end()) return known->second;
    std::string name = all.contains(key) ? parent + '_' + key : key;
    while (all.contains(name)) name += '_';
    names[type.members] = name;
    all[name];  // in the order in which they are met
    const std::string before = std::exchange(parent, name);
    const Json object = object_of_type(type.members());
    parent = before;
    all[name] = object;
    return name;
  }

  Json schema_of(const JsonType& type, const std::string& key) {
    if (type.members) {
      const Json object{{"$ref", "#/$defs/" + name_of(type, key)}};
      return type.is_nullable ? Json{{"anyOf", Json::array({object, Json{{"type", "null"}}})}} : object;
    }
    Json one{{"type", type.is_nullable ? Json::array({type.name, "null"}) : Json(type.name)}};
    for (const std::string_view word : type.words) one["enum"].push_back(word);
    if (!type.words.empty() && type.is_nullable) one["enum"].push_back(nullptr);
    if (type.items) one["items"] = schema_of(*type.items, key);
    return one;
  }

  void add(Json& object, std::span<const JsonMember> members, bool are_required) {
    for (const JsonMember& member : members) {
      if (member.name.empty()) {
        add(object, member.type->members(), are_required && !member.type->is_nullable);
        continue;
      }
      const std::string key(member.name);
      const bool is_new = !object["properties"].contains(key);  // a later one takes the place of the first
      Json& one = object["properties"][key] = schema_of(*member.type, key);
      if (!member.unit.empty() && member.unit != "1") one["description"] = member.unit;
      if (is_new && are_required) object["required"].push_back(key);
    }
  }

  Json object_of_type(std::span<const JsonMember> members, Json properties = Json::object(),
                      Json required = Json::array()) {
    Json object{{"type", "object"}, {"properties", properties}, {"required", required}};
    add(object, members, true);
    object["additionalProperties"] = false;
    return object;
  }
};

Json documents;

void take(std::string_view name, int version, const JsonType& type) {
  Definitions definitions;
  Json document = definitions.object_of_type(type.members(),
                                             Json{{"document", {{"const", name}}}, {"version", {{"const", version}}}},
                                             Json::array({"document", "version"}));
  if (!definitions.all.empty()) document["$defs"] = definitions.all;
  documents[std::string(name.substr(name.find('-') + 1))] = document;
}

}  // namespace

int main() {
  takes_types = take;
  const MeasuredCosts costs;
  ForecastReport forecast;
  forecast.costs = &costs;
  PredictedJobsReport jobs;
  jobs.costs = &costs;
  const AppStep step;
  app_forecast_json(std::cout, {&step, &costs, {}, {}});
  check_json(std::cout, {});
  collective_forecast_json(std::cout, {});
  compare_json(std::cout, {});
  fleet_json(std::cout, {});
  forecast_json(std::cout, forecast);
  const DeviceModel device;
  kernel_json(std::cout, {&device, {}});
  parameters_json(std::cout, {});
  piece_advice_json(std::cout, {});
  cli::plan_json(std::cout, {}, {});
  predicted_jobs_json(std::cout, jobs);
  published_json(std::cout, {});
  report_json(std::cout, TraceResults(Trace()));
  report_overview_json(std::cout, {});
  roofline_json(std::cout, {});
  runs_json(std::cout, {}, {});
  shared_json(std::cout, {}, {});
  simulation_json(std::cout, {});
  std::cout << documents << '\n';
}
