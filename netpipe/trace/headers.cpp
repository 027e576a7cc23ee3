#include "netpipe/trace/headers.hpp"

#include <fmt/format.h>

#include "netpipe/trace/attributes.hpp"

namespace npgpu::trace {

namespace {

template <class Enum>
void put_word(hid_t group, const char* attribute, Enum value) {
  put(group, attribute, std::string(name(value)));
}

template <class Enum>
Enum get_word(hid_t group, const std::string& where, const char* attribute) {
  const std::string word = get_text(group, where, attribute);
  if (const auto value = named<Enum>(word)) return *value;
  throw FormatError(fmt::format("attribute '{}' of {} is '{}', none of {}", attribute, where, word, choices<Enum>()));
}

// What all kinds of group say of how, on what and with what result they were measured.
template <class S>
void put_common(hid_t group, const S& sweep) {
  put(group, "schedule", sweep.schedule);
  put(group, "device_uuid", sweep.device_uuid);
  put(group, "device_name", sweep.device_name);
  put(group, "simulated", sweep.simulated);
  put(group, "binding", sweep.binding);
  put(group, "error", sweep.error);
}

template <class S>
void get_common(hid_t group, const std::string& where, S& sweep) {
  sweep.schedule = get_text(group, where, "schedule");
  sweep.device_uuid = get_text(group, where, "device_uuid");
  sweep.device_name = get_text(group, where, "device_name");
  sweep.simulated = get_flag(group, where, "simulated");
  sweep.binding = get_text(group, where, "binding");
  sweep.error = get_text(group, where, "error");
}

std::uint32_t get_small(hid_t group, const std::string& where, const char* attribute) {
  const std::uint64_t value = get_count(group, where, attribute);
  if (value > UINT32_MAX) throw FormatError(fmt::format("attribute '{}' of {} is {}, which is too large", attribute, where, value));
  return static_cast<std::uint32_t>(value);
}

void put_small(hid_t group, const char* attribute, std::uint32_t value) { put(group, attribute, std::uint64_t{value}); }

}  // namespace

void put_header(hid_t group, const TransferSeries& sweep) {
  const TransferCase& c = sweep.question;
  put(group, "module", c.module);
  put(group, "device", c.device);
  put_word(group, "pattern", c.pattern);
  put_word(group, "direction", c.direction);
  put_word(group, "memory", c.memory);
  put(group, "async", c.async);
  put_word(group, "timing", c.timing);
  put_word(group, "cache", c.cache);
  put(group, "source_offset_bytes", c.source_offset);
  put(group, "target_offset_bytes", c.target_offset);
  put(group, "bind", c.bind);
  put(group, "limit_bytes_per_s", sweep.limit.per_s);
  put(group, "limit_source", sweep.limit.source);
  put_common(group, sweep);
}

void get_header(hid_t group, const std::string& where, TransferSeries& sweep) {
  TransferCase& c = sweep.question;
  c.module = get_text(group, where, "module");
  c.device = get_text(group, where, "device");
  c.pattern = get_word<Pattern>(group, where, "pattern");
  c.direction = get_word<Direction>(group, where, "direction");
  c.memory = get_word<Memory>(group, where, "memory");
  c.async = get_flag(group, where, "async");
  c.timing = get_word<Timing>(group, where, "timing");
  c.cache = get_word<Cache>(group, where, "cache");
  c.source_offset = get_count(group, where, "source_offset_bytes");
  c.target_offset = get_count(group, where, "target_offset_bytes");
  c.bind = get_flag(group, where, "bind");
  sweep.limit.per_s = get_real(group, where, "limit_bytes_per_s");
  sweep.limit.source = get_text(group, where, "limit_source");
  get_common(group, where, sweep);
}

void put_header(hid_t group, const ProbeSeries& sweep) {
  const ProbeCase& c = sweep.question;
  put(group, "probe", c.probe);
  put(group, "device", c.device);
  put_word(group, "operation", c.operation);
  put_word(group, "type", c.type);
  put_word(group, "form", c.form);
  put_word(group, "space", c.space);
  put(group, "peak_per_s", sweep.limit.per_s);
  put(group, "peak_source", sweep.limit.source);
  const Layout& l = sweep.layout;
  put_small(group, "units", l.units);
  put_small(group, "lanes", l.lanes);
  put_small(group, "max_threads_per_block", l.max_threads_per_block);
  put_small(group, "max_threads_per_unit", l.max_threads_per_unit);
  put_small(group, "max_blocks_per_unit", l.max_blocks_per_unit);
  put(group, "cache_bytes", l.cache_bytes);
  put(group, "near_cache_bytes", l.near_cache_bytes);
  put(group, "memory_bytes", l.memory_bytes);
  put(group, "clock_mhz", l.clock_mhz);
  put_common(group, sweep);
}

void get_header(hid_t group, const std::string& where, ProbeSeries& sweep) {
  ProbeCase& c = sweep.question;
  c.probe = get_text(group, where, "probe");
  c.device = get_text(group, where, "device");
  c.operation = get_word<Operation>(group, where, "operation");
  c.type = get_word<DataType>(group, where, "type");
  c.form = get_word<Form>(group, where, "form");
  c.space = get_word<Space>(group, where, "space");
  sweep.limit.per_s = get_real(group, where, "peak_per_s");
  sweep.limit.source = get_text(group, where, "peak_source");
  Layout& l = sweep.layout;
  l.units = get_small(group, where, "units");
  l.lanes = get_small(group, where, "lanes");
  l.max_threads_per_block = get_small(group, where, "max_threads_per_block");
  l.max_threads_per_unit = get_small(group, where, "max_threads_per_unit");
  l.max_blocks_per_unit = get_small(group, where, "max_blocks_per_unit");
  l.cache_bytes = get_count(group, where, "cache_bytes");
  l.near_cache_bytes = get_count(group, where, "near_cache_bytes");
  l.memory_bytes = get_count(group, where, "memory_bytes");
  l.clock_mhz = get_real(group, where, "clock_mhz");
  get_common(group, where, sweep);
}

void put_header(hid_t group, const JobSeries& sweep) {
  const JobCase& c = sweep.question;
  put(group, "device", c.device);
  put_word(group, "workload", c.workload);
  put_word(group, "order", c.order);
  put_word(group, "pool", c.pool);
  put_code(group, "gated", static_cast<std::uint8_t>(c.gating));
  put_common(group, sweep);
}

void get_header(hid_t group, const std::string& where, JobSeries& sweep) {
  JobCase& c = sweep.question;
  c.device = get_text(group, where, "device");
  c.workload = get_word<Workload>(group, where, "workload");
  c.order = get_word<Order>(group, where, "order");
  c.pool = get_word<StreamPool>(group, where, "pool");
  c.gating = static_cast<Gating>(get_code(group, where, "gated", Gating::last_stream_free));
  get_common(group, where, sweep);
}

}  // namespace npgpu::trace
