/* LD_PRELOAD: the FAIL_AT-th allocation of a process fails, and with FAIL_ALL each after it; how many there were is
 * written to the file COUNT_IN. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
static atomic_long calls;
static long first = -1, all;
static int fails(void) {
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
