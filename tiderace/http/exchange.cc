#include "tiderace/http/exchange.h"

#include <string>
#include <utility>
#include <vector>

#include "tiderace/base/check.h"
#include "tiderace/core/deadline.h"
#include "tiderace/http/exchange_registry.h"
#include "tiderace/http/request_buffer.h"
#include "tiderace/http/site_loop.h"

namespace tiderace::http {
namespace {

constexpr std::string_view too_late = "The answer took too long.";

}  // namespace

// State that few exchanges need.
struct Exchange::Waiting final : core::Deadline {
    struct Callback final : AbandonObserver {
        explicit Callback(unique_function<void()> c) : call(std::move(c)) {}
        void on_abandoned() override { call(); }
        unique_function<void()> call;
    };

    explicit Waiting(Exchange& e) : exchange(&e) {}
    ~Waiting() override { leave_registry(); }

    // Other threads reach the exchange by its id in the registry; without it, calls are counted
    // misses.
    void leave_registry() {
        if (registry != nullptr) std::exchange(registry, nullptr)->leave(id);
    }
    void on_passed() override { exchange->on_deadline(status); }

    Exchange* exchange;
    int status = 503;
    std::vector<std::unique_ptr<Callback>> callbacks;
    std::shared_ptr<ExchangeRegistry> registry;  // where it has an id
    SlotId id;
};

Exchange::Exchange() = default;
Exchange::~Exchange() {
    leave_flight();
}

void Exchange::end_flight() {
    --*std::exchange(in_flight_, nullptr);
}

Exchange::Waiting& Exchange::waiting() {
    if (waiting_ == nullptr) waiting_ = std::make_unique<Waiting>(*this);
    return *waiting_;
}

void Exchange::report_misuse(std::string_view what) {
    if (log::Logger* log = loop().log()) {
        log->error("http", "a call was ignored", log::field("why", what),
                   log::field("path", request_.path));
    }
}

void Exchange::report_unsendable() {
    if (log::Logger* log = loop().log()) {
        log->error("http", "an answer could not be sent",
                   log::field("why",
                              "its status is none, a field of its head has a control "
                              "character or a bad name, or the head is longer than 32 KiB"),
                   log::field("path", request_.path));
    }
}

void Exchange::log_exception(std::string_view thrower) noexcept {
    if (site_ != nullptr) return site_->exceptions().write(*this, thrower);
    core::log_exception(loop().log(), "http", thrower);
}

// --- the answer ------------------------------------------------------------------------------

void Exchange::respond(Response& response) {
    loop().assert_on_loop();
    if (abandoned_) return;
    if (responded_) return report_misuse("the request was answered before");
    write(response);
}

void Exchange::write(Response& response) {
    // First, so that a filter or source that throws finds the answer taken, and cannot give
    // another.
    responded_ = true;
    turned_away_ = response.turned_away();
    bool begun = false;
    if (contain("a filter or the answer's body", [&] {
            // Again behind the filters: one of them may have set another source.
            response.attach_source(*this);
            if (site_ != nullptr) site_->filter(*this, response);
            response.attach_source(*this);
            if (response.cookie_fault() != wire::CookieFault::none) log_cookie_fault(response);
            // RFC 9110, 15.3.6. Unlike 204, it has a length, which is 0.
            if (response.status() == 205) response.drop_body();
            response.share_large_body();
            begun = true;
            send(response);
        })) {
        return;  // and it may be gone
    }
    // A head may be out already, and a second answer behind it would be taken for another
    // request's.
    if (begun) return break_connection();
    Response fault(500);
    // Without filters: one of them may be what threw.
    if (!contain("the answer", [&] { send(fault); })) break_connection();
}

void Exchange::log_cookie_fault(const Response& response) {
    if (log::Logger* const log = loop().log()) {
        log->error("http", "a cookie was not set",
                   log::field("why", to_string(response.cookie_fault())));
    }
}

task::Runner* Exchange::runner() const {
    return site_ != nullptr ? site_->runner() : nullptr;
}

void Exchange::respond_status(int status) {
    Response response(status);
    respond(response);
}

void Exchange::answer_over_head(int status, ByteView sentence) {
    loop().assert_on_loop();
    log::Logger* const log = loop().log();
    // Kept on this stack: the observers are called when the answer is out, and by then the exchange
    // may be gone.
    const std::unique_ptr<Waiting> waiting = std::move(waiting_);
    AbandonObservers observers;
    observers.splice_back(observers_);
    abandoned_ = true;
    fail_receiver();
    Response response(status);
    if (!sentence.empty()) {
        response.explain(sentence);
        response.add(wire::FieldName::content_type, "text/plain; charset=utf-8");
        response.set_body(std::string(sentence) + "\n");
    }
    write(response);  // and it may be gone
    tell(waiting.get(), observers, log);
}

void Exchange::fail() {
    retire(std::move(receiver_));
    if (abandoned_) return;
    // A part of the answer is with the client, so its end has to look like a fault.
    responded_ ? break_off() : answer_over_head(500, {});
}

void Exchange::on_deadline(int status) {
    // An observer may drop the last reference that a handler holds.
    const core::Ref<Exchange> self(this);
    if (responded_ || abandoned_) return;  // there is nothing to answer
    if (!contain("an answer that is late", [&] { answer_over_head(status, too_late); })) {
        break_connection();
    }
}

void Exchange::reset_answer() {
    responded_ = deferred_ = abandoned_ = over_ = false;
    site_ = nullptr;
    tree_ = {};
    selection_ = {};
    chain_ = nullptr;
    matched_ = nullptr;
    handler_ = nullptr;
    rules_done_ = parameters_.count = 0;
    attachments_ = {};
    origin_.clear();
    observers_.clear();
    waiting_.reset();
    receiver_.reset();
    body_bytes_max_ = 0;
    empty_pulls_ = 0;
    head_at_ = {};
    refusal_ = wire::Refusal::none;
    turned_away_ = wire::TurnedAway::no;
}

void Exchange::attach(core::Ref<Attachment> one) {
    one->next_ = std::move(attachments_);
    attachments_ = std::move(one);
}

Attachment* Exchange::attached(const void* key) const {
    for (Attachment* one = attachments_.get(); one != nullptr; one = one->next_.get()) {
        if (one->key_ == key) return one;
    }
    return nullptr;
}

void Exchange::resume() {
    TR_CHECK(site_ != nullptr, "a request that goes on has a site");
    site_->resume(*this);
}

// --- waiting exchanges -----------------------------------------------------------------------

core::Ref<Exchange> Exchange::defer() {
    deferred_ = true;
    return core::Ref<Exchange>(this);
}

ExchangeHandle Exchange::handle() {
    loop().assert_on_loop();
    // The end was reported already: a handle could reach nothing.
    if (abandoned_ || over_) return {};
    TR_CHECK(site_ != nullptr, "an exchange without a site has no handle");
    deferred_ = true;
    Waiting& waits = waiting();
    if (waits.registry == nullptr) {
        waits.registry = site_->registry(loop());
        waits.id = waits.registry->enter(*this);
    }
    return {waits.registry, waits.id};
}

bool Exchange::observe(AbandonObserver& observer) {
    if (abandoned_ || over_) return false;
    observers_.push_back(observer);
    return true;
}

void Exchange::on_abandoned(unique_function<void()> callback) {
    if (abandoned_ || over_) return;
    Waiting& waits = waiting();
    waits.callbacks.push_back(std::make_unique<Waiting::Callback>(std::move(callback)));
    observers_.push_back(*waits.callbacks.back());
}

void Exchange::set_deadline(Instant when, int status) {
    loop().assert_on_loop();
    if (abandoned_ || responded_) return;
    Waiting& waits = waiting();
    waits.status = status;
    when == Instant::max() ? waits.disarm() : waits.arm(loop(), when);
}

void Exchange::stop_waiting() {
    leave_flight();
    attachments_ = {};
    observers_.clear();
    waiting_.reset();
    over_ = true;
}

void Exchange::abandon() {
    leave_flight();
    abandoned_ = true;
    const std::unique_ptr<Waiting> waiting = std::move(waiting_);
    AbandonObservers observers;
    observers.splice_back(observers_);
    tell(waiting.get(), observers, loop().log());
}

// The exchange may be gone, so this uses only what its caller has on the stack.
void Exchange::tell(Waiting* waiting, AbandonObservers& observers, log::Logger* log) {
    if (waiting != nullptr) waiting->leave_registry();
    while (!observers.empty()) {
        AbandonObserver& observer = observers.pop_front();
        core::contain(log, "http", "an observer", [&] { observer.on_abandoned(); });
    }
}

// --- bodies ----------------------------------------------------------------------------------

void Exchange::receive_body(std::unique_ptr<BodyReceiver> receiver, std::uint64_t bytes_max) {
    loop().assert_on_loop();
    if (receiver_ != nullptr) return report_misuse("the body has a receiver");
    // After an answer the connection reads on by itself, and the body may be dropped already.
    if (responded_ && !abandoned_) return report_misuse("the body was requested after the answer");
    receiver_ = std::move(receiver);
    body_bytes_max_ = bytes_max;
    abandoned_ ? fail_receiver() : start_body();
}

void Exchange::set_client(const core::Address& client, bool is_secure) {
    origin_.show(request_, client);
    request_.secure = is_secure;
    request_.trusts_id = true;
}

void Exchange::withdraw_body() {
    retire(std::move(receiver_));
}

// Destroys it: not while a call of it is on the stack.
void Exchange::retire(std::unique_ptr<BodyReceiver> receiver) {
    if (receiver != nullptr && receiver.get() == called_) retired_ = std::move(receiver);
}

bool Exchange::give_body(ByteView bytes) {
    BodyReceiver& receiver = *receiver_;
    called_ = &receiver;
    const bool sound = contain("a body receiver", [&] {
        // Under a sanitizer each call gets bytes of its own, so that a view kept beyond it is
        // found.
        if constexpr (poisons_old_views) {
            receiver.on_body(*this, std::string(bytes));  // gone on return
        } else {
            receiver.on_body(*this, bytes);
        }
    });
    receiver_returned(sound);
    return receiver_ != nullptr;
}

void Exchange::give_trailer(ByteView name, ByteView value) {
    BodyReceiver& receiver = *receiver_;
    called_ = &receiver;
    const bool sound = contain("a body receiver", [&] { receiver.on_trailer(*this, name, value); });
    receiver_returned(sound);
}

void Exchange::receiver_returned(bool sound) {
    called_ = nullptr;
    retired_.reset();
    if (!sound) fail();
    if (waits_for_handler()) respond_status(500);  // withdrawn, so no code is left to answer
}

void Exchange::end_receiver() {
    const std::unique_ptr<BodyReceiver> receiver = std::move(receiver_);
    if (!contain("a body receiver", [&] { receiver->on_body_end(*this); })) return fail();
    if (waits_for_handler()) respond_status(500);
}

void Exchange::fail_receiver() {
    std::unique_ptr<BodyReceiver> receiver = std::move(receiver_);
    if (receiver == nullptr) return;
    abandoned_ = true;  // the receiver cannot answer any more
    contain("a body receiver", [&] { receiver->on_body_failed(*this); });
    retire(std::move(receiver));
}

BodySource::State Exchange::pull(BodySource& source, core::SendQueue& out) {
    auto state = BodySource::State::failed;
    contain("a body source", [&] {
        const auto given = source.pull(loop().blocks(), out, BodySource::pull_bytes);
        // A connection pulls until its queue is full, which a source without bytes never fills.
        const bool is_empty = given == BodySource::State::more && out.empty();
        empty_pulls_ = is_empty ? empty_pulls_ + 1 : 0;
        if (empty_pulls_ < BodySource::empty_pulls_max) {
            state = given;
            return;
        }
        empty_pulls_ = 0;
        // A full mailbox leaves `failed`.
        if (loop().post([self = core::Ref<Exchange>(this)] { self->body_ready(); })) {
            state = BodySource::State::wait;
        }
    });
    return state;
}

}  // namespace tiderace::http
