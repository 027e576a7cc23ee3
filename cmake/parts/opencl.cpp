// What the program uses is found at run time: headers are all that is needed here.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

int main() {
  const cl_device_pci_bus_info_khr bus{};
  return bus.pci_bus == CL_DEVICE_UUID_KHR + CL_DEVICE_NUMERIC_VERSION;
}
