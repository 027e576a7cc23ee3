// What a trace guarantees of probes and of jobs in streams alike, beside what it guarantees of sweeps. Each of the two
// says what it is by a struct Kind:
//
//   TransferSeries, TransferPoint, TransferSample, Shape       its types; a Shape tells points apart
//   header(schedule), shape(k), point(k), samples(count)    made by hand, no field at its default; k >= 1
//   shape_of(TransferPoint), sweeps(Trace)    where they are in the types above
//   begin, has, add, set_error        TraceWriter's functions for it
#pragma once

#include <string>
#include <vector>

#include "tests/made_trace.hpp"

namespace npgpu {

template <class Kind>
std::vector<typename Kind::Shape> shapes_in(const typename Kind::TransferSeries& sweep) {
  std::vector<typename Kind::Shape> all;
  for (const auto& point : sweep.points) all.push_back(Kind::shape_of(point));
  return all;
}

// Two points and their samples beside a sweep of transfers, as they come back; what only this kind has is left to its
// own test.
template <class Kind>
typename Kind::TransferSeries after_round_trip() {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    const std::size_t sweep = writer.begin_sweep(header_of());
    const std::size_t index = Kind::begin(writer, Kind::header("adaptive"));
    CHECK(index == 0);  // numbered by themselves
    Kind::add(writer, index, Kind::point(1), Kind::samples(2));
    add(writer, sweep, 8);
    Kind::add(writer, index, Kind::point(16), Kind::samples(3));
    CHECK(Kind::has(writer, index, Kind::shape(16)));
    CHECK_FALSE(Kind::has(writer, index, Kind::shape(17)));
    Kind::set_error(writer, index, "lost halfway");
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  CHECK(trace.version_minor == 3);
  REQUIRE(trace.of<Transfers>().size() == 1);
  CHECK(trace.of<Transfers>()[0].points.size() == 1);
  CHECK(trace.of<Transfers>()[0].error.empty());
  REQUIRE(Kind::sweeps(trace).size() == 1);
  const auto& got = Kind::sweeps(trace)[0];
  const auto put = Kind::header("adaptive");
  CHECK(got.question == put.question);
  CHECK(got.schedule == "adaptive");
  CHECK(got.device_uuid == "GPU-1");
  CHECK(got.device_name == "Test GPU");
  CHECK(got.simulated);
  CHECK(got.binding == "none");
  CHECK(got.error == "lost halfway");
  CHECK(shapes_in<Kind>(got) == std::vector{Kind::shape(1), Kind::shape(16)});
  REQUIRE(got.samples.size() == 5);
  const auto& point = got.points.at(1);
  CHECK(point.first_sample == 2);
  CHECK(point.samples == 3);
  CHECK(point.stop == Stop::not_converged);
  CHECK(point.wall_us == 99.5);
  CHECK(point.telemetry.sm_clock_mhz == 1980.5);
  CHECK(point.telemetry.memory_clock_mhz == 2619);
  CHECK(point.telemetry.power_w == 412.5);
  CHECK(point.telemetry.temperature_c == 61);
  CHECK(point.telemetry.throttle_reasons == 0x24);
  auto first = Kind::samples(1)[0];
  first.point = 1;
  CHECK(got.samples[2] == first);
  return got;
}

// What point() gives beside its shape.
template <class TransferPoint>
TransferPoint with_what_all_points_have(TransferPoint point) {
  point.stop = Stop::not_converged;
  point.wall_us = 99.5;
  point.telemetry = {1980.5, 2619, 412.5, 61, 0x24};
  return point;
}
// What header() gives beside the question.
template <class TransferSeries>
TransferSeries with_what_all_headers_have(TransferSeries sweep, const std::string& schedule) {
  sweep.schedule = schedule;
  sweep.device_uuid = "GPU-1";
  sweep.device_name = "Test GPU";
  sweep.simulated = true;
  sweep.binding = "none";
  return sweep;
}

// Each question gets its place, and comes back as it was asked.
template <class Kind, class Question>
void check_questions(const std::vector<Question>& asked) {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
    for (const Question& question : asked) {
      typename Kind::TransferSeries sweep;
      sweep.question = question;
      Kind::begin(writer, sweep);
    }
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(Kind::sweeps(trace).size() == asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) CHECK(Kind::sweeps(trace)[i].question == asked[i]);
}

template <class Kind>
void check_resume() {
  const ScratchFolder folder;
  {
    TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("first"), {});
    const std::size_t index = Kind::begin(writer, Kind::header("adaptive"));
    Kind::add(writer, index, Kind::point(1), Kind::samples(2));
    Kind::set_error(writer, index, "stopped");
    writer.checkpoint();
  }
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    CHECK(Kind::begin(writer, Kind::header("classic")) == 1);  // another question
    const std::size_t index = Kind::begin(writer, Kind::header("adaptive"));
    CHECK(index == 0);
    CHECK(Kind::has(writer, index, Kind::shape(1)));
    CHECK_FALSE(Kind::has(writer, index, Kind::shape(2)));
    Kind::add(writer, index, Kind::point(2), Kind::samples(1));
    writer.finish();
  }
  const Trace trace = read_trace(folder / "t.h5");
  REQUIRE(Kind::sweeps(trace).size() == 2);
  const auto& sweep = Kind::sweeps(trace)[0];
  CHECK(shapes_in<Kind>(sweep) == std::vector{Kind::shape(1), Kind::shape(2)});
  CHECK(sweep.points.at(1).first_sample == 2);
  CHECK(sweep.error.empty());
}

// A trace of version 1.0, which had transfers only, is read and continued, and keeps what it had.
template <class Kind>
void check_older_trace() {
  const ScratchFolder folder;
  std::filesystem::copy_file(std::filesystem::path(NPGPU_SOURCE_DIR) / "data/traces/h200.h5", folder / "t.h5");
  const Trace before = read_trace(folder / "t.h5");
  CHECK(before.version_minor == 0);
  CHECK(Kind::sweeps(before).empty());
  REQUIRE(before.sweeps.size() == 19);
  {
    TraceWriter writer(folder / "t.h5", IfExists::resume, root_of("second"), {});
    Kind::add(writer, Kind::begin(writer, Kind::header("adaptive")), Kind::point(3), Kind::samples(1));
    writer.finish();
  }
  const Trace after = read_trace(folder / "t.h5");
  CHECK(after.version_minor == 3);
  REQUIRE(after.sweeps.size() == 19);
  REQUIRE(after.sweeps[18].samples.size() == before.sweeps[18].samples.size());
  CHECK(after.sweeps[18].samples.back().host_us == before.sweeps[18].samples.back().host_us);
  REQUIRE(Kind::sweeps(after).size() == 1);
  CHECK(shapes_in<Kind>(Kind::sweeps(after)[0]) == std::vector{Kind::shape(3)});
}

// Points that every reader would refuse are not taken, the error has the word, and the rest is kept.
template <class Kind>
struct Refusal {
  std::function<void(typename Kind::TransferPoint&, typename Kind::TransferSample&)> spoil;
  std::string word;
};
template <class Kind>
void check_refused(const std::vector<Refusal<Kind>>& refusals, const std::string& no_such_index) {
  const ScratchFolder folder;
  TraceWriter writer(folder / "t.h5", IfExists::refuse, root_of("x"), {});
  const std::size_t index = Kind::begin(writer, Kind::header("adaptive"));
  for (const Refusal<Kind>& refusal : refusals) {
    auto point = Kind::point(1);
    auto samples = Kind::samples(1);
    refusal.spoil(point, samples[0]);
    CHECK(error_of([&] { Kind::add(writer, index, point, samples); }).has(refusal.word));
  }
  CHECK(error_of([&] { Kind::add(writer, 5, Kind::point(1), Kind::samples(1)); }).has(no_such_index));
  CHECK(error_of([&] { Kind::set_error(writer, 5, "x"); }).has(no_such_index));
  Kind::add(writer, index, Kind::point(1), Kind::samples(1));
  writer.finish();
  CHECK(shapes_in<Kind>(Kind::sweeps(read_trace(folder / "t.h5")).at(0)) == std::vector{Kind::shape(1)});
}

// What reading says of a trace of one point after `change`, which gets the open file.
template <class Kind>
std::string said_of_damage(const std::function<void(hid_t)>& change) {
  const ScratchFolder folder;
  const auto path = folder / "t.h5";
  {
    TraceWriter writer(path, IfExists::refuse, root_of("x"), {});
    Kind::add(writer, Kind::begin(writer, Kind::header("adaptive")), Kind::point(1), Kind::samples(1));
    writer.finish();
  }
  doctor(path, change);
  return error_of([&] { read_trace(path); }).text;
}

}  // namespace npgpu
