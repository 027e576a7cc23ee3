// What rows must be, when they are written and when they are read.
#include <fmt/format.h>

#include "netpipe/trace/headers.hpp"

namespace npgpu::trace {

namespace {

template <class Row>
void check_stop(const Row& point) {
  const auto stop = static_cast<int>(point.stop);
  if (stop < 0 || stop >= static_cast<int>(names_of<Stop>.size()))
    throw FormatError(fmt::format("has the unknown stop code {}", stop));
}

template <class Row>
void check_intact(const Row& sample) {
  if (sample.intact < -1 || sample.intact > 1) throw FormatError(fmt::format("has the unknown intact code {}", sample.intact));
}

template <class Row>
void check_sample(const Row& sample) {
  if (sample.repeats == 0) throw FormatError("has 0 repeats");
  check_intact(sample);
}

template <class S>
void check_all(const S& sweep, const std::string& where) {
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const auto& point = sweep.points[i];
    try {
      check_row(point);
      if (point.samples > sweep.samples.size() || point.first_sample > sweep.samples.size() - point.samples)
        throw FormatError(fmt::format("has samples {} + {}, and there are {}", point.first_sample, point.samples,
                               sweep.samples.size()));
      for (std::uint64_t s = point.first_sample; s < point.first_sample + point.samples; ++s)
        if (sweep.samples[s].point != i)
          throw FormatError(fmt::format("has sample {}, which says that it is of point {}", s, sweep.samples[s].point));
    } catch (const FormatError& flaw) {
      throw FormatError(fmt::format("row {} of {}/points {}", i, where, flaw.what()));
    }
  }
  for (std::size_t i = 0; i < sweep.samples.size(); ++i) {
    try {
      const auto& sample = sweep.samples[i];
      if (sample.point >= sweep.points.size())
        throw FormatError(fmt::format("is of point {}, and there are {}", sample.point, sweep.points.size()));
      check_row(sample);
    } catch (const FormatError& flaw) {
      throw FormatError(fmt::format("row {} of {}/samples {}", i, where, flaw.what()));
    }
  }
}

}  // namespace

void check_row(const TransferPoint& point) {
  check_stop(point);
  if (point.bytes == 0) throw FormatError("has 0 bytes");
}

void check_row(const ProbePoint& point) {
  check_stop(point);
  const Shape& s = point.axes;
  if (s.blocks == 0 || s.threads == 0 || s.ilp == 0)
    throw FormatError(fmt::format("has {} blocks, {} threads, ilp {}", s.blocks, s.threads, s.ilp));
  if (s.one_block_per_sm > 1) throw FormatError(fmt::format("has {} for alone, which is 0 or 1", s.one_block_per_sm));
}

void check_row(const JobPoint& point) {
  check_stop(point);
  const JobShape& job = point.axes;
  if (job.chunks == 0 || job.streams == 0 || job.threads == 0)
    throw FormatError(fmt::format("has {} chunks, {} streams, {} threads", job.chunks, job.streams, job.threads));
  if (!job.bytes_in && !job.bytes_out && !job.kernel_bytes) throw FormatError("has a job of 0 bytes");
}

void check_row(const TransferSample& sample) {
  check_sample(sample);
  if (sample.lane > 1) throw FormatError(fmt::format("is of lane {}", sample.lane));
}

void check_row(const ProbeSample& sample) { check_sample(sample); }
void check_row(const JobSample& sample) { check_intact(sample); }

void check_rows(const TransferSeries& sweep, const std::string& where) { check_all(sweep, where); }
void check_rows(const ProbeSeries& sweep, const std::string& where) { check_all(sweep, where); }
void check_rows(const JobSeries& sweep, const std::string& where) { check_all(sweep, where); }

}  // namespace npgpu::trace
