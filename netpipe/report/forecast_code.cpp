// The advice as a program, which a developer copies and puts a kernel of their own into.
#include "netpipe/report/forecast_code.hpp"

#include <fmt/format.h>

#include "netpipe/report/format.hpp"
#include "npgpu/report.hpp"

namespace npgpu {

namespace {

std::string with(std::string text, std::string_view word, const std::string& value) {
  const std::string mark = fmt::format("@{}@", word);
  for (std::size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), value);
  return text;
}

}  // namespace

void forecast_code(std::ostream& out, const ForecastReport& of, Language language) {
  // The lean form is as good, and of the simpler code's length.
  const SplitTime& a = of.advice.lean ? *of.advice.lean : of.advice.advised;
  const Buffers buffers = buffers_of(of.job, a.chunks, a.streams);
  const auto& candidates = of.forecast.prediction.candidates;
  const double whole_us = candidates.empty() ? not_measured : candidates.front().run.total.count() * 1e6;
  const CodeTemplate code = language == Language::cupy    ? cupy_code()
                            : language == Language::torch ? torch_code()
                                                          : cuda_code();
  std::string text = code.head + (a.order == Order::depth_first ? code.depth_first : code.breadth_first) + code.tail;
  text = with(text, "include", "#include");  // here it would be this file's
  text = with(
      text, "about",
      fmt::format("{0} {1} in, a kernel of {2:g} ms, {3} out, for {4}.\n{0} npgpu predict advises {5} in {6}, {7}: "
                  "{8}; in one stream it takes {9}.",
                  code.comment, size_text(of.job.in_bytes), of.job.kernel.count() * 1e3, size_text(of.job.out_bytes),
                  one_line(of.costs->device_name), counted(a.chunks, "chunk"), counted(a.streams, "stream"),
                  name(a.order), short_time_text(a.run.total.count() * 1e6), short_time_text(whole_us)));
  text = with(text, "in", std::to_string(of.job.in_bytes));
  text = with(text, "out", std::to_string(of.job.out_bytes));
  text = with(text, "chunk_in", std::to_string(buffers.in_bytes));
  text = with(text, "chunk_out", std::to_string(buffers.out_bytes));
  text = with(text, "kernel_ms", fmt::format("{}", of.job.kernel.count() * 1e3));
  text = with(text, "chunks", std::to_string(a.chunks));
  text = with(text, "streams", std::to_string(a.streams));
  text = with(text, "predicted", short_time_text(a.run.total.count() * 1e6));
  out << with(text, "whole", short_time_text(whole_us));
}

}  // namespace npgpu
