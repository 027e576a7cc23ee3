/* LD_PRELOAD: the FAIL_AT-th allocation of a process fails, and with FAIL_ALL each after it; how many there were is
 * written to the file COUNT_IN. They are counted from the initializers of the program on, behind those of all libraries
 * (GnuTLS crashes in its own), and with FROM_MAIN from main on (the CUDA runtime, linked statically, crashes in its
 * own). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
static atomic_long calls;
static long first = -1, all, armed;
__attribute__((constructor)) static void arm(void) { armed = getenv("FROM_MAIN") == NULL; }
static int (*real_main)(int, char**, char**);
static int armed_main(int argc, char** argv, char** env) {
  armed = 1;
  return real_main(argc, argv, env);
}
typedef int start_main(int (*)(int, char**, char**), int, char**, void (*)(void), void (*)(void), void (*)(void),
                       void*);
int __libc_start_main(int (*its)(int, char**, char**), int argc, char** argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end) {
  real_main = its;
  start_main* const start = (start_main*)dlsym(RTLD_NEXT, "__libc_start_main");
  return start(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}
static int fails(void) {
  if (!armed) return 0;
  if (first < 0) {
    const char *k = getenv("FAIL_AT"), *more = getenv("FAIL_ALL");
    first = k ? atol(k) : 0;
    all = more != NULL;
  }
  const long call = ++calls;
  if (first == 0 || call < first || (call > first && !all)) return 0;
  errno = ENOMEM;
  return 1;
}
void* malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void* calloc(size_t n, size_t m) { return fails() ? NULL : __libc_calloc(n, m); }
void* realloc(void* p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
void* aligned_alloc(size_t a, size_t n) { return fails() ? NULL : __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) { return fails() || !(*p = __libc_memalign(a, n)) ? ENOMEM : 0; }
__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("COUNT_IN");
  FILE* file = path ? fopen(path, "w") : NULL;
  if (file) fprintf(file, "%ld\n", (long)calls), fclose(file);
}
