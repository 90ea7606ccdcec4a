#include "tiderace/testing/client/stage.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/log/console_sink.h"

namespace tiderace::testing {
namespace {

// A connection keeps all that it heard; above this the next request has a new one.
constexpr std::size_t heard_bytes_max = 1_MiB;
constexpr std::size_t log_bytes_max = 64_KiB;  // of lines between two turns
constexpr int standard_error = 2;

const http::App& checked(const http::App& app) {
    if (!app.fault().empty()) throw std::invalid_argument(app.fault());
    return app;
}

bool busy(const core::WorkerPool& pool) {
    const core::WorkerPool::Counters now = pool.counters();
    return now.queued + now.running > 0;
}

// Threads of the pool live in real time: about a millisecond of it passes at most.
void give_time(const core::WorkerPool& pool) {
    for (int looks = 0; looks < 50 && busy(pool); ++looks) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
}

// A database that does not answer for this long is waited for under the test's clock, where its
// deadlines come.
constexpr auto answers_wait_max = std::chrono::seconds(60);

}  // namespace

void ClientExchange::begin(bool to_head) {
    // The reader goes on only between two answers: behind a whole one, or before the first byte.
    if (done_) reader_.next(to_head);
    if (taken_ == 0) reader_.next(to_head);
    status_ = 0;
    fields_ = {};
    body_.clear();
    done_ = false;
}

void ClientExchange::close() {
    peer_->close();
    if (!done_ && fault_.empty()) fault_ = "the client closed the connection";
}

bool ClientExchange::reusable() const {
    return done_ && reader_.start().keep_alive && !peer_->over() && taken_ < heard_bytes_max;
}

void ClientExchange::look(std::size_t body_bytes_max) {
    using Status = http::wire::ResponseReader::Status;
    while (!over() && body_.size() < body_bytes_max) {
        const ByteView unread = ByteView(peer_->heard()).substr(taken_);
        const auto step = reader_.step(unread, &places_);
        taken_ += step.used;
        switch (step.status) {
            case Status::head:
                status_ = reader_.start().status;
                fields_.add_lines(step.data, places_);
                break;
            case Status::data:
                body_ += step.data;
                break;
            case Status::trailer:
                trailers_.add(step.trailer.name, step.trailer.value);
                break;
            case Status::done:
                done_ = true;
                break;
            case Status::refused:
                fault_ = to_string(reader_.fault());
                break;
            case Status::need_more:
                if (peer_->over()) end_of_stream();
                return;
        }
    }
}

void ClientExchange::end_of_stream() {
    const bool silent = status_ == 0 && taken_ == peer_->heard().size();
    if (!peer_->was_reset() && reader_.end_of_stream()) {
        done_ = true;
    } else if (silent) {
        fault_ = "the server closed the connection without an answer";
    } else {
        fault_ = "the connection ended inside an answer";
    }
}

ClientStage::ClientStage(const http::App& app, ClientOptions options)
    : options_(std::move(options)),
      log_("log", std::make_unique<log::ConsoleSink>(standard_error), bell_),
      logger_(log_.add_ring(log_bytes_max), time_, {.level = options_.log}),
      pool_(app.options().pool_threads_max, app.options().pool_queue_max),
      loop_(world_.loop(), checked(app), &pool_),
      service_(world_.loop(), loop_.site(),
               http::H1Options{{.idle_timeout = options_.idle_timeout, .server_name = ""}}),
      server_(world_.loop(), service_,
              net::TcpServerOptions{.connections_max = options_.connections_max}) {
    if (loop_.fault()) throw std::invalid_argument(loop_.fault()->message());
    world_.loop().set_log(&logger_);
    loop_.site().add_error_pages(error_pages_);
    server_.listen(world_.listen());
}

ClientStage::~ClientStage() {
    kept_.reset();
    // Connections end in a later turn, which has to come while the app and the site are there.
    server_.abort_all();
    world_.settle();
    log_.drain(log_bytes_max);
}

// The test's clock stands while the stage settles; only wait() and advance() move it.
//
//   settle()  turns, until `enough`, or until a few turns in a row were still
//   wait()    settle(), then the clock jumps to the next timer or event, and again; for `patience`
//   advance() settle(), and the clock goes on to one moment, stopping at all that is due before
//
// Nothing can happen without time passing.
bool ClientStage::still() {
    const auto event = world_.network().next_event();
    return world_.loop().wait_wanted() != Duration::zero() && !busy(pool_) &&
           (!event || *event > world_.clock().now());
}

void ClientStage::settle(unique_function<bool()> enough) {
    constexpr int still_turns_enough = 3;  // what one turn did may show in the next
    const auto latest = std::chrono::steady_clock::now() + answers_wait_max;
    for (int turns = 0; turns < still_turns_enough && !enough();) {
        give_time(pool_);
        world_.loop().turn(Duration::zero());
        const bool awaits_answer =
            world_.loop().answers_awaited() > 0 && std::chrono::steady_clock::now() < latest;
        turns = still() && !awaits_answer ? turns + 1 : 0;
        if (!awaits_answer) continue;
        // A database's answer comes in real time: these turns are no loop that spins.
        world_.forget_turns();
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    log_.drain(log_bytes_max);
}

void ClientStage::wait(unique_function<bool()> enough) {
    world_.forget_turns();
    const Instant latest = world_.clock().now() + options_.patience;
    while (true) {
        settle([&] { return enough(); });
        if (enough()) return;
        const Instant now = world_.clock().now();
        const Duration timers = world_.loop().wait_wanted();
        const Instant timer = timers < Duration::zero() ? Instant::max() : now + timers;
        const Instant next = std::min(timer, world_.network().next_event().value_or(timer));
        // The clock stays: a test that goes on after a fault has not lost the time.
        if (next > latest) return;
        world_.loop().turn(next - now);
    }
}

void ClientStage::advance(Duration by) {
    world_.forget_turns();
    const Instant until = world_.clock().now() + by;
    settle([] { return false; });
    while (world_.clock().now() < until) {
        world_.loop().turn(until - world_.clock().now());
        settle([] { return false; });
    }
}

std::unique_ptr<ClientExchange> ClientStage::connect() {
    return std::make_unique<ClientExchange>(world_.connect_fake());
}

std::string ClientStage::head(std::string_view method, std::string_view target,
                              std::string_view type, std::string_view framing,
                              const Headers& fields) {
    Headers all;
    all.add("Host", options_.host);
    if (!type.empty()) all.add("Content-Type", type);
    const std::string_view path = target.substr(0, target.find('?'));
    const std::string cookies =
        cookies_.header({true, options_.host, path}, world_.loop().unix_now());
    if (options_.cookies && !cookies.empty()) all.add("Cookie", cookies);
    for (const http::Header& field : standing_) all.set(field.name, field.value);
    // All of them go before any comes, for a request may have one name twice.
    for (const http::Header& field : fields) {
        if (all.has(field.name)) all.remove(field.name);
    }
    for (const http::Header& field : fields) all.add(field.name, field.value);
    std::string text = std::string(method) + " " + std::string(target) + " HTTP/1.1\r\n";
    text.append(all.lines()).append(framing).append("\r\n");
    return text;
}

void ClientStage::keep_cookies(const http::Headers& fields, std::string_view target) {
    if (!options_.cookies) return;
    const std::string_view path = target.substr(0, target.find('?'));
    for (const std::string_view cookie : fields.all("Set-Cookie")) {
        // As over TLS, so that cookies marked Secure come back to an app under test.
        cookies_.keep({true, options_.host, path}, cookie, world_.loop().unix_now());
    }
}

ClientResponse ClientStage::finish(ClientExchange& exchange) {
    const std::size_t bytes_max = options_.answer_bytes_max;
    wait([&] {
        exchange.look(bytes_max + 1);
        return exchange.over() || exchange.body().size() > bytes_max;
    });
    ClientResponse answer;
    if (exchange.done() && exchange.body().size() <= bytes_max) {
        answer.status = exchange.status();
    } else if (!exchange.fault().empty()) {
        answer.fault = exchange.fault();
    } else if (exchange.body().size() > bytes_max) {
        answer.fault = "the answer is larger than ClientOptions::answer_bytes_max";
    } else {
        answer.fault = "no whole answer came within ClientOptions::patience";
    }
    answer.headers = exchange.take_headers();
    answer.trailers = exchange.take_trailers();
    answer.body = std::move(exchange.body());
    return answer;
}

ClientResponse ClientStage::ask(std::string_view method, std::string_view target,
                                const Content& content, const Headers& fields) {
    // First what is still to happen: the server may be about to close the kept connection.
    settle([] { return false; });
    if (kept_ == nullptr || !kept_->reusable()) kept_ = connect();
    kept_->begin(method == "HEAD");
    const std::string framing =
        content.empty() ? "" : "Content-Length: " + std::to_string(content.bytes().size()) + "\r\n";
    kept_->say(head(method, target, content.type(), framing, fields) + content.bytes());
    ClientResponse answer = finish(*kept_);
    if (answer.status == 0) kept_.reset();
    keep_cookies(answer.headers, target);
    return answer;
}

Stream ClientStage::open(const std::string& head, std::string_view target, bool uploading) {
    // On a connection of its own: it may stay open for the whole test, beside other requests.
    auto exchange = connect();
    exchange->begin(false);
    exchange->uploading = uploading;
    exchange->say(head);
    Stream stream(*this, std::move(exchange));
    keep_cookies(stream.headers(), target);
    return stream;
}

}  // namespace tiderace::testing
