#include <cmath>
#include <cstdlib>

#include "fuzz.hpp"
#include "netpipe/cli/commands.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::fuzz {

namespace {

namespace fs = std::filesystem;

// ---- seeds ----

}  // namespace

void make(const char* path, Arguments arguments) {
  if (fs::exists(path)) return;
  // Other kinds begin with the same, which take a while to measure.
  if (const fs::path made = fs::path("../seeds") / path; fs::exists(made)) return fs::copy(made, path);
  for (const char* one : {"--progress=none", "--quiet", "--wait-quiet=0", "--output"}) arguments.emplace_back(one);
  arguments.emplace_back(path);
  const Answer answer = answer_to(arguments);
  if (!fs::exists(path)) throw Error(ErrorKind::failed, std::string(path) + ": " + answer.err);
}

namespace {

// Short runs of each kind, on simulated devices.
const std::vector<std::string> traces{"check.h5", "again.h5",     "transfers.h5", "probes.h5",     "jobs.h5",
                                      "calls.h5", "partition.h5", "matrix.h5",    "collectives.h5"};

}  // namespace

void make_traces() {
  const Arguments quick{"--schedule", "classic", "--repeats", "2", "--trials", "2"};
  const auto quickly = [&](Arguments words) {
    words.insert(words.end(), quick.begin(), quick.end());
    return words;
  };
  make("check.h5", {"check", "--level", "1", "--device", "sim:h200"});
  make("again.h5", {"check", "--level", "1", "--device", "sim:h200", "--rounds", "2"});
  make("transfers.h5", quickly({"transfer", "--device", "sim:gts250", "--sizes", "8,64KiB,1MiB"}));
  make("probes.h5", quickly({"probe", "compute", "--type", "fp32", "--device", "sim:gts250"}));
  make("bandwidth.h5",
       quickly({"probe", "bandwidth", "--operation", "read,copy", "--type", "fp32", "--device", "sim:gts250"}));
  make("jobs.h5",
       {"streams", "--experiment", "overheads", "--device", "sim:gts250", "--schedule", "classic", "--trials", "1"});
  make("calls.h5", quickly({"calls", "--device", "sim:h200", "--call", "launch,event-record"}));
  make("partition.h5", quickly({"partition", "--device", "sim:h200", "--size", "1e4,1e5", "--streams", "1,2,4"}));
  make("matrix.h5", quickly({"matrix", "--device", "sim:" NPGPU_SOURCE_DIR "/data/devices/nodes/h200x2.json", "--only",
                             "pairs,host", "--sizes", "64KiB"}));
  make("collectives.h5", quickly({"collectives", "--device", "sim:" NPGPU_SOURCE_DIR "/data/devices/nodes/h200x2.json",
                                  "--sizes", "8,128MiB"}));
}

namespace {

std::string seed_trace(Random& random) {
  std::vector<std::string> there;
  for (const std::string& one : traces)
    if (fs::exists(one)) there.push_back(one);
  return one_of(random, there);
}

// ---- what reads a trace ----

// One of the ways to ask for what x.h5 holds; other.h5 is a sound trace of the same run.
Arguments question(Random& random, const std::string& other) {
  static const std::vector<Arguments> all{
      {"report", "x.h5"},
      {"report", "x.h5", "--json"},
      {"report", "x.h5", "--overview"},
      {"report", "x.h5", "--overview", "--json"},
      {"report", "x.h5", "--markdown"},
      {"report", "x.h5", "--html", "x.html", "--force"},
      {"report", "x.h5", "--every-size"},
      {"export", "x.h5", "--table", "transfers"},
      {"export", "x.h5", "--table", "probes", "--summary"},
      {"export", "x.h5", "--table", "transfers", "--summary"},
      {"export", "x.h5", "--table", "jobs"},
      {"export", "x.h5", "--table", "calls", "--summary"},
      {"export", "x.h5", "--table", "partitions"},
      {"export", "x.h5", "--format", "json"},
      {"export", "x.h5", "--format", "npout", "--case", "transfers:0"},
      {"check", "--trace", "x.h5"},
      {"check", "--trace", "x.h5", "--all"},
      {"check", "--trace", "x.h5", "--json"},
      {"check", "--trace", "x.h5", "--quiet", "--exit-codes", "nagios"},
      {"check", "--trace", "x.h5", "--level", "2", "--junit", "x.xml", "--openmetrics", "x.prom"},
      {"check", "--trace", "OTHER", "--reference", "x.h5"},
      {"check", "--trace", "x.h5", "--reference", "OTHER"},
      {"check", "--trace", "x.h5", "--expect", "gpus=1,name=H200,link=gen5x16,memory=100GiB"},
      {"compare", "OTHER", "x.h5"},
      {"compare", "x.h5", "OTHER", "--markdown", "--all", "--points"},
      {"compare", "OTHER", "x.h5", "--json", "--other-hardware"},
      {"fleet", "x.h5", "OTHER"},
      {"fleet", "x.h5", "OTHER", "--json"},
      {"fleet", "x.h5", "OTHER", "--csv", "-"},
      {"fleet", "x.h5", "check.h5", "again.h5", "OTHER", "--html", "x.html", "--openmetrics", "x.prom", "--all",
       "--force"},
      {"derive", "x.h5"},
      {"derive", "x.h5", "--json"},
      {"derive", "x.h5", "--published"},
      {"predict", "x.h5", "--bytes-in", "64MiB", "--kernel-ms", "1", "--bytes-out", "64MiB", "--draw"},
      {"predict", "x.h5", "--bytes-in", "1GiB", "--kernel-ms", "0.01", "--bytes-out", "8", "--json"},
      {"predict", "x.h5", "--measured", "x.h5"},
      {"predict", "x.h5", "--measured", "x.h5", "--json"},
      {"merge", "out.h5", "x.h5", "OTHER", "--incomplete", "--force"},
      {"report", "x.h5:0"},
      {"transfer", "--device", "sim:gts250", "--sizes", "8,64KiB,1MiB", "--schedule", "classic", "--repeats", "2",
       "--trials", "2", "--quiet", "--resume", "--output", "x.h5"},
  };
  Arguments one = one_of(random, all);
  for (std::string& word : one)
    if (word == "OTHER") word = other;
  return one;
}

std::vector<Arguments> questions(Random& random, const std::string& other) {
  std::vector<Arguments> all;
  for (int i = 0; i < 2; ++i) all.push_back(question(random, other));
  return all;
}

std::vector<Arguments> trace_fields(Random& random) {
  const std::string seed = seed_trace(random);
  write("x.h5", damaged_trace(read(seed), random));
  return questions(random, seed);
}

std::vector<Arguments> trace_bytes(Random& random) {
  const std::string seed = seed_trace(random);
  write("x.h5", damaged(read(seed), random));
  return {question(random, seed)};
}

// ---- specs of simulated devices ----

std::vector<Arguments> specs(Random& random) {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(NPGPU_SOURCE_DIR "/data/devices"))
      if (entry.path().extension() == ".json") found.push_back(entry.path().string());
    std::ranges::sort(found);
    return found;
  }();
  static int count = 0;  // a device is known by its file, and read once
  const std::string name = "spec" + std::to_string(count++ % 2000) + ".json";
  write(name, damaged_json(read(one_of(random, all)), random));
  const std::string device = "sim:" + name;
  const Arguments quick{"--schedule", "classic",         "--repeats", "2",       "--trials", "2",
                        "--quiet",    "--progress=none", "--output",  "spec.h5", "--force"};
  Arguments one;
  switch (below(random, 8)) {
    case 0: one = {"info", "--device", device, "--json"}; break;
    case 1: one = {"info", "--device", device}; break;
    case 2:
      one = {"simulate", "--device", device, "--bytes-in", "1MiB", "--kernel-ms", "0.1", "--bytes-out", "1MiB"};
      break;
    case 3: one = {"check", "--level", "1", "--device", device, "--dry-run"}; break;
    case 4: one = {"transfer", "--device", device, "--sizes", "8,64KiB"}; break;
    case 5: one = {"probe", "compute", "--type", "fp32", "--device", device}; break;
    case 6: one = {"calls", "--call", "launch", "--device", device}; break;
    default: one = {"matrix", "--device", device, "--sizes", "8"}; break;
  }
  if (one.front() == "transfer" || one.front() == "probe" || one.front() == "calls" || one.front() == "matrix")
    one.insert(one.end(), quick.begin(), quick.end());
  fs::remove("spec.h5");
  return {one};
}

// ---- references ----

const std::string nvbandwidth =
    R"({"nvbandwidth":{"CUDA Runtime Version":13000,"Driver Version":"580.1","testcases":[{"name":"host_to_device_memcpy_ce","status":"Passed","bandwidth_matrix":[["55.1","54.9"]],"sum":110},{"name":"device_to_host_memcpy_ce","status":"Passed","bandwidth_matrix":[["55.2","N/A"]]},{"name":"device_local_copy","status":"Passed","bandwidth_matrix":[["2000.5"]]},{"name":"x","status":"Waived"}]}})";
const std::string nccl =
    R"({"version":2,"nccl_version":22707,"config":{"ngpus":1,"nthreads":1,"devices":[{"rank":0,"device_info":"SIMULATED H200"}]},"results":[{"size":8,"out_of_place":{"alg_bw":0.1}},{"size":1073741824,"out_of_place":{"alg_bw":1900.5},"in_place":{"alg_bw":0}}]})";

void make_references() {
  make_traces();
  if (!fs::exists("check.json"))
    write("check.json", answer_to({"check", "--trace", "check.h5", "--json", "--all"}).out);
}

std::vector<Arguments> references(Random& random) {
  const std::array<std::string, 3> all{nvbandwidth, nccl, read("check.json")};
  write("reference.json", damaged_json(one_of(random, all), random));
  static const std::vector<Arguments> ways{
      {"--json"}, {"--all"}, {"--quiet"}, {"--junit", "x.xml"}, {"--openmetrics", "x.prom"}};
  Arguments one{"check", "--trace", "check.h5", "--reference", "reference.json"};
  const Arguments& way = one_of(random, ways);
  one.insert(one.end(), way.begin(), way.end());
  return {one};
}

// ---- INI files ----

std::vector<Arguments> profiles(Random& random) {
  const std::string wide =
      "==PROF== Connected\n\"ID\",\"Kernel "
      "Name\",\"gpu__time_duration.sum\",\"dram__bytes.sum\",\"lts__t_bytes.sum\",\"smsp__sass_thread_inst_executed_op_"
      "ffma_pred_on.sum\"\n\"\",\"\",\"us\",\"Mbyte\",\"byte\",\"inst\"\n\"0\",\"a(float*, "
      "int)\",\"1,000.5\",\"3\",\"7\",\"12\"\n\"1\",\"b\",\"2\",\"0\",\"n/a\",\"1e9\"\n";
  const std::string narrow =
      "ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,gpu__time_duration.sum,ns,7\n0,k,dram__bytes_read.sum,"
      "Gbyte,0.5\n0,k,sm__ops_path_tensor_src_bf16_dst_fp32.sum,,9\n";
  write("kernels.csv", damaged_lines(one_in(random, 2) ? wide : narrow, random));
  static const std::vector<std::string> counts{"a=1T,2GB,3ms", "=1,1,1",         "a=1e999,1,1",
                                               "a=,,",         "b=0,0,1us,fp64", "c=1,2,3,4,5"};
  Arguments one{"roofline", "check.h5", "--profile", "kernels.csv", "--counts", one_of(random, counts)};
  if (one_in(random, 2)) one.resize(4);
  if (one_in(random, 2)) one.emplace_back("--json");
  return {one};
}

std::vector<Arguments> settings(Random& random) {
  static const std::string ini =
      "# settings\ndevice = sim:h200\nsizes=8,64KiB\nend = 1MiB\nquiet=true\nseed=7\nrounds = 2\n[transfer]\ntrials=3\n"
      "pattern=stream,duplex\ndirection=h2d,d2h\ntarget-time = "
      "0.1ms\n[probe]\ntype=fp32\n[check]\nlevel=1\nexpect=gpus=1\n[fleet]\nall=true\n";
  write("x.ini", damaged_lines(ini, random));
  static const std::vector<Arguments> commands{
      {"transfer", "--dry-run"}, {"check", "--dry-run"}, {"probe", "compute", "--dry-run"},
      {"fleet", "check.h5"},     {"report", "check.h5"}, {"info", "--device", "sim:h200"}};
  Arguments one = one_of(random, commands);
  one.emplace_back("--config");
  one.emplace_back("x.ini");
  return {one};
}

// ---- what another profiler recorded ----

// As torch.profiler exports it: steps of a copy, a kernel, and a wait.
std::string kineto_text() {
  std::string events;
  for (int step = 0; step < 5; ++step) {
    const double at = 1000 + 100.5 * step;
    events += fmt::format(
        R"json({{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":7,"tid":8,"ts":{0},"dur":5.5,"args":{{"correlation":{1}}}}},
{{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":{2},"dur":20.125,"args":{{"device":0,"stream":7,"correlation":{1},"bytes":4096}}}},
{{"ph":"X","cat":"kernel","name":"k<4>(int)","pid":0,"tid":7,"ts":{3},"dur":30,"args":{{"device":0,"stream":7,"correlation":{4},"registers per thread":32,"shared memory":64,"grid":[132,1,1],"block":[256,1,1],"graph id":0}}}},
{{"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":{3},"dur":31,"args":{{"cuda_sync_kind":"Stream Sync","stream":7,"correlation":{4}}}}},)json",
        at, 2 * step, at + 1, at + 30, 2 * step + 1);
  }
  events.pop_back();
  return R"({"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"traceEvents":[)" + events + "]}";
}

std::vector<Arguments> recordings(Random& random) {
  static const std::string text = kineto_text();
  fs::remove("recorded.h5");
  write("x.json", damaged_json(text, random));
  return {{"record", "--import", "x.json", "-o", "recorded.h5"},
          {"report", "recorded.h5", "--all"},
          {"predict", "recorded.h5", "--on", "twins/h200"},
          {"predict", "recorded.h5", "--on", "twins/h200", "--json"}};
}

// ---- command lines and the environment ----

std::string odd_value(Random& random) {
  static const std::vector<std::string> usual{"check.h5",
                                              "again.h5",
                                              "jobs.h5",
                                              "x.json",
                                              "x.html",
                                              "sim:h200",
                                              "sim:gts250",
                                              "host",
                                              "8",
                                              "8,64KiB",
                                              "1MiB",
                                              "h2d",
                                              "pinned",
                                              "stream",
                                              "duplex",
                                              "fp32",
                                              "compute",
                                              "json",
                                              "csv",
                                              "0.5",
                                              "1ms",
                                              "0",
                                              "-1",
                                              "10%",
                                              "transfers:0",
                                              "probes",
                                              "all",
                                              "gpus=1",
                                              "name=H200,link=gen5x16",
                                              ".",
                                              "/dev/null",
                                              "nosuch/x"};
  switch (below(random, 5)) {
    case 0: return odd_text(random);
    case 1: return std::to_string(odd_integer(random));
    case 2: return std::to_string(odd_number(random));
    default: return one_of(random, usual);
  }
}

// What measures is only planned; what would wait for other ranks is not asked.
bool is_between_ranks(const std::string& value) {
  return value.find("mpi") != std::string::npos || value.find("ucx") != std::string::npos;
}

Arguments finished(Arguments words, const cli::Command& command) {
  std::erase_if(words,
                [](const std::string& word) { return word.find('\0') != std::string::npos || is_between_ranks(word); });
  const cli::Options options(command);
  if (std::ranges::find(options.names(), "dry-run") != options.names().end())
    words.insert(words.begin() + 1, "--dry-run");
  return words;
}

std::vector<Arguments> command_lines(Random& random) {
  if (one_in(random, 50)) return {{odd_text(random), odd_value(random)}};
  const cli::Command& command = one_of(random, cli::commands());
  Arguments words{command.name};
  const cli::Options options(command);
  const std::size_t count = below(random, 5);
  for (std::size_t i = 0; i < count; ++i) {
    if (one_in(random, 4)) {
      words.push_back(odd_value(random));
      continue;
    }
    const std::string name = one_in(random, 20) ? odd_text(random) : one_of(random, options.names());
    if (name == "help" && !one_in(random, 10)) continue;
    const auto meaning = cli::glossary().find(name);
    const bool is_switch = meaning != cli::glossary().end() && meaning->second.value.empty();
    if (one_in(random, 8)) {
      words.push_back("--" + name + '=' + odd_value(random));
    } else {
      words.push_back("--" + name);
      if (!is_switch) words.push_back(odd_value(random));
    }
  }
  for (std::size_t i = 0; i < command.places.size(); ++i)
    if (!one_in(random, 4)) words.push_back(one_in(random, 3) ? odd_value(random) : seed_trace(random));
  return {finished(words, command)};
}

std::vector<Arguments> environments(Random& random) {
  static const std::vector<std::string> others{"COLUMNS",
                                               "TERM",
                                               "NO_COLOR",
                                               "TMPDIR",
                                               "HOME",
                                               "LANG",
                                               "HOSTNAME",
                                               "CUDA_VISIBLE_DEVICES",
                                               "SLURM_JOB_ID",
                                               "SLURM_JOB_NAME",
                                               "SLURM_PROCID",
                                               "SLURM_NTASKS",
                                               "SLURM_ARRAY_TASK_ID",
                                               "SLURM_JOB_GPUS",
                                               "SLURMD_NODENAME",
                                               "OMP_NUM_THREADS",
                                               "CUDA_DEVICE_ORDER",
                                               "CUDA_MPS_PIPE_DIRECTORY"};
  static std::vector<std::string> set;
  for (const std::string& name : set) unsetenv(name.c_str());
  set.clear();
  const cli::Command& command = one_of(random, cli::commands());
  const cli::Options options(command);
  for (auto count = 1 + below(random, 3); count > 0; --count) {
    std::string name = one_of(random, others);
    if (!one_in(random, 3)) {
      name = "NPGPU_" + one_of(random, options.names());
      for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    const std::string value = odd_value(random);
    if (value.find('\0') != std::string::npos || is_between_ranks(value)) continue;
    setenv(name.c_str(), value.c_str(), 1);
    set.push_back(name);
  }
  Arguments words{command.name};
  if (command.name == "probe") words.emplace_back("compute");
  for (std::size_t i = 0; i < command.places.size(); ++i)
    words.push_back(command.places[i] == "OUT" ? "out.h5" : "check.h5");
  return {finished(words, command)};
}

void make_all() {
  make_references();
  make_poison_seeds();
}
void nothing_to_make() {}
std::vector<Arguments> nothing_to_run(Random&) { return {}; }

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"seeds", "what the other kinds begin with, for them to find in ../seeds", make_all, nothing_to_run},
      {"trace-fields", "traces whose attributes, columns, rows and links are not what they were", make_traces,
       trace_fields},
      {"trace-poison", "traces with one number that no device says, held against the sound ones", make_poison_seeds,
       poisons, flaw_beside_sound},
      {"trace-bytes", "traces with damaged bytes", make_traces, trace_bytes},
      {"specs", "specs of simulated devices", nothing_to_make, specs},
      {"references", "references of check: check --json, nvbandwidth, nccl-tests", make_references, references},
      {"profiles", "profiles of kernels for roofline", make_traces, profiles},
      {"recordings", "traces of torch.profiler for record", nothing_to_make, recordings},
      {"settings", "INI files", make_traces, settings},
      {"command-lines", "options and words in any order", make_traces, command_lines},
      {"environment", "NPGPU_* and other variables", make_traces, environments},
  };
  return all;
}

}  // namespace npgpu::fuzz
