// The world that MPI gives. The only file that includes mpi.h; compiled into libnpgpu_mpi.so, and into NPmpi.
#define OMPI_SKIP_MPICXX 1  // the C++ bindings that MPI 3 took away
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "netpipe/ranks/world.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::ranks {

namespace {

void check_mpi(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(ErrorKind::failed, std::string(what) + ": " + text);
}

static_assert(sizeof(MPI_Request) <= sizeof(Request), "a request of this MPI does not fit");

MPI_Request handle_of(const Request& request) {
  MPI_Request handle;
  std::memcpy(&handle, &request.raw, sizeof handle);
  return handle;
}
void keep(Request& request, const MPI_Request& handle) { std::memcpy(&request.raw, &handle, sizeof handle); }

class MpiWorld final : public World {
 public:
  MpiWorld() {
    // Not MPI_Init_thread: for programs with threads Open MPI takes locks, also where but one of them calls it.
    int is_initialized = 0;
    MPI_Initialized(&is_initialized);
    if (!is_initialized) check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &all_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(all_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(all_, &rank_);
    MPI_Comm_size(all_, &size_);
  }
  ~MpiWorld() override { finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void send(const void* from, std::uint64_t bytes, int to, Tag tag) override {
    check_mpi(MPI_Send(from, static_cast<int>(bytes), MPI_BYTE, to, static_cast<int>(tag), all_), "MPI_Send");
  }
  void receive(void* to, std::uint64_t bytes, int from, Tag tag) override {
    check_mpi(MPI_Recv(to, static_cast<int>(bytes), MPI_BYTE, from, static_cast<int>(tag), all_, MPI_STATUS_IGNORE),
              "MPI_Recv");
  }
  Request begin_send(const void* from, std::uint64_t bytes, int to, Tag tag) override {
    MPI_Request handle;
    check_mpi(MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, to, static_cast<int>(tag), all_, &handle),
              "MPI_Isend");
    Request request;
    keep(request, handle);
    return request;
  }
  Request begin_receive(void* to, std::uint64_t bytes, int from, Tag tag) override {
    MPI_Request handle;
    check_mpi(MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, from, static_cast<int>(tag), all_, &handle),
              "MPI_Irecv");
    Request request;
    keep(request, handle);
    return request;
  }
  void wait(Request& request) override {
    MPI_Request handle = handle_of(request);
    check_mpi(MPI_Wait(&handle, MPI_STATUS_IGNORE), "MPI_Wait");
    keep(request, handle);
  }
  bool is_done(Request& request) override {
    MPI_Request handle = handle_of(request);
    int done = 0;
    check_mpi(MPI_Test(&handle, &done, MPI_STATUS_IGNORE), "MPI_Test");
    keep(request, handle);
    return done != 0;
  }
  std::optional<std::uint64_t> coming(int from, Tag tag) override {
    int there = 0, count = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(from, static_cast<int>(tag), all_, &there, &status), "MPI_Iprobe");
    if (!there) return std::nullopt;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    return static_cast<std::uint64_t>(count);
  }

  [[noreturn]] void abort(int exit_code) override {
    // MPI_Abort asks the launcher, which may not answer either.
    std::thread([exit_code] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      std::_Exit(exit_code);
    }).detach();
    MPI_Abort(all_, exit_code);
    std::_Exit(exit_code);
  }
  void end() override { finalize(); }
  std::string library() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text);
    return all.substr(0, all.find('\n'));
  }
  bool takes_device_memory() const override {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#else
    return false;
#endif
  }

 private:
  void finalize() {
    if (all_ == MPI_COMM_NULL) return;
    MPI_Comm_free(&all_);  // is then MPI_COMM_NULL
    MPI_Finalize();
  }

  MPI_Comm all_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

}  // namespace

}  // namespace npgpu::ranks

extern "C" [[gnu::visibility("default")]] npgpu::ranks::World* npgpu_ranks_world() {
  static npgpu::ranks::MpiWorld world;  // finalized when the process exits, if not before
  return &world;
}
