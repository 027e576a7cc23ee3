// Quotas of control groups, on made folders, and what they do to a watch on the processors.
#include "netpipe/devices/host/cgroup.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cgroup_test {

using namespace npgpu;
using namespace npgpu::host;

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

}  // namespace cgroup_test
