#include "load/connection.h"

#include <algorithm>
#include <cerrno>

#include "load/worker.h"
#include "tiderace/base/check.h"
#include "tiderace/base/moment.h"

namespace tiderace::load {
namespace {

constexpr Duration retry_min = 10ms;
constexpr Duration retry_max = 1s;
// Small, so that the kernel does not read ahead for a client that is meant to be slow.
constexpr int slow_receive_buffer_bytes = 4'096;
constexpr std::int64_t drips_per_second = 10;

ConnectError kind_of(int error) {
    // Told apart, because each has another remedy (none_opened.cc), and only some of them are the
    // server's.
    switch (error) {
        case ECONNREFUSED:
            return ConnectError::refused;
        case ECONNRESET:
            return ConnectError::reset;
        case ETIMEDOUT:
            return ConnectError::timed_out;
        case EADDRNOTAVAIL:
        case EADDRINUSE:
            return ConnectError::no_port;
        case EMFILE:
        case ENFILE:
            return ConnectError::no_descriptor;
        default:
            return ConnectError::other;
    }
}

enum class Pace : std::uint8_t { usual, slow_reader, slow_sender };

// How many of the first `count` belong to a part of `of` in `whole`: rounded up, so that a few
// connections also have a slow one.
constexpr std::uint64_t part_of(std::uint64_t count, std::uint64_t of, std::uint64_t whole) {
    return (count * of + whole - 1) / whole;
}

// Evenly over the numbers, and not the first of each hundred: ten connections would all be slow,
// and a loop, which has neighbouring numbers, would have all of the slow ones or none.
Pace pace_of(std::uint64_t number, const LoadOptions& options) {
    const std::uint64_t slow = options.slow_readers + options.slow_senders;
    const std::uint64_t before = part_of(number, slow, 100);
    if (part_of(number + 1, slow, 100) == before) return Pace::usual;
    // The readers among the slow ones are also spread evenly.
    const bool reads_slowly = part_of(before + 1, options.slow_readers, slow) >
                              part_of(before, options.slow_readers, slow);
    return reads_slowly ? Pace::slow_reader : Pace::slow_sender;
}

}  // namespace

LoadConnection::LoadConnection(LoadWorker& worker, std::uint64_t number)
    : worker_(&worker), number_(number) {
    const LoadOptions& options = worker.plan().options;
    const Pace pace = pace_of(number, options);
    slow_reader_ = pace == Pace::slow_reader;
    slow_sender_ = pace == Pace::slow_sender;
    const LoadDialogue::Rules rules{.request = &worker.plan().request,
                                    .depth = options.depth(),
                                    .close = options.close,
                                    .hash = options.check_hash,
                                    .http_1_0 = options.http == LoadHttp::v1_0,
                                    .parts = slow_sender_,
                                    .arena = &worker.arena()};
    LoadDialogue::Client& client = *this;
    dialogue_ = options.echoes()               ? make_load_echo(client, rules)
                : options.http == LoadHttp::v2 ? make_load_h2(client, rules)
                                               : make_load_h1(client, rules);
}

bool LoadConnection::may_follow(Phase from, Phase to) {
    switch (to) {
        case Phase::idle:
            return from != Phase::idle;
        case Phase::connecting:
            return from == Phase::idle;
        case Phase::securing:
            return from == Phase::connecting;
        case Phase::open:
            return from == Phase::connecting || from == Phase::securing;
        case Phase::ending:
            return from == Phase::open;
    }
    return false;
}

void LoadConnection::enter(Phase next) {
    TR_CHECK(may_follow(phase_, next), "a phase that cannot follow");
    phase_ = next;
}

// ---- opening ------------------------------------------------------------------------------------

void LoadConnection::start() {
    // From the worker's queue, which still has entries when the run is over.
    if (phase_ != Phase::idle || run_over_) return;
    const LoadPlan& plan = worker_->plan();
    net::Route route{.to = plan.target.address};
    // A pair of addresses has some 28,000 ports: more connections need more addresses of ours.
    if (!plan.sources.empty()) route.from = plan.sources[number_ % plan.sources.size()];
    // Set before connect(): the window that TCP announces follows from it.
    if (slow_reader_) route.receive_buffer_bytes = slow_receive_buffer_bytes;
    enter(Phase::connecting);
    worker_->connector().connect(
        route, [this](Result<net::Connection*> made) { on_made(std::move(made)); },
        worker_->layer());
}

void LoadConnection::on_made(Result<net::Connection*> made) {
    since_ = worker_->loop().now();
    if (!made) {
        enter(Phase::idle);
        worker_->connect_done(*this);
        worker_->tally().resets += made.error().code() == ECONNRESET;
        failed_to_open(kind_of(made.error().code()));
        return;
    }
    connection_ = *made;
    answered_once_ = false;
    const bool secured = worker_->layer() != nullptr;
    if (secured) enter(Phase::securing);
    connection_->start(*this);
    if (!secured) open();
}

void LoadConnection::on_secured(net::Connection& connection) {
    // A server that does not speak the chosen HTTP would answer each request with nonsense.
    // Not so for HTTP/1, which a server without ALPN speaks as well.
    const bool right =
        worker_->plan().options.http != LoadHttp::v2 || connection.security()->protocol == "h2";
    if (right && !run_over_) {
        open();
    } else {
        connection.close(net::CloseReason::aborted);  // on_close reports it
    }
}

void LoadConnection::open() {
    enter(Phase::open);
    resumed_ = worker_->loop().now();
    ++worker_->tally().opened;
    worker_->count_open(1);
    // Only now another may connect: over TLS the handshake is what costs the server.
    worker_->connect_done(*this);
    dialogue_->begin();
    worker_->has_room(*this);
}

void LoadConnection::failed_to_open(ConnectError error) {
    ++worker_->tally().error(error);
    try_again_later();
}

void LoadConnection::try_again_later() {
    if (run_over_) return;
    // Longer each time, or refused connections would be a load of their own.
    retry_ = std::clamp(retry_ * 2, retry_min, retry_max);
    worker_->loop().arm(*this, worker_->loop().now() + retry_);
}

// ---- asking -------------------------------------------------------------------------------------

void LoadConnection::send(std::size_t most) {
    const Instant now = worker_->now();
    most = std::min(most, dialogue_->room());
    // The time-out counts from the first request, not from the last answer.
    if (dialogue_->under_way() == 0) since_ = now;
    std::size_t count = 0;
    for (; count < most; ++count) {
        // Latency counts from the time at which a request was due, so that a slow server cannot
        // hide its delays by slowing its clients down ("coordinated omission").
        const auto intended = worker_->pacer().take(now);
        if (!intended) break;
        dialogue_->ask(*intended);
        worker_->tally().late_max = std::max(worker_->tally().late_max, now - *intended);
    }
    if (count == 0) return;
    worker_->tally().sent += count;
    worker_->count_under_way(static_cast<std::int64_t>(count));
    dialogue_->asked();
}

void LoadConnection::say(ByteView bytes, LoadDialogue::Part part) {
    if (!slow_sender_) {
        if (connection_ != nullptr) connection_->write(bytes);
        return;
    }
    paced_.keep(bytes, is_slow_part(part));
    // While it drips, the timer takes what was added. A drop more at once would be above the rate.
    if (pause_ != Pause::dripping) drip();
}

namespace {

// Bytes of the plan, which outlives every queue of the run.
class Lent final : public core::Shared {};

}  // namespace

void LoadConnection::lend(ByteView bytes, LoadDialogue::Part part) {
    if (bytes.empty()) return;
    if (!slow_sender_) {
        if (connection_ == nullptr) return;
        // Not copied: a body of 256 MiB on a thousand connections is in memory once.
        connection_->queue().append_shared(bytes, core::make_ref<Lent>());
        connection_->written();
        return;
    }
    paced_.lend(bytes, is_slow_part(part));
    if (pause_ != Pause::dripping) drip();
}

bool LoadConnection::is_slow_part(LoadDialogue::Part part) const {
    const LoadSlowPart slow = worker_->plan().options.slow_drips;
    if (part == LoadDialogue::Part::control) return false;
    if (slow == LoadSlowPart::all) return true;
    return (slow == LoadSlowPart::head) == (part == LoadDialogue::Part::head);
}

// The bytes that may leave now, and the time of the next drop.
void LoadConnection::drip() {
    if (connection_ == nullptr) return;
    const auto rate = static_cast<std::int64_t>(worker_->plan().options.slow_send_rate);
    // A tenth of a second's bytes: more often would cost timers, less often would come in bursts.
    const std::int64_t most = std::max<std::int64_t>(1, rate / drips_per_second);
    const std::size_t slow = paced_.take(static_cast<std::size_t>(most),
                                         [this](ByteView piece) { connection_->write(piece); });
    since_ = resumed_ = worker_->loop().now();
    pause_ = slow > 0 ? Pause::dripping : Pause::none;
    if (slow == 0) return;
    worker_->loop().arm(*this, since_ + Duration(1s) * static_cast<std::int64_t>(slow) / rate);
}

std::size_t LoadConnection::unsent() const {
    // Bodies wait until all is dripped out.
    if (slow_sender_) return paced_.empty() ? 0 : SIZE_MAX;
    return connection_ != nullptr ? static_cast<std::size_t>(connection_->queue_bytes()) : 0;
}

void LoadConnection::on_drained(net::Connection&) {
    if (phase_ == Phase::open && !run_over_) dialogue_->drained();
}

// ---- being answered -----------------------------------------------------------------------------

std::size_t LoadConnection::on_data(net::Connection&, ByteView data) {
    // After the end of the run answers are no longer counted: the time that they took is not in it.
    if (!is_open() || run_over_) return data.size();
    // The clock is read here, not at the start of the turn: its last answers would look too fast.
    now_ = worker_->read_clock();
    const std::uint64_t before = dialogue_->progress();
    const std::size_t used = dialogue_->hear(data);
    if (dialogue_->progress() != before) since_ = now_;
    worker_->tally().received_bytes += used;
    after_hearing(data.size());
    return used;
}

// Once for all answers of one read: a pause counts from the last of them.
void LoadConnection::after_hearing(std::size_t bytes) {
    const bool answered = std::exchange(answered_now_, false);
    const LoadOptions& options = worker_->plan().options;
    // Slow clients do not think: a connection has one timer, and theirs keeps their pace.
    const bool thinks =
        answered && options.think > Duration::zero() && !slow_reader_ && !slow_sender_;
    if (thinks) think_until_ = moment_after(now_, options.think);
    if (phase_ == Phase::ending) {
        // That was the last answer of a connection that the server, or --close, ends.
        if (dialogue_->under_way() == 0) connection_->close(net::CloseReason::aborted);
        return;
    }
    if (slow_reader_) {
        const auto rate = static_cast<std::int64_t>(options.slow_rate);
        connection_->set_reading(false);
        pause_ = Pause::not_reading;
        // Reading pauses for as long as these bytes take at the slow rate.
        worker_->loop().arm(*this, now_ + Duration(1s) * static_cast<std::int64_t>(bytes) / rate);
    } else if (thinks) {
        pause_ = Pause::thinking;
        worker_->loop().arm(*this, think_until_);
    }
    worker_->has_room(*this);
}

LoadError LoadConnection::judge(const LoadAnswer& answer) const {
    const LoadOptions& options = worker_->plan().options;
    LoadTally::Reference& reference = worker_->tally().reference;
    if (answer.status != options.expect_status) return LoadError::wrong_status;
    if (options.expect_length && answer.length != *options.expect_length) {
        return LoadError::wrong_length;
    }
    if (options.expect_hash && answer.hash != *options.expect_hash) return LoadError::wrong_hash;
    // Without --expect-length the first answer of a loop is what the others are compared with.
    if (!reference.known) reference = {.known = true, .length = answer.length, .hash = answer.hash};
    if (answer.length != reference.length) return LoadError::wrong_length;
    return answer.hash == reference.hash ? LoadError::count_ : LoadError::wrong_hash;
}

void LoadConnection::answered(const LoadAnswer& answer, Instant intended) {
    LoadTally& tally = worker_->tally();
    worker_->count_under_way(-1);
    tally.body_bytes += answer.length;
    answered_now_ = answered_once_ = true;  // wrong ones too: it talks
    const LoadError wrong = judge(answer);
    // A wrong answer is in no latency: an error page is quicker made than the page.
    if (wrong == LoadError::count_) {
        ++tally.answers;
        ++answers_;
        if (!worker_->records_latency()) return;
        (slow_reader_ || slow_sender_ ? tally.slow_latency : tally.latency).record(now_ - intended);
        return;
    }
    ++tally.error(wrong);
    // The first wrong one is named in the report.
    if (tally.wrong_status == 0 && wrong == LoadError::wrong_status) {
        tally.wrong_status = answer.status;
    }
}

void LoadConnection::failed(LoadError error, Instant) {
    ++worker_->tally().error(error);
    worker_->count_under_way(-1);
}

void LoadConnection::give_back(Instant intended) {
    worker_->give_back(intended);
    worker_->count_under_way(-1);
    // It is sent again elsewhere, and counts once.
    --worker_->tally().sent;
}

// It is taken, though never sent: a counted run has to end.
void LoadConnection::failed_waiting(LoadError error) {
    worker_->pacer().take(worker_->now());
    failed_besides(error);
}

void LoadConnection::failed_besides(LoadError error) {
    ++worker_->tally().error(error);
}

void LoadConnection::found(std::string_view fault) {
    if (worker_->tally().fault.empty()) worker_->tally().fault = fault;
}

// ---- the end of a connection --------------------------------------------------------------------

void LoadConnection::leave() {
    if (phase_ == Phase::open) enter(Phase::ending);
}

void LoadConnection::on_peer_finished(net::Connection& connection) {
    if (is_open() && !run_over_) {
        now_ = worker_->read_clock();
        dialogue_->ended(connection.has_unread());
    }
    leave();
    // The reason is ours alone to read: in a handshake on_close() looks at the phase, and later all
    // requests have failed by now.
    connection.close(net::CloseReason::aborted);
}

void LoadConnection::on_close(net::Connection& connection, net::CloseReason reason) {
    core::EventLoop& loop = worker_->loop();
    loop.cancel(*this);
    // Bytes that were not dripped out belong to requests of this connection, which fail below.
    paced_.clear();
    const Phase last = phase_;
    enter(Phase::idle);
    pause_ = Pause::none;
    connection_ = nullptr;
    LoadTally& tally = worker_->tally();
    tally.sent_bytes += connection.bytes_sent();
    if (last == Phase::securing) {
        worker_->connect_done(*this);
        if (run_over_) return;
        // After the handshake we closed it ourselves: the protocol was missing.
        const bool spoke = connection.security() != nullptr;
        failed_to_open(spoke ? ConnectError::no_protocol : ConnectError::tls);
        return;
    }
    worker_->count_open(-1);
    // Once we have left, the server may reset.
    tally.resets += reason == net::CloseReason::peer_reset && last != Phase::ending;
    if (run_over_) {
        const std::size_t dropped = dialogue_->drop_all();
        tally.unanswered += dropped;
        worker_->count_under_way(-static_cast<std::int64_t>(dropped));
        return;
    }
    const bool stalled =
        reason == net::CloseReason::deadline_expired || reason == net::CloseReason::write_stalled;
    dialogue_->fail_all(stalled ? LoadError::timed_out : LoadError::reset);
    // It worked, so the next one is opened at once; otherwise the server is given a rest.
    if (!answered_once_) return try_again_later();
    retry_ = Duration::zero();
    // The pause belongs to the client, which also has the next connection. In has_room() alone it
    // would be lost with each connection that ends at its answer.
    if (think_until_ > loop.now()) return loop.arm(*this, think_until_);
    worker_->wants_to_open(*this);
}

// ---- time ---------------------------------------------------------------------------------------

// One timer for all that a connection waits for by itself:
//
//   idle         try_again_later() --> the next try, or one that ended inside a pause --> the next
//   thinking     after an answer   --> the next request
//   not_reading  after some bytes  --> reading, for a slow reader
//   dripping     after a drop      --> the next drop, for a slow sender; behind the last, requests
void LoadConnection::on_expired() {
    if (phase_ == Phase::idle) return worker_->wants_to_open(*this);
    switch (pause_) {
        case Pause::none:
            break;
        case Pause::thinking:
            pause_ = Pause::none;
            worker_->has_room(*this);
            break;
        case Pause::not_reading:
            pause_ = Pause::none;
            // The pause was ours, so the server's time begins anew.
            since_ = resumed_ = worker_->loop().now();
            connection_->set_reading(true);
            break;
        case Pause::dripping:
            drip();
            if (pause_ == Pause::dripping) break;
            dialogue_->drained();
            worker_->has_room(*this);
            break;
    }
}

void LoadConnection::check_timeout(Instant now) {
    if (!is_open() || connection_->closing()) return;
    // Until the first request is due nothing is waited for.
    if (worker_->is_gathering()) resumed_ = now;
    // A pause of ours, in which the server waits for us.
    if (pause_ == Pause::not_reading || pause_ == Pause::dripping) return;
    const std::size_t before = dialogue_->under_way();
    if (dialogue_->is_late(now, since_, resumed_, worker_->plan().options.timeout)) {
        leave();
        connection_->close(net::CloseReason::deadline_expired);
    } else if (dialogue_->under_way() < before) {
        worker_->has_room(*this);
    }
}

// run_over_ first: on_close() must count what is dropped, not open another connection.
void LoadConnection::end() {
    run_over_ = true;
    worker_->loop().cancel(*this);
    if (connection_ != nullptr) connection_->close(net::CloseReason::aborted);
}

}  // namespace tiderace::load
