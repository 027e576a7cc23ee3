#include "netpipe/collectives/gpu_part.hpp"

#include <fmt/format.h>

#include <cstring>

#include "npgpu/device.hpp"
#include "npgpu/registry.hpp"

namespace npgpu::collectives {

namespace {

Step<Collectives> step_of(const PartRequest& request) {
  CollectiveCase c{.operation = request.operation, .type = request.type};
  c.in_place = request.in_place;
  c.timing = request.timing;
  c.processes = request.processes;
  c.launch = request.launch;
  c.overlap = request.overlap;
  return {c, {request.bytes}};
}

void answer(std::unique_ptr<GpuPart>& part, const PartRequest& request, PartReply& reply,
            const std::function<std::unique_ptr<GpuPart>()>& open, const std::function<void()>& meet) {
  using Wanted = PartRequest::Wanted;
  switch (request.what) {
    case Wanted::open:
      part.reset();
      part = open();
      return;
    case Wanted::close: return part.reset();
    case Wanted::answer:
    case Wanted::nothing:
    case Wanted::leave: return;
    default: break;
  }
  if (!part) throw Error(ErrorKind::failed, "this GPU has left the others");
  switch (request.what) {
    case Wanted::join: return part->join(request.meeting);
    case Wanted::prepare: return part->prepare(step_of(request), request.seed);
    case Wanted::run: reply.is_valid = part->run(request.repeats, meet, reply.sample); return;
    case Wanted::warm_up: return part->warm_up(request.repeats);
    case Wanted::check: reply.wrong = part->check(); return;
    default: return;
  }
}

}  // namespace

PartRequest preparing(const Step<Collectives>& step, std::uint64_t seed) {
  PartRequest request;
  request.what = PartRequest::Wanted::prepare;
  request.operation = step.question.operation;
  request.type = step.question.type;
  request.in_place = step.question.in_place;
  request.timing = step.question.timing;
  request.processes = step.question.processes;
  request.launch = step.question.launch;
  request.overlap = step.question.overlap;
  request.bytes = step.axes.bytes;
  request.seed = seed;
  return request;
}

PartReply answer_of(std::unique_ptr<GpuPart>& part, const PartRequest& request,
                    const std::function<std::unique_ptr<GpuPart>()>& open, const std::function<void()>& meet) {
  PartReply reply;
  const auto say = [&](const char* why) { std::strncpy(reply.error, why, sizeof reply.error - 1); };
  try {
    answer(part, request, reply, open, meet);
  } catch (const GaveUp& e) {
    reply.gave_up = true;
    reply.is_stopped = e.is_stopped;
    say(e.what());
  } catch (const std::exception& e) {
    say(e.what());
  }
  return reply;
}

const GpuParts& gpu_parts(const std::string& device) {
  for (const auto& one : registered<GpuParts>())
    if (one->rank() == devices::kind_of(device)) return *one;
  throw Error(ErrorKind::usage, "--device " + device + ": in this build it does nothing together with others");
}

std::optional<std::string> verdict_of(const Step<Collectives>& step, const std::vector<WrongElements>& found,
                                      std::span<CollectiveSample> last_trial) {
  const auto gpus = devices_of(step.question);
  std::optional<std::string> wrong;
  for (std::size_t lane = 0; lane < found.size(); ++lane) {
    const WrongElements& one = found[lane];
    last_trial[lane].intact = one.count == 0 ? 1 : 0;
    if (one.count == 0) continue;
    const auto elements = part_of(step, gpus.size(), lane).result;
    if (wrong) *wrong += ", and others on " + gpus[lane];
    else
      wrong = fmt::format("on {} {} of {} elements are wrong; number {} is {:#x}, expected {:#x}", gpus[lane],
                          one.count, elements, one.first, one.found, one.expected);
  }
  return wrong;
}

}  // namespace npgpu::collectives
