/* Preloaded into a service by short-writes.test.ts: a send() that accepts nothing or only a part, as with a full socket
 * buffer. This is rare on an idle machine with large socket buffers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

static __thread unsigned state = 12345;

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  static ssize_t (*real)(int, const void *, size_t, int);
  if (!real) real = dlsym(RTLD_NEXT, "send");
  state = state * 1664525u + 1013904223u;
  unsigned random = state >> 16;
  if (size > 0 && random % 4 == 0) {
    errno = EAGAIN;
    return -1;
  }
  if (size > 1 && random % 4 == 1) size = 1 + (random >> 2) % size;
  return real(fd, bytes, size, flags);
}
