// A turn that processes take one after another. One makes it, and its children inherit the descriptor.
#pragma once

#include <memory>
#include <utility>

#include "netpipe/process/descriptor.hpp"

namespace npgpu::process {

class Turn {
 public:
  Turn();                               // a new one. Throws Error(failed) if the system refuses
  explicit Turn(Descriptor inherited);  // throws Error(failed) if it is none
  int get() const { return descriptor_->get(); }

  // Waits until no other process has it. This one has it until the pointer is gone, or the process is, however it ends.
  // Threads of a process share what it has.
  std::shared_ptr<void> take() const;

 private:
  std::shared_ptr<Descriptor> descriptor_;
};

}  // namespace npgpu::process
