// The last door to a terminal: whatever a text passed or did not pass before, standard output and standard error let no
// control character through, none that turns the direction of text, no bytes that are not UTF-8 and no escape sequence
// but the program's own (bold, dim, red, and clearing its line of progress).
#pragma once

#include <iosfwd>
#include <mutex>
#include <ostream>
#include <streambuf>
#include <string>

namespace npgpu::cli {

class PlainBuffer : public std::streambuf {
 public:
  explicit PlainBuffer(std::streambuf* to) : to_(to) {}

 protected:
  int_type overflow(int_type) override;
  std::streamsize xsputn(const char*, std::streamsize) override;
  int sync() override;

 private:
  // Writes what is whole of `held_`; at the `end` all of it.
  bool pass(bool end);
  std::streambuf* to_;
  std::string held_;  // the beginning of a character or of a sequence
  std::mutex one_;    // ranks complain from several threads
};

// The stream writes through a PlainBuffer as long as this lives.
class PlainStream {
 public:
  explicit PlainStream(std::ostream& stream)
      : stream_(stream), buffer_(stream.rdbuf()), before_(stream.rdbuf(&buffer_)) {}
  ~PlainStream();
  PlainStream(const PlainStream&) = delete;
  PlainStream& operator=(const PlainStream&) = delete;

 private:
  std::ostream& stream_;
  PlainBuffer buffer_;
  std::streambuf* before_;
};

}  // namespace npgpu::cli
