// The floor: the least an epoll server can do for a request. It parses nothing: whatever arrives is
// answered with one answer made at start. What another server costs above this is its own.
//
//   floor_epoll FILE memory|sendfile [close]
//
// It listens on a port the kernel chooses on the loopback address and prints that port. `memory`
// sends head and file from one buffer; `sendfile` sends the head with MSG_MORE and the file after
// it; `close` ends the connection after each answer.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { connections_max = 1 << 17, events_max = 512, head_bytes_max = 512 };
enum outcome { done, blocked, broken };

static char* answer;  // head and, unless sendfile, the file behind it
static size_t head_bytes, answer_bytes;
static int file;
static off_t file_bytes;
static bool by_sendfile, close_after;

static int poller;
static struct {
    size_t sent;   // of answer
    off_t offset;  // of file
    bool waits_to_write;
} connections[connections_max];  // indexed by descriptor

static void die(const char* what) {
    perror(what);
    exit(1);  // NOLINT(concurrency-mt-unsafe): of one thread
}

static void prepare_answer(const char* path) {
    struct stat facts;
    file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &facts) != 0) die(path);
    file_bytes = facts.st_size;
    size_t in_memory = by_sendfile ? 0 : (size_t)file_bytes;
    answer = malloc(head_bytes_max + in_memory);
    if (answer == NULL) die("malloc");
    head_bytes = (size_t)snprintf(answer, head_bytes_max,
                                  "HTTP/1.1 200 OK\r\n"
                                  "Server: floor\r\n"
                                  "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n"
                                  "Content-Type: text/html\r\n"
                                  "Content-Length: %lld\r\n"
                                  "Last-Modified: Sat, 21 Nov 2026 11:00:00 GMT\r\n"
                                  "ETag: \"6560a5c4-400\"\r\n"
                                  "Accept-Ranges: bytes\r\n"
                                  "Connection: %s\r\n\r\n",
                                  (long long)file_bytes, close_after ? "close" : "keep-alive");
    answer_bytes = head_bytes + in_memory;
    for (size_t have = 0; have < in_memory;) {
        ssize_t got = pread(file, answer + head_bytes + have, in_memory - have, (off_t)have);
        if (got <= 0) die(path);
        have += (size_t)got;
    }
}

static int listen_on_loopback(void) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0) die("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr*)&address, &size) != 0)
        die("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void watch(int operation, int descriptor, unsigned events) {
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    epoll_ctl(poller, operation, descriptor, &event);
}

static void accept_all(int listener) {
    int one = 1, peer;
    while ((peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (peer >= connections_max) {
            close(peer);
            continue;
        }
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        memset(&connections[peer], 0, sizeof connections[peer]);
        watch(EPOLL_CTL_ADD, peer, EPOLLIN);
    }
}

static enum outcome send_rest(int peer) {
    int flags = MSG_NOSIGNAL | (by_sendfile ? MSG_MORE : 0);
    while (connections[peer].sent < answer_bytes) {
        ssize_t n = send(peer, answer + connections[peer].sent,
                         answer_bytes - connections[peer].sent, flags);
        if (n < 0) return errno == EAGAIN ? blocked : broken;
        connections[peer].sent += (size_t)n;
    }
    while (by_sendfile && connections[peer].offset < file_bytes) {
        size_t left = (size_t)(file_bytes - connections[peer].offset);
        ssize_t n = sendfile(peer, file, &connections[peer].offset, left);
        if (n < 0) return errno == EAGAIN ? blocked : broken;
        if (n == 0) return broken;  // the file shrank
    }
    return done;
}

// Reads whatever came. False: nothing to answer.
static bool take_request(int peer) {
    static char request[1 << 16];
    ssize_t n = recv(peer, request, sizeof request, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) close(peer);
    connections[peer].sent = 0;
    connections[peer].offset = 0;
    return n > 0;
}

static void serve(int peer) {
    bool waited = connections[peer].waits_to_write;
    if (!waited && !take_request(peer)) return;
    enum outcome outcome = send_rest(peer);
    if (outcome == broken || (outcome == done && close_after)) {
        close(peer);
    } else if (waited != (outcome == blocked)) {
        connections[peer].waits_to_write = outcome == blocked;
        watch(EPOLL_CTL_MOD, peer, outcome == blocked ? EPOLLOUT : EPOLLIN);
    }
}

int main(int count, char** words) {
    if (count < 3) {
        fprintf(stderr, "usage: floor_epoll FILE memory|sendfile [close]\n");
        return 2;
    }
    by_sendfile = strcmp(words[2], "sendfile") == 0;
    close_after = count > 3 && strcmp(words[3], "close") == 0;
    signal(SIGPIPE, SIG_IGN);
    prepare_answer(words[1]);
    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_on_loopback();
    watch(EPOLL_CTL_ADD, listener, EPOLLIN);
    for (;;) {
        static struct epoll_event events[events_max];
        int ready = epoll_wait(poller, events, events_max, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener) {
                accept_all(listener);
            } else {
                serve(events[i].data.fd);
            }
        }
    }
}
