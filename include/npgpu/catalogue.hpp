// Which case stands for which question. Plans are made of these questions; overview, check, compare, fleet and the
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

// Copies of one flow of bytes, or of one and its reverse. Streams of copies, where it does not say otherwise.
enum class CopyQuestion {
  to_device,  // host to device, pinned memory, asynchronous, by the device's clock
  to_host,
  both_ways,
  to_device_queued,  // the same as to_device by the host's clock: the calls are in the time
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

// Nothing where the case stands for no such question: copies at offsets, of chosen NUMA nodes, by kernels or the
// other executor than usual, of several lanes, between ranks, beside a second process.
std::optional<CopyQuestion> question_of(const TransferCase&);
// The case by that module between host and device, or within the device. Not of to_peer, which names two devices.
TransferCase case_of(CopyQuestion, const std::string& module, const std::string& device);

// The probe's question, of a case that stands for it: not of one in other memory or of another form.
std::optional<ProbeQuestion> question_of(const ProbeCase&);

enum class CallQuestion {
  launch,           // of a kernel on an idle device
  launch_in_a_row,  // of kernels back to back
  signal,           // of a kernel until the host sees what it writes
};
std::optional<CallQuestion> question_of(const CallCase&);

}  // namespace npgpu
