#include "tiderace/http/h2/exchange.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tiderace/base/check.h"
#include "tiderace/http/h2/answer_head.h"
#include "tiderace/http/h2/connection.h"
#include "tiderace/http/h2/service.h"
#include "tiderace/http/h2/stream_transport.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/h2/frame_writer.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http {
namespace {

// Whether one of the first `bytes` comes from a file. (May be true for very many small pieces,
// too.)
bool holds_file(const core::SendQueue& queue, std::uint64_t bytes) {
    std::array<iovec, 8> pieces;
    const std::size_t count = queue.gather(pieces);
    std::uint64_t in_memory = 0;
    for (std::size_t i = 0; i < count; ++i) in_memory += pieces[i].iov_len;
    return in_memory < bytes;
}

// Written in place where the queue's last block has room for both.
void append_frame(core::SendQueue& queue, core::BlockPool& blocks,
                  const wire::H2FrameHeader& header, ByteView body) {
    const std::size_t bytes = wire::h2_frame_header_bytes + body.size();
    const std::span<char> room = queue.reserve(blocks, bytes);
    if (room.size() == bytes) {
        wire::write_h2_frame_header(room, header);
        std::memcpy(room.data() + wire::h2_frame_header_bytes, body.data(), body.size());
        return queue.commit(bytes);
    }
    queue.commit(0);
    std::array<char, wire::h2_frame_header_bytes> beside;
    wire::write_h2_frame_header(beside, header);
    queue.append(blocks, {beside.data(), beside.size()});
    queue.append(blocks, body);
}

}  // namespace

H2Exchange::~H2Exchange() = default;

core::EventLoop& H2Exchange::loop() {
    return service_->loop();
}

// --- the request's head ----------------------------------------------------------------------

wire::H2RequestParse H2Exchange::parse(wire::HpackDecoder& decoder, ByteView block,
                                       std::span<char> arena) {
    if (buffer_ == nullptr) {
        // An exchange that was given back after a malformed request keeps its buffer.
        buffer_ = service_->buffers().take();
        head_.lend(buffer_->fields());
    }
    return wire::parse_h2_request(decoder, block, arena, service_->options().head, head_,
                                  &service_->hosts());
}

void H2Exchange::open(H2Connection& connection, std::uint32_t stream, std::uint32_t window_bytes) {
    connection_ = &connection;
    stream_ = stream;
    send_window = wire::H2SendWindow(window_bytes);
    receive_window = wire::H2ReceiveWindow(service_->options().stream_window_bytes);
}

wire::Refusal H2Exchange::begin(const wire::H2Headers& headers,
                                const wire::H2RequestParse& parsed) {
    set_site(service_->site());
    started_ = loop().now();
    request_.head = &head_;
    request_.peer = &connection_->connection().peer();
    request_.connection = connection_->connection().id();
    request_.security = connection_->connection().security();
    request_.secure = request_.security != nullptr;
    request_.version = HttpVersion::http_2;
    request_.protocol = parsed.protocol;
    length_ = wire::H2BodyLength(parsed.content_length);
    content_length_ = parsed.content_length;
    if (!headers.end_stream) body_ = parsed.expect_continue ? Body::awaits_continue : Body::coming;
    // The field block may be half read, so nothing of it is used.
    if (parsed.status == wire::H2RequestParse::Status::refused) {
        const bool is_head = head_.method() == wire::Method::head;
        head_.clear();
        head_.set_method(is_head ? "HEAD" : "-");  // an answer to HEAD never has a body
        // Without a path, as over HTTP/1.1: recycle() left none.
        head_.set_target("-", wire::TargetForm::origin, {});
        return parsed.refusal;
    }
    return take_target();
}

wire::Refusal H2Exchange::take_target() {
    const ByteView target = head_.target();
    request_.authority = head_.target_authority();
    if (request_.authority.empty()) request_.authority = request_.header(wire::FieldName::host);
    if (head_.target_form() != wire::TargetForm::origin) {
        request_.raw_path = request_.path = target;
        return wire::Refusal::none;
    }
    request_.raw_path = target;
    if (const std::size_t mark = target.find('?'); mark != ByteView::npos) {
        request_.has_query = true;
        request_.raw_path = target.substr(0, mark);
        request_.query = target.substr(mark + 1);
    }
    const wire::PathResult path =
        wire::canonicalize(request_.raw_path, buffer_->path(request_.raw_path.size()));
    request_.path = path.path;
    return wire::refusal_of(path.fault);
}

void H2Exchange::refuse(wire::Refusal refusal) {
    if (!responded_) refusal_ = refusal;
    refuse(wire::status_of(refusal), wire::explain(refusal));
}

void H2Exchange::refuse(int status, std::string_view sentence) {
    refused_ = true;
    if (!responded_) answer_over_head(status, sentence);
}

// The views point into the arena, which the next field block overwrites.
void H2Exchange::pin() {
    if (buffer_ == nullptr) return;
    pinned_.pin(head_, request_);
    service_->buffers().give_back(std::move(buffer_));
    service_->forget_arena();
    // The copy counts against the connection's limit for kept heads.
    if (connection_ != nullptr) connection_->streams().pinned(*this);
}

// --- the end of it all -----------------------------------------------------------------------

void H2Exchange::disconnect() {
    connection_ = nullptr;
    source_.reset();
    out_.clear();
    std::string().swap(held_);
    // The tunnel's Session learns of the end at the end of the turn, because it may be on the
    // stack.
    if (tunnel_ != nullptr) ask_turn_end();
    fail_receiver();
    abandon();
}

void H2Exchange::complete() {
    connection_ = nullptr;
    stop_waiting();
    if (tunnel_ != nullptr) ask_turn_end();
}

// Every member returns to its first value, or the next request inherits it. That holds for those,
// too, that open() and begin() set for each request: nothing here depends on what they do.
void H2Exchange::recycle() {
    reset_answer();
    static_cast<H2StreamNotes&>(*this) = H2StreamNotes();
    connection_ = nullptr;
    tunnel_ = nullptr;
    tunnel_connection_ = nullptr;
    request_ = {};
    head_.clear();
    stream_ = 0;
    status_ = 0;
    started_ = {};
    length_ = wire::H2BodyLength();
    content_length_.reset();
    pinned_.clear();
    head_.lend({});
    if (buffer_ != nullptr) {
        service_->forget_arena();
        service_->buffers().give_back(std::move(buffer_));
    }
    // Also its memory; nearly every request holds none.
    if (held_.capacity() > std::string().capacity()) std::string().swap(held_);
    held_.clear();
    trailers_.reset();
    out_.clear();
    source_.reset();
    source_left_.reset();
    answer_bytes_ = 0;
    wire::H2Scheduler<H2Exchange>::forget(*this);
    body_ = Body::arrived;
    answer_ = Answer::awaited;
    body_paused_ = refused_ = delivering_ = source_waits_ = false;
}

void H2Exchange::enter(Body next) {
    TR_CHECK(body_ < next, "a phase of the body that cannot follow");
    body_ = next;
}

void H2Exchange::enter(Answer next) {
    TR_CHECK(answer_ < next, "a phase of the answer that cannot follow");
    answer_ = next;
}

AccessRecord H2Exchange::record() const {
    // The real clock: most requests begin and end within one turn, whose time stands still.
    const Duration duration = service_->loop().clock().now() - started_;
    return {.request = &request_,
            .status = status_,
            .body_bytes = answer_bytes_,
            .received_bytes = body_bytes(),
            .duration = duration,
            .head = head_at_ == Instant{} ? duration : head_at_ - started_,
            .when = service_->loop().unix_now(),
            .chain = chain(),
            .matched = matched(),
            .turned_away = turned_away_,
            .refusal = refusal_};
}

// --- the answer ------------------------------------------------------------------------------

void H2Exchange::send(Response& response) {
    if (connection_ == nullptr) return;
    status_ = response.status();
    // A filter may refuse a tunnel: then this is an answer like any other.
    if (answer_ == Answer::upgrading && status_ != 200) answer_ = Answer::awaited;
    const bool bodiless = head_.method() == wire::Method::head || wire::has_no_body(status_);
    const bool upgrading = answer_ == Answer::upgrading;
    // The 200 of a tunnel has no body of its own, yet must not end the stream.
    const bool no_body = !upgrading && (bodiless || response.body_bytes() == 0U);
    // The answer came without a look at the body: release what is held of it.
    if (receiver_ == nullptr && !upgrading) drop_held();
    // A 1xx ends no stream (RFC 9113, 8.1), and 101 may not be sent at all (8.6).
    if (status_ < 200 || !write_head(response, no_body)) {
        // A status or field that cannot be written is a fault of the handler; half a head must not
        // go out.
        report_unsendable();
        const Response fault(500);
        status_ = 500;
        write_head(fault, true);
        response.drop_body();
        return answer_ended();
    }
    if (no_body) return answer_ended();
    enter(Answer::begun);
    if (!upgrading) queue_body(response);
}

bool H2Exchange::write_head(const Response& response, bool end_stream) {
    H2AnswerHead head{.stream = stream_,
                      .end_stream = end_stream,
                      .standing_fields = service_->standing_fields()};
    if (!wire::has_no_body(response.status()) && answer_ != Answer::upgrading) {
        head.content_length = response.content_length(head_.method() == wire::Method::head);
    }
    net::Connection& connection = connection_->connection();
    const std::uint64_t before = connection.queue().bytes();
    const bool written = write_h2_answer_head(connection.blocks(), connection.queue(),
                                              connection_->sender().encoder(), response, head);
    connection_->sender().queued(connection.queue().bytes() - before);
    return written;
}

void H2Exchange::queue_body(Response& response) {
    if (core::SendQueue* queued = response.queued_body()) {
        out_ = std::move(*queued);
        enter(Answer::ended);
    } else if (response.has_source()) {
        source_left_ = response.body_bytes();
        source_ = response.take_source();
    } else {
        const ByteView body = response.copied_body();
        if (send_at_once(body)) return;
        response.share_body();  // it waits for the peer's window
        out_.append_shared(response.copied_body(), response.body_owner(),
                           &connection_->connection().blocks());
        enter(Answer::ended);
    }
    if (service_->site().logs()) head_at_ = loop().clock().now();
    connection_->schedule(*this);
}

// A small answer that need not wait is sent right behind its head, in one frame.
bool H2Exchange::send_at_once(ByteView body) {
    if (!connection_->sender().may_send_at_once(send_window, body.size())) return false;
    const auto bytes = static_cast<std::uint32_t>(body.size());
    const wire::H2FrameHeader header{bytes, wire::H2FrameType::data, wire::h2_flag::end_stream,
                                     stream_};
    net::Connection& connection = connection_->connection();
    append_frame(connection.queue(), connection.blocks(), header, body);
    send_window.spend(bytes);
    connection_->sender().window().spend(bytes);
    connection_->sent_data(*this, bytes);
    answer_bytes_ += bytes;
    answer_ended();
    return true;
}

void H2Exchange::answer_ended() {
    enter(Answer::complete);
    // A receiver that paused the body is done with it: the rest is read, to be dropped.
    if (std::exchange(body_paused_, false) && !held_.empty()) ask_turn_end();
    connection_->answer_ended(*this);
}

// Pulls from the source when its last piece was sent. False: it failed, or sent another length than
// it promised.
bool H2Exchange::pull_more() {
    // Pulled into a queue of its own, so that too many bytes can be refused before any of them is
    // sent.
    core::SendQueue pulled;
    const BodySource::State step = pull(*source_, pulled);
    if (source_left_) {
        // The content-length is sent already. More or fewer bytes make the message malformed (RFC
        // 9113, 8.1.1), so the stream is reset instead.
        if (pulled.bytes() > *source_left_) return false;
        *source_left_ -= pulled.bytes();
    }
    out_.append_queue(std::move(pulled));
    switch (step) {
        case BodySource::State::more:
            return true;
        case BodySource::State::wait:
            source_waits_ = true;
            return true;
        case BodySource::State::end:
            source_.reset();
            enter(Answer::ended);
            return source_left_.value_or(0) == 0;
        case BodySource::State::failed:
            break;
    }
    return false;
}

H2Exchange::Piece H2Exchange::send_piece(core::SendQueue& queue, wire::H2SendWindow& window) {
    const std::uint32_t room = std::min(send_window.available(), window.available());
    // With no window there is no use in pulling: what is pulled has to be kept.
    if (out_.bytes() == 0 && source_ != nullptr && !source_waits_ && room > 0 && !pull_more()) {
        return Piece::failed;
    }
    const std::uint64_t ready = out_.bytes();
    if (ready == 0 && !output_ended()) {
        // blocked: only this stream waits, and others may send. no_window: the connection's window
        // is closed, so no stream can.
        if (source_ == nullptr || source_waits_ || send_window.available() == 0) {
            return Piece::blocked;
        }
        return room > 0 ? Piece::sent : Piece::no_window;
    }
    if (ready > 0 && room == 0) {
        return send_window.available() == 0 ? Piece::blocked : Piece::no_window;
    }
    // 0 if only the end is due: a frame without content fits any window (RFC 9113, 6.9).
    const auto bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>({ready, room, H2Sender::data_bytes_max}));
    // A file may turn out to be shorter when its frame has begun; a stream that has ended could not
    // be reset then. So END_STREAM gets a frame of its own.
    const bool of_file = holds_file(out_, bytes);
    const bool end = output_ended() && bytes == ready && !of_file;
    std::array<char, wire::h2_frame_header_bytes> header;
    wire::write_h2_frame_header(
        header, {bytes, wire::H2FrameType::data, end ? wire::h2_flag::end_stream : std::uint8_t{0},
                 stream_});
    core::BlockPool& blocks = connection_->connection().blocks();
    queue.append(blocks, {header.data(), header.size()});
    queue.append_front(blocks, out_, bytes);
    send_window.spend(bytes);
    window.spend(bytes);
    answer_bytes_ += bytes;
    connection_->sent_data(*this, bytes);
    if (of_file) connection_->sender().queued_file(stream_, bytes);
    if (tunnel_ != nullptr) ask_turn_end();
    if (!end) return has_output() ? Piece::sent : Piece::blocked;
    answer_ended();
    return Piece::ended;
}

void H2Exchange::break_off() {
    if (connection_ != nullptr && !answer_complete()) {
        connection_->streams().reset(*this, wire::H2Error::internal_error);
    }
}

// Half a frame may be in the queue, and the peer would take the next one for its rest.
void H2Exchange::break_connection() {
    if (connection_ != nullptr) connection_->connection().close(net::CloseReason::aborted);
}

void H2Exchange::body_ready() {
    source_waits_ = false;
    if (connection_ != nullptr && source_ != nullptr) connection_->schedule(*this);
}

// --- the request's body ----------------------------------------------------------------------

// Without a content-length, only what has come already can be judged here; take_body() counts on.
void H2Exchange::start_body() {
    if (content_length_.value_or(length_.received()) > body_bytes_max_) {
        refuse_body(wire::Refusal::body_too_large);
        return;
    }
    send_continue();
    connection_->streams().watch_body(*this);
    deliver_held();
}

void H2Exchange::send_continue() {
    if (body_ != Body::awaits_continue) return;
    enter(Body::coming);
    // Bytes that came without waiting show that the peer needs no 100.
    if (length_.received() > 0) return;
    net::Connection& connection = connection_->connection();
    const std::uint64_t before = connection.queue().bytes();
    write_h2_status(connection.blocks(), connection.queue(), connection_->sender().encoder(),
                    stream_, 100);
    connection_->sender().queued(connection.queue().bytes() - before);
    connection_->wrote();
}

void H2Exchange::set_body_reading(bool on) {
    body_paused_ = !on && !answer_complete();
    if (connection_ == nullptr || body_paused_) return;
    connection_->streams().watch_body(*this);
    deliver_held();
}

bool H2Exchange::take_body(ByteView bytes, bool end) {
    core::Ref<H2Exchange> self(this);
    // content-length and the sum of DATA must agree (RFC 9113, 8.1.1). Otherwise a hop that passes
    // the request on as HTTP/1.1 would see its end elsewhere.
    if (!length_.add(bytes.size()) || (end && !length_.complete())) return false;
    if (end) enter(Body::arrived);
    if (receiver_ != nullptr && length_.received() > body_bytes_max_) {
        connection_->give_back(*this, bytes.size(), false);
        refuse_body(wire::Refusal::body_too_large);
        return true;
    }
    if (is_taken() && held_.empty()) {
        if (!bytes.empty()) deliver(bytes);
    } else if (receiver_ != nullptr || tunnel_ != nullptr || (!responded_ && !refused_)) {
        // Not decided yet: the bytes are held, and the window stays closed behind them.
        held_.append(bytes);
        if (tunnel_ != nullptr) ask_turn_end();
    } else {
        connection_->give_back(*this, bytes.size(), may_drop_rest());
    }
    end_body_if_whole();
    return true;
}

void H2Exchange::take_trailers(std::span<const wire::Field> trailers) {
    if (receiver_ == nullptr && responded_) return;
    trailers_ = std::make_unique<Trailers>();
    for (const wire::Field& field : trailers) trailers_->emplace_back(field.name, field.value);
}

// An answer inside on_body may close the stream. The connection exists until the end of the turn,
// and still counts the bytes in its window.
void H2Exchange::deliver(ByteView bytes) {
    H2Connection* const connection = connection_;
    delivering_ = true;
    give_body(bytes);
    delivering_ = false;
    connection->give_back(*this, bytes.size(), attached());
}

void H2Exchange::deliver_held() {
    core::Ref<H2Exchange> self(this);
    if (is_taken() && !held_.empty()) deliver(take_held());
    end_body_if_whole();
}

void H2Exchange::end_body_if_whole() {
    if (!is_taken() || !body_arrived() || !held_.empty()) return;
    // The receiver may withdraw inside a call, or answer: it is looked up anew each time.
    if (const auto trailers = std::exchange(trailers_, nullptr)) {
        for (const auto& [name, value] : *trailers) {
            if (receiver_ != nullptr) give_trailer(name, value);
        }
    }
    if (receiver_ != nullptr) end_receiver();
}

void H2Exchange::drop_held() {
    if (held_.empty()) return;
    connection_->give_back(*this, take_held().size());
}

void H2Exchange::refuse_body(wire::Refusal refusal) {
    core::Ref<H2Exchange> self(this);
    refuse(refusal);
    if (connection_ != nullptr) drop_held();
    fail_receiver();
    abandon();
    if (connection_ != nullptr) connection_->streams().settle(*this);
}

bool H2Exchange::may_drop_rest() const {
    // No answer of ours can wait behind a body that the peer holds back until 100; a tunnel has no
    // rest.
    if (refused_ || body_ == Body::awaits_continue || !request_.protocol.empty()) return false;
    const std::uint64_t expected = content_length_.value_or(0);
    const std::uint64_t rest = expected > length_.received() ? expected - length_.received() : 0;
    const std::uint64_t most = service_->options().body_bytes_max;
    return rest <= most && length_.received() <= std::max(expected, most);
}

// --- a stream that becomes a connection --------------------------------------------------------

bool H2Exchange::upgrade(Response& response,
                         unique_function<net::Session&(net::Connection&)> make) {
    if (connection_ == nullptr || responded_ || receiver_ != nullptr || request_.protocol.empty()) {
        return false;
    }
    response.set_status(200);
    // With a 200 the stream itself becomes the connection (RFC 8441, 5).
    response.drop_body();
    core::Ref<H2Exchange> self(this);
    enter(Answer::upgrading);
    respond(response);
    if (answer_ == Answer::upgrading) answer_ = Answer::awaited;  // nothing was written
    if (status_ == 200 && !answer_complete() && connection_ != nullptr) {
        connection_->wrote();
        open_tunnel(std::move(make));
    }
    return true;
}

void H2Exchange::open_tunnel(unique_function<net::Session&(net::Connection&)> make) {
    // The net::Connection owns the transport, which holds the exchange. Both pointers kept here are
    // cleared by leave_tunnel(), when the connection closes its transport.
    auto transport = std::make_unique<H2StreamTransport>(core::Ref<H2Exchange>(this));
    tunnel_ = transport.get();
    net::Connection& connection = service_->make_tunnel(std::move(transport), *request_.peer);
    tunnel_connection_ = &connection;
    if (contain("an upgrade", [&]() TR_ON_LOOP { connection.start(make(connection)); })) return;
    connection.close(net::CloseReason::aborted);
    connection_->streams().reset(*this, wire::H2Error::internal_error);
}

void H2Exchange::end_output() {
    if (answer_ >= Answer::ended) return;
    enter(Answer::ended);
    if (connection_ != nullptr) connection_->schedule(*this);
}

// awaits_turn_end_ holds the exchange: it may be released by all others before the turn ends.
void H2Exchange::ask_turn_end() {
    if (awaits_turn_end_) return;
    awaits_turn_end_ = core::Ref<H2Exchange>(this);
    loop().at_turn_end(*this);
}

void H2Exchange::on_turn_end() {
    const core::Ref<H2Exchange> self = std::move(awaits_turn_end_);
    if (tunnel_ != nullptr) return tunnel_->step();
    if (connection_ != nullptr) deliver_held();
}

}  // namespace tiderace::http
