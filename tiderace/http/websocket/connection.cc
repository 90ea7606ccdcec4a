#include "tiderace/http/websocket/connection.h"

#include <array>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/http/websocket/topics.h"

namespace tiderace::http {

// The life of a socket:
//
//   open --close()--> closing --the peer's close frame--> closed
//   open --the peer's close frame, answered--> closed        open, closing --fault--> closed
//
// A server ends the connection as soon as it is closed, a client waits for the server to do it
// (RFC 6455, 7.1.1), close_timeout long.

namespace {

namespace close_code = wire::websocket_close;
using wire::WebSocketFault;
using wire::WebSocketOpcode;

// From here on a payload is one block of its own instead of pieces of the connection's.
constexpr std::size_t own_block_bytes_min = 32_KiB;

struct SharedBytes final : core::Shared {
    std::string bytes;
};

wire::WebSocketReaderOptions reader_options(const WebSocketOptions& options,
                                            const WebSocketSetup& setup) {
    return {.masked = !setup.is_client,
            .compression = setup.deflate.has_value(),
            .message_bytes_max = options.message_bytes_max,
            .frame_bytes_max = options.frame_bytes_max};
}

WebSocketKind kind_of(WebSocketOpcode opcode) {
    return opcode == WebSocketOpcode::text ? WebSocketKind::text : WebSocketKind::binary;
}

WebSocketOpcode data_opcode(WebSocketKind kind) {
    return kind == WebSocketKind::text ? WebSocketOpcode::text : WebSocketOpcode::binary;
}

// The room of a close frame behind its code.
ByteView fitting_reason(ByteView reason) {
    return whole_characters(reason, wire::websocket_control_bytes_max - 2);
}

void append_unmasked(std::string& out, ByteView bytes, wire::WebSocketMask mask) {
    const std::size_t before = out.size();
    const std::size_t after = before + bytes.size();
    out.resize_and_overwrite(after, [&](char* data, std::size_t) {
        wire::apply_websocket_mask(bytes, mask, data + before);
        return after;
    });
}

}  // namespace

struct WebSocketConnection::Message final : core::Budget::Holder {
    explicit Message(WebSocketConnection& s)
        : Holder(s.service_->waiting(), s.connection_->peer()), socket(&s) {}
    void refuse() TR_ON_LOOP override { socket->refuse_messages(); }
    WebSocketConnection* socket;
    std::string bytes;
};

WebSocketConnection::WebSocketConnection(WebSocketService& service, net::Connection& connection,
                                         WebSocketHandler& handler, WebSocketSetup setup)
    : service_(&service),
      connection_(&connection),
      handler_(&handler),
      reader_(reader_options(service.options(), setup)),
      context_(std::move(setup.context)),
      subprotocol_(setup.subprotocol.empty()
                       ? nullptr
                       : std::make_unique<std::string>(std::move(setup.subprotocol))),
      tree_(std::move(setup.tree)),
      deflate_(setup.deflate),
      id_(service.add(*this)),  // nothing fails after this
      is_client_(setup.is_client) {
    TR_CHECK(context_ != nullptr || !(reads_with_window() || writes_with_window()));
    ++service.counters().opened;
    check_alive();
}

WebSocketConnection::~WebSocketConnection() = default;

// --- the handler -----------------------------------------------------------------------------

// A handler that throws ends its socket, with close code 1011 if a frame can still be sent.
template <typename Call>
void WebSocketConnection::tell(Call&& call) {
    if (core::contain(service_->loop().log(), "websocket", "a socket's handler", call)) return;
    ++service_->counters().failed;
    if (state_ != State::closed) code_ = close_code::internal_error;
    if (state_ == State::open) send_close(code_, {});
    state_ = State::closed;
    message_.reset();
    end_connection();
}

void WebSocketConnection::open() {
    tell([this]() TR_ON_LOOP { handler_->on_open(*this); });
}

// --- reading ---------------------------------------------------------------------------------

// The queue counts too: a peer that makes us answer (pings) and does not read the answers is pushed
// back on, so the bytes it causes are bounded.
bool WebSocketConnection::may_read() const {
    return state_ != State::closed && reading_ && !held_ && !connection_->closing() &&
           connection_->queue_bytes() <= connection_->limits().queue_bytes_high;
}

std::size_t WebSocketConnection::on_data(net::Connection&, ByteView data) {
    received_lately_ = true;
    std::size_t used = 0;
    while (may_read()) {
        const Step step = reader_.next(data.substr(used));
        used += step.used;
        switch (step.kind) {
            case Step::Kind::need_more:
                return used;
            case Step::Kind::payload:
                take_payload(step);
                break;
            case Step::Kind::control:
                take_control(step);
                break;
            case Step::Kind::fault:
                fail(step.fault);
                break;
        }
    }
    // A closed socket drops the rest. Otherwise the connection keeps it, and gives it again when
    // reading goes on.
    return state_ == State::closed ? data.size() : used;
}

void WebSocketConnection::take_payload(const Step& step) {
    if (state_ != State::open) return;
    // A compressed message is inflated as a whole, so it is collected even for a handler that takes
    // fragments.
    if (service_->options().fragments && !step.compressed) {
        take_fragment(step);
    } else if (step.first && step.last) {
        // The usual case: a message in one frame and one read is never collected.
        deliver(step, unmasked(step), false);
    } else {
        collect(step);
    }
}

// For the length of a call.
ByteView WebSocketConnection::unmasked(const Step& step) {
    // Only clients mask their frames (RFC 6455, 5.1), so what a client receives is plain.
    if (is_client_) return step.payload;
    char* out = service_->unmask_scratch(step.payload.size());
    wire::apply_websocket_mask(step.payload, step.mask, out);
    return {out, step.payload.size()};
}

void WebSocketConnection::take_fragment(const Step& step) {
    const ByteView piece = unmasked(step);
    if (step.first) utf8_ = {};
    if (step.opcode == WebSocketOpcode::text &&
        (!utf8_.take(piece) || (step.last && !utf8_.complete()))) {
        fail(WebSocketFault::not_utf8);
        return;
    }
    // An empty frame in the middle has nothing for the handler; an empty last one ends the message.
    if (piece.empty() && !step.last) return;
    if (step.last) ++service_->counters().messages_in;
    tell([&]()
             TR_ON_LOOP { handler_->on_fragment(*this, kind_of(step.opcode), piece, step.last); });
}

// Text is checked as it comes: what can never be UTF-8 is refused before it is whole.
void WebSocketConnection::collect(const Step& step) {
    if (step.first) {
        message_ = std::make_unique<Message>(*this);
        utf8_ = {};
    }
    const std::size_t before = message_->bytes.size();
    append_unmasked(message_->bytes, step.payload, step.mask);
    const bool is_checked = step.opcode == WebSocketOpcode::text && !step.compressed;
    if (is_checked && (!utf8_.take(ByteView(message_->bytes).substr(before)) ||
                       (step.last && !utf8_.complete()))) {
        fail(WebSocketFault::not_utf8);
        return;
    }
    if (!step.last) return message_->grow_to(message_->bytes.size());
    // Moved out first, because the handler may call close(), which drops message_.
    const auto whole = std::move(message_);
    whole->shrink_to(0);  // a handler that keeps it counts it
    deliver(step, whole->bytes, is_checked);
}

void WebSocketConnection::deliver(const Step& step, ByteView bytes, bool is_checked) {
    if (step.compressed) {
        const auto inflated = inflate(bytes);
        if (!inflated) return;
        bytes = *inflated;
    }
    const WebSocketKind kind = kind_of(step.opcode);
    if (kind == WebSocketKind::text && !is_checked && !is_utf8(bytes)) {
        fail(WebSocketFault::not_utf8);
        return;
    }
    ++service_->counters().messages_in;
    tell([&]() TR_ON_LOOP {
        if (service_->options().fragments) {
            handler_->on_fragment(*this, kind, bytes, true);
        } else {
            handler_->on_message(*this, kind, bytes);
        }
    });
}

// nullopt: it failed.
std::optional<ByteView> WebSocketConnection::inflate(ByteView bytes) {
    wire::WebSocketInflater* inflater = nullptr;
    if (reads_with_window()) {
        // The window is made with the first compressed message: a socket that gets none pays
        // nothing.
        if (context_->inflater == nullptr) {
            context_->inflater = std::make_unique<wire::WebSocketInflater>();
        }
        inflater = context_->inflater.get();
    } else {
        inflater = &service_->inflater();
    }
    // One for the loop: the handler's view of it lives for the length of its call only.
    std::string& out = service_->inflate_scratch();
    using Outcome = wire::WebSocketInflater::Outcome;
    switch (inflater->decompress(bytes, reads_with_window(), service_->options().message_bytes_max,
                                 out)) {
        case Outcome::whole:
            return out;
        case Outcome::malformed:
            fail(WebSocketFault::bad_compression);
            break;
        case Outcome::too_large:
            fail(WebSocketFault::message_too_large);
            break;
    }
    return std::nullopt;
}

void WebSocketConnection::take_control(const Step& step) {
    std::array<char, wire::websocket_control_bytes_max> out;
    wire::apply_websocket_mask(step.payload, step.mask, out.data());
    const ByteView payload(out.data(), step.payload.size());
    if (step.opcode == WebSocketOpcode::close) {
        take_close(payload);
    } else if (state_ != State::open) {
        // No frame follows our close frame (RFC 6455, 5.5.1): only the peer's is awaited.
        return;
    } else if (step.opcode == WebSocketOpcode::ping) {
        if (!may_write()) return;
        queue_frame(WebSocketOpcode::pong, false, payload);
        connection_->written();
    } else {
        tell([&]() TR_ON_LOOP { handler_->on_pong(*this, payload); });
    }
}

void WebSocketConnection::take_close(ByteView payload) {
    const wire::WebSocketClose close = wire::parse_websocket_close(payload);
    if (close.fault != WebSocketFault::none) {
        fail(close.fault);
        return;
    }
    code_ = close.code;
    if (!close.reason.empty()) reason_ = std::make_unique<std::string>(close.reason);
    // The peer began: its code goes back. If we began, ours is out already.
    if (state_ == State::open) send_close(close.code, {});
    state_ = State::closed;
    // The server closes first (RFC 6455, 7.1.1); a client waits for that, but not for ever.
    if (is_client_) {
        connection_->set_deadline(
            moment_after(service_->loop().now(), service_->options().close_timeout));
    } else {
        end_connection();
    }
    tell([this]() TR_ON_LOOP { handler_->on_end(*this, code_, end_reason()); });
}

// The peer's fault, whose close code names it (RFC 6455, 7.1.7). The peer's close frame is not
// awaited: what it sends can no longer be read.
void WebSocketConnection::fail(WebSocketFault fault) {
    ++service_->counters().faults;
    fault_ = fault;
    code_ = wire::close_code_for(fault);
    if (state_ == State::open) send_close(code_, wire::to_string(fault));
    state_ = State::closed;
    message_.reset();
    end_connection();
    tell([this]() TR_ON_LOOP { handler_->on_end(*this, code_, end_reason()); });
}

ByteView WebSocketConnection::end_reason() const {
    if (fault_ != WebSocketFault::none) return wire::to_string(fault_);
    return reason_ != nullptr ? ByteView(*reason_) : ByteView{};
}

// A deadline for pongs no longer counts; finish() brings its own, limits().linger.
void WebSocketConnection::end_connection() {
    connection_->set_deadline(Instant::max());
    connection_->finish();
}

void WebSocketConnection::set_reading(bool on) {
    reading_ = on;
    connection_->set_reading(reading_ && !held_);
}

// Beside reading_, which is the application's: each of the two may stop the reading for itself.
void WebSocketConnection::set_held(bool held) {
    held_ = held;
    if (!connection_->closing()) connection_->set_reading(reading_ && !held_);
}

// --- writing ---------------------------------------------------------------------------------

// Each side's "context takeover" is about what that side sends (RFC 7692, 7.1.1).
bool WebSocketConnection::reads_with_window() const {
    if (!deflate_) return false;
    return is_client_ ? !deflate_->server_no_context_takeover
                      : !deflate_->client_no_context_takeover;
}
bool WebSocketConnection::writes_with_window() const {
    if (!deflate_) return false;
    return is_client_ ? !deflate_->client_no_context_takeover
                      : !deflate_->server_no_context_takeover;
}
int WebSocketConnection::write_window_bits() const {
    return is_client_ ? deflate_->client_max_window_bits : deflate_->server_max_window_bits;
}

// An application may have ended the connection itself, which drops every byte after that.
bool WebSocketConnection::may_write() const {
    return state_ == State::open && !connection_->closing() && !connection_->finishing();
}

WebSocketSend WebSocketConnection::send(WebSocketKind kind, ByteView message) {
    if (!may_write()) return WebSocketSend::closed;
    // Messages published earlier in this turn go first: the order of the calls is kept.
    if (service_->topics() != nullptr) service_->topics()->flush();
    if (!has_room(message.size())) return overflow();
    return queue_data(kind, message);
}

WebSocketSend WebSocketConnection::send_in_turn(WebSocketKind kind, ByteView message) {
    if (!may_write()) return WebSocketSend::closed;
    if (service_->topics() != nullptr) service_->topics()->flush();
    return queue_data(kind, message);
}

// As a whole, or the connection ends: no peer can read on after half a frame.
WebSocketSend WebSocketConnection::queue_data(WebSocketKind kind, ByteView message) {
    try {
        return queue_message(data_opcode(kind), message);
    } catch (...) {
        connection_->close(net::CloseReason::session_failed);
        throw;
    }
}

// A queue that is empty takes any message, or the largest could never be sent.
bool WebSocketConnection::has_room(std::uint64_t bytes) const {
    const std::uint64_t queued = connection_->queue_bytes();
    return queued == 0 || queued + bytes <= service_->options().queue_bytes_max;
}

WebSocketSend WebSocketConnection::overflow() {
    if (service_->options().slow_receiver == SlowReceiver::drop) {
        ++service_->counters().dropped;
        return WebSocketSend::dropped;
    }
    ++service_->counters().overflowed;
    close(close_code::policy, "messages are taken too slowly");
    return WebSocketSend::closed;
}

WebSocketSend WebSocketConnection::queue_message(WebSocketOpcode opcode, ByteView message) {
    ++service_->counters().messages_out;
    if (deflate_ && message.size() >= service_->options().deflate_bytes_min) {
        std::string& out = service_->deflate_scratch();
        if (writes_with_window()) {
            if (context_->deflater == nullptr) {
                context_->deflater = std::make_unique<wire::WebSocketDeflater>(
                    write_window_bits(), service_->options().deflate_level);
            }
            // The window has this message in it now, so the peer needs it compressed even if it
            // grew.
            context_->deflater->compress(message, true, out);
            queue_frame(opcode, true, out);
        } else {
            service_->deflater(write_window_bits()).compress(message, false, out);
            // Without a shared window the smaller of both forms can go.
            const bool smaller = out.size() < message.size();
            queue_frame(opcode, smaller, smaller ? ByteView(out) : message);
        }
    } else {
        queue_frame(opcode, false, message);
    }
    return queued();
}

WebSocketSend WebSocketConnection::queued() {
    if (connection_->written() == net::Backlog::low) return WebSocketSend::sent;
    high_reported_ = true;
    return connection_->closing() ? WebSocketSend::closed : WebSocketSend::high;
}

// A client masks each frame with its own key, and a window depends on all earlier messages.
int WebSocketConnection::shared_form() const {
    if (is_client_ || writes_with_window()) return -1;
    return deflate_ ? write_window_bits() : 0;
}

WebSocketSend WebSocketConnection::send_frames(ByteView frames, core::Ref<core::Shared> owner,
                                               std::size_t count) {
    if (!may_write()) return WebSocketSend::closed;
    if (!has_room(frames.size())) return overflow();
    service_->counters().messages_out += count;
    connection_->queue().append_shared(frames, std::move(owner));
    return queued();
}

void WebSocketConnection::queue_frame(WebSocketOpcode opcode, bool compressed, ByteView payload) {
    wire::WebSocketFrameHead head{.payload_bytes = payload.size(),
                                  .opcode = opcode,
                                  .compressed = compressed,
                                  .masked = is_client_};
    if (is_client_) head.mask = service_->random_mask();
    std::array<char, wire::websocket_head_bytes_max> bytes;
    const std::size_t size = wire::write_websocket_head(head, bytes);
    connection_->queue().append(connection_->blocks(), {bytes.data(), size});
    queue_payload(payload, head.mask);
}

void WebSocketConnection::queue_payload(ByteView payload, wire::WebSocketMask mask) {
    core::SendQueue& queue = connection_->queue();
    // One block of its own, freed when it is sent, instead of a long chain of the loop's blocks.
    if (payload.size() >= own_block_bytes_min) {
        core::Ref<SharedBytes> block(new SharedBytes);
        append_unmasked(block->bytes, payload, mask);
        queue.append_shared(block->bytes, block);
        return;
    }
    if (!is_client_) {
        queue.append(connection_->blocks(), payload);
        return;
    }
    while (!payload.empty()) {
        const std::span<char> room = queue.reserve(connection_->blocks(), payload.size());
        wire::apply_websocket_mask(payload.substr(0, room.size()), mask, room.data());
        queue.commit(room.size());
        payload.remove_prefix(room.size());
        mask = mask.after(room.size());
    }
}

void WebSocketConnection::ping(ByteView payload) {
    if (!may_write()) return;
    if (payload.size() > wire::websocket_control_bytes_max) {
        service_->report_misuse("a ping has at most 125 bytes", "it is not sent");
        return;
    }
    queue_frame(WebSocketOpcode::ping, false, payload);
    connection_->written();
}

void WebSocketConnection::close(std::uint16_t code, ByteView reason) {
    if (!may_write()) return;
    if (!wire::may_be_sent(code) && code != close_code::no_code) {
        service_->report_misuse("this close code may not be sent", "1011 is sent");
        code = close_code::internal_error;
    }
    if (code == close_code::no_code && !reason.empty()) {
        service_->report_misuse("a close reason needs a code", "the reason is left out");
        reason = {};
    } else if (!is_utf8(reason)) {
        service_->report_misuse("a close reason is UTF-8", "the reason is left out");
        reason = {};
    } else if (const ByteView fitting = fitting_reason(reason); fitting.size() < reason.size()) {
        service_->report_misuse("a close reason has at most 123 bytes", "its beginning is sent");
        reason = fitting;
    }
    send_close(code, reason);
    // From here on the peer's messages are read only to find its close frame behind them.
    state_ = State::closing;
    message_.reset();
    unlink();  // from the publishers that wait
    held_ = false;
    set_reading(true);  // or the peer's close frame would wait unread
    connection_->set_deadline(
        moment_after(service_->loop().now(), service_->options().close_timeout));
}

// The service holds too much of messages like this one.
void WebSocketConnection::refuse_messages() {
    ++service_->counters().overflowed;
    close(close_code::policy, "too much of unreceived messages is held");
    // It could not be written to any more.
    if (state_ == State::open) connection_->close(net::CloseReason::aborted);
    message_.reset();
}

void WebSocketConnection::send_close(std::uint16_t code, ByteView reason) {
    if (!may_write()) return;
    std::array<char, wire::websocket_control_bytes_max> payload;
    std::size_t size = 0;
    if (code != close_code::no_code) {
        payload[0] = static_cast<char>(code >> 8);
        payload[1] = static_cast<char>(code & 0xff);
        size = 2 + reason.copy(payload.data() + 2, payload.size() - 2);
    }
    queue_frame(WebSocketOpcode::close, false, {payload.data(), size});
    connection_->written();
}

void WebSocketConnection::abort() {
    connection_->close(net::CloseReason::aborted);
}

// --- reports of the connection ---------------------------------------------------------------

void WebSocketConnection::on_drained(net::Connection&) {
    if (std::exchange(behind_, false)) service_->topics()->caught_up();
    // The application is notified only if a send() of its own returned `high`.
    if (!std::exchange(high_reported_, false) || state_ != State::open) return;
    tell([this]() TR_ON_LOOP { handler_->on_drained(*this); });
}

// The peer ended without a close frame, or after both close frames.
void WebSocketConnection::on_peer_finished(net::Connection& connection) {
    const bool told = state_ == State::closed;
    state_ = State::closed;
    connection.set_deadline(Instant::max());
    connection.close_when_sent();
    if (!told) tell([this]() TR_ON_LOOP { handler_->on_end(*this, code_, {}); });
}

// Silence is no fault while we do not listen; the write limits judge a peer that takes nothing.
void WebSocketConnection::check_alive() {
    const WebSocketOptions& options = service_->options();
    if (options.ping_interval == Duration::max()) return;
    if (std::exchange(received_lately_, false) || !may_read()) {
        awaiting_pong_ = false;
        connection_->set_deadline(moment_after(service_->loop().now(), options.ping_interval));
        return;
    }
    awaiting_pong_ = true;
    // Any byte counts as a sign of life, not the pong alone: see received_lately_.
    ping();
    connection_->set_deadline(moment_after(service_->loop().now(), options.pong_timeout));
}

// The one deadline of a connection means, by state: open, the next ping or an overdue pong;
// closing, that the peer has not answered our close frame; closed, that a server has not ended the
// connection.
void WebSocketConnection::on_deadline(net::Connection& connection) {
    if (state_ == State::open && !(awaiting_pong_ && !received_lately_)) {
        check_alive();
        return;
    }
    ++service_->counters().timed_out;
    connection.close(net::CloseReason::deadline_expired);
}

void WebSocketConnection::on_drain(net::Connection&) {
    close(close_code::going_away);
}

void WebSocketConnection::on_close(net::Connection&, net::CloseReason) {
    state_ = State::closed;
    service_->remove(id_);
    unlink();
    subscriptions_.clear();
    const std::unique_ptr<WebSocketConnection> last(this);  // also where something throws
    if (std::exchange(behind_, false)) service_->topics()->caught_up();
    ++service_->counters().closed;
    const bool done =
        core::contain(service_->loop().log(), "websocket", "a socket's handler",
                      [this]() TR_ON_LOOP { handler_->on_close(*this, code_, end_reason()); });
    if (!done) ++service_->counters().failed;
}

}  // namespace tiderace::http
