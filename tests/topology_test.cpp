// What Linux tells of processors: where they are, which may be used, how much, and their name.
#include "netpipe/devices/host/topology.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <variant>

#include "netpipe/devices/host/cgroup.hpp"
#include "netpipe/devices/host/facts.hpp"
#include "netpipe/devices/host/memory.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace topology_test {

using namespace npgpu;
using namespace npgpu::host;
using Cpus = std::vector<unsigned>;

// Binding, and what the machine says of itself. Machines with several nodes are hwloc's synthetic ones: deciding and
// binding are two steps, and only the first needs more than one node to be tested.

namespace {

std::set<int> my_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(sched_getaffinity(0, sizeof set, &set) == 0);
  std::set<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.insert(cpu);
  return cpus;
}

void confine_me(const std::set<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int cpu : cpus) CPU_SET(cpu, &set);
  REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
}

host::Bitmap cpus(const char* list) {
  host::Bitmap b(hwloc_bitmap_alloc());
  hwloc_bitmap_list_sscanf(b.get(), list);
  return b;
}

}  // namespace

TEST_CASE("hwloc loads no plugin, whichever are installed: some start a GPU's runtime") {
  CHECK(host::this_machine() != nullptr);
  std::ifstream maps("/proc/self/maps");
  const std::string mapped(std::istreambuf_iterator<char>(maps), {});
  CHECK(mapped.find("libhwloc.so") != std::string::npos);
  CHECK(mapped.find("/hwloc_") == std::string::npos);
}

TEST_CASE("the node of a cpu, and its cpus as people write them") {
  const host::Topology machine = host::synthetic_machine("node:2 core:4 pu:1");  // cpus 0-3 and 4-7
  const auto all = cpus("0-7");
  const auto first = host::choose(host::node_of_cpu(machine.get(), 3), all.get(), "cpu 3");
  CHECK(first.text == "NUMA node 0 (cpus 0-3)");
  const auto second = host::choose(host::node_of_cpu(machine.get(), 4), all.get(), "cpu 4");
  CHECK(second.text == "NUMA node 1 (cpus 4-7)");
  CHECK(hwloc_bitmap_weight(second.cpus.get()) == 4);
  CHECK(host::node_of_cpu(machine.get(), 99) == nullptr);
}

TEST_CASE("only the node's cpus that are allowed are bound to, and none is never turned into all") {
  const host::Topology machine = host::synthetic_machine("node:2 core:4 pu:1");
  const hwloc_obj_t node = host::node_of_cpu(machine.get(), 5);
  const auto some = host::choose(node, cpus("2-4,6").get(), "cpu 5");
  CHECK(some.text == "NUMA node 1 (cpus 4,6)");
  const auto none = host::choose(node, cpus("0-2").get(), "PCI device 0000:3b:00.0");
  CHECK(none.node == nullptr);
  CHECK(none.text ==
        "not bound: NUMA node 1 (cpus 4-7) nearest PCI device 0000:3b:00.0 is outside the allowed cpus 0-2");
}

TEST_CASE("a device that the topology does not have: the only node there is, otherwise unknown") {
  const host::Topology one = host::synthetic_machine("node:1 core:4 pu:1");
  REQUIRE(host::node_of_device(one.get(), "0000:3b:00.0") != nullptr);
  CHECK(host::node_of_device(one.get(), "0000:3b:00.0")->os_index == 0);
  const host::Topology two = host::synthetic_machine("node:2 core:4 pu:1");
  CHECK(host::node_of_device(two.get(), "0000:3b:00.0") == nullptr);
  CHECK(host::node_of_device(two.get(), "rubbish") == nullptr);
  const auto choice = host::choose(nullptr, cpus("0-7").get(), "PCI device 0000:3b:00.0");
  CHECK(choice.text == "not bound: the NUMA node nearest PCI device 0000:3b:00.0 is unknown");
}

TEST_CASE("memory without processors takes no binding away: HBM beside each socket's memory, and one node behind CXL") {
  const host::Topology hbm = host::synthetic_machine("pack:2 [numa(memory=64GB)] [numa(memory=16GB)] core:4 pu:1");
  CHECK(host::nodes_with_cpus(hbm.get()) == std::vector<int>{0, 2});
  CHECK(host::memory_only_nodes(hbm.get()) == "1 (no processors, 15 GiB), 3 (no processors, 15 GiB)");
  CHECK(host::choose(host::node_of_cpu(hbm.get(), 3), cpus("0-7").get(), "cpu 3").text == "NUMA node 0 (cpus 0-3)");
  CHECK(host::choose(host::node_of_cpu(hbm.get(), 4), cpus("0-7").get(), "cpu 4").text == "NUMA node 2 (cpus 4-7)");
  CHECK_FALSE(host::why_not_on(hbm.get(), 1, cpus("0-7").get()));  // its processors are those that are nearest
  CHECK(*host::why_not_on(hbm.get(), 9, cpus("0-7").get()) == "--host-node 9: this machine has NUMA nodes 0, 2");

  const host::Topology cxl = host::synthetic_machine("[numa(memory=32GB)] pack:2 [numa(memory=64GB)] core:4 pu:1");
  CHECK(host::nodes_with_cpus(cxl.get()) == std::vector<int>{0, 1});
  CHECK(host::node_of_cpu(cxl.get(), 5)->os_index == 1);
  CHECK(host::node_of_device(cxl.get(), "0000:3b:00.0") == nullptr);  // of two sockets

  const host::Topology one = host::synthetic_machine("pack:1 [numa(memory=64GB)] [numa(memory=16GB)] core:4 pu:1");
  REQUIRE(host::node_of_device(one.get(), "0000:3b:00.0") != nullptr);
  CHECK(host::node_of_device(one.get(), "0000:3b:00.0")->os_index == 0);
}

TEST_CASE("a GPU's memory that is a NUMA node is no memory of the host") {
  const host::Topology grace = host::synthetic_machine("pack:1 [numa(memory=480GB)] [numa(memory=96GB)] core:4 pu:1");
  hwloc_get_numanode_obj_by_os_index(grace.get(), 1)->subtype = strdup("GPUMemory");  // which hwloc frees
  CHECK(host::nodes_with_cpus(grace.get()) == std::vector<int>{0});
  CHECK(host::memory_only_nodes(grace.get()) == "1 (GPUMemory, 89 GiB)");
  CHECK(host::node_of_cpu(grace.get(), 2)->os_index == 0);
  CHECK(host::node_of_device(grace.get(), "0009:01:00.0")->os_index == 0);
  CHECK(*host::why_not_on(grace.get(), 1, cpus("0-3").get()) ==
        "--host-node 1: that NUMA node is a GPU's memory, and no memory of the host: use 0");
}

TEST_CASE("why a thread cannot be on a node that was asked for") {
  const host::Topology two = host::synthetic_machine("node:2 core:4 pu:1");  // cpus 0-3 and 4-7
  CHECK(host::nodes_with_cpus(two.get()) == std::vector<int>{0, 1});
  CHECK_FALSE(host::why_not_on(two.get(), 1, cpus("0-7").get()));
  CHECK_FALSE(host::why_not_on(two.get(), 1, cpus("0,7").get()));
  CHECK(*host::why_not_on(two.get(), 2, cpus("0-7").get()) == "--host-node 2: this machine has NUMA nodes 0, 1");
  CHECK(
      *host::why_not_on(two.get(), 1, cpus("0-3").get()) ==
      "--host-node 1: its processors, 4-7, are outside the allowed ones, 0-3: allow them with taskset, numactl or the "
      "job's launcher");
  const host::Topology one = host::synthetic_machine("node:1 core:4 pu:1");
  CHECK(*host::why_not_on(one.get(), 1, cpus("0-3").get()) == "--host-node 1: this machine has one NUMA node, 0");
}

TEST_CASE("a binding to a node that was asked for is to that node, or an error") {
  const std::vector<int> nodes = host::numa_nodes();
  REQUIRE_FALSE(nodes.empty());
  CHECK_FALSE(host::why_not_on_node(-1));  // none was asked for
  const std::set<int> before = my_cpus();
  if (nodes.size() == 1) {  // its memory is there without a policy, too
    const auto binding = host::Binding::on_node(nodes[0]);
    CHECK(binding.node() == nodes[0]);
    CHECK(binding.text().find("NUMA node " + std::to_string(nodes[0])) == 0);
  }
  CHECK(my_cpus() == before);
  CHECK_THROWS_WITH_AS(host::Binding::on_node(1000), doctest::Contains("--host-node 1000: this machine has"), Error);
}

TEST_CASE("a description that is none is an error") { CHECK_THROWS_AS(host::synthetic_machine("nonsense"), Error); }

TEST_CASE("a binding stays inside what the thread had, and gives it back") {
  const std::set<int> before = my_cpus();
  {
    const auto binding = host::Binding::near_thread();
    CAPTURE(binding.text());
    for (int cpu : my_cpus()) CHECK(before.count(cpu) == 1);
    if (binding.node() >= 0) CHECK(binding.text().find("NUMA node " + std::to_string(binding.node())) == 0);
  }
  CHECK(my_cpus() == before);
}

TEST_CASE("a thread confined to one cpu stays on it, bound or not") {
  std::thread([] {
    const int cpu = *my_cpus().rbegin();
    confine_me({cpu});
    {
      const auto binding = host::Binding::near_thread();
      CHECK(my_cpus() == std::set<int>{cpu});
      CHECK(binding.text().find("(cpus " + std::to_string(cpu) + ")") != std::string::npos);
    }
    CHECK(my_cpus() == std::set<int>{cpu});
  }).join();
}

TEST_CASE("bindings that die in the order they were made still give back what the first one found") {
  const std::set<int> before = my_cpus();
  auto first = std::make_unique<host::Binding>(host::Binding::near_thread());
  auto second = std::make_unique<host::Binding>(host::Binding::near_device("0000:00:00.0"));
  confine_me({*before.begin()});  // stands in for a machine where the two bind to different cpus
  first.reset();
  CHECK(my_cpus() == std::set<int>{*before.begin()});  // the younger one is still in force
  second.reset();
  CHECK(my_cpus() == before);
}

TEST_CASE("a moved binding restores once, when its last owner dies") {
  const std::set<int> before = my_cpus();
  {
    auto a = host::Binding::near_thread();
    confine_me({*before.begin()});
    const auto b = std::move(a);
    CHECK(my_cpus().size() == 1);
  }
  CHECK(my_cpus() == before);
}

TEST_CASE("a binding that was not wanted says why") {
  CHECK(host::Binding::none("--no-bind").text() == "not bound: --no-bind");
  CHECK(host::Binding::none("--no-bind").node() == -1);
}

TEST_CASE("the machine says of itself what a reader of its trace needs") {
  const DeviceInfo host = host::host_device();
  CHECK(host.id == "host");
  CHECK_FALSE(host.name.empty());
  CHECK_FALSE(host.simulated);
  CHECK(host.memory_bytes > 0);
  std::set<std::string> names;
  for (const auto& [name, value] : host.facts) {
    CHECK(names.insert(name).second);  // each once
    if (const auto* text = std::get_if<std::string>(&value)) CHECK_FALSE(text->empty());
  }
  for (const char* name : {"cpu_model", "cores", "threads", "numa_nodes", "allowed_cpus", "kernel", "hostname"})
    CHECK_MESSAGE(names.count(name) == 1, name);
}

// Quotas of control groups, on made folders, and what they do to a watch on the processors.

namespace fs = std::filesystem;

namespace {

struct Root {
  fs::path folder = fs::temp_directory_path() / ("npgpu-cgroup-" + std::to_string(::getpid()));
  Root() { fs::remove_all(folder); }
  ~Root() { fs::remove_all(folder); }
  void file(const std::string& path, const std::string& text) const {
    fs::create_directories((folder / path).parent_path());
    std::ofstream(folder / path) << text;
  }
};

}  // namespace

TEST_CASE("without groups and without quotas nothing is limited") {
  Root root;
  CHECK_FALSE(cpu_quota(root.folder).is_limited());
  root.file("proc/self/cgroup", "0::/slice/job\n");
  CHECK_FALSE(cpu_quota(root.folder).is_limited());
  root.file("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  root.file("sys/fs/cgroup/slice/cpu.max", "max 100000\n");
  CHECK_FALSE(cpu_quota(root.folder).is_limited());
  CHECK(QuotaClock(root.folder).stopped() == Seconds{0});
}

TEST_CASE("version 2: the smallest quota on the way up counts") {
  Root root;
  root.file("proc/self/cgroup", "0::/slice/job/step\n");
  root.file("sys/fs/cgroup/slice/job/step/cpu.max", "200000 100000\n");
  root.file("sys/fs/cgroup/slice/job/cpu.max", "25000 50000\n");
  root.file("sys/fs/cgroup/slice/cpu.max", "400000 100000\n");
  const CpuQuota quota = cpu_quota(root.folder);
  CHECK(quota.processors == 0.5);
  CHECK(quota.group == "/slice/job");
  // Each group counts how long it was stopped itself: by its own quota.
  root.file("sys/fs/cgroup/slice/job/step/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 0\nthrottled_usec 0\n");
  root.file("sys/fs/cgroup/slice/job/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 4\nthrottled_usec 1500000\n");
  root.file("sys/fs/cgroup/slice/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 1\nthrottled_usec 250000\n");
  CHECK(QuotaClock(root.folder).stopped().count() == doctest::Approx(1.75));
}

TEST_CASE("version 2 in a container: its own group is at the mount point, whatever path the host gave it") {
  Root root;
  for (const char* group : {"0::/\n", "0::/system.slice/docker-1234.scope\n", "0::/../../elsewhere\n"}) {
    root.file("proc/self/cgroup", group);
    root.file("sys/fs/cgroup/cpu.max", "150000 100000\n");
    CHECK(cpu_quota(root.folder).processors == 1.5);
    CHECK(cpu_quota(root.folder).group == "/");
  }
}

TEST_CASE("version 1: the controller's tree under its own name, or that of all that share it") {
  for (const char* mount : {"cpu", "cpu,cpuacct"}) {
    Root root;
    root.file("proc/self/cgroup", "7:memory:/a\n4:cpu,cpuacct:/slurm/job_7\n1:name=systemd:/x\n0::/x\n");
    const std::string tree = std::string("sys/fs/cgroup/") + mount;
    root.file(tree + "/slurm/job_7/cpu.cfs_quota_us", "-1\n");
    root.file(tree + "/slurm/job_7/cpu.cfs_period_us", "100000\n");
    CHECK_FALSE(cpu_quota(root.folder).is_limited());
    root.file(tree + "/slurm/cpu.cfs_quota_us", "50000\n");
    root.file(tree + "/slurm/cpu.cfs_period_us", "100000\n");
    root.file(tree + "/slurm/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 2500000000\n");
    const CpuQuota quota = cpu_quota(root.folder);
    CHECK(quota.processors == 0.5);
    CHECK(quota.group == "/slurm");
    CHECK(QuotaClock(root.folder).stopped().count() == doctest::Approx(2.5));
  }
}

TEST_CASE("files that hold something else limit nothing") {
  Root root;
  root.file("proc/self/cgroup", "0::/job\nnonsense\n::\n3:cpu\n");
  for (const char* text : {"", "0 100000\n", "50000\n", "50000 0\n", "-1 100000\n", "half 100000\n"}) {
    root.file("sys/fs/cgroup/job/cpu.max", text);
    CHECK_FALSE(cpu_quota(root.folder).is_limited());
  }
}

// What processors are called, from the text that systems have of them.

namespace {

std::string named(const std::string& text) {
  std::istringstream cpuinfo(text);
  return npgpu::host::cpu_name(cpuinfo);
}

std::string core(const char* implementer, const char* part) {
  return std::string("processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\nCPU implementer\t: ") + implementer +
         "\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: " + part + "\nCPU revision\t: 0\n\n";
}

}  // namespace

TEST_CASE("x86 says its model's name") {
  CHECK(named("processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9654 96-Core "
              "Processor\n") == "AMD EPYC 9654 96-Core Processor");
}

TEST_CASE("Arm: implementer and part by name, of servers and others") {
  CHECK(named(core("0x41", "0xd4f")) == "Arm Neoverse-V2");  // Grace, Graviton4
  CHECK(named(core("0x41", "0xd0c")) == "Arm Neoverse-N1");  // Altra, Graviton2
  CHECK(named(core("0x41", "0xd40")) == "Arm Neoverse-V1");  // Graviton3
  CHECK(named(core("0x41", "0xd49")) == "Arm Neoverse-N2");
  CHECK(named(core("0xc0", "0xac3")) == "Ampere-1");
  CHECK(named(core("0x61", "0x023")) == "Apple Firestorm (M1)");
  CHECK(named(core("0x46", "0x001")) == "Fujitsu A64FX");
  CHECK(named(core("0x4e", "0x004")) == "NVIDIA Carmel");
}

TEST_CASE("Arm: several kinds of cores are all named, each once") {
  const std::string little = core("0x41", "0xd05"), big = core("0x41", "0xd0b");
  CHECK(named(little + little + big + big) == "Arm Cortex-A55 and Arm Cortex-A76");
}

TEST_CASE("Arm: what is in no table is shown by its numbers") {
  CHECK(named(core("0x41", "0xfff")) == "Arm part 0xfff");
  CHECK(named(core("0x99", "0x001")) == "implementer 0x99, part 0x001");
}

TEST_CASE("other texts: POWER's and RISC-V's own names, and nothing") {
  CHECK(named("processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 3800.000000MHz\n") ==
        "POWER9, altivec supported");
  CHECK(named("hart\t\t: 0\nisa\t\t: rv64imafdc\nuarch\t\t: sifive,u74-mc\n") == "sifive,u74-mc");
  for (const char* text : {"", ":\n:::\n", "CPU part\t: 0xd4f\n", "CPU implementer\t: many\nCPU part\t: 0xd4f\n"})
    CHECK(named(text) == "unknown cpu");
}

// Cores are counted as the affinity mask leaves them, not hyperthreads; and pages are what they say.

TEST_CASE("one cpu of each core, as far as it is allowed") {
  const auto machine = host::synthetic_machine("core:3 pu:2");  // cpus 0 and 1 are the first core's
  const auto of = [&](const char* allowed) {
    const host::Bitmap mask(hwloc_bitmap_alloc());
    hwloc_bitmap_list_sscanf(mask.get(), allowed);
    return host::cpu_of_each_core(machine.get(), mask.get());
  };
  CHECK(of("0-5") == Cpus{0, 2, 4});
  CHECK(of("1,2,3") == Cpus{1, 2});
  CHECK(of("5") == Cpus{5});
}

TEST_CASE("a pinned thread sees its own core alone") {
  const Cpus cpus = host::core_cpus();
  REQUIRE_FALSE(cpus.empty());
  std::thread([&] {
    REQUIRE(host::pin_thread(cpus.back()));
    CHECK(sched_getcpu() == static_cast<int>(cpus.back()));
    CHECK(host::core_cpus() == Cpus{cpus.back()});
  }).join();
  CHECK(host::core_cpus() == cpus);  // others are as free as before
}

TEST_CASE("caches of all cores are no smaller than one core's") {
  const host::Caches all = host::caches_of(host::core_cpus());
  CHECK(all.last_bytes_in_all >= all.last_bytes);
  CHECK(all.last_bytes >= all.near_bytes);
  CHECK(host::caches_of({}).last_bytes == 0);
}

TEST_CASE("pages begin on the boundary of a huge one, read as zero, and know how many are huge") {
  const host::Pages pages(3 * 1000 * 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(pages.data()) % host::huge_page_bytes == 0);
  CHECK(pages.bytes() == 2 * host::huge_page_bytes);
  CHECK(pages.huge_bytes() == 0);  // none is touched
  CHECK(pages.data()[pages.bytes() - 1] == std::byte{0});
  for (std::uint64_t i = 0; i < pages.bytes(); ++i) pages.data()[i] = std::byte{1};
  CHECK(pages.huge_bytes() <= pages.bytes());
  CHECK(pages.huge_bytes() % host::huge_page_bytes == 0);
}

TEST_CASE("more than the machine has is an error that says how much") {
  CHECK_THROWS_WITH_AS(host::Pages{std::uint64_t{1} << 60}, doctest::Contains("1152921504606846976 bytes"), Error);
  CHECK_THROWS_AS(host::Pages{UINT64_MAX - 4096}, Error);
}

}  // namespace topology_test
