// Modules for Node whose loading breaks the process that loads them. FAULT chooses how.

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((constructor)) static void break_it(void) {
#if FAULT == 1
  // A write to address 8.
  *(volatile int *)8 = 1;
#elif FAULT == 2
  // Waits for itself, for ever.
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
#elif FAULT == 3
  // Memory that V8 knows nothing of, slowly enough for the service to see it: 10 MB in each 10 ms.
  for (;;) {
    char *bytes = malloc(10 << 20);
    if (bytes == NULL) abort();
    memset(bytes, 1, 10 << 20);
    usleep(10000);
  }
#elif FAULT == 4
  // 8 GB at once.
  size_t size = 8UL << 30;
  char *bytes = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes == MAP_FAILED) {
    fprintf(stderr, "8 GB: %s\n", strerror(errno));
    abort();
  }
  memset(bytes, 1, size);
#endif
}
