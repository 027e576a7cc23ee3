#include <doctest/doctest.h>

#include <sstream>

#include "npgpu/report.hpp"
#include "tests/made_sweep.hpp"

using namespace npgpu;

TEST_CASE("a header row, then a row a sample, exactly as it came") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of(Pattern::pingpong));
  trace.of<Transfers>()[0].device_name = "GPU, \"fast\"\nmodel";
  add_point(trace.of<Transfers>()[0], 1024, {0.1, NAN}, 7);
  trace.of<Transfers>()[0].points[0].stop = Stop::not_converged;
  trace.of<Transfers>()[0].samples[1].intact = 1;
  std::ostringstream out;
  export_csv(out, trace);
  CHECK(out.str() ==
        "sweep,module,device,device_name,simulated,pattern,direction,memory,async,timing,cache,source_offset_bytes,"
        "target_offset_bytes,bind,bytes,stop,point,trial,lane,repeats,host_us,device_us,intact\n"
        "0,cudaMemcpy,cuda:0,\"GPU, \"\"fast\"\"\nmodel\",0,pingpong,h2d,pinned,0,host,warm,0,0,1,"
        "1024,not-converged,0,0,0,7,0.1,,-1\n"
        "0,cudaMemcpy,cuda:0,\"GPU, \"\"fast\"\"\nmodel\",0,pingpong,h2d,pinned,0,host,warm,0,0,1,"
        "1024,not-converged,0,1,0,7,,,1\n");
}

TEST_CASE("numbers read back as they were, whatever their digits") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of());
  const double awkward = 0.1 + 0.2;
  add_point(trace.of<Transfers>()[0], 1, {awkward});
  std::ostringstream out;
  export_csv(out, trace);
  CHECK(out.str().find(",0.30000000000000004,") != std::string::npos);
}

TEST_CASE("a sample without its point leaves those fields empty") {
  Trace trace;
  trace.of<Transfers>().push_back(sweep_of());
  add_point(trace.of<Transfers>()[0], 1, {1});
  trace.of<Transfers>()[0].samples[0].point = 9;
  std::ostringstream out;
  export_csv(out, trace);
  CHECK(out.str().find(",1,,,9,0,0,1,1,,-1\n") != std::string::npos);
}

TEST_CASE("each of comma, quote and line end alone is quoted; nothing else is") {
  for (const auto& [name, quoted] : {std::pair{"a,b", "\"a,b\""},
                                     {"a\"b", "\"a\"\"b\""},
                                     {"a\nb", "\"a\nb\""},
                                     {"a\rb", "\"a\rb\""},
                                     {"a b;'", "a b;'"},
                                     {"", ""}}) {
    Trace trace;
    trace.of<Transfers>().push_back(sweep_of());
    trace.of<Transfers>()[0].device_name = name;
    add_point(trace.of<Transfers>()[0], 1, {1});
    std::ostringstream out;
    export_csv(out, trace);
    CHECK(out.str().find(std::string("cuda:0,") + quoted + ",0,stream") != std::string::npos);
  }
}
