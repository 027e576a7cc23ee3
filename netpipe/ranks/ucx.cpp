// The world that UCX gives, by tagged messages of its protocol layer (UCP). The only file that includes its headers;
// compiled into libnpgpu_ucx.so. Who is a rank, and how it ends, is the launcher's.
#include <sched.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "netpipe/ranks/world.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

namespace {

void check_ucx(ucs_status_t status, const char* what) {
  if (status != UCS_OK) throw Error(ErrorKind::failed, std::string(what) + ": " + ucs_status_string(status));
}

// " (UCX_TLS=rc)": what restricts UCX, for the sentence that it found no transport. UCX itself prints those there are.
std::string asked_of_ucx() {
  std::string text;
  for (const char* name : {"UCX_TLS", "UCX_NET_DEVICES"})
    if (const char* value = std::getenv(name)) text += (text.empty() ? " (" : ", ") + std::string(name) + '=' + value;
  return text.empty() ? text : text + ')';
}

// A message's tag says from whom it is, and what for; both must be as asked.
ucp_tag_t tag_of(int from, Tag tag) {
  return static_cast<ucp_tag_t>(from) << 8U | static_cast<ucp_tag_t>(static_cast<int>(tag));
}
constexpr ucp_tag_t whole_tag = ~ucp_tag_t{0};

// "posix/memory, cma/memory": the transports of an endpoint, which UCX 1.13 only prints, a line each:
// "#                 lane[0]:  4:posix/memory.0 md[4] ...".
std::string transports_of(ucp_ep_h endpoint) {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const stream = open_memstream(&text, &length);
  if (!stream) return {};
  ucp_ep_print_info(endpoint, stream);
  std::fclose(stream);
  const std::string printed(text, length);
  std::free(text);
  std::string transports;
  for (std::size_t at = printed.find("lane["); at != std::string::npos; at = printed.find("lane[", at + 1)) {
    const std::size_t number = printed.find(':', at);
    const std::size_t name = number == std::string::npos ? number : printed.find(':', number + 1);
    if (name == std::string::npos) break;
    std::string one = printed.substr(name + 1, printed.find_first_of(" \n", name) - name - 1);
    one.resize(std::min(one.size(), one.rfind('.')));  // the path's number
    if (transports.find(one) == std::string::npos) transports += (transports.empty() ? "" : ", ") + one;
  }
  return transports;
}

template <class Handle, void (*end)(Handle)> struct Ends {
  void operator()(Handle handle) const { end(handle); }
};
template <class Handle, void (*end)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Ends<Handle, end>>;

class UcxWorld final : public AddressedWorld {
 public:
  explicit UcxWorld(World& launcher) : launcher_(launcher) {
    ucp_config_t* settings = nullptr;  // of the variables UCX_...
    check_ucx(ucp_config_read(nullptr, nullptr, &settings), "ucp_config_read");
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_TAG;
    params.estimated_num_eps = static_cast<std::size_t>(launcher.size());
    ucp_context_h context = nullptr;
    const ucs_status_t begun = ucp_init(&params, settings, &context);
    ucp_config_release(settings);
    check_ucx(begun, ("--module ucx: UCX has no usable transport" + asked_of_ucx() + ": ucp_init").c_str());
    context_.reset(context);
    ucp_worker_params_t how = {};
    how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    how.thread_mode = UCS_THREAD_MODE_SINGLE;
    ucp_worker_h worker = nullptr;
    check_ucx(ucp_worker_create(context, &how, &worker), "ucp_worker_create");
    worker_.reset(worker);
  }
  ~UcxWorld() override { part(); }

  std::string address() const override {
    ucp_address_t* bytes = nullptr;
    std::size_t length = 0;
    check_ucx(ucp_worker_get_address(worker_.get(), &bytes, &length), "ucp_worker_get_address");
    const std::string address(reinterpret_cast<const char*>(bytes), length);
    ucp_worker_release_address(worker_.get(), bytes);
    return address;
  }
  void connect(const std::vector<std::string>& addresses) override {
    endpoints_.resize(addresses.size());
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (static_cast<int>(i) == rank()) continue;
      ucp_ep_params_t to = {};
      to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
      to.address = reinterpret_cast<const ucp_address_t*>(addresses[i].data());
      check_ucx(ucp_ep_create(worker_.get(), &to, &endpoints_[i]),
                ("--module ucx: UCX has no transport to rank " + std::to_string(i) + asked_of_ucx() + ": ucp_ep_create")
                    .c_str());
    }
  }

  int rank() const override { return launcher_.rank(); }
  int size() const override { return launcher_.size(); }

  void send(const void* from, std::uint64_t bytes, int to, Tag tag) override {
    Request request = begin_send(from, bytes, to, tag);
    wait(request);
  }
  void receive(void* to, std::uint64_t bytes, int from, Tag tag) override {
    Request request = begin_receive(to, bytes, from, tag);
    wait(request);
  }
  Request begin_send(const void* from, std::uint64_t bytes, int to, Tag tag) override {
    return begun(ucp_tag_send_nbx(endpoints_[static_cast<std::size_t>(to)], from, bytes, tag_of(rank(), tag), &plain_),
                 "ucp_tag_send_nbx");
  }
  Request begin_receive(void* to, std::uint64_t bytes, int from, Tag tag) override {
    return begun(ucp_tag_recv_nbx(worker_.get(), to, bytes, tag_of(from, tag), whole_tag, &plain_), "ucp_tag_recv_nbx");
  }
  void wait(Request& request) override {
    while (!is_done(request)) {
    }
  }
  bool is_done(Request& request) override {
    if (request.raw == 0) return true;
    void* const handle = reinterpret_cast<void*>(request.raw);
    ucs_status_t status = ucp_request_check_status(handle);
    if (status == UCS_INPROGRESS) {
      progress();
      status = ucp_request_check_status(handle);
      if (status == UCS_INPROGRESS) return false;
    }
    ucp_request_free(handle);
    request.raw = 0;
    check_ucx(status, "a message of UCX");
    return true;
  }
  std::optional<std::uint64_t> coming(int from, Tag tag) override {
    progress();
    ucp_tag_recv_info_t info;
    if (!ucp_tag_probe_nb(worker_.get(), tag_of(from, tag), whole_tag, 0, &info)) return std::nullopt;
    return info.length;
  }

  [[noreturn]] void abort(int exit_code) override {
    launcher_.abort(exit_code);
    std::_Exit(exit_code);
  }
  void end() override { part(); }
  // "UCX 1.13.1; to rank 1: posix/memory, cma/memory".
  std::string library() const override {
    std::map<std::string, std::string> ranks;  // by the transports to them
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
      if (endpoints_[i]) ranks[transports_of(endpoints_[i])] += ' ' + std::to_string(i);
    std::string text = std::string("UCX ") + ucp_get_version_string();
    for (const auto& [transports, who] : ranks)
      if (!transports.empty()) text += "; to rank" + who + ": " + transports;
    return text;
  }
  bool takes_device_memory() const override {
    ucp_context_attr_t attributes = {};
    attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
    check_ucx(ucp_context_query(context_.get(), &attributes), "ucp_context_query");
    return (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
  }

 private:
  static Request begun(ucs_status_ptr_t handle, const char* what) {
    if (UCS_PTR_IS_ERR(handle)) check_ucx(UCS_PTR_STATUS(handle), what);
    return {reinterpret_cast<std::uint64_t>(handle)};  // 0: it is done
  }

  // UCX never gives its processor away. Where ranks share one, who waits for long lets the others go on.
  void progress() {
    constexpr int patient = 4096;
    if (ucp_worker_progress(worker_.get())) idle_ = 0;
    else if (++idle_ >= patient) sched_yield();
  }

  void part() {
    if (!worker_) return;
    if (is_over() && are_closed()) {
      worker_.reset();
      context_.reset();
    } else {  // a rank that is gone would be waited for in vain: the system takes back what is left
      static_cast<void>(worker_.release());
      static_cast<void>(context_.release());
    }
    endpoints_.clear();
  }
  bool are_closed() {
    for (ucp_ep_h endpoint : endpoints_)
      if (endpoint && !finish(ucp_ep_close_nbx(endpoint, &plain_))) return false;
    return true;
  }
  // Waits for closing and flushing; false: not within the time.
  bool finish(ucs_status_ptr_t handle) {
    if (!UCS_PTR_IS_PTR(handle)) return true;
    while (std::chrono::steady_clock::now() < until_)
      if (ucp_request_check_status(handle) == UCS_INPROGRESS) {
        progress();
      } else {
        ucp_request_free(handle);
        return true;
      }
    return false;
  }
  // Whether what all ranks sent has arrived: each may still need another one's progress until then.
  bool is_over() {
    try {
      until_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      if (!finish(ucp_worker_flush_nbx(worker_.get(), &plain_))) return false;
      std::vector<Request> sent;
      static const char word = 0;  // where one is not received, it stays in the library's hands
      for (std::size_t i = 0; i < endpoints_.size(); ++i)
        if (endpoints_[i]) sent.push_back(launcher_.begin_send(&word, 1, static_cast<int>(i), Tag::control));
      for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        if (!endpoints_[i]) continue;
        while (!launcher_.coming(static_cast<int>(i), Tag::control)) {
          if (std::chrono::steady_clock::now() >= until_) return false;
          progress();
        }
        char theirs = 0;
        launcher_.receive(&theirs, 1, static_cast<int>(i), Tag::control);
      }
      while (!std::ranges::all_of(sent, [&](Request& one) { return launcher_.is_done(one); }))
        if (std::chrono::steady_clock::now() >= until_) return false;
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  World& launcher_;
  Owned<ucp_context_h, ucp_cleanup> context_;
  Owned<ucp_worker_h, ucp_worker_destroy> worker_;
  std::vector<ucp_ep_h> endpoints_;  // by rank; none to itself
  ucp_request_param_t plain_ = {};   // bytes, nothing else
  int idle_ = 0;
  std::chrono::steady_clock::time_point until_;
};

}  // namespace

}  // namespace npgpu::ranks

extern "C" [[gnu::visibility("default")]] npgpu::ranks::AddressedWorld* npgpu_ranks_world_over(
    npgpu::ranks::World& launcher) {
  static npgpu::ranks::UcxWorld world(launcher);  // before the launcher's is finalized when the process exits
  return &world;
}
