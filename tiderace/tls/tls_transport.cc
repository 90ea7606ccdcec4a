#include "tiderace/tls/tls_transport.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"
#include "tiderace/core/contain.h"
#include "tiderace/tls/records_13.h"
#include "tiderace/tls/ssl_records.h"

namespace tiderace::tls {

// The parts that a connection needs until its handshake is done.
class TlsTransport::Handshake final : public Step, private core::Timer {
  public:
    Handshake(TlsTransport& transport, LoopParts& parts) : transport_(&transport), parts_(&parts) {}
    ~Handshake() { parts_->loop().cancel(*this); }

    void start_clock() TR_ON_LOOP {
        parts_->loop().arm(*this, moment_after(parts_->loop().now(), parts_->handshake_timeout()));
    }
    // The real clock: a signature takes long, and a turn's time stands still.
    Duration took() const { return parts_->loop().clock().now() - began_; }

    std::unique_ptr<SslRecords> ssl;
    HandshakeInput input;
    bool heard = false;  // the peer's first byte was judged

    bool is_client() const { return ssl != nullptr && SSL_is_server(ssl->ssl()) == 0; }

  private:
    void take_step() TR_ON_LOOP override {
        step_turn_ = parts_->loop().turns();
        TlsTransport& transport = *transport_;
        transport.within_memory([&transport]() TR_ON_LOOP { transport.take_handshake_step(); });
    }
    void on_expired() TR_ON_LOOP override {
        // The peer's bytes wait for their step, or did until this turn: the time was ours. Once,
        // because a byte at the right moment is all that it takes.
        const bool waited = Step::linked() || step_turn_ == parts_->loop().turns();
        if (waited && !std::exchange(had_more_time_, true)) return start_clock();
        transport_->fail_handshake(HandshakeFailure::deadline, "", -ETIMEDOUT);
    }

    TlsTransport* transport_;
    LoopParts* parts_;
    Instant began_ = parts_->loop().now();
    std::uint64_t step_turn_ = 0;  // the loop's turn of the last step
    bool had_more_time_ = false;
};

// Around a call that may end the transport: over() reports whether it did, also after an exception.
// Nested ones each learn of it.
class TlsTransport::Presence {
  public:
    explicit Presence(TlsTransport& transport)
        : transport_(&transport), outer_(std::exchange(transport.gone_, &over_)) {}
    Presence(const Presence&) = delete;
    Presence& operator=(const Presence&) = delete;
    ~Presence() {
        if (!over_) {
            transport_->gone_ = outer_;
        } else if (outer_ != nullptr) {
            *outer_ = true;
        }
    }
    bool over() const { return over_; }

  private:
    TlsTransport* transport_;
    bool* outer_;
    bool over_ = false;
};

// When memory runs out, this connection ends, and no other.
template <typename Call>
void TlsTransport::within_memory(Call&& call) {
    const Presence presence(*this);
    try {
        std::forward<Call>(call)();
    } catch (const std::bad_alloc&) {
        if (presence.over()) return;
        core::log_exception(endpoint_->parts().loop().log(), "tls", "a TLS connection");
        give_up();
    }
}

// The connection's state is inconsistent (an allocation failed midway). Nothing here allocates.
void TlsTransport::give_up() {
    // While a send is pending below, the layer below still reads from out_.
    if (!below_pending_) out_.clear();
    if (broken_ == 0) broken_ = -ENOMEM;
    // Taken before the calls, which may end this transport.
    const bool waits = std::exchange(room_wanted_, false);
    if (handshake_ != nullptr) {
        fail_handshake(HandshakeFailure::no_memory, "", -ENOMEM);
    } else if (!is_receiving_over()) {
        fail_receiving(-ENOMEM);
    } else if (waits) {
        observer_->on_sent(-ENOMEM);
    }
}

namespace {

constexpr char cipher_change_record = 20;
constexpr char handshake_record = 22;
constexpr char data_record = 23;
// Answer to a first record of any other type: an alert, unexpected_message (RFC 8446, 6.2).
constexpr std::string_view unexpected_message("\x15\3\3\0\2\2\x0a", 7);
// To a hello that is too long, as OpenSSL answers one that is longer still.
constexpr std::string_view illegal_parameter("\x15\3\3\0\2\2\x2f", 7);

// A request line's first letter. No record of TLS begins with one.
bool looks_like_http(ByteView bytes) {
    return bytes.front() >= 'A' && bytes.front() <= 'Z';
}

// The first bytes of a server of another protocol: an HTTP answer, a greeting. Types of TLS records
// are control characters.
bool looks_like_text(ByteView bytes) {
    return bytes.front() >= ' ' && bytes.front() <= '~';
}

}  // namespace

TlsTransport::TlsTransport(Endpoint& endpoint, std::unique_ptr<net::Transport> below)
    : endpoint_(&endpoint),
      below_(std::move(below)),
      handshake_(std::make_unique<Handshake>(*this, endpoint.parts())) {}

TlsTransport::TlsTransport(Endpoint& endpoint, std::unique_ptr<net::Transport> below, SslPtr ssl)
    : TlsTransport(endpoint, std::move(below)) {
    handshake_->ssl = std::make_unique<SslRecords>(std::move(ssl));
    handshake_->input.expect_no_hello();
}

TlsTransport::~TlsTransport() {
    // Tells the Presence on the stack.
    if (gone_ != nullptr) *gone_ = true;
}

Out TlsTransport::out() {
    return {.queue = out_, .pool = endpoint_->parts().loop().blocks()};
}

void TlsTransport::open(net::Transport::Observer& observer) {
    observer_ = &observer;
    below_->open(*this);
    handshake_->start_clock();
    // A client speaks first, so its handshake does not wait for bytes.
    if (handshake_->ssl != nullptr) endpoint_->parts().step_later(*handshake_);
}

bool TlsTransport::may_follow(Phase from, Phase to) {
    switch (to) {
        case Phase::handshake:
            break;  // where it begins
        case Phase::refusing:
        case Phase::open:
            return from == Phase::handshake;
        case Phase::ended:
            return from == Phase::open;
        case Phase::failed:
            return from <= Phase::open;
        case Phase::closed:
            return from != Phase::closed;
    }
    return false;
}

void TlsTransport::enter(Phase next) {
    TR_CHECK(may_follow(phase_, next), "a phase that cannot follow");
    phase_ = next;
}

void TlsTransport::enter(Sending next) {
    TR_CHECK(sending_ < next, "our direction ends once");
    sending_ = next;
}

// ---- receiving ----------------------------------------------------------------------------------

void TlsTransport::set_receiving(bool on) {
    receiving_ = on;
    update_receiving();
}

// A handshake reads whatever the observer wants, up to a bound: its steps wait their turn, and the
// bytes for them must not pile up.
bool TlsTransport::wants_bytes() const {
    switch (phase_) {
        case Phase::handshake:
            return handshake_->input.bytes().size() < waiting_bytes_max;
        case Phase::refusing:
            return true;
        case Phase::open:
            return receiving_;
        case Phase::ended:
        case Phase::failed:
        case Phase::closed:
            break;
    }
    return false;
}

void TlsTransport::update_receiving() {
    const bool want = wants_bytes();
    if (want == below_receiving_) return;
    below_receiving_ = want;
    below_->set_receiving(want);
}

void TlsTransport::on_received(ByteView bytes) {
    within_memory([&]() TR_ON_LOOP { take_bytes(bytes); });
}

void TlsTransport::take_bytes(ByteView bytes) {
    if (is_receiving_over()) return;
    // An end without close_notify may come from an attacker that cuts an answer short (RFC 8446,
    // 6.1): it is reported as a reset.
    if (bytes.empty()) return end_cut_off(phase_ == Phase::refusing ? -EPROTO : -ECONNRESET);
    if (phase_ == Phase::refusing) return;
    if (phase_ == Phase::open) return receive_records(bytes);
    // Only the very first byte is judged here; later ones are OpenSSL's to check. So are a server's
    // records of any type, which it knows how to answer.
    const bool is_first = !std::exchange(handshake_->heard, true);
    if (is_first &&
        (handshake_->is_client() ? looks_like_text(bytes) : bytes.front() != handshake_record)) {
        refuse_first(bytes);
        return;
    }
    continue_handshake(handshake_->input.add(bytes));
}

void TlsTransport::continue_handshake(HandshakeInput::Due due) {
    if (due == HandshakeInput::Due::refusal) {
        return refuse_with(illegal_parameter, HandshakeFailure::bad_message);
    }
    if (due == HandshakeInput::Due::step) endpoint_->parts().step_later(*handshake_);
    update_receiving();
}

void TlsTransport::refuse_with(std::string_view alert, HandshakeFailure why) {
    out_.append(endpoint_->parts().loop().blocks(), alert);
    if (!below_pending_) send_below();
    fail_handshake(why, "", -EPROTO);
}

// The first byte does not begin a handshake record.
void TlsTransport::refuse_first(ByteView bytes) {
    if (looks_like_http(bytes) && !handshake_->is_client()) {
        refuse_clear_text();
        return;
    }
    if (bytes.front() == cipher_change_record || bytes.front() == data_record) {
        return refuse_with(unexpected_message, HandshakeFailure::not_tls);
    }
    fail_handshake(HandshakeFailure::not_tls, "", -EPROTO);
}

void TlsTransport::on_receive_failed(int error) {
    within_memory([&]() TR_ON_LOOP {
        if (!is_receiving_over()) end_cut_off(error);
    });
}

// The peer is gone without an end in order. The last bytes of a server, an alert above all, have
// the cause: a client takes that step now. A server does not: it would spend a key exchange for a
// lost peer.
void TlsTransport::end_cut_off(int error) {
    if (handshake_ != nullptr && handshake_->is_client() && !handshake_->input.bytes().empty()) {
        const Presence presence(*this);
        take_handshake_step();
        if (presence.over() || is_receiving_over()) return;
    }
    below_receiving_ = false;
    if (handshake_ != nullptr) {
        fail_handshake(HandshakeFailure::peer_gone, "", error);
    } else {
        fail_receiving(error);
    }
}

void TlsTransport::fail_receiving(int error) {
    enter(Phase::failed);
    part_.reset();
    if (broken_ == 0) broken_ = error;
    update_receiving();
    observer_->on_receive_failed(error);
}

// The observer is called last, because it may end this connection.
void TlsTransport::receive_records(ByteView bytes) {
    // Opened bytes are delivered together, with one call, unless the buffer fills up before.
    std::size_t plain = 0;
    bool alive = true;
    Records::Event event = Records::Event::none;
    if (part_ != nullptr) {
        // Copies only the bytes that complete the record begun earlier.
        const std::size_t have = part_->size();
        // The header first: until it is whole, the length of the record is unknown.
        if (have < Records::header_bytes) {
            const std::size_t lacking = Records::header_bytes - have;
            part_->append(bytes.substr(0, lacking));
            bytes.remove_prefix(std::min(lacking, bytes.size()));
        }
        const std::size_t wanted = openable_bytes(*part_, records_->record_bytes_max());
        if (wanted > part_->size()) {
            const std::size_t lacking = wanted - part_->size();
            part_->append(bytes.substr(0, lacking));
            bytes.remove_prefix(std::min(lacking, bytes.size()));
        }
        if (wanted == 0 || wanted > part_->size()) return;
        const std::unique_ptr<std::string> record = std::move(part_);
        event = open_records(*record, plain, alive);
        if (!alive) return;
    }
    if (event == Records::Event::none && !bytes.empty()) {
        event = open_records(bytes, plain, alive);
        if (!alive) return;
    }
    if (plain > 0 && !deliver(plain)) return;
    // A peer that requests answers (KeyUpdates) without reading them.
    if (out_.bytes() > out_bytes_max + answers_bytes_max) event = Records::Event::failed;
    if (event != Records::Event::none) {
        end_receiving(event);
    } else if (!out_.empty() && !below_pending_) {
        send_below();
    }
}

// Opens all complete records, keeps the rest. Delivers early only if the loop's buffer is full.
Records::Event TlsTransport::open_records(ByteView bytes, std::size_t& plain, bool& alive) {
    const std::size_t ready = ready_bytes(bytes, records_->record_bytes_max());
    ByteView records = bytes.substr(0, ready);
    while (!records.empty()) {
        const Records::Opened opened =
            records_->open(records, endpoint_->parts().plain().subspan(plain), out());
        plain += opened.plain;
        records.remove_prefix(opened.used);
        if (opened.event == Records::Event::full) {
            TR_CHECK(plain > 0, "a record that the loop's buffer cannot hold");
            alive = deliver(std::exchange(plain, 0));
            if (!alive) return Records::Event::none;
        } else if (opened.event != Records::Event::none) {
            return opened.event;
        }
    }
    if (ready < bytes.size()) part_ = std::make_unique<std::string>(bytes.substr(ready));
    return Records::Event::none;
}

// False: the observer ended this transport.
bool TlsTransport::deliver(std::size_t bytes) {
    const Presence presence(*this);
    observer_->on_received({endpoint_->parts().plain().data(), bytes});
    return !presence.over() && !is_receiving_over();
}

void TlsTransport::end_receiving(Records::Event event) {
    if (event == Records::Event::failed) {
        if (!out_.empty() && !below_pending_) send_below();  // the alert
        fail_receiving(-EPROTO);
        return;
    }
    // close_notify: the peer's direction has ended, ours may go on (RFC 8446, 6.1).
    enter(Phase::ended);
    part_.reset();
    update_receiving();
    observer_->on_received({});
}

// ---- the handshake ------------------------------------------------------------------------------

void TlsTransport::take_handshake_step() {
    if (handshake_->ssl == nullptr) {
        // Not in open(): an SSL takes 45 KiB, which a client that connects and sends nothing, or a
        // part of its hello, must not cost.
        handshake_->ssl = std::make_unique<SslRecords>(endpoint_->make_ssl());
    }
    const SslRecords::Stepped stepped =
        handshake_->ssl->handshake(handshake_->input.ready(), out());
    const HandshakeInput::Due due =
        handshake_->input.take(stepped.used, handshake_->ssl->take_retry());
    switch (stepped.progress) {
        case SslRecords::Progress::wants_more:
            if (!out_.empty() && !below_pending_ && send_below() != 0) {
                fail_handshake(HandshakeFailure::peer_gone, "", broken_);
            } else {
                continue_handshake(due);
            }
            break;
        case SslRecords::Progress::done:
            establish(std::move(handshake_->ssl));
            break;
        case SslRecords::Progress::failed:
            if (!out_.empty() && !below_pending_) send_below();  // the alert
            fail_handshake(stepped.why, stepped.words, -EPROTO);
            break;
    }
}

void TlsTransport::establish(std::unique_ptr<SslRecords> made) {
    // Everything worth keeping of the SSL is copied first; then our own record layer takes over,
    // which saves about 12 KB a connection (docs/decisions/0006-a-record-layer-of-our-own.md). Not
    // with data inside OpenSSL, which could not be moved.
    security_ = made->security();
    security_.protocol = endpoint_->known_protocol(security_.protocol);
    endpoint_->parts().count_done(security_.version == "TLSv1.3", security_.resumed,
                                  handshake_->took());
    const Suite13* suite =
        SSL_is_server(made->ssl()) == 1 && made->can_be_left() && SSL_has_pending(made->ssl()) == 0
            ? Suite13::find(SSL_get_current_cipher(made->ssl()))
            : nullptr;
    if (suite != nullptr) {
        records_ = std::make_unique<Records13>(*suite, made->secrets(), made->agreement());
    } else {
        records_ = std::move(made);
    }
    // Kept alive to the end of this function: it holds the bytes that came behind the handshake.
    const std::unique_ptr<Handshake> done = std::move(handshake_);
    enter(Phase::open);
    update_receiving();
    const Presence presence(*this);
    observer_->on_secured();
    if (presence.over()) return;
    // The tickets in out_ are sent after the first answer was made, in one packet with it.
    if (const ByteView behind = done->input.bytes(); !behind.empty()) receive_records(behind);
    if (presence.over()) return;
    // Including bytes from before the handshake, and to a peer whose end came right behind it.
    const bool may_send = phase_ == Phase::open || phase_ == Phase::ended;
    if (!below_pending_ && may_send) go_on_sending(0);
}

void TlsTransport::fail_handshake(HandshakeFailure why, std::string_view words, int error) {
    failure_ = !words.empty() ? words : sentence_of(why);
    // A peer that spoke in clear text was counted when it did so.
    if (phase_ != Phase::refusing) endpoint_->parts().count_failure(why, words);
    // The observer may destroy this transport; the Handshake must not die with it inside its own
    // call.
    const std::unique_ptr<Handshake> over = std::move(handshake_);
    fail_receiving(error);
}

// Sends the answer and our end, then reads until the peer ends: closing now could reset the
// connection before it has read the answer. The handshake's time-out still runs.
void TlsTransport::refuse_clear_text() {
    const std::string_view answer = endpoint_->plain_http_answer();
    if (answer.empty()) {
        fail_handshake(HandshakeFailure::plain_http, "", -EPROTO);
        return;
    }
    endpoint_->parts().count_failure(HandshakeFailure::plain_http, "");
    enter(Phase::refusing);
    out_.append(endpoint_->parts().loop().blocks(), answer);
    enter(Sending::finishing);
    go_on_sending(0);
}

// ---- sending ------------------------------------------------------------------------------------

int TlsTransport::send_below() {
    const core::Sent sent = below_->send(out_);
    below_pending_ = sent.pending;
    if (sent.error != 0) {
        broken_ = sent.error;
        out_.clear();
    }
    return sent.error;
}

core::Sent TlsTransport::send(core::SendQueue& queue) {
    // A record may be half sent: nothing behind it could be read.
    if (broken_ != 0) return {.error = broken_};
    try {
        return send_records(queue);
    } catch (const std::bad_alloc&) {
        core::log_exception(endpoint_->parts().loop().log(), "tls", "a TLS connection");
        broken_ = -ENOMEM;
        return {.error = broken_};
    }
}

core::Sent TlsTransport::send_records(core::SendQueue& queue) {
    core::Sent sent;
    const std::uint64_t before = queue.bytes();
    // A bound for each turn: sealing costs CPU, and others on this loop are waiting.
    while (records_ != nullptr && !below_pending_ && !queue.empty() &&
           before - queue.bytes() < sealed_bytes_per_turn_max) {
        sent.error =
            records_->seal(queue, out(), out_bytes_max, endpoint_->parts().loop().kernel());
        // A file that became shorter breaks nothing here: the bytes before it go out, and the layer
        // above may repair its queue.
        const bool file_is_short = sent.error == -EBADMSG;
        if (sent.error == 0 || file_is_short) {
            if (const int error = send_below(); error != 0) sent.error = error;
        }
        if (sent.error != 0) {
            if (sent.error != -EBADMSG) broken_ = sent.error;
            break;
        }
    }
    sent.bytes = before - queue.bytes();
    // Also when all is sealed and only the peer is slow: sealed bytes in out_ are not sent yet.
    sent.pending = sent.error == 0 && (below_pending_ || !queue.empty());
    room_wanted_ = sent.pending;
    // No one below will report room, because all was taken: request a later turn ourselves.
    if (sent.pending && records_ != nullptr && !below_pending_) {
        endpoint_->parts().send_later(*this);
    }
    return sent;
}

void TlsTransport::take_step() {
    if (!below_pending_) on_sent(0);
}

void TlsTransport::on_sent(std::int64_t result) {
    within_memory([&]() TR_ON_LOOP { go_on_sending(result); });
}

void TlsTransport::go_on_sending(std::int64_t result) {
    below_pending_ = false;
    if (result < 0) {
        broken_ = static_cast<int>(result);
        // The layer below is broken, so nothing of this can be sent any more.
        out_.clear();
        if (std::exchange(room_wanted_, false)) observer_->on_sent(result);
        return;
    }
    if (!out_.empty() && send_below() != 0) {
        if (std::exchange(room_wanted_, false)) observer_->on_sent(broken_);
        return;
    }
    if (below_pending_) return;
    if (sending_ == Sending::finishing) {
        enter(Sending::finished);
        below_->finish();
    } else if (records_ != nullptr && std::exchange(room_wanted_, false)) {
        observer_->on_sent(0);
    }
}

void TlsTransport::say_end() {
    if (sending_ != Sending::open || records_ == nullptr || broken_ != 0) return;
    enter(Sending::end_announced);
    try {
        records_->seal_end(out());
        if (!below_pending_) send_below();
    } catch (const std::bad_alloc&) {
        broken_ = -ENOMEM;  // no memory for close_notify: the peer sees a cut
    }
}

void TlsTransport::finish() {
    if (sending_ >= Sending::finishing) return;  // after the answer to clear text
    say_end();
    if (below_pending_) {
        enter(Sending::finishing);
    } else {
        enter(Sending::finished);
        below_->finish();
    }
}

void TlsTransport::close(core::SendQueue&& unsent) {
    // Bytes that were never sealed; sealed ones go down with out_, which the kernel may still read.
    unsent.clear();
    enter(Phase::closed);
    room_wanted_ = false;
    // From the list of transports that go on sending (LoopParts).
    unlink();
    handshake_.reset();
    below_->close(std::move(out_));
}

void TlsTransport::set_reset_on_close() {
    below_->set_reset_on_close();
}

}  // namespace tiderace::tls
