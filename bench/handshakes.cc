// handshakes PORT SECONDS AT_ONCE PATH BYTES [resume]: connections of TLS 1.3 one after another,
// AT_ONCE at a time. Each shakes hands over P-256, asks for PATH, looks whether the answer is 200
// with BYTES bytes, and reads on until the server has closed. With `resume` each offers the newest
// ticket of its place (again, where the server gave no other: h2o gives none when it resumes).
// Prints what it counted as one line of JSON; only whole connections count.
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/tls_peer.h"

namespace tiderace::bench {
namespace {

struct Order {
    std::uint16_t port;
    double seconds;
    std::size_t at_once;
    std::string request;
    std::size_t body_bytes;
    bool resume;
};

struct Count {
    std::uint64_t handshakes = 0;
    std::uint64_t resumed = 0;
    std::uint64_t faults = 0;
};

// One connection at a time, again and again.
class Place {
  public:
    Place(SSL_CTX* context, const Order& order, Count& count)
        : context_(context), order_(&order), count_(&count) {}
    ~Place() {
        end();
        SSL_SESSION_free(ticket_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    int fd() const { return ssl_ != nullptr ? SSL_get_fd(ssl_) : -1; }
    void take(SSL_SESSION* ticket) {
        SSL_SESSION_free(ticket_);
        ticket_ = ticket;
    }
    void begin() {
        ssl_ = SSL_new(context_);
        const int fd = connect_to(order_->port);
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
        SSL_set_fd(ssl_, fd);
        SSL_set_app_data(ssl_, this);
        SSL_set_connect_state(ssl_);
        if (order_->resume && ticket_ != nullptr) {
            SSL_SESSION* copy = SSL_SESSION_dup(ticket_);  // OpenSSL offers one only once
            SSL_set_session(ssl_, copy);
            SSL_SESSION_free(copy);
        }
        asked_ = false;
        answer_.clear();
    }
    // Goes on as far as it gets. True: the connection is over, and was counted.
    bool go_on() {
        if (!asked_) {
            const int sent =
                SSL_write(ssl_, order_->request.data(), static_cast<int>(order_->request.size()));
            if (sent <= 0) return !must_wait(sent) && failed();
            asked_ = true;
        }
        std::array<char, 16384> buffer;
        for (;;) {
            const int got = SSL_read(ssl_, buffer.data(), static_cast<int>(buffer.size()));
            if (got > 0) {
                answer_.append(buffer.data(), static_cast<std::size_t>(got));
                continue;
            }
            if (must_wait(got)) return false;
            count();
            return true;
        }
    }
    void end() {
        if (ssl_ == nullptr) return;
        const int fd = SSL_get_fd(ssl_);
        SSL_shutdown(ssl_);
        SSL_free(ssl_);
        ::close(fd);
        ssl_ = nullptr;
        ERR_clear_error();  // an end without close_notify leaves one
    }
    bool has_ticket() const { return ticket_ != nullptr; }

  private:
    bool must_wait(int result) const {
        const int why = SSL_get_error(ssl_, result);
        return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
    }
    bool failed() {
        ++count_->faults;
        return true;
    }
    void count() {
        const std::size_t head = answer_.find("\r\n\r\n");
        if (!answer_.starts_with("HTTP/1.1 200 ") || head == std::string::npos ||
            answer_.size() - head - 4 != order_->body_bytes) {
            failed();
            return;
        }
        ++count_->handshakes;
        if (SSL_session_reused(ssl_) == 1) ++count_->resumed;
    }

    SSL_CTX* context_;
    const Order* order_;
    Count* count_;
    SSL* ssl_ = nullptr;
    SSL_SESSION* ticket_ = nullptr;
    bool asked_ = false;
    std::string answer_;
};

int keep_ticket(SSL* ssl, SSL_SESSION* ticket) {
    static_cast<Place*>(SSL_get_app_data(ssl))->take(ticket);
    return 1;
}

double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

void begin(Place& place, int epoll) {
    place.begin();
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = &place}};
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, place.fd(), &event);
}

// Until `ends`, and until what runs then is over.
void run(std::vector<std::unique_ptr<Place>>& places, double ends) {
    const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
    for (auto& place : places) begin(*place, epoll);
    std::array<epoll_event, 256> events;
    for (std::size_t running = places.size(); running > 0;) {
        const int ready = ::epoll_wait(epoll, events.data(), events.size(), 10'000);
        if (ready <= 0) give_up("the server does not answer");
        for (int i = 0; i < ready; ++i) {
            auto& place = *static_cast<Place*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (!place.go_on()) continue;
            place.end();
            if (now() < ends) {
                begin(place, epoll);
            } else {
                --running;
            }
        }
    }
    ::close(epoll);
}

void measure(const Order& order) {
    SSL_CTX* context = client_context();
    SSL_CTX_set_session_cache_mode(context,
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(context, keep_ticket);
    // For servers that close without close_notify: the answer's length shows that it is complete,
    // and OpenSSL would otherwise drop its ticket.
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    Count count;
    std::vector<std::unique_ptr<Place>> places;
    for (std::size_t i = 0; i < order.at_once; ++i) {
        places.push_back(std::make_unique<Place>(context, order, count));
    }
    if (order.resume) {
        run(places, 0);  // one each, for the first tickets; not counted
        for (auto& place : places) {
            if (!place->has_ticket()) give_up("the server gives no ticket");
        }
        count = {};
    }
    const double began = now();
    run(places, began + order.seconds);
    std::printf(
        "counted {\"handshakes\": %llu, \"resumed\": %llu, \"faults\": %llu, "
        "\"seconds\": %.6f}\n",
        static_cast<unsigned long long>(count.handshakes),
        static_cast<unsigned long long>(count.resumed),
        static_cast<unsigned long long>(count.faults), now() - began);
    places.clear();
    SSL_CTX_free(context);
}

}  // namespace
}  // namespace tiderace::bench

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv, argv + argc);
    if (argc < 6) {
        tiderace::bench::give_up("usage: handshakes PORT SECONDS AT_ONCE PATH BYTES [resume]");
    }
    tiderace::bench::measure({
        .port = static_cast<std::uint16_t>(std::atoi(argv[1])),
        .seconds = std::atof(argv[2]),
        .at_once = static_cast<std::size_t>(std::atol(argv[3])),
        .request = "GET " + std::string(words[4]) +
                   " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        .body_bytes = static_cast<std::size_t>(std::atol(argv[5])),
        .resume = argc > 6 && words[6] == "resume",
    });
    return 0;
}
