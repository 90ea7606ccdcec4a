#include "tiderace/db/redis/link.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/task/runner.h"
#include "tiderace/task/within.h"

namespace tiderace::db::redis {
namespace {

// Commands wait for the end of the turn, or until there are so many bytes of them. Measured with
// 800 small commands a turn: 2 KiB gives 1.35, 4 KiB 1.5, all at the end 0.9 million a second.
constexpr std::size_t flush_bytes = 4_KiB;

// A call on a link of the task's own.
class Asking final : private Call {
  public:
    Asking(Link& link, Command command) : Call(std::move(command)), to_(&link) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        if (to_->broken()) return fail(to_->failure());
        to_->send(*this);
    }
    Reply await_resume() {
        if (failure_) throw *failure_;
        return std::move(reply_);
    }

  private:
    void on_reply(resp::Reply reply) override {
        reply_ = reply.copy();
        waiter_.wake();
    }
    void on_failed(const Error& error) override {
        failure_ = error;
        waiter_.wake();
    }

    Link* to_;
    Reply reply_;
    std::optional<Error> failure_;
    task::Waiter waiter_;
};

resp::Limits reply_limits(const Options& options) {
    resp::Limits limits;
    limits.bulk_bytes_max = options.reply_bytes_max;
    limits.message_bytes_max = options.reply_bytes_max;
    limits.depth_max = options.reply_depth_max;
    return limits;
}

bool is_size(resp::Fault fault) {
    switch (fault) {
        case resp::Fault::line_too_long:
        case resp::Fault::bulk_too_large:
        case resp::Fault::too_many_elements:
        case resp::Fault::too_deep:
        case resp::Fault::message_too_large:
            return true;
        default:
            return false;
    }
}

}  // namespace

Error outcome_of(const Call& call, const Error& why) {
    const bool open = why.kind() == Fault::connection_lost || why.kind() == Fault::timeout;
    return open && !call.command().reads ? why.with_kind(Fault::unknown_outcome) : why;
}

void Call::leave() {
    if (link_ != nullptr) std::exchange(link_, nullptr)->forget(*this);
    unlink();
    stop_waiting();
    if (counter_ != nullptr) --*std::exchange(counter_, nullptr);
}

Link::Link(Links& all, tcp::Dialed dialed, const Options& options)
    : all_(&all),
      patience_(options.command_timeout),
      reply_limits_(reply_limits(options)),
      layer_(std::move(dialed.layer)),
      secured_(layer_ == nullptr) {
    // The hub refuses a command before this. Replies are always read: otherwise both sides might
    // wait for each other.
    limits_.queue_bytes_max = std::min(options.unsent_bytes_max, SIZE_MAX - 1_MiB) + 1_MiB;
    limits_.queue_bytes_high = limits_.queue_bytes_max;
    connection_ = std::make_unique<net::Connection>(net::ConnectionId(),
                                                    static_cast<net::Connection::Owner&>(*this),
                                                    std::move(dialed.transport), dialed.peer);
    heard_ = loop().now();
    connection_->start(*this);
}

core::EventLoop& Link::loop() {
    return all_->runner().loop();
}

void Link::set_patience(Duration patience) {
    patience_ = patience;
    expect();
}

// The deadline is the connection's: one for all that were sent.
void Link::expect() {
    if (!connection_ || broken_) return;
    // A subscription may be silent for days; subscribe() asks itself (silence_max).
    const bool waits = !sent_.empty() && !only_pushes_;
    connection_->set_deadline(waits ? moment_after(loop().now(), patience_) : Instant::max());
}

void Link::send(Call& call) {
    TR_CHECK(!broken_ && call.link_ == nullptr, "a command on a connection that is lost");
    call.link_ = this;
    call.place_ = answered_ + sent_.size();
    sent_.push_back(&call);
    connection_->write(call.command().bytes);
    // The server works on the first commands of a turn while the rest are written.
    if (connection_->queue_bytes() >= flush_bytes) connection_->flush();
    if (sent_.size() == 1) expect();
}

void Link::send_unasked(std::string_view bytes) {
    if (broken_) return;
    // Its reply takes a place, which nothing waits for.
    if (!only_pushes_) sent_.push_back(nullptr);
    connection_->write(bytes);
    if (sent_.size() == 1) expect();
}

void Link::forget(Call& call) {
    // The place stays: the server will answer, and replies come in the order of commands.
    sent_[call.place_ - answered_] = nullptr;
}

std::size_t Link::on_data(net::Connection&, ByteView data) {
    const std::size_t all = data.size();
    heard_ = loop().now();
    while (!data.empty() && !broken_) {
        const resp::Progress progress = reader_.read(data);
        if (progress == resp::Progress::more) break;
        if (progress == resp::Progress::fault) {
            refuse(reader_.fault());
            break;
        }
        take(reader_.reply());
    }
    // Between replies no buffer is kept.
    if (!reader_.within()) reader_.release();
    expect();
    return all;
}

void Link::take(resp::Reply reply) {
    // Under RESP 2 pushes come as arrays, which only a link of nothing else can tell from replies.
    if (reply.kind() == resp::Kind::push || only_pushes_) {
        if (observer_ != nullptr) observer_->on_push(reply);
        return;
    }
    if (sent_.empty()) {
        // For example an error before the connection is closed: too many clients.
        return lose(reply.is_error() ? error_of(reply)
                                     : Error(Fault::connection_lost, "a reply to no command"));
    }
    Call* const call = sent_.front();
    sent_.pop_front();
    ++answered_;
    // Nothing waits for it: it answers ASKING, or its task has ended.
    if (call == nullptr) return;
    call->link_ = nullptr;
    if (reply.is_error() && observer_ != nullptr && observer_->on_error_reply(*call, reply)) return;
    call->finish(reply);
}

void Link::refuse(resp::Fault fault) {
    const std::string what = "what the server sent: " + std::string(to_string(fault));
    const Error lost(Fault::connection_lost, what);
    const Error large(Fault::row, what);
    if (!is_size(fault)) return lose(lost);
    if (sent_.empty()) return lose(large);
    // The size is a fault of one command. The others, of other tasks, have lost their connection.
    Call* const call = sent_.front();
    sent_.pop_front();
    ++answered_;
    if (call != nullptr) {
        call->link_ = nullptr;
        call->fail(large);
    }
    lose(lost);
}

void Link::lose(Error why) {
    if (std::exchange(broken_, true)) return;
    failure_ = why;
    std::vector<Call*> unanswered;
    for (Call* const call : sent_) {
        if (call == nullptr) continue;
        call->link_ = nullptr;
        unanswered.push_back(call);
    }
    sent_.clear();
    if (!connection_->closing()) connection_->close(net::CloseReason::aborted);
    // The last call to it: it may destroy this link.
    if (Observer* const observer = std::exchange(observer_, nullptr)) {
        return observer->on_lost(std::move(unanswered), why);
    }
    for (Call* const call : unanswered) call->fail(outcome_of(*call, why));
}

void Link::on_peer_finished(net::Connection&) {
    lose(Error(Fault::connection_lost, "the server closed the connection"));
}

void Link::on_deadline(net::Connection&) {
    lose(Error(Fault::timeout, "the server does not answer"));
}

void Link::on_close(net::Connection& connection, net::CloseReason reason) {
    lose(Error(Fault::connection_lost,
               secured_ ? std::string(to_string(reason)) : connection.handshake_failure()));
}

void Link::release(net::Connection&, net::CloseReason) {
    connection_.reset();
    const auto here = [this](const auto& each) { return each.get() == this; };
    // Destroys this, if its owner has let it go (EndLink).
    std::erase_if(all_->closing_, here);
}

void EndLink::operator()(Link* link) const {
    std::unique_ptr<Link> owned(link);
    link->observer_ = nullptr;
    for (Call* const call : link->sent_) {
        if (call != nullptr) call->link_ = nullptr;
    }
    // Their calls belong to tasks that have ended, or end with the link's owner.
    link->sent_.clear();
    link->broken_ = true;
    if (!link->connection_) return;
    if (!link->connection_->closing()) link->connection_->close(net::CloseReason::aborted);
    link->all_->closing_.push_back(std::move(owned));
}

Links::~Links() {
    while (!closing_.empty()) runner_->loop().turn(Duration::zero());
}

task::Task<Reply> ask(Link& link, Command command) {
    Asking asking(link, std::move(command));
    co_return co_await asking;
}

namespace {

task::Task<> greet(Link& link, const Place& place) {
    std::vector<std::string_view> hello = {"HELLO", "3"};
    if (!place.password.empty()) {
        // In the same command, so that nothing is sent before the login.
        hello.insert(hello.end(),
                     {"AUTH", place.user.empty() ? "default" : place.user.c_str(), place.password});
    }
    const Reply welcome = co_await ask(link, make_command(Arguments(hello)));
    if (welcome.view().is_error()) {
        const std::string_view text = welcome.view().text();
        // A server before Redis 6 knows no HELLO; one that knows no RESP 3 answers NOPROTO. Both
        // speak RESP 2.
        const bool old = text.starts_with("ERR unknown command") || text.starts_with("NOPROTO");
        if (!old) throw error_of(welcome.view());
        std::vector<std::string_view> auth = {"AUTH"};
        if (!place.user.empty()) auth.push_back(place.user);
        auth.push_back(place.password);
        if (!place.password.empty()) {
            const Reply done = co_await ask(link, make_command(Arguments(auth)));
            if (done.view().is_error()) throw error_of(done.view());
        }
    }
    if (place.database == 0) co_return;
    const std::string number = std::to_string(place.database);
    const Reply selected = co_await ask(link, make_command("SELECT", number));
    if (selected.view().is_error()) throw error_of(selected.view());
}

}  // namespace

task::Task<LinkRef> open_link(const Place& place, std::string address, const Options& options,
                              Instant until) {
    task::Runner& runner = *task::Context::here().runner;
    if (place.tls && options.security == nullptr) {
        throw Error(Fault::configuration,
                    "rediss:// needs Options::security, such as a tcp::ClientTls");
    }
    tcp::ConnectOptions dialing;
    dialing.timeout = until - runner.loop().now();
    dialing.security = place.tls ? options.security : nullptr;
    auto dialed = co_await tcp::dial(address, dialing);
    if (!dialed) throw Error(Fault::connection_lost, dialed.error().message());
    LinkRef link(new Link(runner.local<Links>(), std::move(*dialed), options));
    try {
        const auto greeted =
            co_await task::within(until - runner.loop().now(), greet(*link, place));
        if (!greeted) throw Error(Fault::connection_lost, address + ": no answer in time");
    } catch (const Error& error) {
        // No command of the program was sent yet.
        const bool open = error.kind() == Fault::unknown_outcome || error.kind() == Fault::timeout;
        if (!open) throw;
        throw error.with_kind(Fault::connection_lost);
    }
    co_return link;
}

}  // namespace tiderace::db::redis
