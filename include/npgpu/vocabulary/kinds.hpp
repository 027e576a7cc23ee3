// All kinds of measurement. A new kind is a header like npgpu/vocabulary/transfer.hpp, and a word in this one.
//
// Example:
//   const npgpu::Trace trace = npgpu::read_trace("node.h5");
//   npgpu::for_each_kind([&]<class K>() {
//     std::size_t visits = 0;
//     for (const npgpu::Series<K>& series : trace.of<K>()) visits += series.visits.size();
//     std::cout << K::name << ": " << trace.of<K>().size() << " series, " << visits << " visits\n";
//   });
#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <vector>

#include "npgpu/vocabulary/call.hpp"
#include "npgpu/vocabulary/collective.hpp"
#include "npgpu/vocabulary/device.hpp"
#include "npgpu/vocabulary/job.hpp"
#include "npgpu/vocabulary/load.hpp"
#include "npgpu/vocabulary/partition.hpp"
#include "npgpu/vocabulary/pieces.hpp"
#include "npgpu/vocabulary/probe.hpp"
#include "npgpu/vocabulary/transfer.hpp"

namespace npgpu {

template <class... Ks> struct List {
  // A tuple with one Of<K> for each.
  template <template <class> class Of> using Tuple = std::tuple<Of<Ks>...>;
  static constexpr std::array<std::string_view, sizeof...(Ks)> names{Ks::name...};
};

using Kinds = List<Transfers, Probes, Jobs, Calls, Partitions, Energies, Soaks, Pieces,
                   Collectives>;  // in the order in which they are measured and reported

// Calls visit.operator()<K>() for every kind.
template <class Visit, class... Ks> constexpr void for_each_kind(Visit&& visit, List<Ks...>) {
  (visit.template operator()<Ks>(), ...);
}
template <class Visit> constexpr void for_each_kind(Visit&& visit) { for_each_kind(visit, Kinds{}); }
template <class Of, class... Ks> constexpr auto tuple_of_kinds(Of of, List<Ks...>) {
  return std::tuple{of.template operator()<Ks>()...};
}

}  // namespace npgpu

// What is a template for each kind, declared in a header and defined in this file: NPGPU_FOR_KINDS(&measure<K>).
#define NPGPU_FOR_KINDS(...)                                                                        \
  namespace {                                                                                       \
  [[maybe_unused, gnu::used]] const auto NPGPU_JOINED(__COUNTER__) =                                \
      ::npgpu::tuple_of_kinds([]<class K>() { return std::tuple{__VA_ARGS__}; }, ::npgpu::Kinds{}); \
  }
