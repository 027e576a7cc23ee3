// One GPU's part by NCCL.
#include "netpipe/collectives/gpu_part.hpp"
#include "netpipe/collectives/nccl_group.hpp"
#include "netpipe/devices/cuda/second_process.hpp"
#include "npgpu/registry.hpp"

namespace npgpu::nccl {

namespace {

static_assert(sizeof(UniqueId) == sizeof(collectives::MeetingName));

class NcclPart final : public collectives::GpuPart {
 public:
  NcclPart(const collectives::PartRequest& place, const collectives::Waiting& waiting)
      : place_(place), meanwhile_(waiting.meanwhile), group_(waiting.patience, waiting.meanwhile) {
    if (!library().why_not.empty()) throw Error(ErrorKind::nothing, library().why_not);
    if (const auto why = why_no_buffers(library(), place.buffers)) throw Error(ErrorKind::nothing, *why);
    group_.ranks.push_back(
        std::make_unique<Rank>(place.device, place.rank, place.ranks, place.most_bytes, place.buffers, true));
  }

  void join(const collectives::MeetingName& name) override {
    struct Joined {
      Communicator own = nullptr;
      int result = success;
    };
    const auto joined = std::make_shared<Joined>();
    UniqueId id;
    std::copy_n(name.bytes, sizeof id.bytes, id.bytes);
    within(
        patience_joining, "joining the other GPUs",
        [joined, id, ordinal = gpu().ordinal(), rank = place_.rank, ranks = place_.ranks] {
          cuda::make_current(ordinal);
          joined->result = library().init_rank(&joined->own, static_cast<int>(ranks), id, static_cast<int>(rank));
        },
        meanwhile_);
    nccl::check(joined->result, "joining the other GPUs");
    group_.ranks.front()->join(joined->own);
    group_.register_buffers();
    group_.has_joined = true;
  }
  void prepare(const Step<Collectives>& step, std::uint64_t seed) override {
    require_joined();
    gated_ = step.question.timing == Timing::gated;
    group_.prepare(step, seed);
  }
  bool run(std::uint64_t repeats, const std::function<void()>& meet, CollectiveSample& sample) override {
    require_joined();
    const Group::Trial trial = group_.run(repeats, meet);
    sample = group_.sample_of(trial, 0, repeats);
    return trial.is_valid();
  }
  void warm_up(std::uint64_t operations) override {
    require_joined();
    for (std::uint64_t i = 0; i < operations; ++i) group_.once();
    group_.settle();
  }
  collectives::WrongElements check() override {
    require_joined();
    return group_.check().front();
  }

  std::uint64_t max_repeats() const override { return gated_ ? fits_behind_gate : 0; }
  Telemetry telemetry() override { return gpu().telemetry(); }
  std::string binding() const override { return group_.ranks.front()->gpu().binding(); }

 private:
  const cuda::Gpu& gpu() const { return group_.ranks.front()->gpu(); }
  void require_joined() const {
    if (!group_.has_joined) throw Error(ErrorKind::failed, "this GPU has left the others");
  }

  collectives::PartRequest place_;
  std::function<void()> meanwhile_;
  Group group_;
  bool gated_ = false;
};

class NcclParts final : public collectives::GpuParts {
 public:
  std::string_view rank() const override { return "cuda"; }
  std::string library() const override {
    if (!nccl::library().why_not.empty()) throw Error(ErrorKind::nothing, nccl::library().why_not);
    return nccl::library().text;
  }
  collectives::MeetingName meeting() const override {
    UniqueId id;
    nccl::check(nccl::library().unique_id(&id), "making a name for the GPUs' meeting");
    collectives::MeetingName name;
    std::copy_n(id.bytes, sizeof id.bytes, name.bytes);
    return name;
  }
  std::unique_ptr<collectives::GpuPart> open(const collectives::PartRequest& place, const std::string&,
                                             const collectives::Waiting& waiting) const override {
    return std::make_unique<NcclPart>(place, waiting);
  }
  void count_as_own(long pid) const override { cuda::count_as_second_process(pid); }
};

}  // namespace

}  // namespace npgpu::nccl

NPGPU_REGISTERED(collectives::GpuParts, npgpu::nccl::NcclParts)
