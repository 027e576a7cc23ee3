// export --format csv: a header row, then a row a sample. Quoted as RFC 4180 says, lines ended by a line feed; an empty
// field is what was not measured. Times are of all repeats together, exactly as they came.
#include <fmt/format.h>

#include <cmath>

#include "npgpu/report.hpp"

namespace npgpu {

namespace {

std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

// The shortest text that reads back as the same number.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

}  // namespace

void export_csv(std::ostream& out, const Trace& trace) {
  out << "sweep,module,device,device_name,simulated,pattern,direction,memory,async,timing,cache,source_offset_bytes,"
         "target_offset_bytes,bind,bytes,stop,point,trial,lane,repeats,host_us,device_us,intact\n";
  for (std::size_t i = 0; i < trace.of<Transfers>().size(); ++i) {
    const TransferSeries& sweep = trace.of<Transfers>()[i];
    const TransferCase& c = sweep.question;
    const std::string front =
        fmt::format("{},{},{},{},{:d},{},{},{},{:d},{},{},{},{},{:d}", i, field(c.module), field(c.device),
                    field(sweep.device_name), sweep.simulated, name(c.pattern), name(c.direction), name(c.memory),
                    c.async, name(c.timing), name(c.cache), c.source_offset, c.target_offset, c.bind);
    for (const TransferSample& s : sweep.samples) {
      // A sample that belongs to no point says so by its empty fields.
      const TransferPoint* point = s.point < sweep.points.size() ? &sweep.points[s.point] : nullptr;
      out << front << ',' << (point ? std::to_string(point->bytes) : "") << ','
          << (point ? name(point->stop) : std::string_view()) << ','
          << fmt::format("{},{},{},{},{},{},{}\n", s.point, s.trial, s.lane, s.repeats, number(s.host_us),
                         number(s.device_us), s.intact);
    }
  }
}

void export_probes_csv(std::ostream& out, const Trace& trace) {
  out << "probe,name,device,device_name,simulated,operation,type,form,space,blocks,threads,ilp,access_bytes,bytes,alone,work,"
         "stop,point,trial,repeats,host_us,device_us,cycles,units,max_blocks_on_unit,intact\n";
  for (std::size_t i = 0; i < trace.of<Probes>().size(); ++i) {
    const ProbeSeries& probe = trace.of<Probes>()[i];
    const ProbeCase& c = probe.question;
    const std::string front =
        fmt::format("{},{},{},{},{:d},{},{},{},{}", i, field(c.probe), field(c.device), field(probe.device_name),
                    probe.simulated, name(c.operation), name(c.type), name(c.form), name(c.space));
    for (const ProbeSample& s : probe.samples) {
      if (s.point >= probe.points.size()) continue;
      const ProbePoint& point = probe.points[s.point];
      const Shape& shape = point.axes;
      out << front
          << fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", shape.blocks, shape.threads, shape.ilp,
                         shape.access_bytes, shape.bytes, shape.one_block_per_sm, number(point.work), name(point.stop), s.point,
                         s.trial, s.repeats, number(s.host_us), number(s.device_us), number(s.cycles), s.units,
                         s.max_blocks_on_unit, s.intact);
    }
  }
}

void export_streams_csv(std::ostream& out, const Trace& trace) {
  out << "streams_case,device,device_name,simulated,workload,order,pool,gated,bytes_in,bytes_out,kernel_bytes,iterations,chunks,"
         "streams,threads,stop,point,trial,number,host_us,issue_us,create_us,destroy_us,device_us,intact\n";
  for (std::size_t i = 0; i < trace.of<Jobs>().size(); ++i) {
    const JobSeries& sweep = trace.of<Jobs>()[i];
    const JobCase& c = sweep.question;
    const std::string front =
        fmt::format("{},{},{},{:d},{},{},{},{}", i, field(c.device), field(sweep.device_name), sweep.simulated,
                    name(c.workload), name(c.order), name(c.pool), static_cast<int>(c.gating));
    for (const JobSample& s : sweep.samples) {
      if (s.point >= sweep.points.size()) continue;
      const JobPoint& point = sweep.points[s.point];
      const JobShape& job = point.axes;
      out << front
          << fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", job.bytes_in, job.bytes_out,
                         job.kernel_bytes, job.iterations, job.chunks, job.streams, job.threads, name(point.stop), s.point,
                         s.trial, s.number, number(s.host_us), number(s.issue_us), number(s.create_us),
                         number(s.destroy_us), number(s.device_us), s.intact);
    }
  }
}

}  // namespace npgpu
