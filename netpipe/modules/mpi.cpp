// mpi: messages through MPI, on one node or two: mpirun -n 2 npgpu transfer --module mpi.
//
// Blocking: MPI_Send and MPI_Recv; asynchronous: the receive is posted before the message can come, as NetPIPE does.
#include "netpipe/modules/messages.hpp"

namespace npgpu {

namespace {

class Mpi final : public MessageModule {
 public:
  std::string_view name() const override { return "mpi"; }
  std::string_view summary() const override { return "messages between two processes: mpirun -n 2 npgpu transfer"; }
  std::string_view library() const override { return "MPI library"; }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::Mpi)
