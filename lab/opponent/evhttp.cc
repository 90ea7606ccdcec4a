// tiderace-lab-evhttp: a folder served by libevent's own HTTP server: one event_base, one evhttp
// and one listener (SO_REUSEPORT) for each thread. Small files are read next to their head; larger
// ones are given to evbuffer_add_file, as libevent's example does, which maps them and writes
// 16 KiB at a time.
//
//   tiderace-lab-evhttp DIR [--listen ADDRESS] [--threads N] [--sendfile]
//
// --sendfile is the tuned variant: larger files go by sendfile, and a
// write takes as much as a socket does.
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lab/opponent/program.h"
#include "lab/opponent/served_folder.h"
#include "tiderace/base/check.h"
#include "tiderace/base/units.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::lab::opponent {
namespace {

using http::wire::reason_phrase;

// Below this one read next to the head costs less than a sendfile of its own.
constexpr std::uint64_t read_bytes_max = 32_KiB;
constexpr std::size_t write_bytes_max = 1_MiB;  // with --sendfile
constexpr std::array<std::string_view, 1> switches{"--sendfile"};
// Longer than any cell: no server of the lab closes a connection that only waits for its turn.
constexpr int idle_seconds_max = 3600;
// Also the methods that answer() refuses: evhttp's own refusal lacks the methods in Allow, as RFC
// 9110, 15.5.6 requires.
constexpr int every_method = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
                             EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
                             EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;

struct Served {
    ServedFolder folder;
    bool by_sendfile;
};

struct FreeBase {
    void operator()(event_base* base) const { event_base_free(base); }
};
struct FreeServer {
    void operator()(evhttp* server) const { evhttp_free(server); }
};
struct FreeEvent {
    void operator()(event* one) const { event_free(one); }
};

void add_field(evhttp_request* request, const char* name, const std::string& value) {
    evhttp_add_header(evhttp_request_get_output_headers(request), name, value.c_str());
}

void answer_in_words(evhttp_request* request, int status) {
    const std::string text =
        std::to_string(status) + ' ' + std::string(reason_phrase(status)) + '\n';
    add_field(request, "Content-Type", "text/plain");
    add_field(request, "Content-Length", std::to_string(text.size()));
    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD) {
        evbuffer_add(evhttp_request_get_output_buffer(request), text.data(), text.size());
    }
    evhttp_send_reply(request, status, std::string(reason_phrase(status)).c_str(), nullptr);
}

bool add_body(evbuffer* out, ServedFile& found, bool by_sendfile) {
    const auto bytes = static_cast<ev_ssize_t>(found.bytes);
    if (found.bytes == 0) return true;
    if (found.bytes > read_bytes_max) {
        // Says that the buffer ends in a socket: then libevent sends the file without reading it.
        if (by_sendfile) evbuffer_set_flags(out, EVBUFFER_FLAG_DRAINS_TO_FD);
        const int file = found.file.release();  // closed when it has been sent
        if (evbuffer_add_file(out, file, 0, bytes) == 0) return true;
        ::close(file);
        return false;
    }
    // Read into the buffer's own memory: no copy between.
    evbuffer_iovec room;
    if (evbuffer_reserve_space(out, bytes, &room, 1) != 1) return false;
    const ssize_t got = ::pread(found.file.get(), room.iov_base, found.bytes, 0);
    room.iov_len = got > 0 ? static_cast<std::size_t>(got) : 0;
    return evbuffer_commit_space(out, &room, 1) == 0 && got == bytes;
}

void answer(evhttp_request* request, void* context) {
    const auto& served = *static_cast<const Served*>(context);
    const evhttp_cmd_type method = evhttp_request_get_command(request);
    if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
        add_field(request, "Allow", "GET, HEAD");
        add_field(request, "Connection", "close");  // an unread body may follow
        return answer_in_words(request, 405);
    }
    const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
    const char* path = uri != nullptr ? evhttp_uri_get_path(uri) : nullptr;
    ServedFile found = served.folder.find(path != nullptr ? path : "");
    if (found.status == 301) add_field(request, "Location", found.location);
    if (found.status != 200) return answer_in_words(request, found.status);
    evbuffer* const out = evhttp_request_get_output_buffer(request);
    if (method == EVHTTP_REQ_GET && !add_body(out, found, served.by_sendfile)) {
        return evhttp_send_error(request, 500, "Internal Server Error");
    }
    add_field(request, "Content-Type", std::string(found.type));
    add_field(request, "Content-Length", std::to_string(found.bytes));
    evhttp_send_reply(request, 200, "OK", nullptr);
}

// libevent writes 16 KiB at a time, and waits for epoll before the next: with sendfile that would
// be the larger part of the cost.
bufferevent* make_wide_bufferevent(event_base* base, void*) {
    bufferevent* made = bufferevent_socket_new(base, -1, 0);
    if (made != nullptr) bufferevent_set_max_single_write(made, write_bytes_max);
    return made;
}

// When descriptors are short it rests a while, and does not write a warning at every turn.
class Resting {
  public:
    Resting(event_base* base, evconnlistener* listener)
        : listener_(listener), timer_(evtimer_new(base, wake_up, this)) {
        TR_CHECK(timer_ != nullptr, "no memory for an event");
        evconnlistener_set_error_cb(listener, rest);
        resting = this;
    }

  private:
    static void rest(evconnlistener* listener, void*) {
        const timeval a_while{.tv_sec = 0, .tv_usec = 100'000};
        evconnlistener_disable(listener);
        event_add(resting->timer_.get(), &a_while);
    }
    static void wake_up(evutil_socket_t, short, void* self) {
        evconnlistener_enable(static_cast<Resting*>(self)->listener_);
    }

    // The listener's context is evhttp's.
    static inline thread_local Resting* resting = nullptr;
    evconnlistener* listener_;
    std::unique_ptr<event, FreeEvent> timer_;
};

void run(const Served& served, core::Descriptor listener, int stop) {
    const std::unique_ptr<event_base, FreeBase> base(event_base_new());
    TR_CHECK(base != nullptr, "no event_base");
    const std::unique_ptr<evhttp, FreeServer> server(evhttp_new(base.get()));
    TR_CHECK(server != nullptr, "no evhttp");
    evhttp_set_allowed_methods(server.get(), every_method);
    evhttp_set_max_headers_size(server.get(), 16_KiB);
    evhttp_set_max_body_size(server.get(), 64_KiB);
    evhttp_set_timeout(server.get(), idle_seconds_max);
    if (served.by_sendfile) evhttp_set_bevcb(server.get(), make_wide_bufferevent, nullptr);
    evhttp_set_gencb(server.get(), answer, const_cast<Served*>(&served));
    // TCP_NODELAY comes from the listener; evhttp does not set it.
    evhttp_bound_socket* const bound =
        evhttp_accept_socket_with_handle(server.get(), listener.release());
    TR_CHECK(bound != nullptr, "no evconnlistener");
    const Resting resting(base.get(), evhttp_bound_socket_get_listener(bound));
    const std::unique_ptr<event, FreeEvent> ending(event_new(
        base.get(), stop, EV_READ,
        [](evutil_socket_t, short, void* loop) {
            event_base_loopbreak(static_cast<event_base*>(loop));
        },
        base.get()));
    event_add(ending.get(), nullptr);
    event_base_dispatch(base.get());
}

}  // namespace
}  // namespace tiderace::lab::opponent

int main(int count, char** words) {
    namespace opponent = tiderace::lab::opponent;
    const std::string version = std::string("libevent ") + event_get_version();
    const opponent::Program program{
        .name = "evhttp", .served = "DIR", .version = version, .switches = opponent::switches};
    std::optional<opponent::Served> served;
    return opponent::run_program(
        program, {words, static_cast<std::size_t>(count)},
        [&](const opponent::ProgramOptions& options) -> tiderace::Result<> {
            auto opened = opponent::ServedFolder::open(options.served);
            if (!opened) return tiderace::fail(opened.error());
            served.emplace(std::move(*opened), options.has("--sendfile"));
            return {};
        },
        [](const opponent::ProgramOptions& options) { return options.threads; },
        [&](tiderace::core::Descriptor listener, int stop) -> tiderace::Result<> {
            opponent::run(*served, std::move(listener), stop);
            return {};
        });
}
