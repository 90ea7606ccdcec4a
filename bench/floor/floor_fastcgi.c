// The floor of a FastCGI request: the calls that no server can do without (two receives, two sends,
// and the wait), and no thought. The request's records are made at start; of the peer's answer only
// the lengths of its records are read. What another server costs above this is its own.
//
//   floor_fastcgi SOCKET SCRIPT level|edge
//
// It listens on a port the kernel chooses on the loopback address and prints that port. Each client
// has a kept connection to the peer of its own. A request must arrive in one piece.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { descriptors_max = 1024, events_max = 512, answer_bytes_max = 1 << 17 };
enum { begin_request = 1, end_request = 3, parameters = 4, standard_input = 5, output = 6 };

static char request[4096];
static size_t request_bytes;
static struct sockaddr_un peer_address = {.sun_family = AF_UNIX};
static int poller;
static bool by_edge;
static char answers[descriptors_max][answer_bytes_max];  // the peer's, as far as it has come
static struct {
    int other;  // of a client its connection to the peer, and the other way round
    bool is_peer;
    size_t got;  // of the answer
} ends[descriptors_max];

static void die(const char* what) {
    perror(what);
    exit(1);  // NOLINT(concurrency-mt-unsafe): of one thread
}

static void put_record(int type, const char* content, size_t bytes) {
    char head[8] = {1, (char)type, 0, 1, (char)(bytes >> 8), (char)bytes, 0, 0};
    memcpy(request + request_bytes, head, sizeof head);
    memcpy(request + request_bytes + sizeof head, content, bytes);
    request_bytes += sizeof head + bytes;
}

static size_t put_pair(char* to, const char* name, const char* value) {
    size_t name_bytes = strlen(name), value_bytes = strlen(value);
    to[0] = (char)name_bytes;
    to[1] = (char)value_bytes;
    memcpy(to + 2, name, name_bytes);
    memcpy(to + 2 + name_bytes, value, value_bytes);
    return 2 + name_bytes + value_bytes;
}

// As many variables as servers send, of about their lengths.
static void prepare_request(const char* script) {
    static const char* const pairs[][2] = {
        {"REQUEST_METHOD", "GET"},       {"QUERY_STRING", ""},
        {"SCRIPT_NAME", "/0.php"},       {"REQUEST_URI", "/0.php"},
        {"SERVER_PROTOCOL", "HTTP/1.1"}, {"REQUEST_SCHEME", "http"},
        {"SERVER_SOFTWARE", "floor"},    {"GATEWAY_INTERFACE", "CGI/1.1"},
        {"REMOTE_ADDR", "127.0.0.1"},    {"REMOTE_PORT", "40000"},
        {"SERVER_ADDR", "127.0.0.1"},    {"SERVER_PORT", "8080"},
        {"SERVER_NAME", "127.0.0.1"},    {"HTTP_HOST", "127.0.0.1:8080"},
        {"DOCUMENT_ROOT", "/srv/site"},
    };
    char body[2048];
    size_t bytes = put_pair(body, "SCRIPT_FILENAME", script);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        bytes += put_pair(body + bytes, pairs[i][0], pairs[i][1]);
    put_record(begin_request, "\0\1\1\0\0\0\0\0", 8);  // a responder; keep the connection
    put_record(parameters, body, bytes);
    put_record(parameters, "", 0);
    put_record(standard_input, "", 0);
}

static void watch(int descriptor) {
    struct epoll_event event = {.events = EPOLLIN | (by_edge ? EPOLLET : 0), .data.fd = descriptor};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) != 0) die("epoll_ctl");
}

static int listen_on_loopback(void) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0) die("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 511) != 0 ||
        getsockname(listener, (struct sockaddr*)&address, &size) != 0)
        die("listen");
    printf("http://127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void accept_all(int listener) {
    int one = 1, client;
    while ((client = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (peer < 0 || peer >= descriptors_max || client >= descriptors_max) die("socket");
        if (connect(peer, (struct sockaddr*)&peer_address, sizeof peer_address) != 0)
            die(peer_address.sun_path);
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        ends[client].other = peer;
        ends[client].is_peer = false;
        ends[peer].other = client;
        ends[peer].is_peer = true;
        ends[peer].got = 0;
        watch(client);
        watch(peer);
    }
}

static void end_both(int one) {
    close(ends[one].other);
    close(one);
}

// Joins the output of the records at `from`; its bytes, or -1 where the end has not come.
static ssize_t join_output(char* from, size_t have) {
    size_t at = 0, joined = 0;
    while (at + 8 <= have) {
        const unsigned char* head = (unsigned char*)from + at;
        size_t bytes = (size_t)head[4] << 8 | head[5];
        size_t next = at + 8 + bytes + head[6];
        if (next > have) return -1;
        if (head[1] == end_request) return (ssize_t)joined;
        if (head[1] == output) {
            memmove(from + joined, from + at + 8, bytes);
            joined += bytes;
        }
        at = next;
    }
    return -1;
}

// The output is joined in place, so only an answer that has come whole is read twice.
static bool is_whole(const char* from, size_t have) {
    return have >= 16 && from[have - 16] == 1 && from[have - 15] == end_request;
}

static bool answer(int peer) {
    char* all = answers[peer];
    size_t have = ends[peer].got;
    if (!is_whole(all, have)) return true;
    ends[peer].got = 0;
    ssize_t bytes = join_output(all, have);
    if (bytes < 0) return false;
    char* body = memmem(all, (size_t)bytes, "\r\n\r\n", 4);
    if (body == NULL) return false;
    size_t head_bytes = (size_t)(body - all) + 2;
    // 512: the status line and the length, and the peer's fields.
    static char out[512 + answer_bytes_max];
    body += 4;
    size_t body_bytes = (size_t)bytes - head_bytes - 2;
    int used = snprintf(out, 512,
                        "HTTP/1.1 200 OK\r\nServer: floor\r\n"
                        "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Length: %zu\r\n"
                        "%.*s\r\n",
                        body_bytes, (int)head_bytes, all);
    if (used < 0 || used >= 512) return false;
    memcpy(out + used, body, body_bytes);
    size_t out_bytes = (size_t)used + body_bytes;
    return send(ends[peer].other, out, out_bytes, MSG_NOSIGNAL) == (ssize_t)out_bytes;
}

static void serve(int ready) {
    static char head[1 << 16];
    if (!ends[ready].is_peer) {
        ssize_t got = recv(ready, head, sizeof head, 0);
        if (got < 0 && errno == EAGAIN) return;
        if (got <= 0 ||
            send(ends[ready].other, request, request_bytes, MSG_NOSIGNAL) != (ssize_t)request_bytes)
            end_both(ready);
        return;
    }
    size_t have = ends[ready].got;
    ssize_t got = recv(ready, answers[ready] + have, answer_bytes_max - have, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) ends[ready].got += (size_t)got;
    if (got <= 0 || !answer(ready)) end_both(ready);
}

int main(int count, char** words) {
    if (count < 4 || strlen(words[1]) >= sizeof peer_address.sun_path || strlen(words[2]) > 255) {
        fprintf(stderr, "usage: floor_fastcgi SOCKET SCRIPT level|edge\n");
        return 2;
    }
    strcpy(peer_address.sun_path, words[1]);
    prepare_request(words[2]);
    by_edge = strcmp(words[3], "edge") == 0;
    poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_on_loopback();
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) != 0) die("epoll_ctl");
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
