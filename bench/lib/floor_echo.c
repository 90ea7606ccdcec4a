// The floor of an echo: an epoll loop that sends back what it received, and nothing else.
//
// It listens on a port the kernel chooses on the loopback address and prints that port. What the
// kernel does not take at once ends the connection: an echo of small messages never meets that.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { events_max = 512 };

static void die(const char* what) {
    perror(what);
    exit(1);  // NOLINT(concurrency-mt-unsafe): of one thread
}

static int listen_on_loopback(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0) die("socket");
    if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 4096) != 0 ||
        getsockname(listener, (struct sockaddr*)&address, &size) != 0)
        die("listen");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

static void accept_all(int poller, int listener) {
    int one = 1, peer;
    while ((peer = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = peer};
        setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        epoll_ctl(poller, EPOLL_CTL_ADD, peer, &event);
    }
}

static void echo(int peer) {
    static char bytes[1 << 16];
    ssize_t got = recv(peer, bytes, sizeof bytes, 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0 || send(peer, bytes, (size_t)got, MSG_NOSIGNAL) != got) close(peer);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_on_loopback();
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        static struct epoll_event events[events_max];
        int ready = epoll_wait(poller, events, events_max, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener) {
                accept_all(poller, listener);
            } else {
                echo(events[i].data.fd);
            }
        }
    }
}
