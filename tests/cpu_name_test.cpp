// What processors are called, from the text that systems have of them.
#include "netpipe/devices/host/cpu_name.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

namespace cpu_name_test {

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

}  // namespace cpu_name_test
