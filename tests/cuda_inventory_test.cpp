// What is said of GPUs that are not there, and the arithmetic of links: no GPU needed.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "netpipe/devices/cuda/check.hpp"
#include "netpipe/devices/cuda/inventory.hpp"
#include "netpipe/devices/cuda/payload.hpp"
#include "netpipe/devices/host/pci.hpp"

namespace cuda_inventory_test {

using namespace npgpu;

TEST_CASE("each reason for no GPU has its own sentence") {
  using cuda::no_device_sentence;
  CHECK(no_device_sentence(cudaErrorInsufficientDriver, 0, 13000, nullptr).find("no NVIDIA driver is installed") == 0);
  const auto old = no_device_sentence(cudaErrorInsufficientDriver, 11040, 13000, nullptr);
  CHECK(old.find("too old") != std::string::npos);
  CHECK(old.find("CUDA 11.4") != std::string::npos);
  CHECK(old.find("CUDA 13.0") != std::string::npos);
  CHECK(no_device_sentence(cudaErrorNoDevice, 13000, 13000, "").find("CUDA_VISIBLE_DEVICES=''") != std::string::npos);
  CHECK(no_device_sentence(cudaErrorNoDevice, 13000, 13000, nullptr).find("CUDA_VISIBLE_DEVICES") == std::string::npos);
  CHECK(no_device_sentence(cudaErrorSystemNotReady, 13000, 13000, nullptr).find("cudaErrorSystemNotReady") !=
        std::string::npos);
}

TEST_CASE("device names") {
  CHECK(cuda::ordinal_of("cuda:0") == 0);
  CHECK(cuda::ordinal_of("cuda:12") == 12);
  for (const char* wrong : {"", "cuda", "cuda:", "cuda:-1", "cuda:1x", "cuda:0,cuda:1", "host", "sim:gtx280"}) {
    INFO(wrong);
    CHECK_FALSE(cuda::ordinal_of(wrong));
    CHECK(cuda::why_not_there(wrong)->find("cuda:N") != std::string::npos);
  }
}

TEST_CASE("rates of PCIe links: transfers * lanes * line code / 8") {
  // Gen3 x16: 8e9 * 16 * 128/130 / 8 = 15.754e9; Gen1 x1: 2.5e9 * 8/10 / 8 = 250e6
  CHECK(host::pcie_limit(3, 16).per_s == doctest::Approx(15.7538e9).epsilon(1e-5));
  CHECK(host::pcie_limit(5, 16).per_s == doctest::Approx(63.0154e9).epsilon(1e-5));
  CHECK(host::pcie_limit(1, 1).per_s == doctest::Approx(250e6));
  CHECK(host::pcie_limit(5, 16).source == "PCIe Gen5 x16: 32 GT/s * 16 lanes * 128/130");
  CHECK(std::isnan(host::pcie_limit(0, 16).per_s));
  CHECK(std::isnan(host::pcie_limit(9, 16).per_s));
}

TEST_CASE("limits are of what GPU and slot can do at most, not of a link or a clock that is low now") {
  const Facts degraded{{"memory_clock_khz", std::int64_t{1'593'000}}, {"memory_bus_bits", std::int64_t{6144}},
                       {"max_memory_clock_mhz", std::int64_t{3201}},  {"pcie_generation_now", std::int64_t{4}},
                       {"pcie_lanes_now", std::int64_t{8}},           {"max_pcie_generation", std::int64_t{5}},
                       {"max_pcie_lanes", std::int64_t{16}}};
  CHECK(cuda::link_limit(degraded) == host::pcie_limit(5, 16));
  CHECK(cuda::memory_limit(degraded).per_s == doctest::Approx(3201e6 * 6144 * 2 / 8));
  CHECK(cuda::memory_limit(degraded).source == "3201 MHz * 6144 bit * 2 (double data rate)");
}

TEST_CASE("the limit of all links to a Grace processor, one way") {
  const Facts ten{{"pageable_memory_access_uses_host_page_tables", std::int64_t{1}},
                  {"c2c_links", std::int64_t{10}},
                  {"c2c_mb_s", std::int64_t{44712}}};
  CHECK(cuda::link_limit(ten).per_s == doctest::Approx(447.12e9));
}

TEST_CASE("an error code says what it means for the device") {
  CHECK(cuda::kind_of(cudaErrorMemoryAllocation) == ErrorKind::no_memory);
  CHECK(cuda::kind_of(CUDA_ERROR_OUT_OF_MEMORY) == ErrorKind::no_memory);
  CHECK(cuda::kind_of(cudaErrorECCUncorrectable) == ErrorKind::defect);
  CHECK(cuda::kind_of(cudaErrorNvlinkUncorrectable) == ErrorKind::defect);
  for (const cudaError_t sticky : {cudaErrorIllegalAddress, cudaErrorLaunchFailure, cudaErrorLaunchTimeout,
                                   cudaErrorMisalignedAddress, cudaErrorIllegalInstruction, cudaErrorAssert})
    CHECK(cuda::kind_of(sticky) == ErrorKind::context);
  CHECK(cuda::kind_of(cudaErrorNoDevice) == ErrorKind::nothing);
  CHECK(cuda::kind_of(cudaErrorInsufficientDriver) == ErrorKind::nothing);
  for (const cudaError_t other :
       {cudaErrorInvalidValue, cudaErrorDevicesUnavailable, cudaErrorUnknown, cudaErrorSystemNotReady})
    CHECK(cuda::kind_of(other) == ErrorKind::failed);
}

TEST_CASE("limits that cannot be known say why, and the state of now stands in for none") {
  CHECK(cuda::link_limit({{"pcie_generation_now", std::int64_t{4}}, {"pcie_lanes_now", std::int64_t{8}}})
            .source.find("unknown: NVML does not say") == 0);
  CHECK(cuda::link_limit({{"telemetry", std::string("unavailable: NVML is not there")}}).source ==
        "unknown: NVML is not there");
  CHECK(cuda::link_limit({{"integrated", std::int64_t{1}}}).source.find("unknown: the GPU is integrated") == 0);
  CHECK(cuda::link_limit({{"pageable_memory_access_uses_host_page_tables", std::int64_t{1}}})
            .source.find("unknown: the host is reached over a coherent link") == 0);
  CHECK(cuda::memory_limit({}).source.find("unknown: ") == 0);
  const Facts no_nvml{{"memory_clock_khz", std::int64_t{1'000'000}}, {"memory_bus_bits", std::int64_t{256}}};
  CHECK(cuda::memory_limit(no_nvml).per_s == doctest::Approx(64e9));
}

TEST_CASE("a wrong byte in words: in the payload, before it, after it") {
  using cuda::sentence;
  CHECK(sentence({.place = 17, .expected = 0xa3, .actual = 0x00}, 4096) == "byte 17 of 4096 is 0x00, expected 0xa3");
  CHECK(sentence({.place = -1, .expected = 0xa5, .actual = 0x00}, 4096).find("guard byte 63 of the 64 before") == 0);
  CHECK(sentence({.place = 4096, .expected = 0xa5, .actual = 0x00}, 4096).find("guard byte 0 of the 64 after") == 0);
}

TEST_CASE("without a GPU everything says so, and nothing crashes") {
  const std::string why = cuda::why_no_device();
  if (why.empty()) return;  // there is one: tests/gpu says the rest
  CHECK(cuda::inventory().empty());
  CHECK(cuda::why_not_there("cuda:0")->find(why) != std::string::npos);
  CHECK_THROWS_AS(cuda::ordinal_or_throw("cuda:0"), Error);
  try {
    cuda::make_current(0);
    FAIL("cuda:0 became current, though there is none");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::nothing);
    CHECK(std::string(e.what()).find("cuda:0") != std::string::npos);
  }
  CHECK_THROWS_AS(cuda::driver(), Error);
  CHECK(cuda::name_of(CUDA_ERROR_INVALID_VALUE) == "CUDA driver error 1");
}

TEST_CASE("an error says what was tried and what CUDA calls it") {
  CHECK_NOTHROW(cuda::check(cudaSuccess, "nothing"));
  try {
    cuda::check(cudaErrorInvalidValue, "copying to nowhere");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::failed);
    CHECK(std::string(e.what()) == "copying to nowhere: cudaErrorInvalidValue (invalid argument)");
  }
}

}  // namespace cuda_inventory_test
