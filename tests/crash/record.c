/* Records what a program does to the files of one folder, in order, so that every moment can be replayed.
 *
 *   LD_PRELOAD=record.so RECORD_FOLDER=/abs/folder RECORD_LOG=/abs/log program ...
 *
 * The log has one line an operation, fields separated by tabs, paths relative to the folder ("." is the folder itself):
 *   open FD FLAGS PATH       FLAGS out of c (may create), t (truncates), u (a file without a name)
 *   write FD OFFSET AT LEN   LEN bytes, kept in log.data from AT on
 *   truncate FD LENGTH       fsync FD       close FD
 *   rename FROM TO           link FROM TO   unlink PATH    name FD TO (gives an open file a name)
 *   say AT LEN               written to standard output or standard error
 * Only operations that succeeded are in it. What it cannot see (memory maps, stdio's own descriptors) is found by
 * replay.py: the last state it arrives at must be the folder as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { most_fds = 4096 };
static char recorded[most_fds]; /* 1: a descriptor of a file in the folder */
static int log_fd = -1, data_fd = -1;
static long data_end;
static const char* folder;
static pid_t owner; /* forked children are not recorded */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name)               \
  static __typeof__(name)* real; \
  if (!real) real = (__typeof__(name)*)dlsym(RTLD_NEXT, #name)

static ssize_t plain_write(int fd, const void* bytes, size_t length) {
  REAL(write);
  return real(fd, bytes, length);
}

static int plain_open(const char* path, int flags, int mode) {
  REAL(open);
  return real(path, flags, mode);
}

__attribute__((constructor)) static void begin(void) {
  const char* log = getenv("RECORD_LOG");
  folder = getenv("RECORD_FOLDER");
  if (!log || !folder) return;
  char data[PATH_MAX];
  snprintf(data, sizeof data, "%s.data", log);
  log_fd = plain_open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  data_fd = plain_open(data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  owner = getpid();
}

static int recording(void) { return log_fd >= 0 && getpid() == owner; }

static void note(const char* format, ...) {
  char line[2 * PATH_MAX + 100];
  va_list values;
  va_start(values, format);
  const int length = vsnprintf(line, sizeof line, format, values);
  va_end(values);
  if (plain_write(log_fd, line, (size_t)length) != length) abort();
}

static long keep(const void* bytes, size_t length) {
  if (plain_write(data_fd, bytes, length) != (ssize_t)length) abort();
  data_end += (long)length;
  return data_end - (long)length;
}

/* The path relative to the folder, "." for the folder itself, or null if it is elsewhere. */
static const char* inside(int at, const char* path, char* buffer) {
  char whole[PATH_MAX];
  if (path[0] != '/') {
    char base[PATH_MAX];
    if (at == AT_FDCWD) {
      if (!getcwd(base, sizeof base)) return NULL;
    } else {
      char link[64];
      snprintf(link, sizeof link, "/proc/self/fd/%d", at);
      const ssize_t length = readlink(link, base, sizeof base - 1);
      if (length < 0) return NULL;
      base[length] = 0;
    }
    if (snprintf(whole, sizeof whole, "%s/%s", base, path) >= (int)sizeof whole) return NULL;
    path = whole;
  }
  const size_t length = strlen(folder);
  if (strncmp(path, folder, length) != 0) return NULL;
  const char* rest = path + length;
  if (*rest && *rest != '/') return NULL;
  while (*rest == '/') ++rest;
  strcpy(buffer, *rest ? rest : ".");
  return buffer;
}

/* Also for standard error through stdio, which has no buffer and calls write() inside the C library. */
static size_t said(FILE* to, const void* bytes, size_t length) {
  if (to == stderr && length && recording()) {
    pthread_mutex_lock(&one_at_a_time);
    note("say\t%ld\t%zu\n", keep(bytes, length), length);
    pthread_mutex_unlock(&one_at_a_time);
  }
  return length;
}
size_t fwrite(const void* bytes, size_t size, size_t count, FILE* to) {
  REAL(fwrite);
  const size_t put = real(bytes, size, count, to);
  said(to, bytes, size * put);
  return put;
}
#undef putc
int putc(int byte, FILE* to) {
  REAL(putc);
  const char put = (char)byte;
  const int result = real(byte, to);
  if (result != EOF) said(to, &put, 1);
  return result;
}

static int opened(int fd, int at, const char* path, int flags) {
  const int error = errno;
  char buffer[PATH_MAX];
  const char* name;
  if (fd >= 0 && fd < most_fds && recording() && (name = inside(at, path, buffer))) {
    pthread_mutex_lock(&one_at_a_time);
    recorded[fd] = 1;
    const char* const unnamed = (flags & O_TMPFILE) == O_TMPFILE ? "u" : "";
    note("open\t%d\t-%s%s%s\t%s\n", fd, flags & O_CREAT ? "c" : "", flags & O_TRUNC ? "t" : "", unnamed, name);
    pthread_mutex_unlock(&one_at_a_time);
  }
  errno = error;
  return fd;
}

static int is_recorded(int fd) { return fd >= 0 && fd < most_fds && recorded[fd] && recording(); }

static ssize_t wrote(int fd, const void* bytes, ssize_t length, off_t offset) {
  const int error = errno;
  if (length > 0 && recording()) {
    pthread_mutex_lock(&one_at_a_time);
    if (is_recorded(fd)) {
      if (offset < 0) offset = lseek(fd, 0, SEEK_CUR) - length;
      note("write\t%d\t%ld\t%ld\t%ld\n", fd, (long)offset, keep(bytes, (size_t)length), (long)length);
    } else if (fd == STDOUT_FILENO || fd == STDERR_FILENO) {
      note("say\t%ld\t%ld\n", keep(bytes, (size_t)length), (long)length);
    }
    pthread_mutex_unlock(&one_at_a_time);
  }
  errno = error;
  return length;
}

#define MODE(flags)                      \
  int mode = 0;                          \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest;                        \
    va_start(rest, flags);               \
    mode = va_arg(rest, int);            \
    va_end(rest);                        \
  }

int open(const char* path, int flags, ...) {
  MODE(flags)
  return opened(plain_open(path, flags, mode), AT_FDCWD, path, flags);
}
int open64(const char* path, int flags, ...) {
  MODE(flags)
  return opened(plain_open(path, flags | O_LARGEFILE, mode), AT_FDCWD, path, flags);
}
int openat(int at, const char* path, int flags, ...) {
  MODE(flags)
  REAL(openat);
  return opened(real(at, path, flags, mode), at, path, flags);
}
int openat64(int at, const char* path, int flags, ...) {
  MODE(flags)
  REAL(openat64);
  return opened(real(at, path, flags, mode), at, path, flags);
}
int creat(const char* path, mode_t mode) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char* path, mode_t mode) { return open(path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

ssize_t write(int fd, const void* bytes, size_t length) { return wrote(fd, bytes, plain_write(fd, bytes, length), -1); }
ssize_t pwrite(int fd, const void* bytes, size_t length, off_t offset) {
  REAL(pwrite);
  return wrote(fd, bytes, real(fd, bytes, length, offset), offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t length, off64_t offset) {
  REAL(pwrite64);
  return wrote(fd, bytes, real(fd, bytes, length, offset), offset);
}
ssize_t writev(int fd, const struct iovec* parts, int count) {
  ssize_t sum = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t put = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (put < 0) return sum ? sum : put;
    sum += put;
    if ((size_t)put < parts[i].iov_len) break;
  }
  return sum;
}

#define NOTED(condition, ...)               \
  do {                                      \
    const int error = errno;                \
    if (result == 0 && (condition)) {       \
      pthread_mutex_lock(&one_at_a_time);   \
      note(__VA_ARGS__);                    \
      pthread_mutex_unlock(&one_at_a_time); \
    }                                       \
    errno = error;                          \
    return result;                          \
  } while (0)

int ftruncate(int fd, off_t length) {
  REAL(ftruncate);
  const int result = real(fd, length);
  NOTED(is_recorded(fd), "truncate\t%d\t%ld\n", fd, (long)length);
}
int ftruncate64(int fd, off64_t length) {
  REAL(ftruncate64);
  const int result = real(fd, length);
  NOTED(is_recorded(fd), "truncate\t%d\t%ld\n", fd, (long)length);
}
int fsync(int fd) {
  REAL(fsync);
  const int result = real(fd);
  NOTED(is_recorded(fd), "fsync\t%d\n", fd);
}
int fdatasync(int fd) {
  REAL(fdatasync);
  const int result = real(fd);
  NOTED(is_recorded(fd), "fsync\t%d\n", fd);
}
int close(int fd) {
  REAL(close);
  const int was = is_recorded(fd);
  if (was) {
    pthread_mutex_lock(&one_at_a_time);
    recorded[fd] = 0;
    note("close\t%d\n", fd);
    pthread_mutex_unlock(&one_at_a_time);
  }
  return real(fd);
}

static int moved(int result, const char* how, int at, const char* from, int to_at, const char* to) {
  char a[PATH_MAX], b[PATH_MAX];
  const char* const source = inside(at, from, a);
  const char* const target = inside(to_at, to, b);
  /* Into or out of the folder: replay.py refuses a name that it does not know. */
  NOTED(recording() && (source || target), "%s\t%s\t%s\n", how, source ? source : "?", target ? target : "?");
}
int rename(const char* from, const char* to) {
  REAL(rename);
  return moved(real(from, to), "rename", AT_FDCWD, from, AT_FDCWD, to);
}
int renameat(int at, const char* from, int to_at, const char* to) {
  REAL(renameat);
  return moved(real(at, from, to_at, to), "rename", at, from, to_at, to);
}
int renameat2(int at, const char* from, int to_at, const char* to, unsigned flags) {
  REAL(renameat2);
  return moved(real(at, from, to_at, to, flags), flags ? "renameat2" : "rename", at, from, to_at, to);
}
int link(const char* from, const char* to) {
  REAL(link);
  return moved(real(from, to), "link", AT_FDCWD, from, AT_FDCWD, to);
}
int linkat(int at, const char* from, int to_at, const char* to, int flags) {
  REAL(linkat);
  const int result = real(at, from, to_at, to, flags);
  int fd = -1;
  char buffer[PATH_MAX];
  if (sscanf(from, "/proc/self/fd/%d", &fd) != 1) return moved(result, "link", at, from, to_at, to);
  const char* const target = inside(to_at, to, buffer);
  NOTED(is_recorded(fd) && target, "name\t%d\t%s\n", fd, target);
}

static int removed(int result, int at, const char* path) {
  char buffer[PATH_MAX];
  const char* const name = inside(at, path, buffer);
  NOTED(recording() && name, "unlink\t%s\n", name);
}
int unlink(const char* path) {
  REAL(unlink);
  return removed(real(path), AT_FDCWD, path);
}
int unlinkat(int at, const char* path, int flags) {
  REAL(unlinkat);
  return removed(real(at, path, flags), at, path);
}
int remove(const char* path) {
  REAL(remove);
  return removed(real(path), AT_FDCWD, path);
}
