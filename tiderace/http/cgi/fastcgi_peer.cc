#include "tiderace/http/cgi/fastcgi_peer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"

namespace tiderace::http::cgi {

using wire::cgi::append_record;
using wire::cgi::FcgiEnd;
using wire::cgi::FcgiEvent;
using wire::cgi::FcgiType;

namespace {

constexpr std::size_t input_record_max = 32_KiB;
// Above it more of a body waits; below the connection's own mark, so that it goes on reading.
constexpr std::uint64_t queue_bytes_high = 128_KiB;
// An idle connection does not check more often than this whether a request waits: a loop that has
// nothing else to do would be busy with it.
constexpr Duration idle_look_every = 10ms;
constexpr std::string_view too_many_wait = "too many wait for a connection to the peer";
constexpr std::string_view no_memory = "no memory is left";

}  // namespace

// --- a request ---------------------------------------------------------------------------------

FastCgiCall::FastCgiCall(FastCgi& handler, std::string_view name)
    : ProgramCall(*handler.loop_, handler.room_, name),
      handler_(&handler),
      errors_(handler.loop_->log(), ProgramCall::name()) {}

FastCgiCall::~FastCgiCall() = default;

void FastCgiCall::on_ready_to_start() {
    if (handler_->peer_ == nullptr) return refuse("the handler ends");
    handler_->peer_->ask(*this);
}

// A request that a script may have begun is sent again only if that changes nothing (RFC 9110,
// 9.2.1), and only without a body, which is gone.
bool FastCgiCall::is_repeatable() const {
    return request().is_get_or_head() && content_length().value_or(0) == 0;
}

void FastCgiCall::start() {
    connection_->write(
        handler_->begin_request(exchange(), name(), connection_->id(), content_length()));
    input_ended_ = content_length().value_or(0) == 0;
    begun_ = loop().now();
    on_body();
}

void FastCgiCall::on_body() {
    while (connection_ != nullptr && !pending().empty() && connection_->takes_body()) {
        const ByteView part = pending().substr(0, input_record_max);
        std::string out;
        append_record(out, FcgiType::standard_input, connection_->id(), part);
        connection_->write(out);
        take_pending(part.size());
    }
    if (connection_ == nullptr) return;
    if (!pending().empty()) return connection_->want_drained();
    // An empty record ends the input (FastCGI, 3.3); a second one would be a protocol error.
    if (!body_ended() || std::exchange(input_ended_, true)) return;
    std::string out;
    append_record(out, FcgiType::standard_input, connection_->id(), {});
    connection_->write(out);
}

// The client wants no body: what waits here would never be taken, and keeps the connection paused.
void FastCgiCall::want_output() {
    output_.clear();
    if (over()) return;
    if (ended_) return finish();
    if (connection_ != nullptr) connection_->update_reading();
}

void FastCgiCall::on_output(ByteView bytes) {
    peer_answered_ = true;
    // An empty record ends the output. The record that ends the request follows, and counts.
    if (over() || bytes.empty()) return;
    // The script runs on to its end. Its output has no reader and is no progress: one that writes
    // for ever is ended.
    if (head_complete() && drops_output()) return;
    note_progress();
    if (!head_complete()) {
        const std::size_t used = take_head(bytes);
        if (over() || !head_complete()) return;
        received_ = bytes.substr(used);
        return;  // answer_now() follows, if on_end() does not
    }
    keep_received();
    output_.append(loop().blocks(), bytes);
    if (!answered()) return;
    if (connection_ != nullptr) connection_->update_reading();
    output_ready();
}

void FastCgiCall::keep_received() {
    output_.append(loop().blocks(), std::exchange(received_, {}));
}

// The end of the output is not among the bytes that have come.
void FastCgiCall::answer_now() {
    keep_received();
    answer(output_.bytes());
}

// Most answers have come whole. One in a single record is not copied before it is sent.
void FastCgiCall::answer_at_end() {
    const ByteView whole = std::exchange(received_, {});
    output_.empty() ? answer_whole(whole) : answer_whole(std::exchange(output_, {}));
}

FastCgiCall::State FastCgiCall::pull_output(core::BlockPool& blocks, core::SendQueue& out,
                                            std::size_t bytes_wanted) {
    out.append_front(blocks, output_, std::min<std::uint64_t>(bytes_wanted, output_.bytes()));
    if (connection_ != nullptr) connection_->update_reading();
    if (!output_.empty()) return State::more;
    return ended_ ? State::end : State::wait;
}

void FastCgiCall::on_end(const FcgiEvent& end) {
    ended_ = true;
    connection_ = nullptr;
    errors_.end();
    if (over()) return;
    // A script may end without reading its input.
    drop_body();
    switch (end.end) {
        case FcgiEnd::complete:
            break;
        case FcgiEnd::overloaded:
            return fail(503, "the peer is overloaded");
        default:
            return fail(502, "the peer refused the request");
    }
    if (!head_complete()) return fail_without_head();
    if (!answered()) return answer_at_end();
    drops_output() ? finish() : output_ready();
}

void FastCgiCall::on_lost(std::string_view why) {
    connection_ = nullptr;
    if (over() || ended_) return;
    // A kept connection may close while a request is on its way. A new connection that breaks shows
    // a fault of the peer, so that is not tried again (may_retry_).
    const bool ends = handler_->peer_ == nullptr;  // the handler, and the peer with it
    if (std::exchange(may_retry_, false) && !peer_answered_ && !ends && is_repeatable()) {
        return wait_for_place();
    }
    fail(502, why);
}

// The order matters: after leave() no record reaches the call, and retire() frees it at the turn's
// end.
void FastCgiCall::on_over() {
    // Without it the handler ends: the connections fail the calls that are still on them.
    if (handler_->peer_ != nullptr) handler_->peer_->forget(*this);
    output_.clear();
    if (connection_ != nullptr) std::exchange(connection_, nullptr)->leave();
    handler_->retire(*this);
}

// --- a connection ------------------------------------------------------------------------------

void FastCgiConnection::attach(net::Connection& connection) {
    connection_ = &connection;
    connection.start(*this);
}

void FastCgiConnection::begin(FastCgiCall& call) {
    // 0 is the connection's own id (FastCGI, 3.3). Another one for each request, so that a late
    // record of one before it reaches no other client.
    if (++id_ == 0) ++id_;
    call_ = &call;
    call.connection_ = this;
    call.may_retry_ = std::exchange(used_, true);
    connection_->set_deadline(Instant::max());
}

// A script notices the end of its connection sooner than an abort record, which many peers ignore.
void FastCgiConnection::leave() {
    release();
    close();
}

FastCgiCall* FastCgiConnection::release() {
    if (call_ != nullptr) peer_->places_.give_back(call_->client());
    return std::exchange(call_, nullptr);
}

// A part of a record would shift all that follow it, so without memory the connection ends.
void FastCgiConnection::write(ByteView bytes) {
    if (closing_) return;
    if (!core::contain(peer_->loop_->log(), "cgi", "a record",
                       [&] { connection_->write(bytes); })) {
        close();
    }
}

bool FastCgiConnection::takes_body() const {
    return !closing_ && connection_->queue_bytes() < queue_bytes_high;
}

void FastCgiConnection::update_reading() {
    const std::uint64_t held = call_ != nullptr ? call_->output_.bytes() : 0;
    if (!closing_) connection_->set_reading(held <= peer_->options_->output_bytes_high);
}

void FastCgiConnection::close() {
    if (std::exchange(closing_, true)) return;
    connection_->close(net::CloseReason::aborted);
}

void FastCgiConnection::fail(std::string_view why) {
    close();  // first: on_lost() may request another connection at once
    FastCgiCall* const call = release();
    if (call == nullptr) return;
    // A call that cannot be sent again for lack of memory is over as well.
    if (!core::contain(peer_->loop_->log(), "cgi", "a lost request", [&] { call->on_lost(why); })) {
        call->fail(502, why);
    }
}

std::size_t FastCgiConnection::on_data(net::Connection&, ByteView data) {
    ByteView rest = data;
    while (!closing_) {
        const FcgiEvent event = reader_.next(rest);
        if (event.kind == FcgiEvent::Kind::need_more) break;
        take(event);
    }
    // A head is not answered at once, because the end of its output mostly follows in the same
    // bytes, and the answer then has a length. Now, before the view that the call holds is gone.
    if (call_ != nullptr && call_->head_complete() && !call_->answered()) {
        contain(*call_, [call = call_] { call->answer_now(); });
    }
    return data.size();
}

template <typename Step>
void FastCgiConnection::contain(FastCgiCall& call, Step&& step) {
    if (!core::contain(peer_->loop_->log(), "cgi", "an answer", std::forward<Step>(step))) {
        call.fail(503, no_memory);
    }
}

void FastCgiConnection::take(const FcgiEvent& event) {
    // After one bad record the place of the next is unknown.
    if (event.kind == FcgiEvent::Kind::fault || call_ == nullptr || event.id != id_) {
        return fail("the peer sent what is no FastCGI answer");
    }
    switch (event.kind) {
        case FcgiEvent::Kind::output:
            return contain(*call_, [&, call = call_] { call->on_output(event.bytes); });
        case FcgiEvent::Kind::errors:
            return call_->on_errors(event.bytes);
        default:
            return take_end(event);
    }
}

void FastCgiConnection::take_end(const FcgiEvent& end) {
    FastCgiCall& call = *release();
    // The rest of its input belongs to no request.
    if (!call.input_ended_) close();
    contain(call, [&] { call.on_end(end); });
    update_reading();
    peer_->on_idle(*this);
}

void FastCgiConnection::on_drained(net::Connection&) {
    if (call_ != nullptr) call_->on_body();
}

void FastCgiConnection::on_peer_finished(net::Connection&) {
    fail("the peer closed the connection");
}

// Idle for too long.
void FastCgiConnection::on_deadline(net::Connection&) {
    if (call_ != nullptr) return;
    const Instant end = moment_after(idle_since_, peer_->options_->idle_max);
    const Instant now = connection_->loop().now();
    // PHP-FPM binds a worker to each open connection: an idle one is given back early if another
    // call waits for its answer.
    now >= end || peer_->starves() ? close() : watch_idle();
}

void FastCgiConnection::watch_idle() {
    const FastCgiOptions& options = *peer_->options_;
    const Duration next = std::max(options.idle_least, idle_look_every);
    connection_->set_deadline(std::min(moment_after(idle_since_, options.idle_max),
                                       moment_after(connection_->loop().now(), next)));
}

void FastCgiConnection::on_close(net::Connection&, net::CloseReason) {
    closing_ = true;
    fail("the connection to the peer was lost");
    connection_ = nullptr;
    peer_->on_gone(*this);
}

// --- the peer ----------------------------------------------------------------------------------

// One connection more than the options allow: for one that is being closed while its successor is
// made.
FastCgiPeer::FastCgiPeer(core::EventLoop& loop, const FastCgiOptions& options)
    : loop_(&loop),
      options_(&options),
      places_(options.connections_max),
      // Each call's deadline bounds how long the peer may leave input unread.
      connector_(loop, {.connection = {.write = Duration::max()},
                        .timeout = options.connect_max,
                        .connections_max = std::min(options.connections_max, SIZE_MAX - 1) + 1}) {}

// The calls are freed by FastCgi, their owner; nothing may start one from here on.
FastCgiPeer::~FastCgiPeer() {
    ending_ = true;
    waiting_.clear();
}

void FastCgiPeer::ask(FastCgiCall& call) {
    // Each that waits holds its request, so their number is bounded. A call for which a connection
    // can be made, or is being made, waits for no other request.
    const std::size_t being_made = options_->connections_max - connections_.size();
    // Subtracted, because both limits may be SIZE_MAX.
    if (find_free() == nullptr && waiting_.size() >= being_made &&
        waiting_.size() - being_made >= options_->waiting_max) {
        std::vector<core::ClientKey> clients;
        for (const FastCgiCall* each : waiting_) clients.push_back(each->client());
        const std::optional<std::size_t> chosen = who_gives_way(clients, call.client());
        if (!chosen) return call.refuse(too_many_wait);
        take(*chosen).refuse(too_many_wait);
    }
    waiting_.push_back(&call);
    serve_waiting();
}

void FastCgiPeer::forget(FastCgiCall& call) {
    std::erase(waiting_, &call);
}

// The oldest, so that connections that a burst has added stay idle, and are closed.
FastCgiConnection* FastCgiPeer::find_free() {
    const auto found =
        std::ranges::find_if(connections_, [](const auto& one) { return one->is_free(); });
    return found == connections_.end() ? nullptr : found->get();
}

void FastCgiPeer::serve_waiting() {
    while (!ending_ && !waiting_.empty()) {
        FastCgiConnection* const connection = find_free();
        const auto next = std::ranges::find_if(waiting_, [this](const FastCgiCall* each) {
            return places_.has_room_for(each->client());
        });
        if (connection == nullptr || next == waiting_.end()) break;
        FastCgiCall& call = take(static_cast<std::size_t>(next - waiting_.begin()));
        if (!contain([&] { places_.take(call.client()); })) {
            call.fail(503, no_memory);
            continue;
        }
        connection->begin(call);
        call.let_in();
    }
    while (!ending_ && connections() < options_->connections_max && needs_connection()) {
        if (!contain([this] { connect(); })) take(0).fail(503, no_memory);
    }
}

// One for each call that waits and has a place, and no more: those under way count. An unused
// connection holds a process of the peer.
bool FastCgiPeer::needs_connection() const {
    std::size_t count = 0;
    for (auto call = waiting_.begin(); call != waiting_.end(); ++call) {
        const std::size_t room = places_.room_for((*call)->client());
        if (room == 0) continue;
        const auto before = std::count_if(waiting_.begin(), call, [&](const auto* each) {
            return each->client() == (*call)->client();
        });
        if (static_cast<std::size_t>(before) < room && ++count > connecting_) return true;
    }
    return false;
}

FastCgiCall& FastCgiPeer::take(std::size_t at) {
    FastCgiCall& call = *waiting_[at];
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    return call;
}

// Lack of memory ends the call that meets it, and not the one whose end made room for it.
template <typename Step>
bool FastCgiPeer::contain(Step&& step) {
    return core::contain(loop_->log(), "cgi", "a request to a peer", std::forward<Step>(step));
}

// All memory is taken here, where a call can be refused, and not when the peer has accepted.
void FastCgiPeer::connect() {
    const std::size_t most = connections_.size() + connecting_ + 1;
    connections_.reserve(most);
    gone_.reserve(gone_.size() + most);
    auto one = std::make_unique<FastCgiConnection>(*this);
    connector_.connect(options_->address,
                       [this, one = std::move(one)](Result<net::Connection*> made) mutable {
                           on_connected(std::move(made), std::move(one));
                       });
    // The outcome comes in a later turn.
    ++connecting_;
}

void FastCgiPeer::on_connected(Result<net::Connection*> made,
                               std::unique_ptr<FastCgiConnection> one) {
    --connecting_;
    // No call of theirs is on the stack here.
    gone_.clear();
    if (made) {
        connections_.push_back(std::move(one));
        connections_.back()->attach(**made);
        // The call that it was made for may have gone, or has another: then it idles.
        return on_idle(*connections_.back());
    }
    if (ending_ || waiting_.empty()) return;
    // Without any connection none of them gets one: each would wait for its own refusal.
    const bool all = connections_.empty() && connecting_ == 0;
    const std::string why = made.error().message();
    do {
        take(0).fail(502, why);
    } while (all && !waiting_.empty());
}

void FastCgiPeer::on_idle(FastCgiConnection& connection) {
    serve_waiting();
    if (!connection.is_free()) return;
    connection.idle_since_ = loop_->now();
    connection.watch_idle();
}

bool FastCgiPeer::starves() const {
    const Instant early = loop_->now() - options_->idle_least;
    return std::ranges::any_of(connections_, [&](const auto& connection) {
        const FastCgiCall* const call = connection->call_;
        return call != nullptr && !call->peer_answered_ && call->begun_ <= early;
    });
}

void FastCgiPeer::on_gone(FastCgiConnection& connection) {
    const auto found =
        std::ranges::find(connections_, &connection, [](const auto& one) { return one.get(); });
    if (found == connections_.end()) return;
    gone_.push_back(std::move(*found));  // it is on the stack
    connections_.erase(found);
    serve_waiting();
}

}  // namespace tiderace::http::cgi
