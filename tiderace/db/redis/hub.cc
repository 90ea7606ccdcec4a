#include "tiderace/db/redis/hub.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <optional>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/db/redis/own_connection.h"
#include "tiderace/task/sleep.h"

namespace tiderace::db::redis {
namespace {

// The table of slots is requested this often at most.
constexpr Duration refresh_pause = 1s;

// "MOVED 3999 127.0.0.1:6381", "ASK 3999 ::1:6381"; a host that is missing is the same one.
struct Redirection {
    bool ask = false;
    std::uint16_t slot = 0;
    std::string address;
};

std::string host_of(const std::string& address) {
    return address.substr(0, address.rfind(':'));
}

std::string address_from(std::string_view host, std::string_view port, const std::string& from) {
    std::string text(host);
    if (host.empty() || host == "?") {
        // An empty host, or "?": the server does not know its own name, but we have reached it
        // (CLUSTER SLOTS).
        text = host_of(from);
    } else if (host.find(':') != host.npos) {
        text = "[" + text + "]";
    }
    return text.append(":").append(port);
}

std::optional<Redirection> redirection_in(std::string_view text, const std::string& from) {
    Redirection found;
    found.ask = text.starts_with("ASK ");
    if (!found.ask && !text.starts_with("MOVED ")) return std::nullopt;
    text.remove_prefix(text.find(' ') + 1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), found.slot);
    const std::size_t space = text.find(' ');
    const std::size_t colon = text.rfind(':');
    if (read.ec != std::errc() || found.slot >= slots || space == text.npos || colon == text.npos ||
        colon < space) {
        return std::nullopt;
    }
    found.address =
        address_from(text.substr(space + 1, colon - space - 1), text.substr(colon + 1), from);
    return found;
}

// A command for this server, whatever its key is. Nothing: it failed.
class NodeCall final : private Call {
  public:
    NodeCall(Node& node, Command command) : Call(std::move(command)), node_(&node) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
        waiter_.suspend(handle);
        node_->accept(*this);
    }
    std::optional<Reply> await_resume() { return std::move(reply_); }

  private:
    void on_reply(resp::Reply reply) override {
        reply_ = reply.copy();
        waiter_.wake();
    }
    void on_failed(const Error&) override { waiter_.wake(); }

    Node* node_;
    std::optional<Reply> reply_;
    task::Waiter waiter_;
};

constexpr std::string_view asking_command = "*1\r\n$6\r\nASKING\r\n";

}  // namespace

Node::Node(Hub& hub, std::string address)
    : hub_(&hub),
      address_(std::move(address)),
      backoff_(hub.settings().options.reconnect_pause, hub.settings().options.reconnect_pause_max) {
}

// Whether the command fits behind bytes that were not sent yet; it fails otherwise.
bool Node::has_room(Call& call, std::uint64_t unsent) {
    const std::size_t max = hub_->settings().options.unsent_bytes_max;
    const std::size_t bytes = call.command().bytes.size();
    if (bytes <= max && unsent <= max - bytes) return true;
    call.fail(Error(Fault::busy, "too much waits to be sent (unsent_bytes_max)"));
    return false;
}

void Node::send(Call& call) {
    call.stop_waiting();
    if (!has_room(call, link_->unsent_bytes())) return;
    // ASKING holds for the next command only (Redis Cluster, "ASK redirection"), so it goes right
    // before it.
    if (std::exchange(call.asking_, false)) link_->send_unasked(asking_command);
    link_->send(call);
}

void Node::accept(Call& call) {
    if (link_ != nullptr) return send(call);
    call.stop_waiting();  // at another node
    if (!has_room(call, hub_->waiting_bytes_)) return;
    call.wait(hub_->waiting_bytes_);
    call.due_ = moment_after(hub_->runner().loop().now(), hub_->settings().options.waiting_timeout);
    waiting_.push_back(call);
    if (!armed()) hub_->runner().loop().arm(*this, waiting_.front().due_);
    // One attempt at a time, for all that wait.
    if (!connecting_) hub_->runner().spawn(connect(Flagged(connecting_)));
}

// An attempt to connect may take longer than a command waits.
void Node::on_expired() {
    core::EventLoop& loop = hub_->runner().loop();
    const Error late(Fault::connection_lost, "no connection in time (waiting_timeout)");
    fail_waiting(late, loop.now());
    if (!waiting_.empty()) loop.arm(*this, waiting_.front().due_);
}

bool Node::on_error_reply(Call& call, resp::Reply reply) {
    return hub_->redirect(*this, call, reply.text());
}

void Node::on_lost(std::vector<Call*> unanswered, const Error& why) {
    link_.reset();
    for (Call* const call : unanswered) {
        // A command that changes something may have been done. After a time-out not even a read is
        // sent again, because the server may only be slow.
        const bool again = call->command().reads && why.kind() == Fault::connection_lost &&
                           call->resends_ < Hub::resends_max;
        if (!again) {
            call->fail(outcome_of(*call, why));
            continue;
        }
        ++call->resends_;
        ++hub_->counters_.resent;
        accept(*call);
    }
}

Reserve& Node::own() {
    if (own_ == nullptr) {
        const Options& options = hub_->settings().options;
        const ReserveOptions limits{.connections_max = options.connections_max,
                                    .waiting_max = options.waiting_max,
                                    .connect_timeout = options.connect_timeout,
                                    .reconnect_pause = options.reconnect_pause,
                                    .reconnect_pause_max = options.reconnect_pause_max,
                                    .check_after = options.check_after};
        auto make = [settings = hub_->settings_, address = address_] {
            return std::make_unique<OwnConnection>(settings, address);
        };
        own_ = std::make_unique<Reserve>(hub_->runner(), limits, std::move(make));
    }
    return *own_;
}

void Node::fail_waiting(const Error& why, Instant due_until) {
    while (!waiting_.empty() && waiting_.front().due_ <= due_until) {
        waiting_.pop_front().fail(why);
    }
}

// Why there is no link; nothing: there is one.
task::Task<std::optional<Error>> Node::attempt() {
    const Settings& settings = hub_->settings();
    try {
        link_ = co_await open_link(
            settings.place, address_, settings.options,
            moment_after(hub_->runner().loop().now(), settings.options.connect_timeout));
    } catch (const Error& error) {
        co_return error;
    } catch (const std::exception& fault) {  // such as a lack of memory
        co_return Error(Fault::connection_lost, fault.what());
    }
    co_return std::nullopt;
}

task::Task<> Node::connect(Flagged) {
    core::EventLoop& loop = hub_->runner().loop();
    while (!waiting_.empty()) {
        // After a failure the loop leaves the server alone for a while.
        if (next_attempt_ > loop.now()) co_await task::sleep_until(next_attempt_);
        if (waiting_.empty()) break;
        const std::optional<Error> failure = co_await attempt();
        if (!failure) {
            ++hub_->counters_.opened;
            backoff_.reset();
            link_->observe(this);
            // A send may lose the link at once.
            while (!waiting_.empty() && link_ != nullptr) send(waiting_.pop_front());
            break;
        }
        ++hub_->counters_.failed;
        const Duration pause = backoff_.next();
        next_attempt_ = moment_after(loop.now(), pause);
        // A wrong password stays wrong.
        if (failure->kind() == Fault::configuration) {
            fail_waiting(*failure, Instant::max());
        } else {
            IntrusiveList<Call> left;
            while (!waiting_.empty()) {
                Call& call = waiting_.pop_front();
                if (!hub_->leave_node(*this, call)) left.push_back(call);
            }
            waiting_.splice_back(left);
            fail_waiting(*failure, next_attempt_);
        }
    }
}

Hub::Hub(task::Runner& runner, const std::shared_ptr<const Settings>& settings)
    : runner_(&runner), settings_(std::make_shared<const Settings>(*settings)), handles_(settings) {
    nodes_.push_back(std::make_unique<Node>(*this, settings_->place.address()));
}

bool Hub::left() const {
    return handles_.expired() && commands_ == 0 && !refreshing_ &&
           std::ranges::all_of(nodes_, [](const auto& each) { return each->unused(); });
}

Hub::Counters Hub::counters() const {
    Counters counters = counters_;
    counters.commands = commands_;
    counters.nodes = nodes_.size();
    return counters;
}

void Hub::submit(Call& call) {
    const Options& options = settings_->options;
    if (commands_ >= options.commands_max) {
        return call.fail(Error(Fault::busy, "too many commands are on their way (commands_max)"));
    }
    if (call.command().bytes.size() > options.unsent_bytes_max) {
        return call.fail(Error(Fault::parameters, "a command larger than unsent_bytes_max"));
    }
    call.counter_ = &commands_;
    ++commands_;
    node_for(call.command()).accept(call);
}

Node& Hub::node_for(const Command& command) {
    // No redirection has come: a server that stands alone, which is the usual case.
    if (slots_ == nullptr || !command.has_key) return *nodes_.front();
    Node* const known = (*slots_)[slot_of(command.key())];
    return known != nullptr ? *known : *nodes_.front();
}

Node& Hub::node_of(std::string_view key) {
    Node* const known = slots_ != nullptr && !key.empty() ? (*slots_)[slot_of(key)] : nullptr;
    return known != nullptr ? *known : *nodes_.front();
}

// nullptr: there would be too many.
Node* Hub::node_at(const std::string& address) {
    for (const auto& each : nodes_) {
        if (each->address() == address) return each.get();
    }
    // The addresses come from servers, which must not make us keep any number of nodes.
    if (nodes_.size() >= settings_->options.nodes_max) {
        // One that no slot leads to and nothing uses.
        const auto unused = [&](const auto& each) {
            return each != nodes_.front() && each->idle() &&
                   std::ranges::find(*slots_, each.get()) == slots_->end();
        };
        if (slots_ == nullptr || std::erase_if(nodes_, unused) == 0) return nullptr;
    }
    nodes_.push_back(std::make_unique<Node>(*this, address));
    return nodes_.back().get();
}

bool Hub::redirect(Node& from, Call& call, std::string_view text) {
    const auto found = redirection_in(text, from.address());
    if (!found) return false;
    // Two servers may each send us to the other while a slot moves.
    if (call.redirects_ >= redirects_max) {
        call.fail(Error(Fault::busy, "the cluster redirects again and again"));
        return true;
    }
    ++call.redirects_;
    ++counters_.redirected;
    if (slots_ == nullptr) {
        slots_ = std::make_unique<Slots>();
        slots_->fill(nullptr);
    }
    Node* const to = node_at(found->address);
    if (to == nullptr) {
        call.fail(Error(Fault::configuration, "the cluster has more servers than nodes_max"));
        return true;
    }
    call.asking_ = found->ask;
    // MOVED: the slot has moved for good. ASK: only this key has, while the slot is being moved.
    if (!found->ask) {
        (*slots_)[found->slot] = to;
        refresh_soon(*to);
    }
    to->accept(call);
    return true;
}

// The other servers of a cluster know which one took the place of a dead one.
bool Hub::leave_node(Node& dead, Call& call) {
    if (slots_ == nullptr || call.redirects_ >= redirects_max) return false;
    // Its slots then lead to the first node, which redirects.
    std::ranges::replace(*slots_, &dead, static_cast<Node*>(nullptr));
    auto other = std::ranges::find_if(
        nodes_, [&](const auto& each) { return each.get() != &dead && each->link_ != nullptr; });
    if (other == nodes_.end()) {  // one without a connection, whose last attempt did not fail
        const Instant now = runner_->loop().now();
        other = std::ranges::find_if(nodes_, [&](const auto& each) {
            return each.get() != &dead && each->next_attempt_ <= now;
        });
    }
    if (other == nodes_.end()) return false;
    ++call.redirects_;
    (*other)->accept(call);
    return true;
}

void Hub::refresh_soon(Node& from) {
    const Instant now = runner_->loop().now();
    if (refreshing_ || (refreshed_ != Instant() && now - refreshed_ < refresh_pause)) return;
    // Counted from the request, so that a silent server is not queried in every turn.
    refreshed_ = now;
    runner_->spawn(refresh(from, Flagged(refreshing_)));
}

task::Task<> Hub::refresh(Node& from, Flagged) {
    const std::string address = from.address();  // the node may be gone once the reply is here
    NodeCall call(from, make_command("CLUSTER", "SLOTS"));
    const std::optional<Reply> table = co_await call;
    // Without it the redirections go on, one for each slot.
    if (table && table->view().is_aggregate()) learn(address, table->view());
}

// [[first, last, [host, port, id …], replicas …], …]
void Hub::learn(const std::string& from, resp::Reply table) {
    for (const resp::Reply range : table) {
        const auto first = range[0].integer();
        const auto last = range[1].integer();
        const resp::Reply master = range[2];
        const auto port = master[1].integer();
        if (!first || !last || !port || *first < 0 || *last >= slots || *first > *last) continue;
        // The master, which alone takes changes; replicas are not used.
        Node* const node = node_at(address_from(master[0].text(), std::to_string(*port), from));
        if (node == nullptr) continue;
        for (auto slot = static_cast<std::size_t>(*first); slot <= static_cast<std::size_t>(*last);
             ++slot) {
            (*slots_)[slot] = node;
        }
    }
}

Hub& Hubs::of(const std::shared_ptr<const Settings>& settings) {
    for (const auto& each : all_) {
        if (each->has(settings)) return *each;
    }
    // Or a program that opens one for each request would keep a connection for each.
    std::erase_if(all_, [](const auto& each) { return each->left(); });
    all_.push_back(std::make_unique<Hub>(*runner_, settings));
    return *all_.back();
}

}  // namespace tiderace::db::redis
