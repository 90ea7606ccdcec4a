#include "tiderace/http/app/session.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include "tiderace/base/ascii.h"
#include "tiderace/base/moment.h"
#include "tiderace/base/random.h"
#include "tiderace/http/app/cookies.h"
#include "tiderace/http/wire/query.h"
#include "tiderace/http/wire/sha256.h"
#include "tiderace/task/frame_pool.h"

namespace tiderace::http {
namespace {

constexpr char session_key = 0;
constexpr std::size_t id_random_bytes = 32;
constexpr unsigned tries_max = 32;
// The value of a session that is not the handlers'.
constexpr std::string_view csrf_value = "tiderace.csrf";

// To the end, also behind a wrong character: so the compiler looks at many at once.
bool is_id(std::string_view text) {
    constexpr std::size_t digits = 2 * id_random_bytes;
    if (text.size() != digits) return false;
    unsigned wrong = 0;
    for (std::size_t i = 0; i < digits; ++i) {
        const auto c = static_cast<unsigned char>(text[i]);
        const unsigned no_digit = static_cast<unsigned char>(c - '0') > 9;
        const unsigned no_letter = static_cast<unsigned char>(c - 'a') > 5;
        wrong |= no_digit & no_letter;
    }
    return wrong == 0;
}

std::string key_of(std::string_view id) {
    // Reading the store gives no usable id (session_store.h).
    return hex_text(wire::sha256(id));
}

}  // namespace

//  no id -- make() --> id -- replace_id() --> replaced -- the store took it out --> no id
//   |                   |                                                            |
//   +-- load(): found --+-- the store has none: another request ended it ------------+
//
// A request has one record, which the rule attaches and all Session arguments share. Its values are
// what the store has: a change is made in a copy, which replaces them once it is saved.
class Session::Record final : public Attachment {
  public:
    using Values = std::map<std::string, std::string, std::less<>,
                            task::FrameAllocator<std::pair<const std::string, std::string>>>;
    enum class Client : std::uint8_t { keeps, has_to_keep, has_to_forget };

    Record(SessionStore& s, const SessionOptions& o, core::EventLoop& l)
        : Attachment(&session_key), store(&s), options(&o), loop(&l) {}

    // What a request changes, over the values that it has read or another request has written.
    struct Edit {
        std::string name;
        std::optional<std::string> value;  // nullopt: it is erased
        bool keeps_other = false;          // a value that is there already stays
    };

    std::string text_of(const Values& from) const {
        std::string room(SessionStore::data_bytes_max, '\0');
        wire::BoundedText out(room);
        for (const auto& [name, value] : from) {
            if (wire::append_query_pair(out, name, value)) continue;
            throw Problem{.status = 413, .detail = "the session is full"};
        }
        return std::string(out.view());
    }
    // Secrets from before a log-in are worth nothing after it.
    void drop_secrets() {
        values.erase(std::string(csrf_value));
        if (guest_secret.empty()) return;
        guest_secret.clear();
        guest_client = Client::has_to_forget;
    }
    void read(std::string text) {
        std::string room(text.size(), '\0');
        wire::QueryPairs pairs(text, room);
        values.clear();
        while (auto pair = pairs.next()) values.emplace(pair->name, pair->value);
        kept_text = std::move(text);
    }
    UnixSeconds expires() const {
        return loop->unix_now() +
               std::chrono::duration_cast<std::chrono::seconds>(options->lifetime).count();
    }
    // By how much a session may expire early.
    UnixSeconds slack() const {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options->lifetime);
        return seconds.count() / SessionOptions::slides;
    }
    // Another request of the session may write between our look and our writing. Then its values
    // are read, and the change is made in them. Each attempt that is in vain is a change that
    // another one made, so that this ends; the bound is for a store that does not keep its word.
    task::Task<> change(Edit edit) {
        attached.reset();
        const bool is_there = co_await end_replaced();
        if (!is_there) forget();
        for (unsigned tries = 0; tries < tries_max; ++tries) {
            Values changed = values;
            apply(edit, changed);
            // A new session takes over the visitor's secret: pages that are open keep good tokens.
            if (id.empty() && !guest_secret.empty()) {
                changed.emplace(std::string(csrf_value), guest_secret);
            }
            std::string text = text_of(changed);
            if (id.empty()) {
                co_await make(std::move(changed), std::move(text));
                co_return;
            }
            const auto done = co_await store->replace(key_of(id), kept_text, text, expires());
            if (done == SessionStore::Replaced::done) {
                values = std::move(changed);
                kept_text = std::move(text);
                client = Client::has_to_keep;
                co_return;
            }
            if (done == SessionStore::Replaced::gone) forget();
            auto data = co_await store->load(key_of(id), loop->unix_now());
            if (!data) forget();
            read(std::move(data->text));
        }
        throw Problem{.status = 503, .detail = "too many requests change the session at once"};
    }
    static void apply(const Edit& edit, Values& to) {
        if (!edit.value) {
            to.erase(edit.name);
        } else if (!edit.keeps_other) {
            to.insert_or_assign(edit.name, *edit.value);
        } else {
            to.emplace(edit.name, *edit.value);
        }
    }
    // Under a new id.
    task::Task<> make(Values made, std::string text) {
        std::string made_id = random_name(id_random_bytes);
        co_await store->save(key_of(made_id), text, expires());
        // Ours only once the store has it.
        id = std::move(made_id);
        values = std::move(made);
        kept_text = std::move(text);
        client = Client::has_to_keep;
    }
    // Another request has ended the session.
    [[noreturn]] void forget() {
        // The browser may have a new id from that request, so it keeps its cookie.
        id.clear();
        values.clear();
        client = Client::keeps;
        throw Problem{.status = 409, .detail = "another request has ended the session"};
    }
    // The id under which the store has it.
    const std::string& kept_id() const { return id.empty() ? replaced : id; }

    void replace_id() {
        if (!id.empty()) replaced = std::exchange(id, std::string());
        attached.reset();
    }
    // False: another request has ended it. The values are the last ones that it had, so that a new
    // id loses nothing that another request has set meanwhile.
    task::Task<bool> end_replaced() {
        if (replaced.empty()) co_return true;
        auto text = co_await store->take(key_of(replaced));
        replaced.clear();
        client = Client::has_to_forget;
        const bool is_over = std::exchange(ends_values, false);
        if (text && !is_over) {
            read(std::move(*text));
            values.erase(std::string(csrf_value));
        }
        co_return text.has_value();
    }
    task::Task<> load(std::string given, bool keeps_attached) {
        auto data = co_await store->load(key_of(given), loop->unix_now());
        if (!data) {
            // It expired, or we never made it: an unknown id is not taken over (session fixation).
            client = Client::has_to_forget;
            co_return;
        }
        id = std::move(given);
        read(std::move(data->text));
        if (keeps_attached) attached = std::move(data->attached);
        // Slides on with its use, but a request that changes nothing rarely writes.
        if (expires() - data->expires < slack()) co_return;
        const bool is_there = co_await store->prolong(key_of(id), expires());
        if (is_there) {
            client = Client::has_to_keep;
        } else {  // ended since we read it
            id.clear();
            values.clear();
            attached.reset();
        }
    }

    // As short-lived as the frames of its request.
    static void* operator new(std::size_t bytes) { return task::FramePool::allocate(bytes); }
    static void operator delete(void* block, std::size_t bytes) noexcept {
        task::FramePool::free(block, bytes);
    }

    SessionStore* store;
    const SessionOptions* options;
    core::EventLoop* loop;
    std::string id;  // "": it does not exist
    // An id that has to end before anything is saved; "": none. Kept until the store erased it, so
    // that a handler that ignores the failure saves nothing under it.
    std::string replaced;
    Values values;
    std::string kept_text;     // the values, as the store has them
    std::any attached;         // empty once a value changes
    bool ends_values = false;  // with `replaced`: by end()
    bool is_read = false;      // a handler has it
    Client client = Client::keeps;
    // The secret under the tokens of csrf(), while there is no session; "": none.
    std::string guest_secret;
    Client guest_client = Client::keeps;
};

namespace {

task::Task<> load_session(core::Ref<Session::Record> record, std::string id, bool keeps_attached) {
    co_await record->load(std::move(id), keeps_attached);
}

class SessionLayer final : public AccessRule, public ResponseFilter {
  public:
    SessionLayer(std::shared_ptr<SessionStore> store, SessionOptions options, LayerPlace& place)
        : store_(std::move(store)),
          options_(options),
          runner_(&place.runner),
          states_(&place.states),
          timeout_(place.timeout) {}

    Verdict check(Exchange& exchange) override {
        auto record = core::make_ref<Session::Record>(*store_, options_, exchange.loop());
        exchange.attach(record);
        const Cookies cookies(exchange.request());
        const auto secret = cookies.get(guest_name());
        if (secret && is_id(*secret)) record->guest_secret = *secret;
        const auto id = cookies.get(name());
        // An id that we cannot have made is not looked up: strangers' texts cost the store nothing.
        if (!id || !is_id(*id)) return Verdict::pass;
        app_parts::Call call{exchange, *runner_, *states_, "a session",
                             moment_after(exchange.loop().now(), timeout_)};
        using One = app_parts::RuleInvocation<void>;
        // Without a body the handler runs next; behind one it runs whenever the client is done.
        const bool keeps_attached = exchange.request().is_get_or_head();
        One::run<One>(call, load_session(std::move(record), std::string(*id), keeps_attached));
        return Verdict::later;
    }

    void filter(Exchange& exchange, Response& response) override {
        const auto* record = static_cast<Session::Record*>(exchange.attached(&session_key));
        if (record == nullptr) return;
        using Client = Session::Record::Client;
        const bool changes = record->client != Client::keeps;
        const bool changes_guest = record->guest_client != Client::keeps;
        if (changes) {
            const bool keeps = record->client == Client::has_to_keep;
            const auto age = std::chrono::duration_cast<std::chrono::seconds>(options_.lifetime);
            add_cookie(response, {.name = name(),
                                  .value = keeps ? ByteView(record->kept_id()) : ByteView(),
                                  .max_age = keeps ? age.count() : 0});
        }
        if (changes_guest) {
            const bool keeps = record->guest_client == Client::has_to_keep;
            add_cookie(response,
                       {.name = guest_name(),
                        .value = record->guest_secret,
                        .max_age = keeps ? std::optional<std::int64_t>() : std::int64_t{0}});
        }
        // Answers that have nothing to do with the session stay cacheable. A cache would give one
        // visitor's page to others, or to the same browser after its log-out.
        if (!record->is_read && !changes && !changes_guest) return;
        if (!response.find(wire::FieldName::cache_control)) {
            response.add(wire::FieldName::cache_control, "private, no-cache");
        }
    }

  private:
    ByteView name() const { return options_.secure ? "__Host-id" : "id"; }
    ByteView guest_name() const { return options_.secure ? "__Host-csrf" : "csrf"; }
    void add_cookie(Response& response, wire::SetCookie cookie) const {
        cookie.secure = options_.secure;
        std::array<char, 512> memory;
        wire::BoundedText text(memory);
        TR_CHECK(wire::append_set_cookie(text, cookie), "the cookie of a session is valid");
        response.add(wire::FieldName::set_cookie, response.keep(text.view()));
    }

    std::shared_ptr<SessionStore> store_;
    SessionOptions options_;
    task::Runner* runner_;
    const States* states_;
    Duration timeout_;
};

}  // namespace

Middleware sessions(std::shared_ptr<SessionStore> store, SessionOptions options) {
    Middleware made(Middleware::Make([store = std::move(store), options](LayerPlace& place) {
        return Layer(std::make_shared<SessionLayer>(store, options, place));
    }));
    made.leaves = state_key<Session>;
    return made;
}

core::Ref<Session::Record> Session::record() const {
    return core::Ref<Record>(static_cast<Record*>(record_.get()));
}

std::string_view Session::get(std::string_view name) const {
    const auto& values = static_cast<const Record*>(record_.get())->values;
    const auto found = values.find(name);
    return found != values.end() ? std::string_view(found->second) : std::string_view();
}

bool Session::has(std::string_view name) const {
    return static_cast<const Record*>(record_.get())->values.contains(name);
}

bool Session::exists() const {
    return !record()->id.empty() || !record()->replaced.empty();
}

const std::any& Session::attachment() const {
    return record()->attached;
}

task::Task<> Session::set(std::string name, std::string value) {
    // A reference of its own: the exchange may end while the store works.
    const core::Ref<Record> record = this->record();
    const bool is_saved = !record->id.empty();
    if (is_saved && has(name) && get(name) == value) co_return;
    Record::Edit edit{.name = std::move(name), .value = std::move(value)};
    co_await record->change(std::move(edit));
}

task::Task<> Session::erase(std::string name) {
    const core::Ref<Record> record = this->record();
    if (!has(name)) co_return;
    Record::Edit edit{.name = std::move(name), .value = std::nullopt};
    co_await record->change(std::move(edit));
}

// The old id ends before the new one is stored: a failure between them signs the user out, and
// never leaves an id valid that somebody else may know.
task::Task<> Session::renew() {
    const core::Ref<Record> record = this->record();
    record->drop_secrets();
    if (!exists()) co_return;  // the first set() makes a new one anyway
    record->replace_id();
    const bool was_there = co_await record->end_replaced();
    // A session that another request has ended must not come back under another id: the log-in of a
    // second click begins with nothing, and a change of rights after a log-out has no member to
    // change.
    if (!was_there) record->values.clear();
    std::string text = record->text_of(record->values);
    co_await record->make(record->values, std::move(text));
}

task::Task<> Session::end() {
    const core::Ref<Record> record = this->record();
    record->drop_secrets();
    record->values.clear();
    record->replace_id();
    record->ends_values = true;
    // Only after the store has erased it, so that a log-out that failed can be tried again.
    co_await record->end_replaced();
    record->client = Record::Client::has_to_forget;
}

namespace app_parts {

std::string csrf_secret(const Session& session) {
    const bool is_guest = !session.exists();
    const std::string_view secret =
        is_guest ? std::string_view(session.record()->guest_secret) : session.get(csrf_value);
    return is_id(secret) ? std::string(secret) : std::string();
}

task::Task<std::string> ensure_csrf_secret(Session session) {
    std::string secret = csrf_secret(session);
    if (!secret.empty()) co_return secret;
    secret = random_name(id_random_bytes);
    if (session.exists()) {
        const core::Ref<Session::Record> record = session.record();
        // Two pages that are made at once have tokens of one secret.
        Session::Record::Edit edit{
            .name = std::string(csrf_value), .value = std::move(secret), .keeps_other = true};
        co_await record->change(std::move(edit));
        secret = session.get(csrf_value);
    } else {
        session.record()->guest_secret = secret;
        session.record()->guest_client = Session::Record::Client::has_to_keep;
    }
    co_return secret;
}

std::optional<Session> Argument<Session>::find(Call& call) {
    Attachment* const record = call.exchange.attached(&session_key);
    if (record != nullptr) {
        static_cast<Session::Record*>(record)->is_read = true;
        return Session(core::Ref<Attachment>(record));
    }
    call.fail_missing("a handler takes a Session, and no sessions() stands before it");
    return std::nullopt;
}

}  // namespace app_parts
}  // namespace tiderace::http
