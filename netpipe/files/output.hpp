// The one way in which this program makes and replaces files: whole or not at all, and durable. And what is in a folder
// that came from outside.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace npgpu::files {

// Its entries as paths that begin with it, in order; as many as could be read where `error` is set. Never throws: a
// folder may be unreadable, or vanish while it is read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder, std::error_code& error);

// Where the file really lies: absolute, because the program may change its folder; and behind symbolic links, also to
// what does not exist yet, because the rename would replace the link. Error(usage) if it is a folder, has no name, or
// lies behind a link that another user put into a folder which all may write. `needs`: whose name it is, "the trace".
std::filesystem::path place_of(const std::filesystem::path&, const std::string& needs = "this option");

// Error(usage) if the file is there and its permissions let nobody write it, or not this user.
void refuse_protected(const std::filesystem::path&);

// X.h5.lock next to X.h5, and .X.h5.npgpu-tmp.
std::filesystem::path beside(const std::filesystem::path&, const char* suffix);
std::filesystem::path hidden_beside(const std::filesystem::path&, const std::string& what);

// The folder that a path lies in, "." for a bare name.
std::filesystem::path folder_of(const std::filesystem::path&);

// Removes the file unless keep() was called; an empty path is none.
class Unfinished {
 public:
  explicit Unfinished(const std::filesystem::path& path) : path_(path) {}
  ~Unfinished();
  void keep() { kept_ = true; }

 private:
  const std::filesystem::path& path_;
  bool kept_ = false;
};

// Replaces the file by these bytes, atomically and durably: written to a file without a name, or where the file system
// has none to .<name>.npgpu-<tmp>; fsync, rename, fsync of the folder. Keeps the permissions of the file it replaces.
// If anything fails, Error(failed) says so in one sentence, the file is as it was before and nothing else is left.
// Two processes may do so for one path at once if each has a `tmp` of its own.
void replace_file(const std::filesystem::path&, std::span<const std::byte>, const std::string& tmp = "tmp");
std::filesystem::path scratch_of(const std::filesystem::path&, const std::string& tmp = "tmp");

// "what was saved before is intact", or that nothing is there any more: the end of a sentence about a failed save.
std::string what_is_there(const std::filesystem::path&);

}  // namespace npgpu::files
