#include "netpipe/collectives/nccl.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "npgpu/error.hpp"

extern char** environ;

namespace npgpu::nccl {

namespace {

constexpr int least_version = 21300;

// The first function that the library does not have; null if it has all.
const char* missing_of(void* from, Library& l) {
  const auto is_missing = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(from, name));
    return function == nullptr;
  };
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    if (!missing && is_missing(function, name)) missing = name;
  };
  find(l.get_version, "ncclGetVersion");
  find(l.error_text, "ncclGetErrorString");
  find(l.last_error, "ncclGetLastError");
  find(l.init_all, "ncclCommInitAll");
  find(l.destroy, "ncclCommDestroy");
  find(l.abort, "ncclCommAbort");
  find(l.async_error, "ncclCommGetAsyncError");
  find(l.group_start, "ncclGroupStart");
  find(l.group_end, "ncclGroupEnd");
  find(l.all_reduce, "ncclAllReduce");
  find(l.reduce_scatter, "ncclReduceScatter");
  find(l.all_gather, "ncclAllGather");
  find(l.broadcast, "ncclBroadcast");
  find(l.reduce, "ncclReduce");
  find(l.send, "ncclSend");
  find(l.receive, "ncclRecv");
  (void)is_missing(l.reset_debug, "ncclResetDebugInit");
  return missing;
}

std::string version_of(int code) { return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100); }

// What changes its choices behind a program's back, in order.
std::string settings() {
  std::vector<std::string> all;
  for (char** one = environ; *one; ++one)
    if (std::string_view(*one).starts_with("NCCL_")) all.emplace_back(*one);
  std::ranges::sort(all);
  std::string text;
  for (const std::string& one : all) text += ", " + one;
  return text;
}

constexpr const char* remedy = "install NCCL (libnccl2), or name the library in NPGPU_NCCL";

}  // namespace

int type_of(DataType type) {
  switch (type) {
    case DataType::fp16: return fp16;
    case DataType::bf16: return bf16;
    case DataType::int8: return int8;
    default: return fp32;
  }
}

Library load() {
  const char* const chosen = std::getenv("NPGPU_NCCL");
  const bool is_chosen = chosen && *chosen;
  const std::string name = is_chosen ? chosen : "libnccl.so.2";
  Library l;
  void* const found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);  // held as long as the process
  if (!found) {
    l.why_not = is_chosen
                    ? fmt::format("NCCL is not there: {}, which NPGPU_NCCL names, cannot be opened", name)
                    : fmt::format("NCCL is not there: no {} is where the system looks for libraries; {}", name, remedy);
    return l;
  }
  if (const char* const missing = missing_of(found, l)) {
    l.why_not = fmt::format("{} has no {}: a NCCL of 2.13 or later has it; {}", name, missing, remedy);
    return l;
  }
  if (const int result = l.get_version(&l.version); result != success)
    l.why_not = fmt::format("{} does not report its version: {}; {}", name, l.error_text(result), remedy);
  // Before 2.9 a version was three digits shorter.
  else if (l.version < least_version)
    l.why_not = fmt::format(
        "{} is NCCL {}, and 2.13 or later is needed; {}", name,
        l.version < 10000 ? fmt::format("{}.{}", l.version / 1000, l.version / 100 % 10) : version_of(l.version),
        remedy);
  l.text = fmt::format("NCCL {} ({}){}", version_of(l.version), name, settings());
  return l;
}

const Library& library() {
  static const Library found = load();
  return found;
}

void check(int result, const char* what, Communicator communicator) {
  if (result == success || result == in_progress) return;
  const Library& l = library();
  std::string text = fmt::format("NCCL: {}: {}", what, l.error_text(result));
  const char* const more = l.last_error(communicator);
  if (more && *more) text += fmt::format(" ({})", more);
  throw Error(ErrorKind::failed, text);
}

}  // namespace npgpu::nccl
