#include "netpipe/devices/simulated/companion.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace npgpu::simulated {

namespace {

struct Working {
  std::atomic<int> companions{0};  // simulated copies are many, and almost always there are none
  std::mutex mutex;
  std::map<std::string, Beside> now;  // by device
};
Working& working() {
  static Working all;
  return all;
}

class SimulatedCompanion final : public Companion {
 public:
  explicit SimulatedCompanion(std::string id) : id_(std::move(id)) { ++working().companions; }
  ~SimulatedCompanion() override {
    set(Beside::nobody);
    --working().companions;
  }
  SimulatedCompanion(const SimulatedCompanion&) = delete;
  SimulatedCompanion& operator=(const SimulatedCompanion&) = delete;

  void work(Beside beside) override { set(beside); }
  void rest() override { set(Beside::nobody); }
  void hold(std::uint64_t) override {}
  std::uint64_t done() const override { return is_working(now_) ? done_++ : done_; }

 private:
  void set(Beside beside) {
    now_ = beside;
    const std::lock_guard lock(working().mutex);
    working().now[id_] = beside;
  }

  std::string id_;
  Beside now_ = Beside::nobody;
  mutable std::uint64_t done_ = 0;
};

}  // namespace

double times_beside(const std::string& id, Shared shared) {
  if (working().companions == 0) return 1;
  const std::lock_guard lock(working().mutex);
  const auto found = working().now.find(id);
  if (found == working().now.end()) return 1;
  const Beside now = found->second;
  const bool is_shared =
      shared == Shared::link ? now == Beside::copies : now == Beside::kernels || now == Beside::launches;
  return is_shared ? 2 : 1;
}

std::unique_ptr<Companion> companion_on(const std::string& id) { return std::make_unique<SimulatedCompanion>(id); }

}  // namespace npgpu::simulated
