// Which case answers which question. Plans are made of these questions. Overview, check, compare, fleet and the
// references of side-by-side runs find a trace's series by them.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   for (const npgpu::TransferSeries& series : trace.of<npgpu::Transfers>())
//     if (npgpu::question_of(series.question) == npgpu::CopyQuestion::to_device)
//       std::cout << "host to device: " << npgpu::results(series).back().rate.value / 1e9 << " GB/s\n";
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "npgpu/call.hpp"
#include "npgpu/probe_description.hpp"
#include "npgpu/transfer.hpp"

namespace npgpu {

// Questions about copies of one flow of bytes, or of one flow and its reverse. The copies are back to back, unless the
// comment says otherwise.
enum class CopyQuestion {
  to_device,  // host to device, pinned memory, asynchronous, by the device's clock
  to_host,
  both_ways,
  to_device_queued,  // as to_device, by the host's clock: the time includes the calls
  to_host_queued,
  to_device_blocking,  // pinned, by the host's clock
  to_host_blocking,
  to_device_pageable,  // blocking, by the host's clock
  to_host_pageable,
  to_device_write_combined,
  within_device,  // asynchronous, by the device's clock
  within_device_cold,
  to_peer,  // into the memory of another device, by the device's clock
  within_host,
  within_host_cold,
  within_host_both_ways,
  there_and_back,  // ping-pong between host and device, pinned
  there_and_back_pageable,
  there_and_back_in_host,
};
template <>
inline constexpr std::array<std::string_view, 19> names_of<CopyQuestion>{"to-device",
                                                                         "to-host",
                                                                         "both-ways",
                                                                         "to-device-queued",
                                                                         "to-host-queued",
                                                                         "to-device-blocking",
                                                                         "to-host-blocking",
                                                                         "to-device-pageable",
                                                                         "to-host-pageable",
                                                                         "to-device-write-combined",
                                                                         "within-device",
                                                                         "within-device-cold",
                                                                         "to-peer",
                                                                         "within-host",
                                                                         "within-host-cold",
                                                                         "within-host-both-ways",
                                                                         "there-and-back",
                                                                         "there-and-back-pageable",
                                                                         "there-and-back-in-host"};

// Nothing if the case answers none of these questions: copies at offsets, on chosen NUMA nodes, by an executor that is
// not the device's usual one, of several lanes, between ranks, or next to a second process.
std::optional<CopyQuestion> question_of(const TransferCase&);
// The case that answers the question with this module, between host and device or within the device. Not for to_peer,
// which needs two devices.
TransferCase case_of(CopyQuestion, const std::string& module, const std::string& device);

// The question of the probe, if the case answers it. Nothing for a case in other memory or of another form.
std::optional<ProbeQuestion> question_of(const ProbeCase&);

enum class CallQuestion {
  launch,           // a kernel on an idle device
  launch_in_a_row,  // kernels back to back
  signal,           // a kernel, until the host sees what it writes
};
std::optional<CallQuestion> question_of(const CallCase&);

}  // namespace npgpu
