/* A load process: clients of event streams that read the first bytes and nothing more.
 *
 *   blocked-clients <IPv4 address> <port> <path> <authorization>
 *
 * With small segments and a small receive buffer the kernel keeps some 50 KB for each on both sides, and not the megabytes
 * of a loopback connection: 19,000 of those do not fit the system's memory for TCP.
 * Prints `ready`, then answers each line of standard input, a JSON string, with one line of JSON, {"result": …} or
 * {"error": …}. It ends with its standard input.
 *
 *   "open <count>"  opens more streams; replies when each has received its first bytes.
 *   "report"        how many were opened, and how many the server has closed. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define RECEIVE_BYTES 4096
#define SEGMENT_BYTES 536
#define FIRST_WITHIN_S 10

static struct pollfd *streams;
static int count, room;

/* Returns 0 if the stream is open. */
static int open_one(const struct sockaddr_in *server, const char *request) {
  const int receive = RECEIVE_BYTES, segment = SEGMENT_BYTES;
  const struct timeval within = {.tv_sec = FIRST_WITHIN_S};
  char first[128];
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd == -1) return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof within);
  setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
  if (connect(fd, (const struct sockaddr *)server, sizeof *server) == -1) return -1;
  if (send(fd, request, strlen(request), 0) == -1) return -1;
  const ssize_t got = recv(fd, first, sizeof first, 0);
  if (got < 12 || memcmp(first, "HTTP/1.1 200", 12) != 0) {
    errno = EPROTO;
    return -1;
  }
  if (count == room) {
    room = room ? 2 * room : 1024;
    streams = realloc(streams, room * sizeof *streams);
  }
  streams[count++] = (struct pollfd){.fd = fd, .events = POLLRDHUP};
  return 0;
}

static int closed(void) {
  int gone = 0;
  poll(streams, count, 0);
  for (int n = 0; n < count; n++) gone += streams[n].revents != 0;
  return gone;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  const struct sockaddr_in server = {
      .sin_family = AF_INET,
      .sin_port = htons(atoi(argv[2])),
      .sin_addr.s_addr = inet_addr(argv[1]),
  };
  char request[4096], line[256];
  snprintf(request, sizeof request,
           "GET %s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: %s\r\nAccept: text/event-stream\r\n\r\n",
           argv[3], argv[1], argv[2], argv[4]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  while (fgets(line, sizeof line, stdin)) {
    int more = 0, failed = 0;
    if (sscanf(line, "\"open %d", &more) == 1) {
      for (int n = 0; n < more && !failed; n++) failed = open_one(&server, request);
    }
    if (failed) printf("{\"error\":\"%d streams are open: %s\"}\n", count, strerror(errno));
    else printf("{\"result\":{\"opened\":%d,\"closed\":%d}}\n", count, closed());
  }
  return 0;
}
