/* LD_PRELOAD: a file system without locks, as Lustre without the flock option is one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

static int answer(const char* name, int fd, int command, void* argument) {
  switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW: errno = ENOSYS; return -1;
    default: break;
  }
  int (*real)(int, int, void*) = (int (*)(int, int, void*))dlsym(RTLD_NEXT, name);
  return real(fd, command, argument);
}

#define ANSWER(name)                             \
  int name(int fd, int command, ...) {           \
    va_list rest;                                \
    va_start(rest, command);                     \
    void* const argument = va_arg(rest, void*);  \
    va_end(rest);                                \
    return answer(#name, fd, command, argument); \
  }
ANSWER(fcntl)
ANSWER(fcntl64)
