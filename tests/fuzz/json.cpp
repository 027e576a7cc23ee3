#include <nlohmann/json.hpp>

#include "fuzz.hpp"

namespace npgpu::fuzz {

namespace {

using Json = nlohmann::ordered_json;

Json* somewhere(Json& all, Random& random) {
  Json* at = &all;
  while (at->is_structured() && !at->empty() && !one_in(random, 6)) {
    auto it = at->begin();
    std::advance(it, below(random, at->size()));
    at = &*it;
  }
  return at;
}

Json odd_value(const Json& now, Random& random) {
  switch (below(random, 10)) {
    case 0: return nullptr;
    case 1: return one_in(random, 2);
    case 2: return odd_integer(random);
    case 3: return random();
    case 4: return Json::array();
    case 5: return Json::object();
    case 6: return Json::array({now, now});
    case 7: return Json{{"name", now}};
    case 8: {
      // JSON has no infinity; the largest numbers are where arithmetic makes one.
      const double number = odd_number(random);
      return number;
    }
    default: return odd_text(random);
  }
}

void change(Json& all, Random& random) {
  Json& at = *somewhere(all, random);
  switch (below(random, 8)) {
    case 0:
    case 1:
    case 2: at = odd_value(at, random); break;
    case 3:
      if (at.is_number()) at = at.get<double>() * one_of(random, std::array{-1.0, 0.0, 1e3, 1e9, 1e-9, 1e300});
      else at = odd_value(at, random);
      break;
    case 4: {
      const Json other = *somewhere(all, random);
      at = other;
      break;
    }
    case 5:
      if (at.is_structured() && !at.empty()) {
        auto it = at.begin();
        std::advance(it, below(random, at.size()));
        at.erase(it);
      }
      break;
    case 6:
      if (at.is_array() && !at.empty()) at.push_back(Json(at[below(random, at.size())]));
      else if (at.is_object()) at[odd_text(random)] = odd_value(at, random);
      break;
    case 7:
      if (at.is_array() && !at.empty())
        for (int i = 0; i < 300; ++i) at.push_back(Json(at[0]));
      else at = odd_value(at, random);
      break;
  }
}

}  // namespace

std::string damaged_json(const std::string& text, Random& random) {
  if (one_in(random, 8)) return damaged(text, random);
  Json all = Json::parse(text);
  for (auto wounds = 1 + below(random, 4); wounds > 0; --wounds) change(all, random);
  std::string out = all.dump(-1, ' ', false, Json::error_handler_t::ignore);
  // What a tree cannot hold: a value nested deeply, a number past all others, bytes that are not UTF-8.
  if (one_in(random, 12)) {
    const std::size_t at = out.find_first_of(":[", below(random, out.size()));
    if (at != std::string::npos) {
      const std::size_t deep = one_of(random, std::array<std::size_t, 3>{100, 10000, 200000});
      const std::string nested = std::string(deep, '[') + std::string(deep, ']');
      const std::array<std::string, 5> raw{nested, "1e999", "-1e999", "\"\xff\xfe\x1b\"", "1" + std::string(400, '0')};
      const std::size_t end = std::min(out.find_first_of(",]}", at + 1), out.size());
      out.replace(at + 1, end - at - 1, one_of(random, raw));
    }
  }
  return out;
}

}  // namespace npgpu::fuzz
