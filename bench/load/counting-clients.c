/* A load process: clients of event streams that read and count everything. In C, because a reader in Node needs more CPU than
 * the server that it measures: at 2.7 GB/s the figures would be the reader's.
 *
 *   counting-clients <IPv4 address> <port> <path> <authorization> <first bytes of a frame>
 *
 * Built with -DTLS it uses TLS, and trusts any certificate.
 * One thread with one epoll and one read buffer for all streams. Prints `ready`, then answers each line of standard input, a
 * JSON string, with one line of JSON, {"result": …} or {"error": …}. It ends with its standard input.
 *
 *   "open <count>"  opens more streams; replies when each has received its first bytes.
 *   "mark"          while the server is silent: starts counting bytes and checking chunks.
 *   "report"        the totals.
 *
 * A body is decoded far enough to count its payload. A chunk must begin as a frame does, with a higher id than the last
 * one that was seen, unless the chunk before it ended within a frame. chunk-reader.ts does the same in Node. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef TLS
#include <openssl/ssl.h>
#endif

#define READ_BYTES (256 * 1024)
#define EVENTS 256
/* Concurrent connection attempts: listen backlogs are short. */
#define CONNECTING 128
#define OPEN_WITHIN_S 30
/* A keepalive, `:\n` or `: position <id>\n`, has at most so many bytes. Drover sends it as a separate chunk. */
#define MAX_HEARTBEAT_BYTES 64
/* An id ends within so many bytes from the beginning of its frame. */
#define ID_WITHIN 64
/* In `id: ...\nevent: gap` so far behind the end of the id; other kinds have another letter there. */
#define GAP_LETTER_AFTER 8

enum phase { CONNECT, HEAD, SIZE, DATA, AFTER_DATA };

struct stream {
  int fd;
  enum phase phase;
  int closed, opened, strict, is_heartbeat, has_digit;
  /* The last byte, and whether the last chunk ended with a frame. */
  int last, is_whole;
  /* Bytes of the head, and of the empty line at its end. */
  int head, head_end;
  int64_t size, left;
  int64_t last_id;
  int64_t payload, marked;
#ifdef TLS
  SSL *ssl;
#endif
};

static struct sockaddr_in server;
static char request[4096];
static const char *frame_start;
static int64_t frame_start_bytes;
static struct stream **streams;
static int count, opened, closed;
static int64_t chunks, gaps;
static const char *fault = "";
static int events;
static unsigned char buffer[READ_BYTES];

static void fail(const char *what) {
  if (*fault == 0) fault = what;
}

static void end(struct stream *stream, const char *why) {
  if (why) fail(why);
  if (stream->closed) return;
  stream->closed = 1;
  closed++;
  close(stream->fd);
}

static void check_chunk(struct stream *stream, const unsigned char *at, int64_t length) {
  if (memcmp(at, frame_start, length < frame_start_bytes ? length : frame_start_bytes) != 0) {
    fail("a chunk that does not begin with a frame");
    return;
  }
  int64_t limit = length < ID_WITHIN ? length : ID_WITHIN, id = 0;
  const unsigned char *dash = memchr(at, '-', limit);
  if (!dash) return;
  int64_t n = dash - at + 1;
  for (; n < limit && at[n] >= '0' && at[n] <= '9'; n++) id = id * 10 + at[n] - '0';
  if (n == limit) return;
  if (id <= stream->last_id) fail("a chunk that begins with an id that is not higher than the last");
  stream->last_id = id;
  if (n + GAP_LETTER_AFTER < length && at[n + GAP_LETTER_AFTER] == 'g') {
    gaps++;
    /* After a gap come snapshots, which are other frames. */
    stream->strict = 0;
  }
}

static void begin_chunk(struct stream *stream, const unsigned char *at, int64_t length) {
  chunks++;
  if (!stream->opened) opened++;
  stream->opened = 1;
  stream->is_heartbeat = stream->is_whole && stream->size <= MAX_HEARTBEAT_BYTES && *at == ':';
  if (stream->strict && stream->is_whole && !stream->is_heartbeat) check_chunk(stream, at, length);
}

static void read_head(struct stream *stream, unsigned char byte) {
  static const char status[] = "HTTP/1.1 200", empty_line[] = "\r\n\r\n";
  if (stream->head < (int)sizeof status - 1 && byte != status[stream->head]) {
    end(stream, "a response that is not 200");
    return;
  }
  stream->head++;
  stream->head_end = byte == empty_line[stream->head_end] ? stream->head_end + 1 : byte == '\r';
  if (stream->head_end == (int)sizeof empty_line - 1) stream->phase = SIZE;
}

static void read_size(struct stream *stream, unsigned char byte) {
  if (byte == '\r') return;
  if (byte == '\n') {
    if (!stream->has_digit) return end(stream, "a chunk without a size");
    if (stream->size == 0) return end(stream, NULL);
    stream->left = stream->size;
    stream->phase = DATA;
    return;
  }
  unsigned char letter = byte | 32;
  int is_digit = byte >= '0' && byte <= '9';
  if (!is_digit && (letter < 'a' || letter > 'f')) return end(stream, "a chunk size that is not hexadecimal");
  stream->size = stream->size * 16 + (is_digit ? byte - '0' : letter - 'a' + 10);
  stream->has_digit = 1;
}

static const unsigned char *read_data(struct stream *stream, const unsigned char *at, int64_t length) {
  int64_t take = length < stream->left ? length : stream->left;
  if (stream->left == stream->size) begin_chunk(stream, at, take);
  if (!stream->is_heartbeat) stream->payload += take;
  stream->left -= take;
  if (stream->left == 0) {
    int before = take > 1 ? at[take - 2] : stream->last;
    if (!stream->is_heartbeat) stream->is_whole = at[take - 1] == '\n' && before == '\n';
    stream->phase = AFTER_DATA;
  }
  stream->last = at[take - 1];
  return at + take;
}

static void after_data(struct stream *stream, unsigned char byte) {
  if (byte == '\r') return;
  if (byte != '\n') return end(stream, "a chunk that is longer than its size");
  stream->size = 0;
  stream->has_digit = 0;
  stream->phase = SIZE;
}

static void decode(struct stream *stream, const unsigned char *at, int64_t length) {
  const unsigned char *to = at + length;
  while (at < to && !stream->closed) {
    switch (stream->phase) {
      case HEAD: read_head(stream, *at++); break;
      case SIZE: read_size(stream, *at++); break;
      case DATA: at = read_data(stream, at, to - at); break;
      case AFTER_DATA: after_data(stream, *at++); break;
      case CONNECT: return end(stream, "bytes before the request");
    }
  }
}

static void wait_for(struct stream *stream, int operation, uint32_t what) {
  struct epoll_event event = {.events = what, .data.ptr = stream};
  epoll_ctl(events, operation, stream->fd, &event);
}

#ifdef TLS
static SSL_CTX *context;

/* Continues the handshake, then sends the request. */
static void connected(struct stream *stream) {
  int result = SSL_do_handshake(stream->ssl);
  if (result == 1) {
    if (SSL_write(stream->ssl, request, strlen(request)) <= 0) return end(stream, "a request was not sent");
    stream->phase = HEAD;
    wait_for(stream, EPOLL_CTL_MOD, EPOLLIN);
    return;
  }
  int error = SSL_get_error(stream->ssl, result);
  if (error == SSL_ERROR_WANT_READ) wait_for(stream, EPOLL_CTL_MOD, EPOLLIN);
  else if (error != SSL_ERROR_WANT_WRITE) end(stream, "a TLS handshake failed");
}

static void readable(struct stream *stream) {
  while (!stream->closed) {
    int length = SSL_read(stream->ssl, buffer, sizeof buffer);
    if (length > 0) decode(stream, buffer, length);
    else if (SSL_get_error(stream->ssl, length) == SSL_ERROR_WANT_READ) return;
    else return end(stream, NULL);
  }
}

static void prepare(struct stream *stream) {
  if (!context) {
    context = SSL_CTX_new(TLS_client_method());
    /* Otherwise each record is read with two system calls. */
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, 64 * 1024);
  }
  stream->ssl = SSL_new(context);
  SSL_set_fd(stream->ssl, stream->fd);
  SSL_set_connect_state(stream->ssl);
}
#else
static void connected(struct stream *stream) {
  ssize_t bytes = strlen(request);
  if (send(stream->fd, request, bytes, MSG_NOSIGNAL) != bytes) return end(stream, "a request was not sent");
  stream->phase = HEAD;
  wait_for(stream, EPOLL_CTL_MOD, EPOLLIN);
}

static void readable(struct stream *stream) {
  ssize_t length = recv(stream->fd, buffer, sizeof buffer, 0);
  if (length > 0) decode(stream, buffer, length);
  else if (length == 0 || errno != EAGAIN) end(stream, NULL);
}

static void prepare(struct stream *stream) { (void)stream; }
#endif

static void start(void) {
  struct stream *stream = calloc(1, sizeof *stream);
  streams = realloc(streams, (count + 1) * sizeof *streams);
  if (!stream || !streams) abort();
  streams[count++] = stream;
  stream->last_id = -1;
  stream->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (stream->fd < 0) return end(stream, strerror(errno));
  prepare(stream);
  int result = connect(stream->fd, (struct sockaddr *)&server, sizeof server);
  if (result < 0 && errno != EINPROGRESS) return end(stream, strerror(errno));
  wait_for(stream, EPOLL_CTL_ADD, EPOLLOUT);
}

/* Handles what has arrived. Returns whether standard input has something. */
static int turn(int timeout_ms) {
  struct epoll_event ready[EVENTS];
  int has_line = 0;
  int length = epoll_wait(events, ready, EVENTS, timeout_ms);
  for (int n = 0; n < length; n++) {
    struct stream *stream = ready[n].data.ptr;
    if (!stream) has_line = 1;
    else if (stream->closed) continue;
    else if (stream->phase == CONNECT) connected(stream);
    else readable(stream);
  }
  return has_line;
}

static void open_streams(int more) {
  int wanted = count + more;
  time_t deadline = time(NULL) + OPEN_WITHIN_S;
  while (opened < wanted && closed == 0 && time(NULL) <= deadline) {
    while (count < wanted && count - opened < CONNECTING) start();
    turn(10);
  }
}

static void mark(void) {
  for (int n = 0; n < count; n++) {
    streams[n]->marked = streams[n]->payload;
    streams[n]->strict = 1;
    streams[n]->is_whole = 1;
  }
}

static void report(void) {
  int64_t bytes = 0, least = INT64_MAX, most = 0;
  for (int n = 0; n < count; n++) {
    int64_t own = streams[n]->payload - streams[n]->marked;
    bytes += own;
    if (own < least) least = own;
    if (own > most) most = own;
  }
  printf("{\"result\":{\"bytes\":%jd,\"chunks\":%jd,\"gaps\":%jd,\"closed\":%d,\"least\":%jd,\"most\":%jd,\"fault\":\"%s\"}}\n",
         (intmax_t)bytes, (intmax_t)chunks, (intmax_t)gaps, closed, (intmax_t)(count ? least : 0), (intmax_t)most, fault);
}

/* Returns whether there was a line. */
static int answer(void) {
  char line[128];
  int more;
  if (!fgets(line, sizeof line, stdin)) return 0;
  if (sscanf(line, "\"open %d\"", &more) == 1) open_streams(more);
  else if (strncmp(line, "\"mark\"", 6) == 0) mark();
  if (count == opened) report();
  else printf("{\"error\":\"%d of %d streams are open; %s\"}\n", opened, count, fault);
  return 1;
}

int main(int arguments, char **argument) {
  if (arguments < 6) return 2;
  signal(SIGPIPE, SIG_IGN);
  server.sin_family = AF_INET;
  server.sin_port = htons(atoi(argument[2]));
  inet_pton(AF_INET, argument[1], &server.sin_addr);
  frame_start = argument[5];
  frame_start_bytes = strlen(frame_start);
  snprintf(request, sizeof request,
           "GET %s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: %s\r\nAccept: text/event-stream\r\n\r\n", argument[3], argument[1],
           argument[2], argument[4]);
  /* Lines are answered one by one: none waits in a buffer, where epoll does not see it. */
  setvbuf(stdout, NULL, _IOLBF, 0);
  events = epoll_create1(0);
  struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(events, EPOLL_CTL_ADD, STDIN_FILENO, &input);
  puts("ready");
  while (!turn(-1) || answer()) continue;
  return 0;
}
