#include "netpipe/ranks/group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iostream>
#include <utility>

#include "npgpu/vocabulary/device.hpp"

namespace npgpu::ranks {

int rounds_of(int size) { return size < 2 ? 0 : size % 2 == 0 ? size - 1 : size; }

std::optional<int> partner_of(int rank, int size, int round) {
  const int turning = rounds_of(size);  // places 0 .. turning-1 turn, and one more stays
  // Two places that turn meet where their sum is twice the round's; the one that would meet itself has the place that
  // stays, or rests.
  int partner = 0;
  if (rank == turning) partner = round;
  else partner = ((2 * round - rank) % turning + turning) % turning;
  if (partner == rank) partner = turning;
  if (partner >= size) return std::nullopt;
  return partner;
}

std::vector<int> partners_of(int rank, int size) {
  std::vector<int> all;
  for (int round = 0; round < rounds_of(size); ++round)
    if (const auto partner = partner_of(rank, size, round)) all.push_back(*partner);
  return all;
}

std::string text_of(const Place& place) { return place.device + '@' + std::to_string(place.rank); }

std::optional<Place> parse_place(const std::string& text) {
  const std::size_t at = text.rfind('@');
  if (at == text.npos || at == 0) return std::nullopt;
  Place place{text.substr(0, at), 0};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at + 1, end, place.rank);
  if (read.ec != std::errc() || read.ptr != end || place.rank < 0) return std::nullopt;
  return place;
}

TransferCase rank_case(const Place& source, const Place& target, std::string_view module) {
  const bool on_hosts = source.device == "host" && target.device == "host";
  return {.module = std::string(module),
          .source = text_of(source),
          .target = text_of(target),
          .pattern = Pattern::pingpong,
          .direction = on_hosts ? Direction::h2h : Direction::peer,
          .memory = on_hosts ? Memory::pageable : Memory::device,
          .executor = Executor::cpu,
          .access = on_hosts ? Access::write : Access::staged};
}

namespace {

// Texts one after the other, each behind its length.
std::string packed(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += std::to_string(one.size()) + ':' + one;
  return text;
}

std::vector<std::string> unpacked(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t colon = text.find(':', at);
    if (colon == text.npos) throw Error(ErrorKind::failed, "a rank's message cannot be read");
    const std::size_t bytes = std::stoul(text.substr(at, colon - at));
    all.push_back(text.substr(colon + 1, bytes));
    at = colon + 1 + bytes;
  }
  return all;
}

}  // namespace

void Group::wait_for(const std::vector<Word*>& words, const std::function<void(Word&)>& ask, Seconds until_parted) {
  // An MPI library that gives its processor away at each question may get it back milliseconds later.
  constexpr std::uint64_t asks_between = 16;
  constexpr Seconds asleep{1};  // this process itself was stopped, and nobody is late for that
  Seconds begin = steady_clock().now(), looked = begin;
  Seconds stopped_at{-1};
  bool said = false;
  const auto missing = [&] {
    std::vector<std::string> names;
    for (const Word* word : words)
      if (!word->is_done) names.push_back(names_[static_cast<std::size_t>(word->rank)]);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  const auto one = [&] { return std::ranges::count(words, false, &Word::is_done) == 1; };
  for (std::uint64_t asked = 0;; ++asked) {
    for (Word* word : words)
      if (!word->is_done) ask(*word);
    if (std::ranges::all_of(words, &Word::is_done)) return;
    if (asked % asks_between != 0) continue;
    const Seconds now = steady_clock().now();
    if (now - looked > asleep) begin += now - looked;
    looked = now;
    const Seconds waited = now - begin;
    if (stopped_at < Seconds{0} && is_stopped()) stopped_at = now;
    if (stopped_at >= Seconds{0} && now - stopped_at > patience_.last_wait)
      throw RankLost(fmt::format("{} {} gone, and this rank was stopped by a signal", missing(), one() ? "is" : "are"));
    if (!said && waited > patience_.until_said) {
      std::cerr << fmt::format("npgpu: waiting for {}\n", missing()) << std::flush;
      said = true;
    }
    if (waited > until_parted)
      throw RankLost(fmt::format("{} did not answer for {:.0f} s: {} than --rank-timeout allows", missing(),
                                 until_parted.count(), one() ? "it hangs, or is slower" : "they hang, or are slower"));
  }
}

std::vector<std::string> Group::hear(const std::vector<int>& ranks, Seconds until_parted) {
  std::vector<Word*> words;
  for (const int rank : ranks) words.push_back(&words_.emplace_back(Word{rank}));
  const auto ask = [&](Word& word) {
    if (!word.is_begun) {
      const auto bytes = world_.coming(word.rank, Tag::control);
      if (!bytes) return;
      word.text.assign(*bytes, '\0');
      word.request = world_.begin_receive(word.text.data(), *bytes, word.rank, Tag::control);
      word.is_begun = true;
    }
    word.is_done = world_.is_done(word.request);  // a long one comes in parts
    if (word.is_done && patience_.heard) patience_.heard();
  };
  wait_for(words, ask, until_parted);
  std::vector<std::string> texts;
  for (Word* word : words) texts.push_back(std::move(word->text));
  std::erase_if(words_, [&](const Word& word) { return std::ranges::find(words, &word) != words.end(); });
  return texts;
}

Group::Word& Group::begin_word(int rank, const std::string& text) {
  Word& word = words_.emplace_back(Word{rank, text});
  word.request = world_.begin_send(word.text.data(), word.text.size(), rank, Tag::control);
  word.is_begun = true;
  return word;
}

void Group::tell(int rank, const std::string& text) {
  finish(begin_word(rank, text).request, rank);
  words_.pop_back();
}

void Group::finish(Request& request, int rank) {
  Word word{rank};
  wait_for(
      {&word}, [&](Word& one) { one.is_done = world_.is_done(request); }, patience_.until_parted);
}

std::vector<std::string> Group::of_all(const std::string& mine) {
  const int me = world_.rank();
  if (members_.size() == 2) {  // both at once; a word is short enough to leave without a receiver
    const int other = partner();
    Request& sent = begin_word(other, mine).request;
    std::string theirs = hear(other);
    finish(sent, other);
    words_.pop_back();
    return leads() ? std::vector{mine, std::move(theirs)} : std::vector{std::move(theirs), mine};
  }
  if (!leads()) {
    tell(members_.front(), mine);
    // The leader may have come last, and waits for others in its turn: it says who is missing.
    return unpacked(hear({members_.front()}, 2 * patience_.until_parted + Seconds{1}).front());
  }
  std::vector<std::string> all = hear({members_.begin() + 1, members_.end()}, patience_.until_parted);
  all.insert(all.begin(), mine);
  const std::string text = packed(all);
  for (const int rank : members_)
    if (rank != me) tell(rank, text);
  return all;
}

std::string Group::of_leader(const std::string& mine) {
  if (!leads()) return hear(members_.front());
  for (const int rank : members_)
    if (rank != world_.rank()) tell(rank, mine);
  return mine;
}

ClockOffset clock_offset(World& world, Group& group) {
  constexpr int trips = 100;
  const int other = group.partner();
  // Static: where the other one never answers, the library may yet write there.
  static thread_local double theirs;
  const auto send = [&] {
    Request sent = world.begin_send(&theirs, sizeof theirs, other, Tag::ack);
    group.finish(sent, other);
  };
  const auto receive = [&] {
    Request coming = world.begin_receive(&theirs, sizeof theirs, other, Tag::ack);
    group.finish(coming, other);
  };
  theirs = 0;
  group.any(false);  // both are here
  ClockOffset best{Seconds{0}, Seconds{1e9}};
  for (int i = 0; i < trips; ++i) {
    if (group.leads()) {
      const Seconds sent = steady_clock().now();
      send();
      receive();
      const Seconds round_trip = steady_clock().now() - sent;
      if (round_trip < best.round_trip) best = {sent + round_trip / 2 - Seconds{theirs}, round_trip};
    } else {
      receive();
      theirs = steady_clock().now().count();
      send();
    }
  }
  const std::string text =
      group.of_leader(fmt::format("{:.17g} {:.17g}", best.offset.count(), best.round_trip.count()));
  char* end = nullptr;
  best.offset = Seconds{std::strtod(text.c_str(), &end)};
  best.round_trip = Seconds{std::strtod(end, nullptr)};
  return best;
}

}  // namespace npgpu::ranks
