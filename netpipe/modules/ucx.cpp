// ucx: messages through UCX (its protocol layer, UCP), which MPI libraries use themselves on clusters with InfiniBand:
// mpirun -n 2 npgpu transfer --module ucx. MPI starts the ranks and carries their addresses, then nothing more.
//
// Tagged messages (ucp_tag_send_nbx, ucp_tag_recv_nbx); asynchronous: the receive is posted before the message can
// come. UCX chooses the transports: shared memory, TCP, or an RDMA device. UCX_TLS and UCX_NET_DEVICES restrict it, and
// the trace says what it took.
#include "netpipe/modules/messages.hpp"

namespace npgpu {

namespace {

class Ucx final : public MessageModule {
 public:
  std::string_view name() const override { return "ucx"; }
  std::string_view summary() const override { return "the same through UCX: mpirun -n 2 npgpu transfer --module ucx"; }
  std::string_view library() const override { return "UCX"; }
};

}  // namespace

}  // namespace npgpu

NPGPU_REGISTERED(Module, npgpu::Ucx)
