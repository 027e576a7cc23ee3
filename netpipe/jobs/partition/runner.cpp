#include "netpipe/jobs/partition/runner.hpp"

#include <algorithm>

#include "npgpu/error.hpp"

namespace npgpu::partition {

void PartitionRunner::prepare(const PartitionStep& step) {
  if (const auto why = backend_.refuses(step)) throw Error(ErrorKind::usage, title(step.question) + ": " + *why);
  step_ = step;
  prepared_ = ran_ = false;
  set_up();
  prepared_ = true;
}

bool PartitionRunner::run(std::uint64_t, std::vector<PartitionSample>& samples) {
  if (!prepared_) throw Error(ErrorKind::usage, "no run of the partition method was prepared");
  const auto sample = launch();
  ran_ = true;
  if (!sample) return false;
  samples.push_back(*sample);
  return true;
}

std::optional<std::string> PartitionRunner::check(std::span<PartitionSample> last_trial) {
  double residual = not_measured;
  auto wrong = ran_ ? wrong_result(residual) : "nothing has run since this point was prepared";
  for (PartitionSample& sample : last_trial) {
    sample.intact = wrong ? 0 : 1;
    sample.residual = residual;
  }
  return wrong;
}

std::uint64_t PartitionRunner::bytes() const {
  std::uint64_t sum = 0;
  for (const PipelinePart& part : partition_pipeline(question().type, shape()))
    for (const PipelineStage& stage : part.stages) sum += stage.bytes;
  return sum;
}

std::array<std::uint64_t, partition_buffers.size()> buffer_bytes(std::span<const PartitionStep> steps) {
  std::array<std::uint64_t, partition_buffers.size()> bytes{};
  for (const auto& [question, shape] : steps)
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const PartitionBuffer& b = partition_buffers[i];
      const std::uint64_t values = b.values * (b.of_rows ? shape.size : sub_systems_of(shape));
      bytes[i] = std::max(bytes[i], values * bytes_of(question.type));
    }
  return bytes;
}

std::vector<ChunkWork> work_of(const PipelinePart& part, const PartitionStep& step, const Addresses& host,
                               const Addresses& device) {
  const auto& [question, shape] = step;
  const auto at = [&](const char* buffer) { return device[buffer_named(buffer)]; };
  std::vector<ChunkWork> all;
  for (std::uint32_t c = 0; c < shape.chunks; ++c) {
    const PartitionChunk chunk = chunk_of(shape, c);
    for (const PipelineStage& stage : part.stages) {
      ChunkWork work{.stage = stage.stage, .chunk = c, .stream = c % shape.streams};
      if (stage.stage == Stage::kernel) {
        work.is_stage3 = stage.name == "stage3";
        work.systems = {at("a"),         at("b"),
                        at("c"),         at("d"),
                        at("interface"), at("ends"),
                        at("x"),         chunk.first_system,
                        chunk.systems,   sub_systems_of(shape),
                        shape.size,      shape.sub_system};
      } else {
        const std::size_t buffer = buffer_named(stage.name);
        const BufferRange range = range_of(partition_buffers[buffer], chunk);
        const std::uint64_t first = range.first * bytes_of(question.type);
        work.bytes = range.count * bytes_of(question.type);
        const bool down = stage.stage == Stage::h2d;
        work.to = (down ? device : host)[buffer] + first;
        work.from = (down ? host : device)[buffer] + first;
      }
      all.push_back(work);
    }
  }
  return all;
}

}  // namespace npgpu::partition
