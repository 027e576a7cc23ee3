// Patterns that are compared with a rule: what each asks, its law, and what follows of it for a device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "npgpu/model/derive.hpp"
#include "npgpu/vocabulary/questions.hpp"
#include "probes/banks/shapes.hpp"
#include "probes/patterns/patterns.hpp"

namespace npgpu {

// ---- the laws' formulas
namespace {

constexpr unsigned warp_lanes = 32, bank_count = 32, lane_bytes = 4;

}  // namespace

unsigned bank_passes(unsigned stride) { return stride == 0 ? 1 : std::gcd(stride, bank_count); }

double random_passes(unsigned patterns) {
  return banks::passes_of(banks::words_of(banks::random, 1, patterns), bank_count, 1);
}

// The largest of 32 bins that get 32 balls, of which each has room for `patterns`: of all choices of 32 among the
// words, in how many no bank has more than m is a coefficient of (sum over j <= m of C(patterns, j) x^j)^32.
double expected_random_passes(unsigned patterns) {
  const auto choices = [](unsigned of, unsigned count) {
    double all = 1;
    for (unsigned j = 0; j < count; ++j) all *= static_cast<double>(of - j) / (j + 1);
    return all;
  };
  double expected = 0;
  for (unsigned most = 0; most < warp_lanes; ++most) {
    std::vector<double> of_some(warp_lanes + 1);  // choices of so many words in the banks so far
    of_some[0] = 1;
    for (unsigned bank = 0; bank < bank_count; ++bank) {
      std::vector<double> with(warp_lanes + 1);
      for (unsigned count = 0; count <= warp_lanes; ++count)
        for (unsigned j = 0; j <= std::min({most, patterns, warp_lanes - count}); ++j)
          with[count + j] += of_some[count] * choices(patterns, j);
      of_some = std::move(with);
    }
    expected += 1 - of_some[warp_lanes] / choices(bank_count * patterns, warp_lanes);
  }
  return expected;
}

unsigned constant_passes(unsigned stride) { return stride == 0 ? 1 : warp_lanes; }

unsigned pieces_touched(unsigned stride, unsigned offset_bytes, unsigned piece_bytes) {
  std::set<std::uint64_t> pieces;
  for (std::uint64_t lane = 0; lane < warp_lanes; ++lane)
    pieces.insert((offset_bytes + lane * stride * lane_bytes) / piece_bytes);
  return static_cast<unsigned>(pieces.size());
}

unsigned atomic_passes(unsigned stride) { return stride == 0 ? warp_lanes : bank_passes(stride); }

unsigned ways_of_warp(unsigned stride, unsigned ways) {
  if (stride == 0) return 1;
  return std::min(ways, (warp_lanes + stride - 1) / stride);
}

unsigned transfers_of_tile(unsigned threads) {
  return static_cast<unsigned>(std::lround(warp_lanes / std::sqrt(static_cast<double>(threads))));
}

double waves_of(const Shape& s, const Layout& l) {
  return std::ceil(static_cast<double>(s.blocks) / l.units / resident_blocks(l, s));
}

// ---- the patterns

namespace {

// Reads of 4-byte words in these spaces.
std::vector<ProbeCase> reads_of(const char* probe, const std::string& device, std::initializer_list<Space> spaces) {
  std::vector<ProbeCase> all;
  for (const Space space : spaces)
    all.push_back({.probe = probe, .device = device, .operation = Operation::read, .space = space});
  return all;
}

}  // namespace

const Joined<ProbeDescription> onchip_description(
    {.name = "onchip",
     .summary = "reads of shared memory by stride (bank conflicts), of L1, of L2, and of constants",
     .question = ProbeQuestion::cache_bandwidth,
     .axes = {.stride = true},
     .laws = {{.space = Space::shared,
               .passes = [](const Shape& s, const Layout&) -> double { return bank_passes(s.stride); },
               .rule = "a warp's access takes gcd(stride, 32) passes, and one where all lanes read one word",
               .counts = "passes of shared memory",
               .shows_banks = true},
              {.space = Space::constant,
               .passes = [](const Shape& s, const Layout&) -> double { return constant_passes(s.stride); },
               .rule = "a warp's access takes a pass for each different word",
               .counts = "passes of the cache of constants"}},
     .unit_rates =
         {{Space::shared, "shared bandwidth", "reads of shared memory, 4 bytes a lane, without conflicts"},
          {Space::l1, "L1 bandwidth", "reads that L1 answers, 16 bytes a lane"},
          {Space::constant, "constant bandwidth", "one word for a whole warp, 4 bytes counted for each lane"},
          {Space::l2, "L2 bandwidth", "reads that L2 answers, 16 bytes a lane; all units read all of the set"},
          {Space::l2, "L2 bandwidth of a large set",
           "the same in sets of 55 to 80 % of L2, of which a partition that is half of it cannot keep copies of all",
           0.55, 0.8}},
     .cases =
         [](const std::string& device) {
           return reads_of("onchip", device, {Space::shared, Space::l1, Space::l2, Space::constant});
         },
     .there_are = "probe onchip reads fp32 words, streaming, in the spaces shared, l1, l2 and constant",
     .shapes = patterns::onchip_shapes,
     .usual_shapes = patterns::usual_onchip_shapes,
     .refuses = patterns::refuses_onchip,
     .key_figures = [](const ProbeCase& c) -> std::vector<FigureChoice> {
       return {{fmt::format("bandwidth of {}", name(c.space)), Among::fastest, FigureUnit::bytes_per_s}};
     }});

const Joined<ProbeDescription> access_description(
    {.name = "access",
     .summary = "a warp's loads by stride and offset (coalescing)",
     .axes = {.stride = true, .offset = true},
     .is_usual = false,
     .laws = {{.space = Space::l2,
               .passes = [](const Shape& s, const Layout&) -> double {
                 return pieces_touched(s.stride, s.offset_bytes, 32);
               },
               .rule = "a warp's access costs as many sectors of 32 bytes as it touches",
               .counts = "sectors of a warp's access",
               .where_not = "counters of an H200 find as many sectors as the law does. Sectors that warps ask for at "
                            "the same time leave L2 once, so large strides cost less; strides of 32 and more use one "
                            "sector of a line, and cost more",
               .size = HardwareSize{"sector size", "what L2 sends for a word that is asked for", 32}},
              {.space = Space::l1,
               .passes = [](const Shape& s, const Layout&) -> double {
                 return pieces_touched(s.stride, s.offset_bytes, 128);
               },
               .rule = "a warp's access costs as many lines of 128 bytes as it touches",
               .counts = "lines of a warp's access",
               .where_not = "counters of an H200 find gcd(stride, 32) wavefronts of an access, by its banks as in "
                            "shared memory; lines are looked up four in a cycle",
               .size = HardwareSize{"line size", "what a pass of L1 can serve of a warp's access", 128}}},
     .cases =
         [](const std::string& device) {
           return reads_of("access", device, {Space::l2, Space::l1});
         },
     .there_are = "probe access reads fp32 words, streaming, in the spaces l2 and l1",
     .shapes = patterns::access_shapes,
     .refuses = patterns::refuses_access,
     .no_limit = "none: a pattern's cost is compared with the law of sectors or lines"});

const Joined<ProbeDescription> atomics_description(
    {.name = "atomics",
     .summary = "additions to one word or many, in global and shared memory",
     .axes = {.stride = true},
     .is_usual = false,
     .counted = Counted{"atomics", "atomic additions"},
     .laws = {{.space = Space::shared,
               .passes = [](const Shape& s, const Layout&) -> double { return atomic_passes(s.stride); },
               .rule = "a warp's additions to one word take a pass for each lane",
               .counts = "passes of shared memory"}},
     .cases =
         [](const std::string& device) {
           std::vector<ProbeCase> all;
           for (const Space space : {Space::global, Space::shared})
             for (const Operation operation : {Operation::add, Operation::fetch})
               all.push_back({"atomics", device, operation, DataType::int32, Form::streaming, space});
           return all;
         },
     .there_are = "probe atomics has the operations add and fetch on int32 words in shared and global memory",
     .shapes = patterns::atomics_shapes,
     .refuses = patterns::refuses_atomics});

const Joined<ProbeDescription> divergence_description(
    {.name = "divergence",
     .summary = "a branch of several ways, taken by a warp's lanes or by whole warps",
     .axes = {.stride = true, .ways = true},
     .is_usual = false,
     .laws = {{.passes = [](const Shape& s, const Layout&) -> double { return ways_of_warp(s.stride, s.ways); },
               .rule = "a warp takes the ways of its lanes one after the other",
               .counts = "ways that a warp takes"}},
     .cases =
         [](const std::string& device) {
           return std::vector<ProbeCase>{
               {.probe = "divergence", .device = device, .operation = Operation::branch, .type = DataType::int32}};
         },
     .there_are = "probe divergence has the operation branch on int32 in registers only",
     .shapes = patterns::divergence_shapes,
     .refuses = patterns::refuses_divergence});

const Joined<ProbeDescription> reduction_description(
    {.name = "reduction",
     .summary = "the ladder of sums, from the simplest kernel to the best",
     .question = ProbeQuestion::ladder,
     .axes = {.rung = true},
     .is_usual = false,
     .cases =
         [](const std::string& device) {
           return std::vector<ProbeCase>{
               {"reduction", device, Operation::sum, DataType::int32, Form::streaming, Space::global}};
         },
     .there_are = "probe reduction has the operation sum on int32 in global memory only",
     .shapes = patterns::reduction_shapes,
     .refuses = patterns::refuses_reduction});

const Joined<ProbeDescription> product_description(
    {.name = "product",
     .summary = "a product of matrices, from global memory and by tiles in shared memory",
     .axes = {.rung = true},
     .is_usual = false,
     .laws = {{.passes = [](const Shape& s, const Layout&) -> double {
                 return transfers_of_tile(s.rung == 2 ? s.threads : 1);
               },
               .rule = "a tile of T * T brings an element in once for T uses, so the time falls as 1 / T",
               .counts = "transfers of an element for 32 uses",
               .among_all = true}},
     .cases =
         [](const std::string& device) {
           return std::vector<ProbeCase>{
               {"product", device, Operation::fma, DataType::fp32, Form::streaming, Space::global}};
         },
     .there_are = "probe product has the operation fma on fp32 in global memory only",
     .shapes = patterns::product_shapes,
     .refuses = patterns::refuses_product,
     .key_figures = [](const ProbeCase&) { return std::vector<FigureChoice>{}; }});

const Joined<ProbeDescription> staging_description(
    {.name = "staging",
     .summary = "from global into shared memory by plain loads, asynchronous and bulk copies",
     .axes = {.rung = true},
     .is_usual = false,
     .cases =
         [](const std::string& device) {
           return std::vector<ProbeCase>{
               {"staging", device, Operation::read, DataType::int32, Form::streaming, Space::global}};
         },
     .there_are = "probe staging reads int32 words of global memory only",
     .shapes = patterns::staging_shapes,
     .refuses = patterns::refuses_staging});

const Joined<ProbeDescription> occupancy_description(
    {.name = "occupancy",
     .summary = "loads that wait for each other, by the blocks that registers and shared memory allow",
     .axes = {.resources = true},
     .is_usual = false,
     .laws = {{.passes = waves_of,
               .rule = "a unit holds as many blocks as its threads, registers and shared memory allow, and work that "
                       "waits for L2 goes as fast as there are blocks",
               .counts = "waves of blocks"}},
     .cases =
         [](const std::string& device) {
           return std::vector<ProbeCase>{
               {"occupancy", device, Operation::read, DataType::int32, Form::dependent, Space::l2}};
         },
     .there_are = "probe occupancy reads int32 words in L2, each load waiting for the one before",
     .no_limit = "none: what fewer blocks cost is compared with the law of resident blocks"});

}  // namespace npgpu
