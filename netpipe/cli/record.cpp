// npgpu record: what an application asks of its GPUs, as a trace.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <sstream>

#include "netpipe/campaign/provenance.hpp"
#include "netpipe/cli/commands.hpp"
#include "netpipe/cli/measure.hpp"
#include "netpipe/cli/output_file.hpp"
#include "netpipe/cli/quantity.hpp"
#include "netpipe/cli/terminal.hpp"
#include "netpipe/files/output.hpp"
#include "netpipe/process/child.hpp"
#include "netpipe/record/raw.hpp"
#include "netpipe/record/reading.hpp"
#include "npgpu/report/report.hpp"
#include "npgpu/vocabulary/units.hpp"

namespace npgpu::cli {

namespace {

#ifndef NPGPU_LIBRARY_FOLDER
#define NPGPU_LIBRARY_FOLDER "lib"
#endif
constexpr char library_variable[] = "NPGPU_RECORD_LIBRARY", injection_variable[] = "CUDA_INJECTION64_PATH";

std::string recording_library() {
  constexpr const char* file = "libnpgpu_record.so";
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::filesystem::path> places{program / file, program / ".." / NPGPU_LIBRARY_FOLDER / "npgpu" / file};
  if (const char* named = std::getenv(library_variable); named && *named) places = {named};
  for (const std::filesystem::path& place : places)
    if (std::filesystem::exists(place, ignored)) return std::filesystem::absolute(place).lexically_normal().string();
  throw Error(ErrorKind::failed, fmt::format("there is no {}, by which applications are recorded: build the target "
                                             "npgpu_record_library, or name it with {}",
                                             places.front().string(), library_variable));
}

// The file that a shell would run.
std::string file_of(const std::string& word) {
  const auto is_program = [](const std::string& path) {
    struct stat is {};
    return ::stat(path.c_str(), &is) == 0 && S_ISREG(is.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (word.find('/') != std::string::npos) return word;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = (folder.empty() ? "." : folder) + "/" + word; is_program(file)) return file;
  throw Error(ErrorKind::usage, "'" + word + "' is no program on PATH");
}

std::uint64_t nanoseconds(Seconds s) { return static_cast<std::uint64_t>(s.count() * 1e9); }

std::uint64_t now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

void set_variables(const Options& options, const std::filesystem::path& folder) {
  const auto set = [](const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); };
  set(injection_variable, recording_library());
  set(record::folder_variable, folder.string());
  set(record::began_variable, std::to_string(now_ns()));
  set(record::most_variable, std::to_string(parse_size("most", options.text("most"), 64 * KiB)));
  if (const auto text = options.maybe("after"))
    set(record::after_variable, std::to_string(nanoseconds(parse_duration("after", *text))));
  if (const auto text = options.maybe("for"))
    set(record::for_variable, std::to_string(nanoseconds(parse_duration("for", *text))));
}

volatile sig_atomic_t application = 0;
extern "C" void pass_on(int signal) {
  if (application > 0) ::kill(static_cast<pid_t>(application), signal);
}

// Until the application has ended. What a terminal sends to both is the application's to obey, and what is sent to this
// process alone is passed on.
process::Ending run_application(const std::vector<std::string>& words) {
  process::Child child = process::started({.words = words, .file = file_of(words.front())}, words.front());
  application = child.pid();
  struct sigaction passing {};
  passing.sa_handler = pass_on;
  passing.sa_flags = SA_RESTART;
  for (const int one : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) ::sigaction(one, &passing, nullptr);
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGQUIT, SIG_IGN);
  return child.wait();
}

// `provenance`: of the run, as far as this machine knows of it.
void write_trace(TraceWriter& writer, const record::Recording& recording, const Provenance& provenance) {
  for (const auto& [group, facts] : provenance) writer.note(group, facts);
  // The application may see other GPUs than npgpu, or call them otherwise: nothing is asked of them here.
  for (std::size_t i = 0; i < recording.devices.size(); ++i)
    writer.note(fmt::format("gpu{}", i), campaign::known_facts(recording.devices[i]));
  for (std::size_t i = 0; i < recording.processes.size(); ++i)
    writer.note(fmt::format("process_{}", i), record::facts_of(recording.processes[i]));
  for (const RecordSeries& series : recording.series) {
    const std::size_t index = writer.begin(series);
    for (const Visit<Records>& visit : series.visits) writer.add<Records>(index, visit, samples_of(series, visit));
  }
  writer.finish();
}

std::string number_of(std::uint64_t count, const char* one, const char* more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// "101 copies, 816 kernels, 0 dropped"
std::string summary_of(const record::Recording& recording) {
  std::uint64_t dropped = 0, bad = 0, beyond = 0, cut = 0;
  for (const record::RecordedProcess& p : recording.processes) {
    dropped += p.dropped;
    bad += p.bad;
    beyond += p.beyond_limit;
    cut += p.events > 0 && !p.ended;
  }
  std::string text = fmt::format("{}, {}", number_of(recording.events(Activity::copy), "copy", "copies"),
                                 number_of(recording.events(Activity::kernel), "kernel", "kernels"));
  if (recording.processes.front().imported_from.empty()) text += fmt::format(", {} dropped", dropped);
  if (bad) text += fmt::format(", {} without a time", bad);
  if (beyond) text += fmt::format(", {} beyond --most", beyond);
  if (recording.processes.size() > 1) text += fmt::format(", of {} processes", recording.processes.size());
  if (cut)
    text += fmt::format(
        "; {} did not end by {}", number_of(cut, "process", "processes"),
        cut == 1 ? "itself: its last moments may be missing" : "themselves: their last moments may be missing");
  return text;
}

std::string why_nothing(const record::Recording& recording) {
  for (const record::RecordedProcess& p : recording.processes)
    if (!p.trouble.empty()) return p.trouble;
  if (recording.processes.empty())
    return "the application did not use CUDA, or its driver does not load libraries that CUDA_INJECTION64_PATH names";
  return "the application used CUDA, but copied nothing and launched nothing in the time that was recorded";
}

int code_of(const process::Ending& ending) {
  if (const auto code = ending.exit_code()) return *code;
  return 128 + ending.signal().value_or(0);
}

TraceWriter writer_of(const Options& options, const std::string& output, const TraceRoot& root) {
  check_trace_output(output);
  make_default_folder(output);
  return {
      output, options.on("force") ? IfExists::replace : IfExists::refuse, root, {}};  // which refuses before the run
}

// What another profiler recorded, maybe on another machine: of that nothing is known but what its file says.
int run_import(const Options& options, const std::string& file) {
  if (options.has("APP..."))
    throw Error(ErrorKind::usage,
                "--import reads what was recorded before, and runs nothing: leave the application out");
  for (const char* option : {"after", "for", "most"})
    if (options.typed(option))
      throw Error(ErrorKind::usage, fmt::format("--import reads all that was recorded before: leave --{} out", option));
  const std::string output = options.maybe("output").value_or(default_output());
  TraceRoot root = campaign::trace_root("record", typed());
  root.hostname = "unknown";
  TraceWriter writer = writer_of(options, output, root);
  const record::Recording recording = record::import_recording(file);
  write_trace(writer, recording, {{"build", campaign::build_facts()}});
  const record::RecordedProcess& first = recording.processes.front();
  std::cerr << fmt::format("npgpu record: {}, of {}: {}\n", summary_of(recording), first.imported_from,
                           one_line(output));
  std::cerr << fmt::format("npgpu record: {} lacks: {}\n", one_line(file), fmt::join(first.lacks, "; "));
  return exit_code::done;
}

int run_record(const Options& options) {
  if (const auto file = options.maybe("import")) return run_import(options, *file);
  const std::vector<std::string> words = options.places("APP...");
  const std::string output = options.maybe("output").value_or(default_output());
  TraceWriter writer = writer_of(options, output, campaign::trace_root("record", typed()));
  const TemporaryFolder folder("record");
  set_variables(options, folder.path());
  const process::Ending ending = run_application(words);
  std::error_code ignored;
  std::vector<std::filesystem::path> files = files::entries_of(folder.path(), ignored);
  std::erase_if(files, [](const std::filesystem::path& file) { return file.extension() != ".raw"; });
  const record::Recording recording = record::read_raw_files(files);
  if (const auto signal = ending.signal())
    std::cerr << fmt::format("npgpu record: {} was ended by signal {}\n", one_line(words.front()), *signal);
  if (recording.series.empty()) {
    std::cerr << "npgpu record: nothing was recorded: " << why_nothing(recording) << '\n';
    const int code = code_of(ending);
    return code ? code : exit_code::nothing;
  }
  write_trace(writer, recording, campaign::provenance({}, {}));
  std::cerr << fmt::format("npgpu record: {}: {}\n", summary_of(recording), one_line(output));
  for (const record::RecordedProcess& p : recording.processes)
    if (!p.trouble.empty()) std::cerr << fmt::format("npgpu record: process {}: {}\n", p.pid, p.trouble);
  return code_of(ending);
}

}  // namespace

Command record() {
  return {
      "record",
      "record what an application copies and launches on its GPUs",
      "Runs the application and keeps every copy, kernel, memset, wait and call of CUDA, with its time, in a trace. "
      "Child processes are recorded, too. The application's input, output and exit code stay its own; it runs as "
      "long as it would, and if it crashes or is killed, what it did before is kept. Nothing of it has to be "
      "rebuilt. NVIDIA's CUPTI must be on the machine, and no other profiler in the application. --import makes the "
      "same trace of what another profiler recorded. npgpu report shows the trace; npgpu predict says what would make "
      "a step of the application faster.",
      {"APP..."},
      {"npgpu record -o app.h5 -- ./app", "npgpu record -o app.h5 --after 10s --for 2s -- python3 train.py",
       "npgpu record -o app.h5 --import trace.json"},
      {{"What is recorded", {"after", "for", Option("most", "1GiB"), "import"}}, {"Output", {"output", "force"}}},
      run_record};
}

const Joined<ListedCommand> listed_record({Asks::mine, 2, record});

}  // namespace npgpu::cli
