// What a trace guarantees of every kind of measurement, whatever its fields are.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "made_trace.hpp"
#include "netpipe/trace/hdf5.hpp"
#include "netpipe/trace/tables.hpp"

namespace trace_kinds_test {

using namespace npgpu;

namespace {

// As a case is by itself, but that a reader refuses a collective of fewer than two devices.
template <class K> typename K::Case plain_case() {
  typename K::Case plain{};
  if constexpr (requires { plain.devices; }) plain.devices = "cuda:0,cuda:1";
  return plain;
}

// Sets every field to something that is not its default, and differs from its neighbours where the kind allows it.
template <class Row> Row filled(std::uint32_t from) {
  Row row{};
  visit_fields(row, [&]<class T>(const FieldInfo& info, T& value) {
    ++from;
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, ShortText>)
      value = T(info.name == "devices" ? fmt::format("cuda:0,cuda:{}", from) : fmt::format("{} {}", info.name, from));
    else if constexpr (std::is_same_v<T, std::vector<Lane>>)
      value = {{Direction::d2h, "cuda:1", "host", Executor::sm_kernel, false}, {Direction::peer, "cuda:2", "cuda:3"}};
    else if constexpr (std::is_same_v<T, bool>) value = !value;
    else if constexpr (std::is_enum_v<T>) value = static_cast<T>(names_of<T>.size() - 1);
    else if (!info.codes.empty() || info.name == "lane") value = static_cast<T>(1);
    else value = static_cast<T>(from);
  });
  return row;
}

// Every field of a row as text: NaNs are equal.
template <class Row> std::vector<std::string> texts(const Row& row) {
  std::vector<std::string> all;
  visit_fields(row, [&]<class T>(const FieldInfo& info, const T& value) {
    if constexpr (std::is_same_v<T, std::vector<Lane>>) all.push_back(lanes_text(value));
    else if constexpr (std::is_enum_v<T>) all.push_back(fmt::format("{} {}", info.name, static_cast<int>(value)));
    else if constexpr (std::is_same_v<T, ShortText>)
      all.push_back(fmt::format("{} {}", info.name, std::string_view(value)));
    else all.push_back(fmt::format("{} {}", info.name, value));
  });
  return all;
}

template <class K> Series<K> header(const std::string& schedule = "adaptive") {
  auto series = filled<Series<K>>(10);
  series.schedule = schedule;
  series.error.clear();
  return series;
}
// Its work is what its axes say, where they say it.
template <class K> Visit<K> visit_of(std::uint32_t seed) {
  auto visit = filled<Visit<K>>(seed);
  if (const double said = K::work(header<K>().question, visit.axes); std::isfinite(said)) visit.work = said;
  return visit;
}
template <class K> std::vector<typename K::Sample> samples(std::uint32_t count) {
  std::vector<typename K::Sample> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(filled<typename K::Sample>(100 * i + 1));
  return all;
}
template <class K> void add(TraceWriter& writer, std::size_t index, std::uint32_t seed, std::uint32_t count) {
  writer.add<K>(index, visit_of<K>(seed), samples<K>(count));
}
template <class K> typename K::Axes axes(std::uint32_t seed) { return filled<Visit<K>>(seed).axes; }
template <class K> std::uint32_t round_of(std::uint32_t seed) { return filled<Visit<K>>(seed).round; }

void for_each_kind_in_a_folder(auto test) {
  for_each_kind([&]<class K>() {
    CAPTURE(K::name);
    const ScratchFolder folder;
    test.template operator()<K>(folder / "t.h5");
  });
}

// A finished trace with one series of one visit of one sample.
template <class K> void make(const std::filesystem::path& path) {
  TraceWriter writer(path, IfExists::replace, root_of("x"), {});
  add<K>(writer, writer.begin<K>(header<K>()), 1, 1);
  writer.finish();
}

template <class K> std::string group() { return fmt::format("/{}/0000", K::name); }

}  // namespace

TEST_CASE("every field of every kind comes back, none at its default") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    {
      TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
      const std::size_t other = writer.begin<Transfers>(header_of());
      const std::size_t index = writer.begin<K>(header<K>());
      CHECK(index == (std::is_same_v<K, Transfers> ? 1 : 0));  // kinds are numbered by themselves
      add<K>(writer, index, 1, 2);
      npgpu::add(writer, other, 8);
      add<K>(writer, index, 50, 3);
      CHECK(writer.has<K>(index, axes<K>(50), round_of<K>(50)));
      CHECK_FALSE(writer.has<K>(index, axes<K>(50), round_of<K>(51)));
      CHECK_FALSE(writer.has<K>(index, axes<K>(51), round_of<K>(51)));
      CHECK(writer.axes<K>(index) == std::vector{axes<K>(1), axes<K>(50)});
      writer.set_error<K>(index, {"lost halfway", Failure::lost, "cuda:1"});
      writer.finish();
    }
    for (const Guard guard : {Guard::none, Guard::child}) {
      CAPTURE(guard);
      const Trace trace = read_trace(path, guard);
      REQUIRE(trace.of<K>().size() == (std::is_same_v<K, Transfers> ? 2 : 1));
      CHECK(trace.of<Transfers>()[0].visits.size() == 1);
      CHECK(trace.of<Transfers>()[0].error.empty());
      const Series<K>& got = trace.of<K>().back();
      auto put = header<K>();
      put.error = "lost halfway";
      put.failure = Failure::lost;
      put.failed_device = "cuda:1";
      CHECK(texts(got) == texts(put));
      REQUIRE(got.visits.size() == 2);
      auto visit = visit_of<K>(50);
      visit.first_sample = 2;
      visit.samples = 3;
      CHECK(texts(got.visits[1]) == texts(visit));
      REQUIRE(got.samples.size() == 5);
      for (std::uint32_t i = 0; i < 3; ++i) {
        auto sample = samples<K>(3)[i];
        sample.visit = 1;
        CHECK(texts(got.samples[2 + i]) == texts(sample));
      }
    }
  });
}

TEST_CASE("every field at its default comes back too") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    Series<K> plain;
    plain.question = plain_case<K>();
    {
      TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
      writer.begin<K>(plain);
      writer.finish();
    }
    CHECK(texts(read_trace(path).of<K>().at(0)) == texts(plain));
  });
}

TEST_CASE("every word of every enumeration of every case") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    std::vector<typename K::Case> asked;
    const typename K::Case plain = plain_case<K>();
    std::size_t field = 0;
    visit_fields(plain, [&]<class T>(const FieldInfo&, const T&) {
      if constexpr (std::is_enum_v<T>)
        for (std::size_t word = 0; word < names_of<T>.size(); ++word) {
          auto& c = asked.emplace_back(plain);
          std::size_t here = 0;
          visit_fields(c, [&]<class U>(const FieldInfo&, U& value) {
            if constexpr (std::is_same_v<T, U>)
              if (here == field) value = static_cast<T>(word);
            ++here;
          });
        }
      ++field;
    });
    {
      TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
      for (const auto& question : asked) {
        Series<K> series;
        series.question = question;
        writer.begin<K>(series);
      }
      writer.finish();
    }
    const Trace trace = read_trace(path);
    REQUIRE(trace.of<K>().size() == asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) CHECK(trace.of<K>()[i].question == asked[i]);
  });
}

TEST_CASE("a resumed trace goes on in its series, and knows the visits that it has") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    {
      TraceWriter writer(path, IfExists::refuse, root_of("first"), {});
      const std::size_t index = writer.begin<K>(header<K>());
      add<K>(writer, index, 1, 2);
      writer.set_error<K>(index, {"stopped", Failure::lost, "cuda:1"});
      writer.checkpoint();
    }
    {
      TraceWriter writer(path, IfExists::resume, root_of("second"), {});
      CHECK(writer.begin<K>(header<K>("classic")) == 1);  // another question
      const std::size_t index = writer.begin<K>(header<K>());
      CHECK(index == 0);
      CHECK(writer.axes<K>(index) == std::vector{axes<K>(1)});
      CHECK(writer.has<K>(index, axes<K>(1), round_of<K>(1)));
      CHECK_FALSE(writer.has<K>(index, axes<K>(1), round_of<K>(2)));
      CHECK_FALSE(writer.has<K>(index, axes<K>(2), round_of<K>(2)));
      add<K>(writer, index, 2, 1);
      writer.finish();
    }
    const Trace trace = read_trace(path);
    REQUIRE(trace.of<K>().size() == 2);
    const Series<K>& series = trace.of<K>()[0];
    REQUIRE(series.visits.size() == 2);
    CHECK(series.visits[0].axes == axes<K>(1));
    CHECK(series.visits[1].axes == axes<K>(2));
    CHECK(series.visits[1].first_sample == 2);
    CHECK(series.error.empty());
    CHECK(series.failure == Failure::none);
    CHECK(series.failed_device.empty());
  });
}

TEST_CASE("a trace older than a kind has none of it, and can be continued with it") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    TraceWriter(path, IfExists::refuse, root_of("x"), {}).finish();
    doctor(path, [](hid_t file) { REQUIRE(H5Ldelete(file, std::string(K::name).c_str(), H5P_DEFAULT) >= 0); });
    CHECK(read_trace(path).of<K>().empty());
    {
      TraceWriter writer(path, IfExists::resume, root_of("y"), {});
      add<K>(writer, writer.begin<K>(header<K>()), 3, 1);
      writer.finish();
    }
    CHECK(read_trace(path).of<K>().at(0).visits.at(0).axes == axes<K>(3));
  });
}

TEST_CASE("a visit that every reader would refuse is not taken, and the rest is kept") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
    const std::size_t index = writer.begin<K>(header<K>());
    const auto refused = [&](auto spoil) {
      auto visit = filled<Visit<K>>(1);
      auto sample = samples<K>(1);
      spoil(visit, sample[0]);
      return error_of([&] { writer.add<K>(index, visit, sample); });
    };
    auto nothing = axes<K>(1);
    visit_fields(nothing, [](const FieldInfo&, auto& value) { value = {}; });
    if constexpr (requires { nothing.nodes; })
      nothing.nodes = 1;  // calls without axes are sound, kernels of 0 blocks are not
    if constexpr (requires { nothing.block_x; }) nothing.block_x = 1 << 20;  // and so are calls without a shape
    CHECK(refused([&](auto& visit, auto&) { visit.axes = nothing; }).has("visit that was to be added has"));
    CHECK(refused([](auto& visit, auto&) { visit.stop = static_cast<Stop>(3); }).has("unknown stop code 3"));
    CHECK(refused([](auto&, auto& sample) { sample.intact = 2; }).has("intact code 2"));
    const std::string no_such = fmt::format("{} 5", K::singular);
    CHECK(error_of([&] { add<K>(writer, 5, 1, 1); }).has(no_such));
    CHECK(error_of([&] { writer.set_error<K>(5, {"x", Failure::failed}); }).has(no_such));
    add<K>(writer, index, 1, 1);
    writer.finish();
    CHECK(read_trace(path).of<K>().at(0).visits.size() == 1);
  });
}

TEST_CASE("what makes a point of a kind senseless is said") {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const auto refused = [&]<class K>(Visit<K> visit, auto sample, auto spoil) {
    static const std::size_t index = writer.begin<K>({});
    spoil(visit.axes, sample);
    return error_of([&] { writer.add<K>(index, visit, std::vector{sample}); });
  };
  const auto probe = [&](auto spoil) { return refused(filled<Visit<Probes>>(1), filled<ProbeSample>(1), spoil); };
  CHECK(probe([](Shape& s, ProbeSample&) { s.blocks = 0; }).has("0 blocks"));
  CHECK(probe([](Shape& s, ProbeSample&) { s.threads = 0; }).has("0 threads"));
  CHECK(probe([](Shape& s, ProbeSample&) { s.ilp = 0; }).has("ilp 0"));
  CHECK(probe([](Shape& s, ProbeSample&) { s.one_block_per_sm = 2; }).has("one_block_per_sm"));
  CHECK(probe([](Shape&, ProbeSample& s) { s.repeats = 0; }).has("0 repeats"));
  const auto job = [&](auto spoil) { return refused(filled<Visit<Jobs>>(1), filled<JobSample>(1), spoil); };
  CHECK(job([](JobShape& s, JobSample&) { s.chunks = 0; }).has("0 chunks"));
  CHECK(job([](JobShape& s, JobSample&) { s.streams = 0; }).has("0 streams"));
  CHECK(job([](JobShape& s, JobSample&) { s.threads = 0; }).has("0 threads"));
  CHECK(job([](JobShape& s, JobSample&) { s.bytes_in = s.bytes_out = s.kernel_bytes = 0; }).has("0 bytes"));
  const auto copy = [&](auto spoil) { return refused(filled<Visit<Transfers>>(1), filled<TransferSample>(1), spoil); };
  CHECK(copy([](TransferSize& s, TransferSample&) { s.bytes = 0; }).has("0 bytes"));
  CHECK(copy([](TransferSize&, TransferSample& s) { s.repeats = 0; }).has("0 repeats"));
  CHECK(copy([](TransferSize&, TransferSample& s) { s.lane = 5000; }).has("lane 5000"));
}

TEST_CASE("every attribute of every kind is missed by its name, and a word that is none is named") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    make<K>(path);
    const std::string sound = contents(path), where = group<K>();
    const auto in = [&](hid_t file) { return trace::made(H5Gopen2(file, where.c_str(), H5P_DEFAULT), "open it"); };
    const Series<K> any{};
    visit_fields(any, [&]<class T>(const FieldInfo& info, const T& usual) {
      const std::string name(info.name);
      write(path, sound);
      doctor(path, [&](hid_t file) { REQUIRE(H5Adelete(in(file), name.c_str()) >= 0); });
      if (info.optional) {  // older traces do not have it
        Series<K> read = read_trace(path).template of<K>().at(0);
        visit_fields(read, [&]<class U>(const FieldInfo& one, const U& value) {
          if constexpr (std::is_same_v<T, U>)
            if (one.name == info.name) CHECK(value == usual);
        });
      } else {
        CHECK(error_of([&] { read_trace(path); }).has(fmt::format("attribute '{}' of {} is missing", name, where)));
      }
      if constexpr (std::is_enum_v<T> || std::is_same_v<T, std::vector<Lane>>) {
        write(path, sound);
        doctor(path, [&](hid_t file) { trace::change(in(file), name, std::string("sideways")); });
        CHECK(error_of([&] { read_trace(path); }).has(fmt::format("'{}' of {} is 'sideways', ", name, where)));
      }
      if constexpr (std::is_same_v<T, std::uint32_t>) {
        write(path, sound);
        doctor(path, [&](hid_t file) {
          REQUIRE(H5Adelete(in(file), name.c_str()) >= 0);
          trace::put(in(file), name, std::uint64_t{1} << 32);
        });
        CHECK(error_of([&] { read_trace(path); }).has("too large"));
      }
    });
    for (const char* table : {"visits", "samples"}) {
      write(path, sound);
      doctor(path, [&](hid_t file) { REQUIRE(H5Ldelete(in(file), table, H5P_DEFAULT) >= 0); });
      CHECK(error_of([&] { read_trace(path); }).has(fmt::format("{}/{} is missing", where, table)));
    }
  });
}

TEST_CASE("tables carry the units and codes of their columns") {
  for_each_kind_in_a_folder([]<class K>(const std::filesystem::path& path) {
    make<K>(path);
    const auto check = [&](const char* name, const trace::Columns& columns) {
      doctor(path, [&](hid_t file) {
        const std::string where = group<K>() + "/" + name;
        const trace::Handle table(H5Dopen2(file, where.c_str(), H5P_DEFAULT));
        for (const trace::Column& column : columns) {
          CHECK(trace::get_text(table, where, "units." + column.name) == column.unit);
          if (!column.codes.empty()) CHECK(trace::get_text(table, where, "codes." + column.name) == column.codes);
        }
      });
    };
    check("visits", trace::columns_of<Visit<K>>());
    check("samples", trace::columns_of<typename K::Sample>());
  });
  CHECK(trace::codes_of<Stop>({"stop"}) == "0 trials, 1 converged, 2 not-converged");
}

}  // namespace trace_kinds_test
