// The GPUs that one process calls NCCL for: all of the node's, or one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "netpipe/collectives/nccl_choice.hpp"
#include "netpipe/collectives/nccl_rank.hpp"
#include "npgpu/clock.hpp"

namespace npgpu::nccl {

class Group {
 public:
  // `patience`: with an operation or a trial, of which the longest takes a second or two. `meanwhile` is called again
  // and again while they run; what it throws leaves them as they are. It may be empty.
  explicit Group(Seconds patience, std::function<void()> meanwhile = {})
      : patience_(patience), meanwhile_(std::move(meanwhile)) {}

  std::vector<std::unique_ptr<Rank>> ranks;
  bool has_joined = false;

  // Buffers are registered where the ranks have such. REQUIRES: all have joined.
  void register_buffers();
  // Operands are written, and the operation is done: its kernels are loaded, the GPUs connected, and graphs made.
  void prepare(const Step<Collectives>&, std::uint64_t seed);
  void once();  // an operation is enqueued on each GPU
  // Throws Error, and ends what hangs, where an operation failed or takes too long.
  void settle();

  struct Trial {
    Seconds host{0};
    std::vector<std::optional<Seconds>> device{};  // of each GPU; nothing where its gate timed out
    // Of each GPU, a launch of the kernel of --overlap; nothing where launches were over before. Empty where there is
    // none.
    std::vector<std::optional<Seconds>> kernel{};
    bool is_valid() const;
  };
  // Of a GPU in a trial, but for its lane.
  CollectiveSample sample_of(const Trial&, std::size_t rank, std::uint64_t repeats) const;
  // `meet` is called when all is ready to begin: behind gates once all is enqueued.
  Trial run(std::uint64_t repeats, const std::function<void()>& meet = {});
  // What is wrong with each GPU's result. In place, each operation's sums were the next one's operands: it is done once
  // more.
  std::vector<collectives::WrongElements> check();

 private:
  void abort();
  void anew();                      // operands are written, and the operation is done once
  void issue(std::uint64_t times);  // operations are enqueued as the step says
  void make_graphs();

  Seconds patience_;
  std::function<void()> meanwhile_;
  Step<Collectives> step_;
  std::uint64_t seed_ = 0;
  bool has_graphs_ = false;
  Choice choice_;
  std::vector<Seconds> kernel_alone_{};
};

// Calls `what` in a thread of its own. Throws Error(failed) where it does not come back in time; the thread is left
// alone then, and `what` must own all that it uses. `meanwhile` is called again and again, and may throw. REQUIRES: no
// exception leaves `what`.
void within(Seconds patience, const char* named, std::function<void()> what,
            const std::function<void()>& meanwhile = {});
constexpr Seconds patience_joining{120};

}  // namespace npgpu::nccl
