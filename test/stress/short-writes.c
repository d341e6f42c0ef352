/* Preloaded into a process by the short-writes tests: writes to TCP sockets that accept nothing or only a part, as with a
 * full socket buffer. This is rare on an idle machine with large socket buffers.
 *
 * SHORT_WRITES_ONE_IN: of so many writes one accepts nothing and one a part; 4 by default.
 * SHORT_WRITES_COUNT: a file of 8 bytes, which gets their number. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static __thread unsigned state = 12345;
static unsigned one_in = 4;
static _Atomic unsigned long own_count;
static _Atomic unsigned long *count = &own_count;

__attribute__((constructor)) static void begin(void) {
  const char *given = getenv("SHORT_WRITES_ONE_IN");
  if (given) one_in = (unsigned)atoi(given);
  const char *file = getenv("SHORT_WRITES_COUNT");
  if (!file) return;
  int fd = open(file, O_RDWR);
  void *shared = fd < 0 ? MAP_FAILED : mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared == MAP_FAILED) _exit(99);
  count = shared;
}

static int is_tcp(int fd) {
  int before = errno, domain = 0;
  socklen_t size = sizeof domain;
  int is = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && (domain == AF_INET || domain == AF_INET6);
  errno = before;
  return is;
}

/* How many of the bytes are accepted; -1 is none. */
static ssize_t accepted(size_t size) {
  state = state * 1664525u + 1013904223u;
  unsigned random = state >> 16;
  if (size > 0 && random % one_in == 0) {
    atomic_fetch_add(count, 1);
    return -1;
  }
  if (size > 1 && random % one_in == 1) {
    atomic_fetch_add(count, 1);
    state = state * 1664525u + 1013904223u;
    return 1 + (ssize_t)((state >> 8) % size);
  }
  return (ssize_t)size;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
  static ssize_t (*real)(int, const void *, size_t, int);
  if (!real) real = dlsym(RTLD_NEXT, "send");
  ssize_t part = accepted(size);
  if (part >= 0) return real(fd, bytes, (size_t)part, flags);
  errno = EAGAIN;
  return -1;
}

ssize_t write(int fd, const void *bytes, size_t size) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  ssize_t part = is_tcp(fd) ? accepted(size) : (ssize_t)size;
  if (part >= 0) return real(fd, bytes, (size_t)part);
  errno = EAGAIN;
  return -1;
}

ssize_t writev(int fd, const struct iovec *parts, int number) {
  static ssize_t (*real)(int, const struct iovec *, int);
  if (!real) real = dlsym(RTLD_NEXT, "writev");
  if (!is_tcp(fd)) return real(fd, parts, number);
  size_t size = 0;
  for (int at = 0; at < number; at++) size += parts[at].iov_len;
  ssize_t left = accepted(size);
  if (left == (ssize_t)size) return real(fd, parts, number);
  if (left < 0) {
    errno = EAGAIN;
    return -1;
  }
  struct iovec fewer[number];
  int used = 0;
  for (; left > 0; used++) {
    fewer[used] = parts[used];
    if (fewer[used].iov_len > (size_t)left) fewer[used].iov_len = (size_t)left;
    left -= (ssize_t)fewer[used].iov_len;
  }
  return real(fd, fewer, used);
}
