// Our streams do not wait for the default stream. A call that goes there has no place among the work of a stream:
// memory is cleared after the kernel that wrote to it, or a kernel reads what has not arrived. So every copy, clearing
// and launch names its stream; the sources are read to see it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace ordered_calls_test {

namespace fs = std::filesystem;

namespace {

const fs::path root = NPGPU_SOURCE_DIR;

// These time the default stream itself, and its forms without a stream; the channel waits for the whole device before a
// point, and for the default stream in settle(), before anything is compared.
const std::vector<std::string> measured_calls{"netpipe/modules/cudaMemcpy.cpp", "netpipe/calls/blocking_copies.hpp"};

std::string without_comments(const std::string& text) { return std::regex_replace(text, std::regex("//[^\n]*"), ""); }

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return without_comments({std::istreambuf_iterator<char>(file), {}});
}

// What stands between the bracket at `open` and the one that closes it.
std::string arguments(const std::string& text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return text.substr(open);
}

// Commas that belong to no bracket inside.
int count_of(const std::string& arguments) {
  int depth = 0, commas = 0;
  for (const char c : arguments) {
    depth += c == '(' || c == '{' || c == '[';
    depth -= c == ')' || c == '}' || c == ']';
    commas += c == ',' && depth == 0;
  }
  return arguments.empty() ? 0 : commas + 1;
}

// Calls in a text that go to the default stream, each as it stands there.
std::vector<std::string> unordered_calls(const std::string& text) {
  std::vector<std::string> found;
  const auto each = [&](const std::regex& what, auto visit) {
    for (std::sregex_iterator at(text.begin(), text.end(), what), end; at != end; ++at) visit(*at);
  };
  // Asynchronous forms have one argument more, the stream.
  const std::regex calls(R"(\bcuda(Memset|Memcpy)(\w*)\s*\()");
  each(calls, [&](const std::smatch& m) {
    const std::string form = m[2];
    const std::string given = arguments(text, static_cast<std::size_t>(m.position() + m.length() - 1));
    const int wanted = form == "2DAsync" ? 8 : form == "3DAsync" ? 2 : m[1] == "Memset" ? 4 : 5;
    const bool with_stream = form.ends_with("Async") && count_of(given) == wanted;
    if (!with_stream) found.push_back(m.str() + given + ")");
  });
  each(std::regex(R"(<<<([^;]*?)>>>)"), [&](const std::smatch& m) {
    if (count_of(m[1]) != 4) found.push_back(m.str());
  });
  each(std::regex(R"(\bcudaLaunchKernel\s*\()"), [&](const std::smatch& m) {
    const std::string given = arguments(text, static_cast<std::size_t>(m.position() + m.length() - 1));
    if (count_of(given) != 6) found.push_back(m.str() + given + ")");
  });
  return found;
}

}  // namespace

TEST_CASE("unordered calls are found, and ordered ones are not") {
  CHECK(unordered_calls("check(cudaMemset(device_.data(), 0, bytes), \"clearing\");").size() == 1);
  CHECK(unordered_calls("cudaMemcpy(a, b, n, kind);").size() == 1);
  CHECK(unordered_calls("cudaMemcpyToSymbol(constants, words.data(), n);").size() == 1);
  CHECK(unordered_calls("cudaMemcpyAsync(a, b, f(n, 1), kind);").size() == 1);
  CHECK(unordered_calls("cudaMemcpy2DAsync(to, 8, from, 8, 4, 2, kind);").size() == 1);
  CHECK(unordered_calls("cudaMemcpy3DAsync(&all);").size() == 1);
  CHECK(unordered_calls("cudaMemcpy2DAsync(to, 8, from, 8, 4, 2, kind, s); cudaMemcpy3DAsync(&all, s);").empty());
  CHECK(unordered_calls("kernel<<<grid, block>>>(x);").size() == 1);
  CHECK(unordered_calls("kernel<<<grid, block, 0>>>(x);").size() == 1);
  CHECK(unordered_calls("cudaLaunchKernel(k, grid, block, arguments, 0);").size() == 1);
  CHECK(unordered_calls("cudaMemsetAsync(a, 0, n, stream); cudaMemcpyAsync(a, b, n, kind, stream.get());").empty());
  CHECK(unordered_calls("kernel<<<blocks_for(w, 1), threads, 0, bench_.stream()>>>(w, v);").empty());
  CHECK(unordered_calls("kernel<<<1, 1, 0,\n  stream>>>(w); cudaLaunchKernel(k, g, b, a, 0, stream);").empty());
}

TEST_CASE("every copy, clearing and launch of device code names its stream") {
  int files = 0;
  for (const char* folder : {"netpipe", "probes", "examples", "tests/gpu"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string(), file = fs::relative(entry.path(), root).string();
      if (extension != ".cpp" && extension != ".hpp" && extension != ".cu" && extension != ".cuh") continue;
      const bool measured = std::find(measured_calls.begin(), measured_calls.end(), file) != measured_calls.end();
      const bool spoiled = file == "tests/gpu/spoiled_test.cpp";  // plays such a module
      if (measured || spoiled) continue;
      const std::string text = text_of(entry.path());
      files += text.find("cudaMem") != std::string::npos || text.find("<<<") != std::string::npos;
      CAPTURE(file);
      for (const std::string& call : unordered_calls(text)) FAIL_CHECK("goes to the default stream: " << call);
    }
  CHECK(files >= 8);  // the search itself works
}

// A decision in the timed loop of a job would be timed with it: calls are made before the clock starts.
TEST_CASE("the timed loop of jobs makes calls, and decides nothing") {
  const std::string text = text_of(root / "netpipe/jobs/cuda_streams.hpp");
  const std::string head = "void issue(";
  const std::size_t begin = text.find(head);
  REQUIRE(begin != std::string::npos);
  const std::string body = text.substr(begin, text.find("\n  }", begin) - begin);
  CHECK(body.find("for (") != std::string::npos);
  for (const char* word : {"switch", "if (", "kernel_of", "?", "new ", "push_back"}) {
    CAPTURE(word);
    CHECK(body.find(word) == std::string::npos);
  }
}

}  // namespace ordered_calls_test
