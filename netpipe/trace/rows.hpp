// What rows must be, when they are written and when they are read. Throws FormatError.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>

#include "netpipe/trace/hdf5_handle.hpp"
#include "npgpu/kinds.hpp"

namespace npgpu::trace {

// Codes of enumerators are known ones, and the kind itself finds no flaw.
template <class Row>
void check_codes(const Row& row) {
  visit_fields(row, [&]<class T>(const FieldInfo& info, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto code = static_cast<std::int32_t>(value);
      if (code < 0 || static_cast<std::size_t>(code) >= names_of<T>.size())
        throw FormatError(fmt::format("has the unknown {} code {}", info.name, code));
    }
  });
}

template <class K>
void check_point(const Point<K>& point) {
  check_codes(point);
  if (const auto flaw = flaw_of(point.axes)) throw FormatError(*flaw);
}

template <class Sample>
void check_sample(const Sample& sample) {
  check_codes(sample);
  if (const auto flaw = flaw_of(sample)) throw FormatError(*flaw);
}

// Rows are sound one by one, and points and samples agree on who owns whom.
template <class K>
void check_rows(const Series<K>& series, const std::string& where) {
  const auto checked = [&](const char* table, std::size_t row, auto check) {
    try {
      check();
    } catch (const FormatError& flaw) {
      throw FormatError(fmt::format("row {} of {}/{} {}", row, where, table, flaw.what()));
    }
  };
  const std::size_t all = series.samples.size();
  for (std::size_t i = 0; i < series.points.size(); ++i)
    checked("points", i, [&] {
      const Point<K>& point = series.points[i];
      check_point(point);
      if (point.samples > all || point.first_sample > all - point.samples)
        throw FormatError(fmt::format("has samples {} + {}, and there are {}", point.first_sample, point.samples, all));
      for (std::uint64_t s = point.first_sample; s < point.first_sample + point.samples; ++s)
        if (series.samples[s].point != i)
          throw FormatError(
              fmt::format("has sample {}, which says that it is of point {}", s, series.samples[s].point));
    });
  for (std::size_t i = 0; i < all; ++i)
    checked("samples", i, [&] {
      const auto& sample = series.samples[i];
      if (sample.point >= series.points.size())
        throw FormatError(fmt::format("is of point {}, and there are {}", sample.point, series.points.size()));
      check_sample(sample);
    });
}

}  // namespace npgpu::trace
