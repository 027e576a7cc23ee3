// What is made of NVML's answers: of a library that tests/fake_nvml.c builds, and that the loader finds first. No GPU
// and no CUDA is needed.
#include "netpipe/devices/nvml/nvml.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <string>

namespace nvml_test {

using namespace npgpu;

namespace {

constexpr const char* bus = "0000:b3:00.0";

// Sets variables as long as it lives.
class With {
 public:
  With(std::initializer_list<std::pair<const char*, const char*>> all) {
    for (const auto& [name, value] : all) {
      setenv(name, value, 1);
      names_.emplace_back(name);
    }
  }
  ~With() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  std::vector<std::string> names_;
};

nvml::Device gpu() {
  std::string why;
  const auto found = nvml::Device::find(bus, why);
  REQUIRE_MESSAGE(found, why);
  return *found;
}

}  // namespace

TEST_CASE("the library is the made one") {
  const With all({});
  CHECK(number_fact(gpu().facts(), "power_limit_w") == 700);
  CHECK(gpu().read().temperature_c == 30);
}

TEST_CASE("why something is not known: not supported, no permission, lost, an error with its number") {
  struct Answer {
    const char *result, *reason;
  };
  for (const Answer& one : {Answer{"3", "not supported"},
                            {"4", "no permission"},
                            {"15", "lost"},
                            {"16", "needs a reset"},
                            {"10", "timeout"},
                            {"999", "error 999 (Unknown Error)"}}) {
    CAPTURE(one.result);
    const With all({{"FAKE_NVML", one.result}, {"FAKE_nvmlDeviceGetHandleByPciBusId_v2", "0"}});
    const Facts facts = gpu().facts(), counters = gpu().counters();
    for (const char* group : {"link", "power", "clocks", "temperature", "persistence", "mig"})
      CHECK(text_fact(facts, std::string("unread_") + group) == one.reason);
    for (const char* group : {"ecc", "rows", "replays", "fabric", "recovery"})
      CHECK(text_fact(counters, std::string("unread_") + group) == one.reason);
    CHECK(std::isnan(number_fact(facts, "power_limit_w")));
    CHECK(std::isnan(number_fact(counters, "ecc_corrected_volatile")));
    const bool is_gone = std::string(one.result) == "15" || std::string(one.result) == "16";
    CHECK(text_fact(facts, "unread_device") == (is_gone ? one.reason : ""));
    CHECK(text_fact(counters, "unread_device") == (is_gone ? one.reason : ""));
    CHECK(nvml::why_lost(bus).has_value() == is_gone);
  }
}

TEST_CASE("one question that needs root hides nothing else, and what a GPU does not have is no word") {
  const With one({{"FAKE_nvmlDeviceGetTotalEccErrors", "4"}, {"FAKE_nvmlDeviceGetRetiredPages", "3"}});
  const Facts counters = gpu().counters();
  CHECK(text_fact(counters, "unread_ecc") == "no permission");
  CHECK(number_fact(counters, "remapped_rows_pending") == 0);
  CHECK(text_fact(counters, "unread_rows").empty());  // it remaps rows, and so retires no pages
  CHECK(number_fact(counters, "pcie_replays") == 0);
  CHECK(number_fact(counters, "nvlinks_active") == 18);
  CHECK(text_fact(counters, "unread_device").empty());
}

TEST_CASE("a GPU that the bus id finds no more is lost") {
  const With gone({{"FAKE_nvmlDeviceGetHandleByPciBusId_v2", "15"}});
  std::string why;
  CHECK_FALSE(nvml::Device::find(bus, why));
  CHECK(why == "the GPU at 0000:b3:00.0 does not answer: GPU is lost");
  CHECK(nvml::why_lost(bus) == "NVML: GPU is lost");
}

TEST_CASE("the fabric's state and health in words") {
  const auto fabric = [](const char* state, const char* health) {
    const With set({{"FAKE_FABRIC", state}, {"FAKE_FABRIC_HEALTH", health}});
    const Facts counters = gpu().counters();
    return text_fact(counters, "fabric_state") + "|" + text_fact(counters, "fabric_health");
  };
  CHECK(fabric("3", "0") == "completed|");
  CHECK(fabric("1", "0") == "not started|");
  CHECK(fabric("2", "0") == "in progress|");
  CHECK(fabric("0", "0") == "not supported|");
  CHECK(fabric("9", "0") == "state 9|");
  CHECK(fabric("3", "0x1aa") == "completed|well");  // all four false, the configuration right
  CHECK(fabric("3", "0x1a9") == "completed|degraded bandwidth");
  CHECK(fabric("3", "0x5a6") == "completed|route recovery in progress, too few NVLinks");
}

TEST_CASE("the recovery action in words, where the driver has one") {
  const auto action = [](const char* code) {
    const With set({{"FAKE_RECOVERY", code}});
    return text_fact(gpu().counters(), "recovery_action");
  };
  CHECK(action("0") == "none");
  CHECK(action("1") == "reset the GPU");
  CHECK(action("2") == "reboot the node");
  CHECK(action("42") == "action 42");
  CHECK(text_fact(gpu().counters(), "unread_recovery") == "not in this driver");
}

TEST_CASE("links to a Grace processor: how many are up, and the rate of one") {
  CHECK(std::isnan(number_fact(gpu().counters(), "c2c_links_active")));
  CHECK(text_fact(gpu().counters(), "unread_c2c").empty());
  const With links({{"FAKE_C2C_LINKS", "10"}});
  CHECK(number_fact(gpu().counters(), "c2c_links_active") == 9);
  CHECK(number_fact(gpu().counters(), "c2c_links_inactive") == 1);
  const Facts facts = gpu().facts();
  CHECK(number_fact(facts, "c2c_mb_s") == 44712);
  CHECK(number_fact(facts, "c2c_links") == 10);
}

TEST_CASE("confidential computing") { CHECK(number_fact(gpu().facts(), "confidential_computing") == 1); }

TEST_CASE("a GPU that CUDA_VISIBLE_DEVICES names and CUDA does not show is not hidden") {
  using nvml::Shown;
  const auto shown = [](const std::string& list, std::size_t by_cuda, bool in_bus_order = true) {
    return nvml::sight_of_unlisted({list, in_bus_order, 4, by_cuda}, "GPU-aabbccdd-0000", 2).shown;
  };
  CHECK(shown("0,1", 2) == Shown::hidden);
  CHECK(shown("0,2", 1) == Shown::by_nvml_only);
  CHECK(shown("0,9,2", 1) == Shown::hidden);  // what stands behind a number that is no GPU does not count
  CHECK(shown("", 0) == Shown::hidden);
  CHECK(shown("GPU-aabb", 0) == Shown::by_nvml_only);
  CHECK(shown("GPU-ccdd,GPU-eeff", 1) == Shown::hidden);
  CHECK(shown("0,1", 2, false) == Shown::hidden);
  CHECK(shown("0,1", 1, false) == Shown::unknown);  // CUDA has an order of its own
}

TEST_CASE("GPUs of the bus that the driver does not show are lost, hidden, or not known") {
  using nvml::Shown;
  using nvml::Sight;
  const auto pci = [](const char* id, const char* driver, bool answers = true, bool is_3d = true,
                      const char* model = "0x2335") {
    return host::PciGpu{id, model, driver, is_3d, answers};
  };
  const auto facts = [](const std::vector<host::PciGpu>& gpus, const Sight& of_b3) {
    return nvml::census_of(gpus,
                           [&](const std::string& id) { return id == "0000:b3:00.0" ? of_b3 : Sight{Shown::yes}; });
  };
  const auto fine = pci("0000:3b:00.0", "nvidia"), other = pci("0000:b3:00.0", "nvidia");
  const Sight yes{Shown::yes};
  CHECK(nvml::census_of({}, [&](const std::string&) { return yes; }).empty());
  const Facts well = facts({fine, other}, yes);
  CHECK(number_fact(well, "gpus_on_bus") == 2);
  CHECK(well.size() == 1);
  CHECK(text_fact(facts({fine, other}, {Shown::lost, "NVML: GPU is lost"}), "gpus_lost") ==
        "0000:b3:00.0: NVML: GPU is lost");
  CHECK(text_fact(facts({fine, other}, {Shown::by_nvml_only, "NVML shows it, and CUDA does not"}), "gpus_lost")
            .starts_with("0000:b3:00.0"));
  const Facts hidden = facts({fine, other}, {Shown::hidden, "CUDA_VISIBLE_DEVICES"});
  CHECK(text_fact(hidden, "gpus_hidden") == "0000:b3:00.0: CUDA_VISIBLE_DEVICES");
  CHECK(text_fact(hidden, "gpus_lost").empty());
  CHECK(text_fact(facts({fine, other}, {Shown::unknown, "x"}), "gpus_unknown") == "0000:b3:00.0: x");
  // Whatever the driver says of one whose registers read all ones.
  CHECK(text_fact(facts({fine, pci("0000:b3:00.0", "nvidia", false)}, yes), "gpus_lost").find("fell off the bus") !=
        std::string::npos);
  // Given to a virtual machine; a display card of another model that the driver does not support; one that it could not
  // start; and a machine whose driver is not loaded.
  CHECK(text_fact(facts({fine, pci("0000:b3:00.0", "vfio-pci")}, yes), "gpus_hidden").find("vfio-pci") !=
        std::string::npos);
  CHECK(text_fact(facts({fine, pci("0000:b3:00.0", "", true, false, "0x1287")}, yes), "gpus_lost").empty());
  CHECK(text_fact(facts({fine, pci("0000:b3:00.0", "")}, yes), "gpus_lost").find("could not start") !=
        std::string::npos);
  CHECK(text_fact(facts({pci("0000:3b:00.0", ""), pci("0000:b3:00.0", "")}, yes), "gpus_lost").empty());
}

}  // namespace nvml_test
