#include "tiderace/http/h1/exchange.h"

#include <algorithm>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/http/h1/connection.h"
#include "tiderace/http/h1/service.h"
#include "tiderace/http/wire/canonical_path.h"
#include "tiderace/http/wire/response_head.h"
#include "tiderace/http/wire/status.h"

namespace tiderace::http {
namespace {

// A body that was given whole, by a source or a handler, continues in pieces that a queue can hold.
// Without it, one body of copied bytes could pass queue_bytes_max, which closes the connection.
class Portions final : public BodySource {
  public:
    Portions(core::SendQueue ready, std::unique_ptr<BodySource> source, State then)
        : ready_(std::move(ready)), source_(std::move(source)), then_(then) {}

    State pull(core::BlockPool& blocks, core::SendQueue& out, std::size_t bytes_wanted) override {
        if (ready_.empty() && (then_ == State::more || then_ == State::wait)) {
            then_ = source_->pull(blocks, ready_, bytes_wanted);
        }
        const std::uint64_t portion = std::max(bytes_wanted, core::BlockPool::block_bytes);
        out.append_front(blocks, ready_, std::min(portion, ready_.bytes()));
        return ready_.empty() ? then_ : State::more;
    }

  private:
    core::SendQueue ready_;
    std::unique_ptr<BodySource> source_;
    State then_;  // once nothing is ready
};

}  // namespace

H1Exchange::~H1Exchange() = default;

core::EventLoop& H1Exchange::loop() {
    return service_->loop();
}

wire::HeadParse H1Exchange::parse(ByteView data, const wire::HeadLimits& limits) {
    if (buffer_ == nullptr) {
        buffer_ = service_->buffers().take();
        head_.lend(buffer_->fields());
    }
    return wire::parse_request_head(data, limits, head_);
}

void H1Exchange::know_peer(const net::Connection& connection) {
    request_.peer = &connection.peer();
    request_.connection = connection.id();
    request_.security = connection.security();
    request_.secure = request_.security != nullptr;
}

wire::Refusal H1Exchange::begin(H1Connection& connection, ByteView head_bytes) {
    connection_ = &connection;
    set_site(service_->site());
    // In test builds the head is a copy, so that a view used after its time is found.
    if constexpr (poisons_old_views) {
        head_copy_ = std::make_unique<std::string>(head_bytes);
        head_.rebase(head_copy_->data() - head_bytes.data());
    }
    started_ = loop().now();
    request_.head = &head_;
    know_peer(connection.connection());
    if (head_.version_minor() == 0) request_.version = HttpVersion::http_1_0;
    framing_ = wire::frame_request(head_, &service_->hosts());
    keep_alive_ = framing_.keep_alive;
    if (framing_.refusal != wire::Refusal::none) return framing_.refusal;
    // The peer waits for our consent (RFC 9110, 10.1.1); "100 Continue" is sent only if a handler
    // asks for the body, so that a refused upload is never sent.
    if (framing_.body != wire::RequestFraming::Body::none) {
        body_ = framing_.expect_continue ? Body::awaits_continue : Body::coming;
    }
    return take_target();
}

wire::Refusal H1Exchange::take_target() {
    const ByteView target = head_.target();
    request_.authority = head_.target_authority();
    // For CONNECT and the absolute form the target's authority counts, not Host (RFC 9112, 3.2.2).
    if (request_.authority.empty()) request_.authority = request_.header(wire::FieldName::host);
    ByteView rest = target;
    switch (head_.target_form()) {
        case wire::TargetForm::asterisk:
        case wire::TargetForm::authority:
            // These two have no path, and are not made canonical.
            request_.raw_path = request_.path = target;
            return wire::Refusal::none;
        case wire::TargetForm::absolute: {
            const ByteView authority = head_.target_authority();
            rest.remove_prefix(
                static_cast<std::size_t>(authority.data() + authority.size() - target.data()));
            break;
        }
        case wire::TargetForm::origin:
            break;
    }
    request_.raw_path = rest;
    if (const std::size_t mark = rest.find('?'); mark != ByteView::npos) {
        request_.has_query = true;
        request_.raw_path = rest.substr(0, mark);
        request_.query = rest.substr(mark + 1);
    }
    // "http://host" and "http://host?q" mean the root (RFC 9112, 3.2.1).
    if (request_.raw_path.empty()) request_.raw_path = "/";
    const wire::PathResult path =
        wire::canonicalize(request_.raw_path, buffer_->path(request_.raw_path.size()));
    request_.path = path.path;
    return wire::refusal_of(path.fault);
}

void H1Exchange::begin_refused(H1Connection& connection, bool is_head) {
    connection_ = &connection;
    set_site(service_->site());
    started_ = loop().now();
    // The head may be half parsed, so nothing of it is used.
    head_.clear();
    head_.set_method(is_head ? "HEAD" : "-");  // an answer to HEAD never has a body
    head_.set_target("-", wire::TargetForm::origin, {});
    request_.head = &head_;
    know_peer(connection.connection());
}

void H1Exchange::refuse(wire::Refusal refusal) {
    if (!responded_) refusal_ = refusal;
    refuse(wire::status_of(refusal), wire::explain(refusal));
}

void H1Exchange::refuse(int status, std::string_view sentence) {
    keep_alive_ = false;
    if (!responded_) answer_over_head(status, sentence);
}

// The views point into the receive block, which the next read overwrites: copy them. Requests that
// are answered at once never pay for it.
void H1Exchange::pin() {
    if (buffer_ == nullptr) return;
    pinned_.pin(head_, request_);
    head_copy_.reset();
    service_->buffers().give_back(std::move(buffer_));
}

void H1Exchange::disconnect() {
    connection_ = nullptr;
    source_.reset();
    fail_receiver();
    abandon();
}

void H1Exchange::complete() {
    connection_ = nullptr;
    stop_waiting();
}

void H1Exchange::recycle() {
    reset_answer();
    connection_ = nullptr;
    source_.reset();
    source_left_.reset();
    body_bytes_ = answer_bytes_ = 0;
    body_ = Body::complete;
    answer_ = Answer::awaited;
    body_paused_ = false;
    status_ = 0;
    started_ = {};
    request_ = {};
    framing_ = {};
    decoder_ = {};
    body_mark = 0;
    answer_body_ = AnswerBody::none;
    keep_alive_ = false;
    pinned_.clear();
    head_copy_.reset();
    head_.clear();
    head_.lend({});
    service_->buffers().give_back(std::move(buffer_));
}

void H1Exchange::enter(Body next) {
    TR_CHECK(body_ < next && !body_complete(), "a phase of the body that cannot follow");
    body_ = next;
}

void H1Exchange::enter(Answer next) {
    TR_CHECK(answer_ < next, "a phase of the answer that cannot follow");
    answer_ = next;
}

AccessRecord H1Exchange::record(std::uint64_t unsent_bytes) const {
    // The real clock: most requests begin and end within one turn, whose time stands still.
    const Duration duration = service_->loop().clock().now() - started_;
    return {.request = &request_,
            .status = status_,
            .body_bytes = answer_bytes_ - std::min(answer_bytes_, unsent_bytes),
            .received_bytes = body_bytes_,
            .duration = duration,
            .head = head_at_ == Instant{} ? duration : head_at_ - started_,
            .when = service_->loop().unix_now(),
            .chain = chain(),
            .matched = matched(),
            .turned_away = turned_away_,
            .refusal = refusal_};
}

// --- the answer ------------------------------------------------------------------------------

void H1Exchange::send(Response& response) {
    if (connection_ == nullptr) return;
    const bool upgrading = answer_ == Answer::upgrading;
    enter(Answer::begun);
    status_ = response.status();
    decide_framing(response);
    // A 1xx announces another answer (RFC 9110, 15.2), which would never come; 101 is upgrade()'s.
    const bool is_final = status_ >= 200 || upgrading;
    if (!is_final || !write_head(response)) {
        // A field that cannot be written (CR, LF or NUL in a value, or too long) is a fault of the
        // handler. Half a head, or a line that an attacker has put into a value, must not go out.
        report_unsendable();
        Response fault(500);
        status_ = 500;
        keep_alive_ = false;
        decide_framing(fault);
        write_head(fault);
        response.drop_body();
    }
    write_body(response);
    if (source_ == nullptr && !answer_complete()) enter(Answer::complete);
    if (!upgrading) connection_->on_answered(*this);  // otherwise upgrade() goes on from here
}

bool H1Exchange::may_keep_request_alive() const {
    if (!keep_alive_ || !connection_->may_keep_alive()) return false;
    if (body_complete()) return true;
    // The rest of an unwanted body is read and dropped, unless it is known to be long; the length
    // of chunks shows as they come (take_body). A peer that still waits for "100 Continue" may send
    // the body or not, so only closing is sure.
    const std::uint64_t left =
        framing_.body == wire::RequestFraming::Body::length ? framing_.length - body_bytes_ : 0;
    return body_ != Body::awaits_continue && left <= service_->options().body_bytes_max;
}

void H1Exchange::decide_framing(const Response& response) {
    const bool bodiless =
        head_.method() == wire::Method::head || wire::has_no_body(response.status());
    const std::optional<std::uint64_t> length = response.body_bytes();
    if (bodiless) {
        answer_body_ = AnswerBody::none;
    } else if (length) {
        answer_body_ = AnswerBody::length;
    } else {
        // HTTP/1.0 has no chunks: the end of the connection ends the body.
        answer_body_ = head_.version_minor() >= 1 ? AnswerBody::chunked : AnswerBody::until_close;
    }
    // Decided before the head is written, because the head announces it.
    keep_alive_ = answer_body_ != AnswerBody::until_close && may_keep_request_alive();
}

void H1Exchange::render_head(wire::ResponseHeadWriter& writer, const Response& response) const {
    writer.status(response.status());
    writer.lines(service_->standing_fields());
    if (response.block() != nullptr) writer.lines(response.block()->lines());
    for (const ResponseField& field : response.fields()) {
        if (wire::is_framing(field.id)) continue;
        if (field.id != wire::FieldName::other) {
            writer.field(field.id, field.value);
        } else {
            writer.field(field.name, field.value);
        }
    }
    // RFC 9110, 8.6: never in a 1xx or 204; in a 304 it would be the length of the 200.
    if (!wire::has_no_body(response.status())) {
        const bool to_head = head_.method() == wire::Method::head;
        if (const auto length = response.content_length(to_head)) {
            writer.number(wire::FieldName::content_length, *length);
        } else if (answer_body_ == AnswerBody::chunked) {
            writer.lines("Transfer-Encoding: chunked\r\n");
        }
    }
    if (response.status() == 101) {
        writer.lines("Connection: upgrade\r\n");
    } else if (!keep_alive_) {
        writer.lines("Connection: close\r\n");
    } else if (head_.version_minor() == 0) {
        // HTTP/1.0 clients close unless the answer says keep-alive.
        writer.lines("Connection: keep-alive\r\n");
    }
    writer.end();
}

// False: the head cannot be written; nothing of it was.
bool H1Exchange::write_head(const Response& response) {
    using Fault = wire::ResponseHeadWriter::Fault;
    net::Connection& connection = connection_->connection();
    core::SendQueue& queue = connection.queue();
    // Rendered where it is sent from, which saves a copy.
    const std::span<char> room = queue.reserve(connection.blocks(), wire::response_head_bytes_max);
    wire::ResponseHeadWriter in_place(room);
    render_head(in_place, response);
    queue.commit(in_place.written().size());
    if (in_place.fault() != Fault::overflow) return in_place.fault() == Fault::none;
    // The block is nearly full: render beside it, and let the queue copy it over two blocks.
    char beside[wire::response_head_bytes_max];
    wire::ResponseHeadWriter writer(beside);
    render_head(writer, response);
    queue.append(connection.blocks(), writer.written());
    return writer.fault() == Fault::none;
}

void H1Exchange::write_body(Response& response) {
    net::Connection& connection = connection_->connection();
    if (answer_body_ != AnswerBody::none) {
        core::SendQueue& queue = connection.queue();
        if (core::SendQueue* queued = response.queued_body()) {
            if (has_room_for(*queued)) {
                answer_bytes_ += queued->bytes();
                queue.append_queue(std::move(*queued));
            } else {
                source_left_ = queued->bytes();
                head_left();
                source_ =
                    std::make_unique<Portions>(std::move(*queued), nullptr, BodySource::State::end);
                pump();
            }
        } else if (auto source = response.take_source()) {
            source_ = std::move(source);
            source_left_ = response.body_bytes();
            head_left();
            pump();
        } else {
            const ByteView body = response.copied_body();
            answer_bytes_ += body.size();
            // A large body is shared rather than copied.
            if (body.size() > Response::copied_bytes_max) {
                queue.append_shared(body, response.body_owner(), &connection.blocks());
            } else {
                queue.append(connection.blocks(), body);
            }
        }
    }
    connection.written();
}

// With this many copied bytes queued, SendEviction would take the peer for one that does not read.
bool H1Exchange::has_room_for(const core::SendQueue& more) const {
    net::Connection& connection = connection_->connection();
    return connection.queue().copied_bytes() + more.copied_bytes() <=
           connection.limits().queue_bytes_max;
}

void H1Exchange::pump() {
    if (connection_ == nullptr || source_ == nullptr) return;
    net::Connection& connection = connection_->connection();
    while (source_ != nullptr && !connection.closing() &&
           connection.queue_bytes() <= connection.limits().queue_bytes_high && pump_once()) {
    }
    connection.written();
}

// False: the source has no more at the moment.
bool H1Exchange::pump_once() {
    core::SendQueue pulled;
    BodySource::State state = pull(*source_, pulled);
    // More than the promised length: the client would take the rest for the next answer.
    if (source_left_ && pulled.bytes() > *source_left_) state = BodySource::State::failed;
    if (state == BodySource::State::failed) return cut_answer();
    // A source that keeps to `pull_bytes` stays below this, and is never wrapped.
    if (pulled.bytes() > 2 * core::BlockPool::block_bytes && !has_room_for(pulled)) {
        source_ = std::make_unique<Portions>(std::move(pulled), std::move(source_), state);
        return true;
    }
    append_pulled(std::move(pulled));
    if (state != BodySource::State::end) return state == BodySource::State::more;
    // Less than promised: the client waits for bytes that will not come, until the connection ends.
    if (source_left_.value_or(0) > 0) return cut_answer();
    source_.reset();
    if (answer_body_ == AnswerBody::chunked) {
        net::Connection& connection = connection_->connection();
        connection.queue().append(connection.blocks(), wire::last_chunk);
    }
    enter(Answer::complete);
    return false;
}

// The queue is sent, with the head and earlier answers, and then the connection ends: the
// length or the chunks show that a part is missing. Without both, only a reset shows it.
bool H1Exchange::cut_answer() {
    if (would_look_whole()) {
        break_connection();
        return false;
    }
    source_.reset();
    keep_alive_ = false;
    enter(Answer::complete);
    return false;
}

// The peer waits for the rest of the answer, and sees by the length or the chunks that it is
// missing; without both, only a reset shows it.
void H1Exchange::break_off() {
    if (!answer_complete()) break_connection();
}

void H1Exchange::break_connection() {
    if (connection_ == nullptr) return;
    connection_->connection().close(would_look_whole() ? net::CloseReason::output_cut
                                                       : net::CloseReason::aborted);
}

void H1Exchange::append_pulled(core::SendQueue&& pulled) {
    if (pulled.empty()) return;
    net::Connection& connection = connection_->connection();
    core::SendQueue& queue = connection.queue();
    answer_bytes_ += pulled.bytes();
    if (source_left_) *source_left_ -= pulled.bytes();
    if (answer_body_ != AnswerBody::chunked) {
        queue.append_queue(std::move(pulled));
        return;
    }
    // Never an empty chunk: that would end the body (RFC 9112, 7.1).
    char head[wire::chunk_head_bytes_max];
    queue.append(connection.blocks(), {head, wire::format_chunk_head(pulled.bytes(), head)});
    queue.append_queue(std::move(pulled));
    queue.append(connection.blocks(), wire::chunk_end);
}

void H1Exchange::body_ready() {
    if (connection_ != nullptr) connection_->pump(*this);
}

bool H1Exchange::upgrade(Response& response,
                         unique_function<net::Session&(net::Connection&)> make) {
    // With a body still coming, its bytes would be taken for the new protocol's.
    if (connection_ == nullptr || responded_ || !framing_.upgrade_requested || !body_complete()) {
        return false;
    }
    response.set_status(101);
    core::Ref<H1Exchange> self(this);
    H1Connection& connection = *connection_;
    enter(Answer::upgrading);
    respond(response);
    if (answer_ == Answer::upgrading) answer_ = Answer::awaited;  // nothing was written
    if (status_ == 101) {
        connection.hand_over(std::move(make));
    } else {
        connection.on_answered(*this);  // it could not be written: a 500 took its place
    }
    return true;
}

// --- the request's body ----------------------------------------------------------------------

void H1Exchange::start_body() {
    if (body_complete()) {
        end_body();
    } else if (framing_.body == wire::RequestFraming::Body::length &&
               framing_.length > body_bytes_max_) {
        // The length is announced, so it is refused before it is sent.
        refuse_body(wire::Refusal::body_too_large);
    } else {
        send_continue();
        connection_->on_body_wanted();
    }
}

// Once: another receiver of the same body finds it `coming`.
void H1Exchange::send_continue() {
    if (body_ != Body::awaits_continue) return;
    enter(Body::coming);
    connection_->connection().write("HTTP/1.1 100 Continue\r\n\r\n");
}

// The whole connection stops reading: in HTTP/1 nothing but this body can come.
void H1Exchange::set_body_reading(bool on) {
    // Behind the answer the rest is read and dropped, although its receiver may not want it.
    body_paused_ = !on && !answer_complete();
    if (connection_ != nullptr) connection_->set_body_reading(!body_paused_);
}

std::size_t H1Exchange::feed_body(ByteView data) {
    // While no one has decided what becomes of the body, its bytes stay in the socket.
    if (body_paused_ || !body_flows()) return 0;
    return framing_.body == wire::RequestFraming::Body::chunked ? feed_chunked(data)
                                                                : feed_length(data);
}

// Counts the bytes and passes them on. False: they were too many, or the receiver ended the
// exchange.
bool H1Exchange::take_body(ByteView bytes) {
    body_bytes_ += bytes.size();
    if (receiver_ == nullptr) {
        if (body_bytes_ <= service_->options().body_bytes_max) return true;
        connection_->stop_discarding();
        return false;
    }
    if (body_bytes_ > body_bytes_max_) {
        refuse_body(wire::Refusal::body_too_large);
        return false;
    }
    return give_body(bytes) && connection_ != nullptr;
}

// A chunk announces its length: we do not wait for more bytes than we would drop.
void H1Exchange::stop_discarding_if_too_much(std::uint64_t coming) {
    const std::uint64_t max = service_->options().body_bytes_max;
    if (receiver_ != nullptr || coming <= max - std::min(max, body_bytes_)) return;
    connection_->stop_discarding();
}

std::size_t H1Exchange::feed_length(ByteView data) {
    const std::uint64_t left = framing_.length - body_bytes_;
    const ByteView piece =
        data.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left, data.size())));
    if (!take_body(piece)) return piece.size();
    if (body_bytes_ == framing_.length) end_body();
    return piece.size();
}

std::size_t H1Exchange::feed_chunked(ByteView data) {
    std::size_t used = 0;
    // The receiver may end or pause the body inside each call.
    while (used < data.size() && !body_complete() && !body_paused_) {
        const wire::ChunkedDecoder::Step step = decoder_.step(data.substr(used));
        used += step.used;
        switch (step.status) {
            case wire::ChunkedDecoder::Status::need_more:
                stop_discarding_if_too_much(decoder_.left_of_chunk());
                return used;
            case wire::ChunkedDecoder::Status::data:
                if (!take_body(step.data)) return used;
                stop_discarding_if_too_much(decoder_.left_of_chunk());
                break;
            case wire::ChunkedDecoder::Status::trailer:
                if (receiver_ != nullptr) give_trailer(step.trailer.name, step.trailer.value);
                break;
            case wire::ChunkedDecoder::Status::done:
                end_body();
                return used;
            case wire::ChunkedDecoder::Status::refused:
                refuse_body(step.refusal);
                return used;
        }
        if (connection_ == nullptr) return used;
    }
    return used;
}

// A receiver's last call may answer, which may complete the exchange and detach it.
void H1Exchange::end_body() {
    if (!body_complete()) enter(Body::complete);
    if (receiver_ != nullptr) end_receiver();
    if (connection_ != nullptr) connection_->on_body_end(*this);
}

void H1Exchange::refuse_body(wire::Refusal refusal) {
    core::Ref<H1Exchange> self(this);
    keep_alive_ = false;
    if (!body_complete()) enter(Body::cut);  // its end is unknown, so no more is read
    if (responded_) {
        fail_receiver();
        abandon();
    } else {
        refuse(refusal);
    }
    if (connection_ != nullptr) connection_->on_body_end(*this);
}

}  // namespace tiderace::http
