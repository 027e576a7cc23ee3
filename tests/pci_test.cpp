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
  CHECK(host::errors_of(log, "0000:3B:00.0").count() == 2);
  CHECK(host::errors_of(log, "0000:5e:00.0").count() == 1);
  CHECK(host::errors_of(log, "0000:99:00.0").count() == 0);
  CHECK(host::errors_of(log, "0000:3B:00.0").last_xid == 63);
  // As NVML writes the bus id, as older drivers write the line, and of a part of a GPU.
  CHECK(host::errors_of(log, "00000000:5E:00.0").count() == 1);
  CHECK(host::errors_of({"3,1,1,-;NVRM: Xid (0000:b3:00): 48, Double Bit ECC Error"}, "0000:b3:00.0").count() == 1);
  CHECK(host::errors_of({"3,1,1,-;NVRM: Xid (PCI:0000:b3:00 GPU-I:05): 94, Contained"}, "0000:b3:00.0").count() == 1);
  CHECK(host::errors_of({"3,1,1,-;NVRM: Xid (PCI:0000:b3:00): 68, NVDEC"}, "0000:b3:00.0").count() == 0);
  CHECK(host::errors_of({"3,1,1,-;NVRM: Xid (PCI:0000:b3:00): 109, CTX SWITCH TIMEOUT"}, "0000:b3:00.0").count() == 1);
}

TEST_CASE("a GPU that fell off the bus is counted without an Xid, and with one only once") {
  const std::string at = "0000:b3:00.0";
  const std::vector<std::string> one_record{
      "3,1,1,-;NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system "
      "has\\x0aNVRM: fallen off the bus and is not responding to commands."};
  const std::vector<std::string> several{"3,1,1,-;NVRM: The NVIDIA GPU 0000:b3:00.0",
                                         "3,2,1,-;NVRM: (PCI ID: 10de:26b5) installed in this system has",
                                         "3,3,1,-;NVRM: fallen off the bus and is not responding to commands."};
  const std::vector<std::string> with_xid{
      "4,1,1,-;NVRM: Xid (PCI:0000:b3:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
      "4,2,1,-;NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus."};
  const std::vector<std::string> not_started{"3,1,1,-;NVRM: GPU 0000:b3:00.0: RmInitAdapter failed! (0x62:0x40:2477)"};
  for (const auto& log : {one_record, several, with_xid, not_started}) {
    CAPTURE(log.front());
    CHECK(host::errors_of(log, at).count() == 1);
    CHECK(host::errors_of(log, "0000:b4:00.0").count() == 0);
  }
  // What another program says of the bus is nothing of the driver's.
  CHECK(host::errors_of({"6,1,1,-;pci 0000:b3:00.0: told that a cable had fallen off the bus"}, at).count() == 0);
}

TEST_CASE("errors of NVSwitches count for every GPU, but for those that are not fatal") {
  const host::LoggedErrors found =
      host::errors_of({"3,1,1,-;nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
                       "3,2,1,-;nvidia-nvswitch3: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 32 egress"},
                      "0000:b3:00.0");
  CHECK(found.switch_errors == 1);
  CHECK(found.last_switch_error == 20034);
  CHECK(found.xids == 0);
}

TEST_CASE("Xids that are not fatal or injected do not count, and the cause of others does") {
  const std::string at = "0000:c5:00.0";
  const auto of = [&](const std::vector<std::string>& lines) {
    std::vector<std::string> log;
    for (const std::string& line : lines) log.push_back("3,1,1,-;NVRM: Xid (PCI:0000:c5:00): " + line);
    return host::errors_of(log, at);
  };
  CHECK(of({"145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 17 (0x04084507)"}).count() == 0);
  CHECK(of({"145, RLW_RXPIPE Fatal XC0 i1 Link 13 (0x0409a0c2)"}).count() == 0);
  CHECK(of({"149, NETIR Fatal XC0 i0 Link -1 (0x000fe406)"}).last_xid == 149);
  const std::string cleanup = "45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149";
  CHECK(of({cleanup, cleanup}).count() == 1);
  CHECK(of({cleanup, cleanup}).last_xid == 149);
  CHECK(of({"149, NETIR Fatal XC0 i0 Link -1", cleanup}).count() == 1);
  CHECK(of({"45, pid=1, name=python3, Ch 00000001 caused by previous Xid 31"}).count() == 0);
}

TEST_CASE("errors of PCIe and of the GSP's firmware are read that have no Xid") {
  const std::string at = "0000:c5:00.0", port = "0000:c4:00.0";
  const auto says = [&](const std::string& line) {
    const host::LoggedErrors found = host::errors_of({"3,1,1,-;" + line}, at, port);
    CHECK(found.count() == (found.words().empty() ? 0 : 1));
    return found.words();
  };
  const std::string of_link = "uncorrected errors of PCIe (AER)";
  CHECK(says("nvidia 0000:c5:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer") == of_link);
  CHECK(says("pcieport 0000:c4:00.0: AER: Uncorrected (Fatal) error received: 0000:c5:00.0") == of_link);
  CHECK(says("pcieport 0000:c4:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Data Link") == of_link);
  CHECK(says("pcieport 0000:c4:00.0: AER: Corrected error received: 0000:c5:00.0").empty());
  CHECK(says("nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer").empty());
  CHECK(says("NVRM: _kgspIsHeartbeatTimedOut: Heartbeat timed out, GPU0 GSP (0000:c5:00.0)") ==
        "the firmware of the GPU's GSP does not answer");
  CHECK(says("NVRM: _kgspIsHeartbeatTimedOut: Heartbeat timed out, GPU1 GSP (0000:3b:00.0)").empty());
}

TEST_CASE("uncorrected errors of the GPU and of the port above it are added up") {
  const MadeSys sys;
  const auto count = [&](const char* name) { return number_fact(host::pcie_errors("0000:3B:00.0", sys.root()), name); };
  CHECK(std::isnan(count("aer_fatal")));
  MadeSys::write(sys.gpu() / "aer_dev_fatal", "Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1\n");
  MadeSys::write(sys.port() / "aer_dev_fatal", "Undefined 0\nDLP 2\nTOTAL_ERR_FATAL 2\n");
  MadeSys::write(sys.port().parent_path() / "aer_dev_fatal", "TOTAL_ERR_FATAL 8\n");  // of others, too
  CHECK(count("aer_fatal") == 3);
  CHECK(std::isnan(count("aer_nonfatal")));
}

TEST_CASE("Xid 154 counts as its text says") {
  const auto count = [](const std::string& rest) {
    return host::errors_of({"3,1,1,-;NVRM: Xid (PCI:0000:b3:00): 154, GPU recovery action changed from " + rest},
                           "0000:b3:00.0")
        .count();
  };
  CHECK(count("0x1 (GPU Reset Required) to 0x0 (None)") == 0);
  CHECK(count("0x0 (None) to 0x2 (Node Reboot Required)") == 1);
  CHECK(count("0x0 (None) to 0x1 (GPU Reset Required)") == 1);
}

TEST_CASE("what is no kernel log is not read: a console, a file, a device without end") {
  for (const char* other :
       {"/dev/null", "/dev/zero", "/dev/tty", "/dev/console", "/proc/self/status", "/nowhere", "/"}) {
    CAPTURE(other);
    CHECK_FALSE(host::kernel_log(other));
  }
  if (const auto log = host::kernel_log()) CHECK_FALSE(log->empty());
}

TEST_CASE("NVIDIA's GPUs are counted on the bus, with their drivers; other devices and virtual functions are not") {
  const MadeSys sys;
  const auto add = [&](const std::string& id, const char* vendor, const char* of_class, const char* driver,
                       const std::string& configuration) {
    const fs::path at = sys.root() / "bus/pci/devices" / id;
    MadeSys::write(at / "vendor", std::string(vendor) + "\n");
    MadeSys::write(at / "class", std::string(of_class) + "\n");
    MadeSys::write(at / "device", "0x2335\n");
    MadeSys::write(at / "config", configuration);
    if (*driver) fs::create_directory_symlink(sys.root() / "bus/pci/drivers" / driver, at / "driver");
    return at;
  };
  const std::string alive("\xde\x10\x35\x23", 4), gone(64, '\xff');
  add("0000:5e:00.0", "0x10de", "0x030200", "nvidia", alive);
  add("0000:86:00.0", "0x10de", "0x068000", "nvidia-nvswitch", alive);
  add("0000:b3:00.0", "0x10de", "0x030200", "nvidia", gone);
  add("0000:c0:00.0", "0x10de", "0x030000", "", alive);
  add("0000:c1:00.0", "0x1002", "0x030000", "amdgpu", alive);
  MadeSys::write(add("0000:c2:00.0", "0x10de", "0x030200", "nvidia", alive) / "physfn/vendor", "0x10de\n");
  const auto gpus = host::nvidia_gpus(sys.root());
  REQUIRE(gpus.size() == 3);
  CHECK(gpus[0].bus_id == "0000:5e:00.0");
  CHECK(gpus[0].driver == "nvidia");
  CHECK(gpus[0].device_id == "0x2335");
  CHECK(gpus[0].answers);
  CHECK(gpus[0].is_3d);
  CHECK_FALSE(gpus[1].answers);
  CHECK(gpus[2].driver.empty());
  CHECK_FALSE(gpus[2].is_3d);
  CHECK(host::is_off_the_bus("00000000:B3:00.0", sys.root()));  // as NVML writes it
  CHECK_FALSE(host::is_off_the_bus("0000:5e:00.0", sys.root()));
  CHECK_FALSE(host::is_off_the_bus("0000:99:00.0", sys.root()));
  CHECK(host::nvidia_gpus(sys.root() / "nowhere").empty());
}

TEST_CASE("Xids that the user ignores do not count") {
  const std::vector<std::string> log{"NVRM: Xid (PCI:0000:3b:00): 92, pid=1, high rate of single-bit errors",
                                     "NVRM: Xid (PCI:0000:3b:00): 48, pid=1, double-bit error"};
  CHECK(host::errors_of(log, "00000000:3B:00.0").xids == 2);
  ::setenv("NPGPU_IGNORE_XID", "9,48", 1);
  const host::LoggedErrors found = host::errors_of(log, "00000000:3B:00.0");
  ::unsetenv("NPGPU_IGNORE_XID");
  CHECK(found.xids == 1);
  CHECK(found.last_xid == 92);  // and not 9
}

}  // namespace pci_test
