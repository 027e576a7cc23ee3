#include "netpipe/ranks/group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <optional>
#include <utility>

#include "npgpu/clock.hpp"
#include "npgpu/error.hpp"

namespace npgpu::ranks {

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

void Group::tell(int rank, const std::string& text) { world_.send(text.data(), text.size(), rank, Tag::control); }

std::vector<std::string> Group::hear(const std::vector<int>& ranks, Seconds until_parted) {
  const Seconds begin = steady_clock().now();
  Seconds stopped_at{-1};
  bool said = false;
  std::vector<std::optional<std::string>> heard(ranks.size());
  const auto missing = [&] {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (!heard[i]) names.push_back(names_[static_cast<std::size_t>(ranks[i])]);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  const auto one = [&] { return std::ranges::count(heard, false, &std::optional<std::string>::has_value) == 1; };
  for (std::uint64_t asked = 0;; ++asked) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (const auto bytes = heard[i] ? std::nullopt : world_.coming(ranks[i], Tag::control)) {
        heard[i].emplace(*bytes, '\0');
        world_.receive(heard[i]->data(), *bytes, ranks[i], Tag::control);
      }
    if (std::ranges::all_of(heard, [](const auto& word) { return word.has_value(); })) break;
    if (asked % 256 != 0) continue;
    const Seconds now = steady_clock().now(), waited = now - begin;
    if (stopped_at < Seconds{0} && patience_.stopped && patience_.stopped()) stopped_at = now;
    if (stopped_at >= Seconds{0} && now - stopped_at > patience_.last_wait)
      throw Parted(fmt::format("{} {} gone, and this rank was stopped by a signal", missing(), one() ? "is" : "are"));
    if (!said && waited > patience_.until_said) {
      std::cerr << fmt::format("npgpu: waiting for {}\n", missing()) << std::flush;
      said = true;
    }
    if (waited > until_parted)
      throw Parted(fmt::format("{} did not answer for {:.0f} s: {} than --rank-timeout allows", missing(),
                               until_parted.count(), one() ? "it hangs, or is slower" : "they hang, or are slower"));
  }
  std::vector<std::string> words;
  for (auto& word : heard) words.push_back(std::move(*word));
  return words;
}

std::vector<std::string> Group::of_all(const std::string& mine) {
  const int me = world_.rank();
  if (members_.size() == 2) {  // both at once; a word is short enough to leave without a receiver
    const int other = partner();
    Request sent = world_.begin_send(mine.data(), mine.size(), other, Tag::control);
    std::string theirs = hear(other);
    world_.wait(sent);
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
  group.any(false);  // both are here
  ClockOffset best{Seconds{0}, Seconds{1e9}};
  double theirs = 0;
  for (int i = 0; i < trips; ++i) {
    if (group.leads()) {
      const Seconds sent = steady_clock().now();
      world.send(&theirs, sizeof theirs, other, Tag::ack);
      world.receive(&theirs, sizeof theirs, other, Tag::ack);
      const Seconds round_trip = steady_clock().now() - sent;
      if (round_trip < best.round_trip) best = {sent + round_trip / 2 - Seconds{theirs}, round_trip};
    } else {
      world.receive(&theirs, sizeof theirs, other, Tag::ack);
      theirs = steady_clock().now().count();
      world.send(&theirs, sizeof theirs, other, Tag::ack);
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
