#include "netpipe/record/unpacked.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "netpipe/engine/algorithms.hpp"
#include "netpipe/record/import.hpp"

namespace npgpu::record {

namespace {

// As zlib.h has them.
struct Zlib {
  void* (*open)(const char*, const char*) = nullptr;
  int (*read)(void*, void*, unsigned) = nullptr;
  const char* (*error)(void*, int*) = nullptr;
  int (*close)(void*) = nullptr;
};

const Zlib* zlib() {
  static const Zlib found = [] {
    Zlib z;
    if (void* const library = ::dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL)) {  // held as long as the process
      z.open = reinterpret_cast<decltype(z.open)>(::dlsym(library, "gzopen"));
      z.read = reinterpret_cast<decltype(z.read)>(::dlsym(library, "gzread"));
      z.error = reinterpret_cast<decltype(z.error)>(::dlsym(library, "gzerror"));
      z.close = reinterpret_cast<decltype(z.close)>(::dlsym(library, "gzclose"));
    }
    return z;
  }();
  return found.open && found.read && found.error && found.close ? &found : nullptr;
}

}  // namespace

Unpacked::Unpacked(std::filesystem::path path, std::uint64_t most) : path_(std::move(path)), most_(most) {
  if (!plain_.open(path_, std::ios::in | std::ios::binary)) refuse_import(path_, "cannot be read");
  if (plain_.sgetc() != 0x1f) return;
  plain_.close();
  if (!zlib())
    throw Error(ErrorKind::failed, path_.string() +
                                       " is packed by gzip, and there is no libz.so.1: install zlib1g, or "
                                       "unpack it with gunzip");
  packed_ = zlib()->open(path_.c_str(), "rb");
  if (!packed_) refuse_import(path_, "cannot be read");
}

Unpacked::~Unpacked() {
  if (packed_) zlib()->close(packed_);
}

Unpacked::int_type Unpacked::underflow() {
  const auto got = packed_ ? zlib()->read(packed_, some_.data(), static_cast<unsigned>(some_.size()))
                           : static_cast<int>(plain_.sgetn(some_.data(), static_cast<std::streamsize>(some_.size())));
  if (packed_ && got <= 0) {
    int code = 0;
    const std::string why = said(zlib()->error(packed_, &code));
    if (code < 0)
      refuse_import(path_, "is damaged: " + sound(why.substr(why.rfind(": ") == why.npos ? 0 : why.rfind(": ") + 2)));
  }
  if (got <= 0) return traits_type::eof();
  read_ += static_cast<std::uint64_t>(got);
  if (read_ > most_)
    refuse_import(path_, fmt::format("holds more than {} GiB of text, the most that is read: record a shorter time",
                                     most_ >> 30));
  setg(some_.data(), some_.data(), some_.data() + got);
  return traits_type::to_int_type(some_.front());
}

}  // namespace npgpu::record
