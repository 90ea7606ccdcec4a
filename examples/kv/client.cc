#include "examples/kv/client.h"

#include <utility>

#include "examples/kv/server.h"

namespace kv {
namespace {

// Answers of one batch that are gathered before they are sent.
constexpr std::size_t batch_bytes_max = 64 << 10;
// Answers held for a sync, above which the client's next commands wait.
constexpr std::size_t held_bytes_high = 1 << 20;
// Commands behind one that waits for an element, above which the client keeps them itself. Well
// below what a connection keeps for its session (net::ConnectionLimits::unread_bytes_max).
constexpr std::size_t blocked_unread_bytes_max = 32 << 10;

}  // namespace

QueuedCommand::QueuedCommand(const Command& command, resp::Arguments arguments)
    : command_(&command) {
    std::size_t bytes = 0;
    for (const ByteView each : arguments) bytes += each.size();
    text_.reserve(bytes);
    ranges_.reserve(arguments.size());
    for (const ByteView each : arguments) {
        ranges_.push_back(
            {static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(each.size())});
        text_ += each;
    }
}

Client::Client(Server& server, net::Connection* connection, std::uint64_t id)
    : server_(&server),
      connection_(connection),
      id_(id),
      reader_(server.limits()),
      held_(server.loose()),
      in_flight_(server.loose()),
      pushed_(server.loose()) {
    if (connection != nullptr) input_.join(server.input(), connection->peer());
    set_authenticated(server.options().password.empty());
}

Client::~Client() {
    server_->forget(*this);
}

void Client::set_authenticated(bool authenticated) {
    authenticated_ = authenticated;
    input_.set_trusted(authenticated);
    reader_.set_limits(authenticated ? server_->limits() : server_->limits_of_unknown());
}

Client::Transaction& Client::transaction() {
    if (transaction_ == nullptr) transaction_ = std::make_unique<Transaction>();
    return *transaction_;
}

Client::Subscriptions& Client::subscriptions() {
    if (subscriptions_ == nullptr) subscriptions_ = std::make_unique<Subscriptions>();
    return *subscriptions_;
}

std::string Client::address() const {
    return connection_ != nullptr ? connection_->peer().to_string() : "";
}

std::size_t Client::on_data(net::Connection&, ByteView data) {
    Answers& out = server_->begin_batch();
    const std::size_t used = read_on(data, out);
    send(out);
    // Frees the memory of the last command of an idle client.
    if (!reader_.within()) reader_.release();
    if (!killed_) {
        count_input();
        if (closing_ && !holds()) connection_->finish();
    }
    server_->end_batch();
    // A client that leaves is read no further, so its last bytes are dropped.
    return closing_ || killed_ ? data.size() : used;
}

// The bytes of `data` that it used. A client that waits for an element is read however much it
// sends, because its end would not be noticed otherwise: the element would be lost, and its place
// taken for ever. Bytes above the connection's limit are kept here, except the last one, which
// the connection delivers again when the client goes on.
std::size_t Client::read_on(ByteView data, Answers& out) {
    if (!behind_.empty()) behind_ += data;
    const ByteView all = behind_.empty() ? data : ByteView(behind_).substr(behind_used_);
    ByteView in = all;
    read_commands(in, out);
    if (behind_.empty()) {
        if (!blocked_ || in.size() <= blocked_unread_bytes_max) return data.size() - in.size();
        behind_ = in.substr(0, in.size() - 1);
        return data.size() - 1;
    }
    if (in.empty() || closing_ || killed_) {
        behind_ = {};
        behind_used_ = 0;
        return data.size();
    }
    behind_used_ += all.size() - in.size();
    behind_.pop_back();
    // RateLimited, so that commands which go on in small steps do not move the rest each time.
    if (behind_used_ > behind_.size() / 2) {
        behind_ = behind_.substr(behind_used_);  // in a block of its own size
        behind_used_ = 0;
    }
    return data.size() - 1;
}

void Client::count_input() {
    // What the reader keeps for the next command is small, and no fault of a client whose
    // commands are whole: it is served however much others hold.
    std::size_t held = reader_.within() ? reader_.held_bytes() : 0;
    if (transaction_ != nullptr) held += transaction_->queue_bytes + transaction_->watched_bytes;
    if (subscriptions_ != nullptr) held += subscriptions_->bytes;
    held += blocked_bytes_ + behind_.size() + name.size();
    input_.shrink_to(held);
    input_.grow_to(held);
}

// Perhaps in a call of another client, whose input passed the limit.
void Client::refuse_input() {
    closing_ = true;
    server_->blocked().forget(*this);
    server_->unwatch(*this);
    server_->unsubscribe_all(*this);
    end_transaction();
    reader_.release();
    behind_ = {};
    behind_used_ = blocked_bytes_ = 0;
    name.clear();
    input_.shrink_to(0);
    send("-ERR too many bytes of incomplete commands, of all clients\r\n");
    if (!holds()) connection_->finish();
}

void Client::read_commands(ByteView& in, Answers& out) {
    while (!in.empty() && !closing_ && !killed_) {
        if (must_wait()) {
            if (!blocked_) connection_->set_reading(false);
            return;
        }
        const resp::Progress progress = reader_.read(in);
        if (progress == resp::Progress::more) return;  // the reader keeps what there is
        if (progress == resp::Progress::fault) {
            refuse(out);
            return;
        }
        executing_ = true;
        server_->execute(*this, reader_.arguments(), reader_.encoded(), out);
        executing_ = false;
        out.append(pushed_);
        if (out.bytes() >= batch_bytes_max) send(out);
    }
}

// A client may send all its commands before it reads, as with Redis: they are executed, and the
// answers count in --output-max. Its next commands wait above that much (has_backlog), and while
// much is held for a sync.
bool Client::must_wait() const {
    return blocked_ || connection_->has_backlog() ||
           held_.bytes() + in_flight_.bytes() > held_bytes_high;
}

// In Redis's words. The reader cannot find the next command, so the connection ends.
void Client::refuse(Answers& out) {
    closing_ = true;
    // Without an answer, as from Redis: a browser must not show one as a page.
    if (reader_.fault() == resp::Fault::foreign_protocol) return server_->report_foreign(*this);
    std::string text = "ERR Protocol error: " + std::string(to_string(reader_.fault()));
    if (reader_.fault() == resp::Fault::bulk_expected) {
        text = "ERR Protocol error: expected '$', got '" + std::string(1, reader_.found()) + "'";
    } else if (!authenticated_ && reader_.fault() == resp::Fault::too_many_elements) {
        text = "ERR Protocol error: unauthenticated multibulk length";
    } else if (!authenticated_ && reader_.fault() == resp::Fault::bulk_too_large) {
        text = "ERR Protocol error: unauthenticated bulk length";
    }
    resp::Writer(out.text()).error(text);
}

void Client::send(ByteView bytes) {
    if (bytes.empty() || connection_ == nullptr || leaves()) return;
    if (may_send_now()) {
        connection_->write(bytes);
    } else {
        held_.text() += bytes;
    }
}

void Client::send(Answers& answers) {
    if (answers.empty() || connection_ == nullptr || leaves()) return answers.clear();
    if (may_send_now()) {
        answers.send_to(*connection_);
    } else {
        held_.append(answers);
    }
}

// False: answers are held until the log is synced.
bool Client::may_send_now() {
    // Never past held answers, or they would arrive in another order.
    if (!server_->holds_answers() && !holds()) return true;
    if (!std::exchange(waits_for_sync_, true)) server_->wait_for_sync(*this);
    return false;
}

void Client::push(ByteView bytes) {
    // A subscriber that has sent QUIT, among others.
    if (connection_ == nullptr || leaves()) return;
    // It publishes to itself: the answers before this command's are not sent yet, and its own may
    // be in the middle of an array.
    if (executing_) {
        pushed_.text() += bytes;
    } else {
        send(bytes);
    }
    close_if_slow();
}

void Client::push(Answers& message) {
    if (connection_ == nullptr || leaves()) return message.clear();
    if (executing_) {
        pushed_.append(message);
    } else {
        send(message);
    }
    close_if_slow();
}

// A subscriber sends no more commands, so only this keeps its messages from piling up.
void Client::close_if_slow() {
    if (unsent_bytes() > server_->options().subscriber_bytes_max) kill();
}

std::size_t Client::unsent_bytes() const {
    if (connection_ == nullptr) return 0;
    return static_cast<std::size_t>(connection_->queue_bytes()) + held_.bytes() +
           in_flight_.bytes() + pushed_.bytes();
}

std::size_t Client::copied_bytes() const {
    return connection_ != nullptr ? connection_->queue().copied_bytes() : 0;
}

bool Client::leaves() const {
    return killed_ || connection_->closing() || connection_->sending_finished();
}

void Client::kill() {
    if (killed_ || connection_ == nullptr) return;
    killed_ = true;
    // on_close() and the end of this object come later in the turn, so callers may go on.
    connection_->close(net::CloseReason::queue_overflow);
}

void Client::sync_started() {
    in_flight_.append(held_);
    waits_for_sync_ = false;
}

void Client::sync_ended() {
    if (leaves()) return in_flight_.clear();
    in_flight_.send_to(*connection_);
    after_held();
}

void Client::after_held() {
    if (holds()) return;
    if (closing_) {
        // With a peer that has ended there is nothing to wait for once all is sent.
        connection_->peer_finished() ? connection_->close_when_sent() : connection_->finish();
    } else if (stopping_) {
        connection_->close_when_quiet();
    } else {
        resume();
    }
}

void Client::resume() {
    if (killed_ || connection_ == nullptr || must_wait()) return;
    connection_->set_reading(true);
    // Not now: this may be inside on_data() of the same connection.
    connection_->deliver_unread_later();
}

void Client::block(std::size_t command_bytes) {
    blocked_ = true;
    blocked_bytes_ = command_bytes;
}

void Client::unblock(Answers& answer) {
    blocked_ = false;
    blocked_bytes_ = 0;
    count_input();  // it shrank
    send(answer);
    resume();
}

void Client::on_drained(net::Connection&) {
    resume();
}

// It may have ended its direction alone: the answers that wait for the disk are still to be sent.
void Client::on_peer_finished(net::Connection& connection) {
    closing_ = true;
    // As Redis does, treats the end of its input as the end of its waiting.
    server_->blocked().forget(*this);
    if (!holds()) connection.close_when_sent();
}

void Client::on_drain(net::Connection& connection) {
    stopping_ = true;
    if (!holds()) connection.close_when_quiet();
}

void Client::on_close(net::Connection&, net::CloseReason) {
    delete this;
}

}  // namespace kv
