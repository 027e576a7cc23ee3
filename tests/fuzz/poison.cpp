// Traces with one number that no device says. Such a number makes no verdict better than that of the sound trace, and
// is in no figure without a word.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "fuzz.hpp"

namespace npgpu::fuzz {

namespace {

const std::vector<std::string> healthy{"check.h5",  "level2.h5",    "costs.h5",        "jobs.h5",
                                       "calls.h5",  "partition.h5", "matrix.h5",       "collectives.h5",
                                       "pieces.h5", "energy.h5",    "characterized.h5"};
const std::vector<std::string> sick{"sick-lanes.h5", "sick-memory.h5", "sick-sms.h5", "sick-ecc.h5", "sick-heat.h5"};
std::string seed;  // of x.h5, which the last round wrote

Answer sound_answer(Arguments words) {
  static std::map<Arguments, Answer> known;
  for (std::string& word : words)
    if (word == "x.h5") word = seed;
  const auto found = known.find(words);
  return found != known.end() ? found->second : known.emplace(words, answer_to(words)).first->second;
}

// ---- figures ----

// No device's figure, in any unit that is printed; of JSON, bytes and operations a second.
std::optional<std::string> absurd_figure(const std::string& text, double most, const std::string& sound) {
  const std::string poison = read("poison");  // of an axis, it stands there as the axis
  constexpr std::string_view between = " \n,:()[]{}|\"%=;";
  std::string_view before;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(between, at), text.size());
    std::string_view word(text.data() + at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const std::string_view last = std::exchange(before, word);
    std::string_view digits = word;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    double value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || rest != digits.data() + digits.size() || last == "of")
      continue;  // "samples: host_us of inf" names it
    if (error == std::errc() && std::abs(value) <= most) continue;
    if (sound.find(word) != std::string::npos || poison.find(word) != std::string::npos) continue;
    return fmt::format("a figure is {}", word.substr(0, 60));
  }
  return std::nullopt;
}

// ---- verdicts of check ----

struct Told {
  std::string verdict;
  std::map<std::string, std::string> health;  // by device and metric, the worst
  std::map<std::string, double> figures;
};

Told told(const std::string& out) {
  const nlohmann::json all_of_it = nlohmann::json::parse(out);
  Told all{all_of_it["verdict"], {}, {}};
  for (const nlohmann::json& one : all_of_it["findings"]) {
    std::string& health = all.health[one["device"].get<std::string>() + ' ' + one["metric"].get<std::string>()];
    if (health.empty() || health == "pass") health = one["health"];
  }
  for (const nlohmann::json& one : all_of_it["key_figures"])
    if (one["value"].is_number())
      all.figures[one["device"].get<std::string>() + ' ' + one["metric"].get<std::string>()] = one["value"];
  return all;
}

std::optional<std::string> better_verdict(const std::string& out, const std::string& sound_out) {
  const Told now = told(out), sound = told(sound_out);
  if (now.verdict != "ok") return std::nullopt;
  if (sound.verdict != "ok") return "ok, where the sound trace is " + sound.verdict;
  for (const auto& [what, health] : sound.health) {
    const auto found = now.health.find(what);
    if (health == "pass" && found == now.health.end()) return "ok without a word about " + what;
  }
  for (const auto& [what, value] : sound.figures) {
    const auto found = now.figures.find(what);
    if (found == now.figures.end()) return "ok without a figure for " + what;
    if (const double times = found->second / value; !(times < 2 && times > 0.5))
      return fmt::format("ok with {} of {:g}, and not {:g}", what, found->second, value);
  }
  return std::nullopt;
}

}  // namespace

void make_poison_seeds() {
  make_traces();
  const std::string devices = "sim:" NPGPU_SOURCE_DIR "/data/devices/";
  make("level2.h5", {"check", "--level", "2", "--device", "sim:h200"});
  make("costs.h5", {"characterize", "--quick", "--device", "sim:gts250"});
  make("characterized.h5", {"characterize", "--quick", "--device", "sim:h200"});
  make("pieces.h5", {"pieces", "--device", "sim:h200", "--pieces", "1,16,64", "--piece-bytes", "512,4KiB"});
  make("energy.h5", {"energy", "--device", "sim:h200", "--window", "1s"});
  for (const auto& [path, spec] :
       {std::pair{"sick-lanes.h5", "half-the-lanes"}, std::pair{"sick-memory.h5", "slow-memory"},
        std::pair{"sick-sms.h5", "three-sms-missing"}, std::pair{"sick-ecc.h5", "ecc-errors"},
        std::pair{"sick-heat.h5", "thermal-throttle"}})
    make(path, {"check", "--level", "1", "--device", devices + "sick/" + spec + ".json"});
}

std::vector<Arguments> poisons(Random& random) {
  static const Arguments job{"--bytes-in", "64MiB", "--kernel-ms", "1", "--bytes-out", "64MiB"};
  static const std::vector<Arguments> all{
      {"check", "--trace", "x.h5", "--level", "2"},
      {"check", "--trace", "check.h5", "--reference", "x.h5"},
      {"report", "x.h5"},
      {"report", "x.h5", "--all"},
      {"report", "x.h5", "--every-size"},
      {"report", "x.h5", "--json"},
      {"report", "x.h5", "--html", "x.html", "--force"},
      {"export", "x.h5", "--format", "json"},
      {"export", "x.h5", "--table", "probes", "--summary"},
      {"derive", "x.h5"},
      {"derive", "x.h5", "--json"},
      {"derive", "x.h5", "--published"},
      {"roofline", "x.h5"},
      {"roofline", "x.h5", "--json"},
      {"roofline", "x.h5", "--counts", "mine=2TFLOP,80GB,40ms"},
      {"compare", "SEED", "x.h5"},
      {"compare", "x.h5", "SEED", "--all"},
      {"compare", "check.h5", "x.h5", "--other-hardware"},
      {"fleet", "x.h5", "SEED", "check.h5", "again.h5"},
      {"predict", "x.h5", "JOB"},
      {"predict", "x.h5", "JOB", "--json"},
      {"predict", "x.h5", "JOB", "--code"},
      {"predict", "x.h5", "JOB", "--blocks", "4096", "--model", "all"},
      {"predict", "x.h5", "--flops", "2e9", "--bytes-moved", "12GB", "--blocks", "3906250", "--threads", "256"},
      {"predict", "SEED", "--measured", "x.h5"},
      {"predict", "x.h5", "--measured", "SEED"},
      {"predict", "x.h5", "--all-reduce", "1MiB"},
      {"predict", "x.h5", "--pieces", "100", "--piece-bytes", "12KiB"},
      {"simulate", "--trace", "x.h5", "JOB"},
      {"simulate", "--trace", "x.h5", "JOB", "--json"},
      {"simulate", "--trace", "x.h5", "JOB", "--blocks", "4096", "--streams", "8"},
      {"merge", "out.h5", "x.h5", "again.h5", "--incomplete", "--force"},
      {"check", "--level", "1", "--device", "sim:h200", "--quiet", "--progress=none", "--resume", "--output", "x.h5"},
  };
  const bool is_sick = one_in(random, 4);
  seed = one_of(random, is_sick ? sick : healthy);
  std::string what = seed + ' ';
  write("x.h5", poisoned_trace(read(seed), random, what));
  write("poison", what + '\n');
  std::vector<Arguments> some{{"check", "--trace", "x.h5", "--all", "--json"}};
  for (int i = 0; i < 3; ++i) {
    Arguments words;
    for (const std::string& word : one_of(random, all))
      if (word == "JOB") words.insert(words.end(), job.begin(), job.end());
      else words.push_back(word == "SEED" ? seed : word);
    some.push_back(words);
  }
  return some;
}

std::optional<std::string> flaw_beside_sound(const Arguments& words, const Answer& answer) {
  const auto because = [&](const std::string& flaw) { return flaw + "; " + read("poison"); };
  if (answer.code == 2 || has(words, "--resume") || words.front() == "merge") return std::nullopt;
  const Answer sound = sound_answer(words);
  const bool is_verdict = words.front() == "check" || words.front() == "compare" || words.front() == "fleet";
  if (is_verdict && has(words, "--json") && answer.code != 1 && sound.code != 1)
    if (auto flaw = better_verdict(answer.out, sound.out)) return because(*flaw);
  if (is_verdict && answer.code == 0 && sound.code != 0)
    return because(fmt::format("exit code 0 and not {}", sound.code));
  if (words.front() == "export") return std::nullopt;  // gives what is there
  constexpr double of_people = 1e12, of_json = 1e18;
  if (auto flaw = absurd_figure(answer.out + ' ' + answer.err, has(words, "--json") ? of_json : of_people, sound.out))
    return because(*flaw);
  return std::nullopt;
}

}  // namespace npgpu::fuzz
