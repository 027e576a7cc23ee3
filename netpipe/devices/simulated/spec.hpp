// What a simulated device is made of: its spec, a JSON file as data/devices/README.md describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/devices/simulated/condition.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu::simulated {

// One way to move bytes. A copy of b bytes takes latency + b / rate; the next one on the same engine may begin a gap
// after its end.
struct Link {
  double bytes_per_s = 0;
  Seconds latency{0};
  Seconds gap{0};
  double turned_bytes_per_s = 0;  // of a copy that follows one the other way in its stream; 0: the same
};

// What the calling thread pays for each form of call.
struct HostCosts {
  Seconds copy{0};         // a blocking copy, before its transfer
  Seconds copy_async{0};   // an asynchronous copy
  Seconds launch{0};       // closing a gate
  Seconds record{0};       // recording an event
  Seconds synchronize{0};  // waiting, after what was waited for has ended
  std::uint64_t gate_capacity = 1000;
};

// All factors are lognormal: a sigma of 0.01 is 1 % either way, with an unchanged median.
struct Noise {
  std::uint64_t seed = 1;
  double sigma = 0;            // of a whole trial: drawn anew after each synchronization
  double operation_sigma = 0;  // of each copy on its engine
  double outlier_rate = 0;     // share of trials that are outliers
  double outlier_factor = 10;  // how much longer those take
  // From one opening of the device to the next, as between the rounds of a run:
  double drift = 0;       // of everything
  double cost_drift = 0;  // of what the host pays and of latencies, each by itself
};

enum class FaultKind {
  fail,          // this call fails, later ones do not
  corrupt,       // a byte of the payload written last changes, at this call
  zeros,         // the payload written last is all zeros, at this call
  lost,          // this call and all later ones fail
  gate_timeout,  // a gate that is closed at this call opens by its time-out
};

struct Fault {
  std::uint64_t call = 0;   // from 1, counted from the opening of the device
  std::uint64_t every = 0;  // and then after every so many calls; 0: once
  FaultKind kind = FaultKind::fail;

  bool is_at(std::uint64_t number) const {
    return number == call || (every > 0 && number > call && (number - call) % every == 0);
  }
};

struct Spec {
  std::filesystem::path file;
  std::string name;
  std::string source;
  std::uint64_t memory_bytes = 0;
  HostCosts host;
  std::map<Memory, Link> h2d, d2h;
  std::optional<Link> d2d, h2h;
  int copy_engines = 2;
  double duplex_slowdown_h2d = 1,
         duplex_slowdown_d2h = 1;  // how much longer a transfer takes while one the other way runs
  double link_limit_bytes_per_s = not_measured, memory_limit_bytes_per_s = not_measured;
  Noise noise;
  std::vector<Fault> faults;
  Facts hardware;  // SMs, clocks, latencies: shown, and there for later work
  Condition condition;
  Course course;

  // Null if the spec has no such link. `memory` matters for h2d and d2h only.
  const Link* link(Direction, Memory memory) const;
  // A time of `hardware`, in microseconds there.
  Seconds time(std::string_view key, Seconds otherwise = Seconds{0}) const;
};

class JsonObject;

// Throws Error(usage) that names the file, the key and what was expected there.
Spec read_spec(const std::filesystem::path&);
// The same of an object that is that file's, or was made of it.
Spec read_spec(const JsonObject&, const std::filesystem::path& file);

// As a device called `id`, with every figure of the spec among its facts: a trace carries the truth it should find.
DeviceInfo info_of(const Spec&, const std::string& id);

}  // namespace npgpu::simulated

namespace npgpu {

template <>
inline constexpr std::array<std::string_view, 5> names_of<simulated::FaultKind>{"fail", "corrupt", "zeros", "lost",
                                                                                "gate-timeout"};

}  // namespace npgpu
