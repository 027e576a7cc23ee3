// The place of a device in the machine, from a made tree of /sys; and Xids in a made log.
#include "netpipe/devices/host/pci.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "netpipe/devices/host/kernel_log.hpp"

namespace pci_test {

using namespace npgpu;

namespace {

namespace fs = std::filesystem;

// A GPU at 0000:3b:00.0 below a root port and a switch port.
class MadeSys {
 public:
  MadeSys() {
    std::string name = (fs::temp_directory_path() / "npgpu-sys-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
    fs::create_directories(gpu());
    fs::create_directories(root_ / "bus/pci/devices");
    fs::create_directory_symlink(gpu(), root_ / "bus/pci/devices/0000:3b:00.0");
    write(gpu() / "local_cpulist", "0-31,64-95\n");
    write(port() / "max_link_speed", "32.0 GT/s PCIe\n");
    write(port() / "max_link_width", "16\n");
    write(port().parent_path() / "max_link_speed", "16.0 GT/s PCIe\n");
  }
  ~MadeSys() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  fs::path gpu() const { return port() / "0000:3b:00.0"; }
  fs::path port() const { return root_ / "devices/pci0000:3a/0000:3a:00.0/0000:3a:01.0"; }
  const fs::path& root() const { return root_; }
  static void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

 private:
  fs::path root_;
};

std::string text_of(const Facts& facts, const char* name) {
  const Fact* const fact = find_fact(facts, name);
  return fact && std::holds_alternative<std::string>(*fact) ? std::get<std::string>(*fact) : "";
}

// A PCIe bridge's configuration of 4 KiB whose extended capabilities are one of another kind at 0x100 and ACS at 0x148.
std::string configuration(unsigned control) {
  std::string bytes(4096, '\0');
  const auto put = [&](std::size_t at, unsigned value) {
    for (int i = 0; i < 4; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i) & 0xff);
  };
  put(0x100, 0x148u << 20 | 1u << 16 | 0x0001);
  put(0x148, 1u << 16 | 0x000d);
  put(0x14c, control << 16 | 0x001f);
  return bytes;
}

}  // namespace

TEST_CASE("the slot is that of the port next above, and near processors are told") {
  const MadeSys sys;
  const Facts facts = host::pci_facts("0000:3B:00.0", sys.root());  // as CUDA writes it
  CHECK(text_of(facts, "near_cpus") == "0-31,64-95");
  CHECK(number_fact(facts, "slot_pcie_generation") == 5);
  CHECK(number_fact(facts, "slot_pcie_lanes") == 16);
}

TEST_CASE("the IOMMU's domain is told, and that a device is in none") {
  const MadeSys sys;
  CHECK(text_of(host::pci_facts("0000:3b:00.0", sys.root()), "iommu_domain") == "none");
  MadeSys::write(sys.gpu() / "iommu_group/type", "DMA-FQ\n");
  CHECK(text_of(host::pci_facts("0000:3b:00.0", sys.root()), "iommu_domain") == "DMA-FQ");
}

TEST_CASE("bridges that redirect are counted where their configuration can be read") {
  const MadeSys sys;
  const auto redirects = [&] { return number_fact(host::pci_facts("0000:3b:00.0", sys.root()), "acs_redirects"); };
  CHECK(std::isnan(redirects()));
  MadeSys::write(sys.port() / "config", configuration(0).substr(0, 64));  // as others than root see it
  CHECK(std::isnan(redirects()));
  MadeSys::write(sys.port() / "config", configuration(0x0001));  // source validation alone
  CHECK(redirects() == 0);
  MadeSys::write(sys.port().parent_path() / "config", configuration(0x001d));
  CHECK(redirects() == 1);
}

TEST_CASE("a device that is not there has no facts") {
  const MadeSys sys;
  CHECK(host::pci_facts("0000:99:00.0", sys.root()).empty());
}

TEST_CASE("Xids of one GPU are counted in the kernel's log") {
  const std::vector<std::string> log{"6,1,2,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus",
                                     "6,2,3,-;NVRM: Xid (PCI:0000:3b:00): 63, row remapping",
                                     "6,3,4,-;NVRM: Xid (PCI:0000:5e:00): 48, a double-bit error",
                                     "6,3,5,-;NVRM: Xid (PCI:0000:3b:00): 31, a program's page fault",
                                     "6,4,5,-;nvidia 0000:3b:00.0: enabling device"};
  CHECK(host::count_xids(log, "0000:3B:00.0") == 2);
  CHECK(host::count_xids(log, "0000:5e:00.0") == 1);
  CHECK(host::count_xids(log, "0000:99:00.0") == 0);
}

}  // namespace pci_test
