#include "netpipe/cli/job_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "netpipe/cli/quantity.hpp"
#include "netpipe/engine/csv_record.hpp"
#include "netpipe/files/json_input.hpp"
#include "npgpu/error.hpp"

namespace npgpu::cli {

namespace {

constexpr std::array<std::string_view, 6> columns{"name", "bytes_in", "kernel_ms", "bytes_out", "blocks", "threads"};
constexpr double day_ms = 86400e3;
constexpr std::size_t max_jobs = 10'000;

using JobFields = std::map<std::string, std::string>;

std::string as_column(std::string word) {
  std::ranges::replace(word, '-', '_');
  return word;
}

[[noreturn]] void refuse_list(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::usage, fmt::format("--jobs {}: {}", path, what));
}

void check_column(const std::string& path, const std::string& name) {
  if (std::ranges::find(columns, name) == columns.end())
    refuse_list(path, fmt::format("'{}' is none of the columns {}", name, fmt::join(columns, ", ")));
}

std::vector<JobFields> from_csv(const std::string& text, const std::string& path) {
  std::istringstream file(text);
  std::vector<std::string> names, cells;
  if (!read_csv_record(file, names)) refuse_list(path, "is empty");
  for (std::string& name : names) check_column(path, name = as_column(name));
  std::vector<JobFields> all;
  for (std::size_t row = 2; read_csv_record(file, cells); ++row) {
    if (cells == std::vector<std::string>{""}) continue;
    if (cells.size() != names.size())
      refuse_list(path, fmt::format("row {} has {} fields, and the header {}", row, cells.size(), names.size()));
    JobFields& fields = all.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) fields[names[i]] = cells[i];
  }
  return all;
}

std::vector<JobFields> from_json(const std::string& text, const std::string& path) {
  std::vector<JobFields> all;
  const nlohmann::json json = files::parse_json("--jobs " + path, text);
  if (!json.is_array()) refuse_list(path, "is no JSON array of jobs");
  for (const auto& one : json) {
    if (!one.is_object()) refuse_list(path, "has an entry that is no object");
    JobFields& fields = all.emplace_back();
    for (const auto& [key, value] : one.items()) {
      check_column(path, as_column(key));
      if (!value.is_null()) fields[as_column(key)] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }
  return all;
}

ListedJob job_of(const JobFields& fields, std::size_t number, const std::string& path) {
  const auto text = [&](const char* column) {
    const auto found = fields.find(column);
    return found == fields.end() ? std::string() : found->second;
  };
  const auto option = [&](const char* column) { return fmt::format("jobs {}, job {}, {}", path, number, column); };
  const auto size = [&](const char* column) {
    return text(column).empty() ? 0 : parse_size(option(column), text(column));
  };
  const auto count = [&](const char* column, std::uint64_t most) {
    return text(column).empty() ? 0 : parse_count(option(column), text(column), 1, most);
  };
  ListedJob one;
  one.name = text("name").empty() ? fmt::format("job {}", number) : text("name");
  one.job.in_bytes = size("bytes_in");
  one.job.out_bytes = size("bytes_out");
  if (const std::string ms = text("kernel_ms"); !ms.empty())
    one.job.kernel = Seconds{parse_number(option("kernel_ms"), ms, 0, day_ms) * 1e-3};
  one.job.blocks = count("blocks", 1ull << 40);
  one.threads = static_cast<std::uint32_t>(count("threads", 1024));
  if (!one.job.in_bytes && !one.job.out_bytes && !(one.job.kernel.count() > 0))
    refuse_list(
        path, fmt::format("job {} ({}) has nothing to do: give it bytes_in, kernel_ms or bytes_out", number, one.name));
  return one;
}

}  // namespace

std::vector<ListedJob> read_job_list(const std::string& path) {
  const std::string text = files::read_input("--jobs", path, {.bytes = files::max_json_bytes});
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != text.npos && (text[first] == '[' || text[first] == '{');
  const std::vector<JobFields> rows = is_json ? from_json(text, path) : from_csv(text, path);
  if (rows.empty()) refuse_list(path, "lists no job");
  if (rows.size() > max_jobs)
    refuse_list(path, fmt::format("lists {} jobs: at most {} are taken", rows.size(), max_jobs));
  std::vector<ListedJob> all;
  for (std::size_t i = 0; i < rows.size(); ++i) all.push_back(job_of(rows[i], i + 1, path));
  return all;
}

}  // namespace npgpu::cli
