#include "netpipe/ranks/rank_set.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "netpipe/devices/host/watch.hpp"
#include "netpipe/process/child.hpp"
#include "npgpu/model/figures.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

namespace {

std::unique_ptr<RankSet> met;

// Both reach the same ranks by the same numbers; where one rank fails, all throw what it says.
AddressedWorld& connected_world(World& launcher, Group& everyone, std::string_view module) {
  AddressedWorld* world = nullptr;
  std::string address;
  const auto together = [&](auto&& work) {
    const std::vector<std::string> said = everyone.of_all(failure_of(work));
    // What all say alike, for want of a library, is nobody's in particular.
    if (std::ranges::all_of(said, [&](const std::string& one) { return one == said[0]; })) return said[0];
    for (std::size_t i = 0; i < said.size(); ++i)
      if (!said[i].empty()) return everyone.who(i) + ": " + said[i];
    return std::string();
  };
  std::string failure = together([&] {
    world = &world_over(launcher, module);
    address = world->address();
  });
  if (!failure.empty()) throw Error(ErrorKind::usage, failure);
  const std::vector<std::string> addresses = everyone.of_all(address);
  failure = together([&] { world->connect(addresses); });
  if (!failure.empty()) throw Error(ErrorKind::failed, failure);
  return *world;
}

}  // namespace

RankSet::RankSet(std::string_view module, Patience patience)
    : world_(&ranks::world(patience.until_parted)), patience_(std::move(patience)) {
  patience_.heard = [this] { ++heard_; };
  std::vector<int> all(static_cast<std::size_t>(world_->size()));
  std::iota(all.begin(), all.end(), 0);
  for (const int rank : all) names_.push_back(fmt::format("rank {}", rank));
  everyone_ = std::make_unique<Group>(*world_, all, names_, patience_);
  const std::string here = process::host_name();
  processes_.resize(names_.size());
  if (size() < 2) return;
  const std::vector<std::string> said = everyone_->of_all(fmt::format("{} {}", ::getpid(), here));
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::size_t blank = said[i].find(' ');
    const std::string host = said[i].substr(blank + 1);
    names_[i] += " on " + host;
    if (host != here || static_cast<int>(i) == rank()) continue;
    const long pid = std::atol(said[i].c_str());
    processes_[i] = {pid, process::start_of(pid)};
    host::count_as_own(pid);
    local_rank_ += static_cast<int>(i) < rank();
  }
  everyone_ = std::make_unique<Group>(*world_, all, names_, patience_);
  if (module == "mpi") return;
  world_ = &connected_world(*world_, *everyone_, module);
  everyone_ = std::make_unique<Group>(*world_, all, names_, patience_);
}

std::string RankSet::lost() const {
  std::string all;
  for (std::size_t i = 0; i < processes_.size(); ++i)
    if (const std::string fate = process::fate_of(processes_[i].pid, processes_[i].start); !fate.empty())
      all += fmt::format("{}{} {}", all.empty() ? "" : ", ", names_[i], fate);
  if (!all.empty()) return all;
  return size() == 2 ? names_[static_cast<std::size_t>(1 - rank())] + " is gone, or hangs"
                     : "one of them is gone, or hangs";
}

Group& RankSet::with(int partner) {
  std::unique_ptr<Group>& pair = pairs_[partner];
  if (!pair) {
    // Where there are more than two, one may be busy with all others first.
    Patience patience = patience_;
    patience.until_parted *= std::max(1, size() - 1);
    patience.until_said *= std::max(1, size() - 1);
    pair = std::make_unique<Group>(*world_, std::vector{std::min(rank(), partner), std::max(rank(), partner)}, names_,
                                   std::move(patience));
  }
  return *pair;
}

Facts RankSet::facts() {
  Facts facts{{"rank", std::int64_t{rank()}},
              {"ranks", std::int64_t{size()}},
              {"local_rank", std::int64_t{local_rank_}},
              {"library", world_->library()},
              {"takes_device_memory", std::int64_t{world_->takes_device_memory()}}};
  for (int round = 0; round < rounds_of(size()); ++round) {
    const auto partner = partner_of(rank(), size(), round);
    if (!partner) continue;
    const ClockOffset clock = clock_offset(*world_, with(*partner));
    const std::string prefix = fmt::format("rank{}_", *partner);
    facts.emplace_back(prefix + "is", name(*partner));
    // What has to be added to the partner's steady clock for this rank's.
    facts.emplace_back(prefix + "clock_offset_us", microseconds(clock.offset) * (*partner > rank() ? 1 : -1));
    facts.emplace_back(prefix + "round_trip_us", microseconds(clock.round_trip));
    for (const auto& [extent, stages] : with(*partner).stages)
      for (std::size_t i = 0; i < stages.size(); ++i)
        facts.emplace_back(stage_fact(*partner, extent, static_cast<int>(i)), stage_text(stages[i]));
  }
  return facts;
}

Facts RankSet::chunks() const {
  Facts facts;
  for (const auto& [partner, pair] : pairs_)
    for (const auto& [name, choice] : pair->chunks)
      if (choice.taken > 0) facts.emplace_back(name, choice_text(choice));
  return facts;
}

void RankSet::recall_chunks(const Facts& facts) {
  for (int partner = 0; partner < size(); ++partner)
    for (const auto& [name, value] : facts)
      if (name.starts_with(fmt::format("rank{}_", partner)) && partner != rank())
        if (const auto choice = parse_choice(text_fact(facts, name))) with(partner).chunks[name] = *choice;
}

RankSet& connect(std::string_view module, const Patience& patience) {
  if (!met) met = std::make_unique<RankSet>(module, patience);
  return *met;
}

RankSet& rank_set() {
  if (!met) throw Error(ErrorKind::usage, "messages between ranks are measured by npgpu transfer only");
  return *met;
}

bool is_connected() { return met != nullptr; }

}  // namespace npgpu::ranks
