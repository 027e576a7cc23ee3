// What a simulated kernel leaves: a few real bytes, so that the faults of a spec reach them.
#pragma once

#include <fmt/format.h>

#include <array>

#include "netpipe/devices/simulated/device.hpp"

namespace npgpu::simulated {

class Result {
 public:
  // The device must outlive it.
  explicit Result(Device& device) : device_(device) { payload_.data = bytes_.data(); }
  ~Result() { device_.forget(payload_); }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  // What no run of the point leaves that is prepared.
  void poison() {
    ++prepared_;
    run_ = 0;
    bytes_.fill(std::byte{0xA5});
    device_.write("poison", payload_, bytes_.size());
  }
  // Launches a kernel and waits for it, as Device::run_kernel() does; it leaves other bytes for every point and run.
  double run(Seconds launch, Seconds latency, Seconds kernel, Stream* gate = nullptr, double touched = 0) {
    ++run_;
    bytes_ = expected();
    return device_.run_kernel(launch, latency, kernel, payload_, bytes_.size(), gate, touched);
  }
  // What is wrong with what the last run left; nothing if it is right.
  std::optional<std::string> wrong() {
    device_.touch("read back");
    const Bytes wanted = expected();
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (bytes_[i] != wanted[i])
        return fmt::format("byte {} of the result is {:#04x}, not {:#04x}", i, static_cast<unsigned>(bytes_[i]),
                           static_cast<unsigned>(wanted[i]));
    return std::nullopt;
  }

 private:
  using Bytes = std::array<std::byte, 64>;
  Bytes expected() const {
    Bytes bytes;
    std::uint64_t state = prepared_ * 0x9E3779B97F4A7C15 + run_;
    for (std::byte& byte : bytes) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = static_cast<std::byte>(state >> 56);
    }
    return bytes;
  }

  Device& device_;
  std::uint64_t prepared_ = 0, run_ = 0;
  Bytes bytes_{};
  Payload payload_;
};

}  // namespace npgpu::simulated
