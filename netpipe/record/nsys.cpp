// The SQLite export of Nsight Systems: a table for each sort of activity. Tables and columns differ from version to
// version; those that are not there are no error, but named.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/record/import.hpp"

namespace npgpu::record {

namespace {

// As sqlite3.h has them.
struct Sqlite {
  int (*open)(const char*, void**, int, const char*) = nullptr;
  int (*close)(void*) = nullptr;
  int (*prepare)(void*, const char*, int, void**, const char**) = nullptr;
  int (*bind)(void*, int, std::int64_t) = nullptr;
  int (*step)(void*) = nullptr;
  int (*reset)(void*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*type)(void*, int) = nullptr;
  std::int64_t (*number)(void*, int) = nullptr;
  const unsigned char* (*text)(void*, int) = nullptr;
  int (*bytes)(void*, int) = nullptr;
  const char* (*error)(void*) = nullptr;
  bool found = false;
};
constexpr int sqlite_row = 100, sqlite_done = 101, sqlite_integer = 1, sqlite_null = 5, sqlite_read_only = 1;

const Sqlite& sqlite(const std::filesystem::path& path) {
  static const Sqlite library = [] {
    Sqlite l;
    void* const file = ::dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);  // held as long as the process
    if (!file) return l;
    l.found = true;
    const auto find = [&]<class F>(F*& function, const char* name) {
      function = reinterpret_cast<F*>(::dlsym(file, name));
      l.found = l.found && function;
    };
    find(l.open, "sqlite3_open_v2");
    find(l.close, "sqlite3_close_v2");
    find(l.prepare, "sqlite3_prepare_v2");
    find(l.bind, "sqlite3_bind_int64");
    find(l.step, "sqlite3_step");
    find(l.reset, "sqlite3_reset");
    find(l.finalize, "sqlite3_finalize");
    find(l.type, "sqlite3_column_type");
    find(l.number, "sqlite3_column_int64");
    find(l.text, "sqlite3_column_text");
    find(l.bytes, "sqlite3_column_bytes");
    find(l.error, "sqlite3_errmsg");
    return l;
  }();
  if (!library.found)
    throw Error(ErrorKind::failed,
                path.string() +
                    " is a database of SQLite, and there is no libsqlite3.so.0 where the system looks for "
                    "libraries: install libsqlite3-0 (Debian, Ubuntu) or sqlite-libs (Fedora, Red Hat)");
  return library;
}

class Database {
 public:
  explicit Database(const std::filesystem::path& path) : path_(path), lib_(sqlite(path)) {
    void* opened = nullptr;
    const int code = lib_.open(path.c_str(), &opened, sqlite_read_only, nullptr);
    base_.reset(opened);  // which there is even where it cannot be opened: it holds what is wrong
    if (code != 0) refuse();
    // Tables of files alone: a view or a virtual table computes what it holds, maybe without end.
    auto all = prepared("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'");
    while (step(all.get())) tables_[text_at(all.get(), 0)];
    for (auto& [table, columns] : tables_) {
      auto info = prepared("SELECT name FROM pragma_table_info('" + quoted(table, '\'') + "')");
      while (step(info.get())) columns.insert(text_at(info.get(), 0));
    }
  }

  bool has(const std::string& table) const { return tables_.contains(table); }
  bool has(const std::string& table, const std::string& column) const {
    const auto found = tables_.find(table);
    return found != tables_.end() && found->second.contains(column);
  }

  // A row; columns by their number among those asked for.
  class Row {
   public:
    Row(const Database& of, std::string_view table, std::span<const char* const> columns, void* statement)
        : of_(of), table_(table), columns_(columns), statement_(statement) {}
    // Nothing where the column is not there, or holds nothing.
    std::optional<std::int64_t> maybe(int i) const {
      const int type = of_.lib_.type(statement_, i);
      if (type == sqlite_null) return std::nullopt;
      if (type != sqlite_integer) refuse(i, "something that is no whole number");
      return of_.lib_.number(statement_, i);
    }
    std::uint64_t large(int i) const {
      const std::int64_t n = maybe(i).value_or(0);
      if (n < 0) refuse(i, "a negative number");
      return static_cast<std::uint64_t>(n);
    }
    std::uint32_t number(int i) const {
      const std::uint64_t n = large(i);
      if (n > UINT32_MAX) refuse(i, "a number beyond 2^32");
      return static_cast<std::uint32_t>(n);
    }
    std::string text(int i) const { return of_.text_at(statement_, i); }

   private:
    [[noreturn]] void refuse(int i, const char* what) const {
      refuse_import(of_.path_, fmt::format("{} holds {} as {}", table_, what, columns_[static_cast<std::size_t>(i)]));
    }
    const Database& of_;
    std::string_view table_;
    std::span<const char* const> columns_;
    void* statement_;
  };

  // Whether the table is there.
  template <std::size_t N, class Visit>
  bool each(const std::string& table, const char* const (&columns)[N], Visit visit) const {
    if (!has(table)) return false;
    std::string question = "SELECT ";
    for (const char* column : columns)
      question += (has(table, column) ? fmt::format("\"{}\"", column) : "NULL") + std::string(", ");
    question.resize(question.size() - 2);
    auto rows = prepared(question + " FROM \"" + table + "\"");
    while (step(rows.get())) visit(Row(*this, table, columns, rows.get()));
    return true;
  }

  // The text with that number in StringIds; "unknown" where there is none.
  const std::string& string(std::optional<std::int64_t> id) {
    const std::int64_t number = id.value_or(-1);
    const auto [found, is_new] = strings_.try_emplace(number, "unknown");
    if (is_new && id && has("StringIds", "id") && has("StringIds", "value")) {
      if (!find_string_) find_string_ = prepared("SELECT value FROM StringIds WHERE id = ?");
      lib_.bind(find_string_.get(), 1, number);
      if (step(find_string_.get())) found->second = sound(demangled(text_at(find_string_.get(), 0)));
      lib_.reset(find_string_.get());
    }
    return found->second;
  }

 private:
  using Statement = std::unique_ptr<void, int (*)(void*)>;

  [[noreturn]] void refuse() const {
    refuse_import(path_,
                  std::string("cannot be read as a database of SQLite: ") + sound(said(lib_.error(base_.get()))));
  }
  static std::string quoted(std::string text, char quote) {
    for (std::size_t at = 0; (at = text.find(quote, at)) != std::string::npos; at += 2) text.insert(at, 1, quote);
    return text;
  }
  Statement prepared(const std::string& question) const {
    void* made = nullptr;
    if (lib_.prepare(base_.get(), question.c_str(), -1, &made, nullptr) != 0) refuse();
    return {made, lib_.finalize};
  }
  bool step(void* statement) const {
    const int code = lib_.step(statement);
    if (code != sqlite_row && code != sqlite_done) refuse();
    return code == sqlite_row;
  }
  std::string text_at(void* statement, int i) const {
    const unsigned char* const text = lib_.text(statement, i);
    return text ? std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(lib_.bytes(statement, i)))
                : std::string();
  }

  const std::filesystem::path& path_;
  const Sqlite& lib_;
  std::unique_ptr<void, int (*)(void*)> base_{nullptr, lib_.close};
  std::map<std::string, std::set<std::string>> tables_{};
  std::unordered_map<std::int64_t, std::string> strings_{};
  Statement find_string_{nullptr, nullptr};
};

// A global number of a process or thread has that of the process from bit 24 on, and that of the thread below.
std::uint32_t pid_of(std::uint64_t global) { return static_cast<std::uint32_t>(global >> 24 & 0xffffff); }

class NsysReader {
 public:
  explicit NsysReader(const std::filesystem::path& path) : path_(path), base_(path) {}

  std::vector<ProcessEvents> read() {
    name_profiler();
    name_memory();
    const bool has_kernels = kernels(), has_copies = copies();
    memsets();
    const bool has_calls = calls(), has_waits = waits();
    if (processes_.empty())
      refuse_import(path_, "holds no kernel, copy or call of CUDA: nsys profile has to --trace=cuda");
    const auto lack = [&](bool is_there, const char* what) {
      if (!is_there) lacks_.emplace_back(what);
    };
    lack(has_kernels, "kernels");
    lack(has_copies, "copies");
    lack(has_calls, "calls of CUDA");
    lack(has_waits, "what was waited for");
    lack(!base_.has("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
         "what graphs did, kernel by kernel (nsys profile --cuda-graph-trace=node has it)");
    lack(base_.has(gpus, "uuid"), "UUIDs of GPUs");
    lacks_.emplace_back("graphs that kernels belong to");
    lacks_.emplace_back("how many records were dropped");
    std::vector<ProcessEvents> all;
    for (auto& [pid, one] : processes_) {
      one.process.pid = pid;
      one.process.ended = true;
      one.process.imported_from = profiler_;
      one.process.lacks = lacks_;
      name_devices(one);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  void name_profiler() {
    constexpr const char* columns[] = {"name", "value"};
    base_.each("META_DATA_EXPORT", columns, [&](const Database::Row& row) {
      if (row.text(0) == "EXPORT_PRODUCT_VERSION") profiler_ += " " + sound(row.text(1));
    });
  }
  // Where the table is not there, codes are one lower than CUPTI's.
  void name_memory() {
    for (std::int64_t code = 0; code + 1 < static_cast<std::int64_t>(names_of<RecordMemory>.size()); ++code)
      memory_[code] = static_cast<RecordMemory>(code + 1);
    constexpr const char* columns[] = {"id", "label"};
    if (!base_.has("ENUM_CUDA_MEM_KIND", "label")) return;
    base_.each("ENUM_CUDA_MEM_KIND", columns, [&](const Database::Row& row) {
      if (const auto id = row.maybe(0)) memory_[*id] = memory_called(row.text(1));
    });
  }
  RecordMemory memory_of(std::optional<std::int64_t> code) const {
    const auto found = memory_.find(code.value_or(-1));
    return found == memory_.end() ? RecordMemory::unknown : found->second;
  }

  // The first columns of all tables, which begin with start, end, correlationId and the process.
  Event* add(Activity activity, const Database::Row& row, std::uint64_t global) {
    refuse_too_many(path_, ++events_);
    ProcessEvents& process = processes_[pid_of(global)];
    const std::uint64_t start = row.large(0), end = row.large(1);
    if (end < start) {
      ++process.process.bad;
      return nullptr;
    }
    Event& e = process.add(activity, start, end);
    e.correlation = static_cast<std::uint32_t>(row.large(2));
    return &e;
  }
  // Further ones: deviceId, streamId.
  Event* on_device(Activity activity, const Database::Row& row) {
    Event* const e = add(activity, row, row.large(3));
    if (!e) return nullptr;
    e->device = row.number(4);
    e->stream = row.number(5);
    processes_[pid_of(row.large(3))].devices.try_emplace(e->device);
    return e;
  }

  bool kernels() {
    constexpr const char* columns[] = {"start",
                                       "end",
                                       "correlationId",
                                       "globalPid",
                                       "deviceId",
                                       "streamId",
                                       "gridX",
                                       "gridY",
                                       "gridZ",
                                       "blockX",
                                       "blockY",
                                       "blockZ",
                                       "registersPerThread",
                                       "staticSharedMemory",
                                       "dynamicSharedMemory",
                                       "demangledName",
                                       "shortName"};
    return base_.each("CUPTI_ACTIVITY_KIND_KERNEL", columns, [&](const Database::Row& row) {
      Event* const e = on_device(Activity::kernel, row);
      if (!e) return;
      const auto full = row.maybe(15);
      e->question.name = base_.string(full ? full : row.maybe(16));
      e->shape = {0,
                  row.number(6),
                  row.number(7),
                  row.number(8),
                  row.number(9),
                  row.number(10),
                  row.number(11),
                  row.number(12),
                  row.number(13),
                  row.number(14)};
      processes_[pid_of(row.large(3))].drop_flawed_kernel();
    });
  }
  bool copies() {
    constexpr const char* columns[] = {"start",    "end",   "correlationId", "globalPid", "deviceId",
                                       "streamId", "bytes", "srcKind",       "dstKind"};
    return base_.each("CUPTI_ACTIVITY_KIND_MEMCPY", columns, [&](const Database::Row& row) {
      Event* const e = on_device(Activity::copy, row);
      if (!e) return;
      e->shape.bytes = row.large(6);
      e->question.source = memory_of(row.maybe(7));
      e->question.target = memory_of(row.maybe(8));
    });
  }
  void memsets() {
    constexpr const char* columns[] = {"start",    "end",      "correlationId", "globalPid",
                                       "deviceId", "streamId", "bytes",         "memKind"};
    base_.each("CUPTI_ACTIVITY_KIND_MEMSET", columns, [&](const Database::Row& row) {
      Event* const e = on_device(Activity::memset, row);
      if (!e) return;
      e->shape.bytes = row.large(6);
      e->question.target = memory_of(row.maybe(7));
    });
  }
  bool calls() {
    constexpr const char* columns[] = {"start", "end", "correlationId", "globalTid", "nameId"};
    return base_.each("CUPTI_ACTIVITY_KIND_RUNTIME", columns, [&](const Database::Row& row) {
      Event* const e = add(Activity::call, row, row.large(3));
      if (!e) return;
      e->thread = static_cast<std::uint32_t>(row.large(3) & 0xffffff);
      e->question.name = call_name(base_.string(row.maybe(4)));
    });
  }
  bool waits() {
    constexpr const char* columns[] = {"start", "end", "correlationId", "globalPid", "streamId", "syncType"};
    return base_.each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, [&](const Database::Row& row) {
      Event* const e = add(Activity::wait, row, row.large(3));
      if (!e) return;
      e->stream = static_cast<std::uint32_t>(row.maybe(4).value_or(-1));  // -1 where it is for no stream
      e->question.name = wait_called(row.number(5));
    });
  }

  // A process's number of a device is not that of the machine where the process sees some of them only.
  void name_devices(ProcessEvents& of) {
    std::map<std::int64_t, std::int64_t> gpu_of;
    constexpr const char* numbers[] = {"cudaId", "gpuId", "pid"};
    base_.each("TARGET_INFO_CUDA_DEVICE", numbers, [&](const Database::Row& row) {
      if (row.maybe(2).value_or(of.process.pid) == of.process.pid) gpu_of[row.number(0)] = row.number(1);
    });
    constexpr const char* columns[] = {"id", "name", "uuid", "busLocation"};
    base_.each(gpus, columns, [&](const Database::Row& row) {
      for (auto& [number, device] : of.devices) {
        const auto known = gpu_of.find(number);
        if (row.maybe(0) != (known == gpu_of.end() ? std::int64_t{number} : known->second)) continue;
        device.name = sound(row.text(1));
        device.uuid = sound(row.text(2));
        if (!device.uuid.empty() && !device.uuid.starts_with("GPU-")) device.uuid = "GPU-" + device.uuid;
        device.pci_bus_id = sound(row.text(3));
      }
    });
  }

  static constexpr const char* gpus = "TARGET_INFO_GPU";
  const std::filesystem::path& path_;
  Database base_;
  std::string profiler_ = "Nsight Systems";
  std::vector<std::string> lacks_{};
  std::map<std::int64_t, RecordMemory> memory_{};
  std::map<std::uint32_t, ProcessEvents> processes_{};  // by pid
  std::size_t events_ = 0;
};

}  // namespace

std::vector<ProcessEvents> read_nsys(const std::filesystem::path& path) { return NsysReader(path).read(); }

}  // namespace npgpu::record
