#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "npgpu/vocabulary/questions.hpp"
#include "probes/migration/shapes.hpp"

namespace npgpu::migration {

namespace {

constexpr std::uint64_t copied_bytes[] = {2 * MiB, 16 * MiB, 128 * MiB};
constexpr std::uint64_t touched_bytes = 64 * MiB;
constexpr std::uint32_t strides[] = {4 * KiB / word_bytes, 64 * KiB / word_bytes, 2 * MiB / word_bytes};

// Where pages may be before an operation.
std::vector<Pages> places(const ProbeCase& c) {
  if (c.space == Space::host) return {Pages::fixed};
  if (c.space == Space::pageable) return {Pages::host};
  switch (c.operation) {
    case Operation::read: return {Pages::device, Pages::host, Pages::in_place, Pages::copied};
    case Operation::write: return {Pages::device, Pages::host, Pages::in_place, Pages::untouched};
    default: return {Pages::device, Pages::host};
  }
}

bool by_a_grid(const ProbeCase& c) { return c.operation == Operation::read || c.operation == Operation::write; }

}  // namespace

std::vector<ProbeCase> cases(const std::string& device) {
  const auto one = [&](Operation operation, Space space) {
    return ProbeCase{.probe = "migration",
                     .device = device,
                     .operation = operation,
                     .type = DataType::int32,
                     .form = operation == Operation::chase ? Form::dependent : Form::streaming,
                     .space = space};
  };
  return {one(Operation::read, Space::managed),     one(Operation::write, Space::managed),
          one(Operation::prefetch, Space::managed), one(Operation::host_read, Space::managed),
          one(Operation::chase, Space::managed),    one(Operation::read, Space::pageable),
          one(Operation::read, Space::host),        one(Operation::write, Space::host)};
}

std::vector<Shape> shapes(const ProbeCase& c, const Layout& l) {
  std::vector<Shape> all;
  for (const Pages pages : places(c)) {
    if (c.operation == Operation::chase) {
      for (const std::uint32_t stride : strides)
        all.push_back({.access_bytes = word_bytes, .bytes = touched_bytes, .stride = stride, .pages = pages});
      continue;
    }
    for (const std::uint64_t bytes : copied_bytes) {
      Shape shape{.access_bytes = access_bytes, .bytes = bytes, .pages = pages};
      if (by_a_grid(c)) std::tie(shape.blocks, shape.threads, shape.ilp) = std::tuple(2 * l.units, threads, accesses);
      all.push_back(shape);
    }
  }
  return all;
}

std::optional<std::string> refuses(const ProbeCase& c, const Shape& s) {
  const auto known = places(c);
  if (std::ranges::find(known, s.pages) == known.end()) {
    std::vector<std::string_view> words;
    for (const Pages one : known) words.push_back(name(one));
    return fmt::format("pages {}: {} of {} memory takes {}", name(s.pages), name(c.operation), name(c.space),
                       fmt::join(words, ", "));
  }
  if (s.bytes > most_bytes)
    return fmt::format("{} of memory that moves page by page: at most {}, as more than a device has free can hang it",
                       size_text(s.bytes), size_text(most_bytes));
  if (s.one_block_per_sm) return "probe migration has no shape with one block per SM";
  if (c.operation == Operation::chase) {
    if (s.blocks != 1 || s.threads != 1 || s.ilp != 1 || s.access_bytes != word_bytes)
      return "one thread touches one word after the other: blocks=1, threads=1, ilp=1, access=4";
    if (s.stride == 0 || touches(s) == 0) return "a stride of 0, or beyond the working set";
    return std::nullopt;
  }
  if (s.stride != 1) return "only chase has strides";
  if (s.access_bytes != access_bytes) return "accesses are of 16 bytes: access=16";
  if (s.bytes < access_bytes || s.bytes % access_bytes) return "a working set of no whole accesses of 16 bytes";
  if (!by_a_grid(c) && (s.blocks != 1 || s.threads != 1 || s.ilp != 1))
    return "no grid takes part: blocks=1, threads=1, ilp=1";
  if (by_a_grid(c) && s.ilp != accesses) return "a thread has 4 accesses in flight: ilp=4";
  return std::nullopt;
}

std::uint64_t touches(const Shape& s) { return s.bytes / (std::uint64_t{s.stride} * word_bytes); }

double work(const ProbeCase& c, const Shape& s) {
  return static_cast<double>(c.operation == Operation::chase ? touches(s) : s.bytes);
}

}  // namespace npgpu::migration

namespace npgpu {

const Joined<ProbeDescription> migration_description(
    {.name = "migration",
     .summary = "managed memory that moves page by page between host and GPU, and memory of the host that a GPU reads",
     .question = ProbeQuestion::migration,
     .axes = {.stride = true, .pages = true},
     .is_usual = false,
     .cases = migration::cases,
     .there_are =
         "probe migration reads, writes, prefetches and chases int32 words of managed memory, and reads pageable "
         "and pinned memory",
     .shapes = migration::shapes,
     .refuses = migration::refuses,
     .no_limit = "unknown"});

}  // namespace npgpu
