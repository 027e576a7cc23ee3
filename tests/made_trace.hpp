// Traces made by hand, and ways to spoil them.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "netpipe/trace/hdf5.hpp"
#include "npgpu/vocabulary/trace.hpp"
#include "tests/scratch.hpp"

namespace npgpu {

inline TraceRoot root_of(const std::string& uuid) {
  return {uuid,     "0.1.0", "abc123", "npgpu transfer --device host", "2026-11-21T06:19:25Z", "node17",
          "copies", 77,      false};
}

inline Provenance made_provenance() {
  return {{"build", {{"compiler", std::string("GCC 12.2")}, {"cuda", std::int64_t{0}}}},
          {"host", {{"memory_bytes", std::int64_t{1} << 40}, {"load", 0.25}, {"cpu", std::string("µarch 9")}}}};
}

inline TransferSeries header_of(Direction direction = Direction::h2d) {
  TransferSeries series;
  series.question = case_on("cudaMemcpy", "cuda:0", direction);
  series.schedule = "classic target 0.25 s trials 7";
  series.device_uuid = "GPU-1";
  series.device_name = "Test GPU";
  series.limit = {63.0e9, "PCIe Gen5 x16"};
  series.binding = "NUMA node 0";
  return series;
}

inline Visit<Transfers> visit_of(std::uint64_t bytes, std::uint32_t round = 0) {
  Visit<Transfers> visit;
  visit.axes.bytes = bytes;
  visit.round = round;
  visit.work = static_cast<double>(bytes);
  visit.stop = Stop::converged;
  visit.wall_us = 1234.5;
  visit.telemetry.sm_clock_mhz = 1980;
  visit.telemetry.throttle_reasons = 5;
  return visit;
}

// `count` samples whose numbers follow from bytes and trial.
inline std::vector<TransferSample> samples_of(std::uint64_t bytes, std::uint32_t count) {
  std::vector<TransferSample> samples(count);
  for (std::uint32_t trial = 0; trial < count; ++trial) {
    samples[trial].trial = trial;
    samples[trial].repeats = 100 + trial;
    samples[trial].host_us = static_cast<double>(bytes) + 0.5 * trial;
  }
  if (count > 0) samples.back().intact = 1;
  return samples;
}

inline void add(TraceWriter& writer, std::size_t series, std::uint64_t bytes, std::uint32_t count = 3,
                std::uint32_t round = 0) {
  writer.add<Transfers>(series, visit_of(bytes, round), samples_of(bytes, count));
}

// A finished trace of one series with a visit to each of 1, 2 and 4 bytes, 3 samples each.
inline void make_trace(const std::filesystem::path& path) {
  TraceWriter writer(path, IfExists::refuse, root_of("first"), made_provenance());
  const std::size_t series = writer.begin<Transfers>(header_of());
  for (const std::uint64_t bytes : {1, 2, 4}) add(writer, series, bytes);
  writer.finish();
}

// Changes a trace's inside: `change` gets the open HDF5 file.
inline void doctor(const std::filesystem::path& path, const std::function<void(hid_t)>& change) {
  trace::silence_hdf5();
  const trace::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  REQUIRE(file >= 0);
  change(file);
  REQUIRE(H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0);
}

// `act` gets copies of a made trace, each with some bits flipped. Each ends well, or in a sentence that names the file;
// both happen. HDF5 itself does crash on some of these; the child that goes first takes it. tests/crash/fuzz_trace.cpp
// does many more.
inline void each_damaged(unsigned seed, const std::function<void(const std::filesystem::path&)>& act) {
  const ScratchFolder folder;
  make_trace(folder / "t.h5");
  const std::string whole = contents(folder / "t.h5");
  std::mt19937 random(seed);
  int well = 0, refusals = 0;
  for (int round = 0; round < 60; ++round) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 8; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    write(folder / "d.h5", damaged);
    try {
      act(folder / "d.h5");
      ++well;
    } catch (const Error& e) {
      ++refusals;
      CHECK(std::string(e.what()).find("d.h5: ") != std::string::npos);
    }
  }
  CHECK(well > 0);
  CHECK(refusals > 0);
}

inline std::vector<std::uint64_t> sizes_of(const TransferSeries& series) {
  std::vector<std::uint64_t> sizes;
  for (const Visit<Transfers>& visit : series.visits) sizes.push_back(visit.axes.bytes);
  return sizes;
}

}  // namespace npgpu
