#include "tiderace/http/client/client.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "tiderace/base/moment.h"
#include "tiderace/http/coding/content_decoder.h"
#include "tiderace/http/wire/field_syntax.h"
#include "tiderace/task/sleep.h"
#include "tiderace/task/within.h"

namespace tiderace::http {
namespace {

using Kind = ClientFault::Kind;

std::unexpected<ClientFault> fault(Kind kind, std::string message) {
    return std::unexpected(ClientFault(kind, std::move(message)));
}

bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// Headers about the connection or the framing: a caller's own could end the message elsewhere.
bool is_ours(std::string_view name) {
    static constexpr std::array names{
        "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive",
        "TE",   "Trailer",        "Upgrade",           "Expect",     "Proxy-Connection"};
    return std::ranges::any_of(names,
                               [&](const char* own) { return equals_ignoring_case(name, own); });
}

// Nothing that was to be known before the body, or with it (RFC 9110, 6.5.1).
bool may_be_trailer(const Header& field) {
    static constexpr std::array names{"Authorization", "Cookie", "Content-Type", "Content-Encoding",
                                      "Content-Range"};
    return !is_ours(field.name) && std::ranges::none_of(names, [&](const char* name) {
        return equals_ignoring_case(field.name, name);
    });
}

std::function<Headers()> checked_trailers(const std::function<Headers()>& make) {
    if (!make) return {};
    return [make] {
        Headers made = make();
        if (!made.valid() || !std::ranges::all_of(made, may_be_trailer)) {
            throw std::invalid_argument("a trailer that no message may have");
        }
        return made;
    };
}

// The codings of this build never change, so the text is made once.
const std::string& accepted_codings() {
    static const std::string text = [] {
        const wire::AvailableCodings codings = coding::built_in_decodings();
        std::string made = codings.gzip ? "gzip" : "";
        if (codings.br) made += made.empty() ? "br" : ", br";
        if (codings.zstd) made += made.empty() ? "zstd" : ", zstd";
        return made;
    }();
    return text;
}

void add_own(Headers& fields, const ClientOptions& options, bool asks_coding) {
    if (!options.user_agent.empty()) fields.add("User-Agent", options.user_agent);
    if (asks_coding && !accepted_codings().empty()) {
        fields.add("Accept-Encoding", accepted_codings());
    }
}

// Whether a request that failed may be sent again without being done twice.
bool may_go_again(std::string_view method, const ClientExchange& exchange, bool may_be_stale) {
    using Progress = ClientExchange::Progress;
    // The server itself reported that it did nothing, so these two hold for a POST as well.
    if (exchange.progress() == Progress::unprocessed) return true;
    if (exchange.progress() == Progress::http_1_1_required) return true;
    // On a new connection the server would refuse the next attempt, too.
    if (exchange.progress() == Progress::unsent) return may_be_stale;
    // Otherwise the server may have acted before it failed. On a new connection, a close is what
    // the server does with this request, and a second attempt would meet the same.
    return may_be_stale && exchange.fault()->kind == Kind::closed &&
           exchange.progress() == Progress::untouched && is_idempotent(method);
}

// HTTP/1.0, or Connection: close.
bool ends_connection(ClientExchange& exchange) {
    if (exchange.version() == HttpVersion::http_1_0) return true;
    for (const std::string_view value : exchange.fields().all("Connection")) {
        for (wire::ListReader list(value); list.next();) {
            if (equals_ignoring_case(list.element(), "close")) return true;
        }
    }
    return false;
}

// 408 on a kept connection (RFC 9110, 15.5.9): the server waited too long between two requests, and
// its answer crossed ours. An application may mean itself with that status, and have acted: so for
// a POST, the server has to show that it gives up the connection. HTTP/2 has no need of it.
bool is_late_408(std::string_view method, ClientExchange& exchange, bool may_be_stale) {
    return exchange.status() == 408 && may_be_stale && exchange.version() != HttpVersion::http_2 &&
           (is_idempotent(method) || ends_connection(exchange));
}

// Decoded bytes count, because a few KiB on the wire can decode to gigabytes.
ClientResult<void> append(std::string& body, std::string&& piece, std::uint64_t bytes_max,
                          AnswerShare& memory, const Url& url) {
    const std::size_t bytes = body.size() + piece.size();
    if (bytes > bytes_max) return fault(Kind::too_large, url.text() + ": the body is too large");
    if (!memory.resize(bytes)) return std::unexpected(out_of_answer_memory(url));
    if (body.empty()) {
        body = std::move(piece);  // mostly the only one
    } else {
        body += piece;
    }
    return {};
}

ClientResponse whole_answer(ClientResponseStream&& stream, std::string&& body) {
    ClientResponse answer;
    answer.status = stream.status();
    answer.version = stream.version();
    answer.headers = std::move(stream).take_headers();
    answer.body = std::move(body);
    answer.trailers = std::move(stream).take_trailers();
    return answer;
}

}  // namespace

// A request and where it has led.
struct Client::Journey {
    Journey(ClientRequest& asked, Url& first, core::Ref<SharedProxies> known);

    void go_to(Url&& next) {
        url = std::move(next);
        proxy = proxies->all.find(url);
        stale = 0;
        attempts = 0;
    }

    // It declares the length of its body. Without that, the bytes of a generator would be the
    // server's next request.
    bool has_body() const {
        return streams || form != nullptr || body != nullptr || !type.empty() || method == "POST" ||
               method == "PUT" || method == "PATCH";
    }

    // nullopt: unknown.
    std::optional<std::uint64_t> body_bytes() const {
        if (streams) return request.known_stream_bytes();
        if (form != nullptr) return form_bytes;
        return body != nullptr ? body->size() : 0;
    }

    // It goes to the proxy itself, not through a tunnel.
    bool asks_proxy() const { return proxy != nullptr && !url.secure; }

    ClientRequest& request;  // of the coroutine that leads the journey, as is the URL
    Url& url;                // the present one
    ByteView method;         // the request's, or "GET"
    std::shared_ptr<const std::string> body;    // shared by all attempts; nullptr: none
    ByteView type;                              // the request's; "": none
    std::shared_ptr<const MultipartForm> form;  // the body; nullptr: none
    std::uint64_t form_bytes = 0;
    // Kept by the journey, because `proxy` points into them, and set_proxies() may come meanwhile.
    core::Ref<SharedProxies> proxies;
    const Proxy* proxy = nullptr;  // on the way to `url`
    std::uint64_t stale = 0;       // of the present URL, as are the attempts
    unsigned attempts = 0;
    // What its present connection was before the request began.
    std::uint64_t number = 0;
    bool may_be_stale = false;
    unsigned redirects = 0;
    bool streams = false;      // the body is a generator
    bool sent_stream = false;  // which is gone
    bool own_coding = false;   // Accept-Encoding is the user's
};

Client::Journey::Journey(ClientRequest& asked, Url& first, core::Ref<SharedProxies> known)
    : request(asked),
      url(first),
      method(asked.method_),
      type(asked.content_.type()),
      form(asked.form()),
      proxies(std::move(known)),
      streams(asked.has_generator()),
      // A range of an encoded body cannot be decoded, so we accept no coding then.
      own_coding(asked.fields_.has("Accept-Encoding") || asked.fields_.has("Range")) {
    if (std::string bytes = std::move(asked.content_).take_bytes(); !bytes.empty()) {
        body = std::make_shared<std::string>(std::move(bytes));
    } else if (asked.streamed_ != nullptr) {
        body = asked.streamed_->whole;
    }
    proxy = proxies->all.find(url);
}

Client::Client(std::shared_ptr<const tcp::ClientSecurity> security, ClientOptions options,
               std::shared_ptr<const tcp::ClientSecurity> http_1_1)
    : options_(std::move(options)),
      memory_(core::make_ref<AnswerMemory>(options_.memory_bytes_max)),
      budget_(options_.retry, counts_),
      security_(std::move(security)),
      http_1_1_(std::move(http_1_1)) {
    add_own(usual_fields_, options_, options_.compression);
    if (options_.proxy_from_environment) set_proxies(Proxies::from_environment());
}
Client::~Client() = default;

ClientPool& Client::pool_here() {
    task::Runner* const here = task::Context::here().runner;
    // Made by the first request, because a Client may be constructed before any loop runs, as a
    // state of an App is.
    if (pool_ == nullptr) {
        runner_ = here;
        const ClientPool::Security security{.any = security_.get(), .http_1_1 = http_1_1_.get()};
        pool_ = std::make_unique<ClientPool>(*here, options_.pool, security, options_.versions,
                                             options_.connect_to, counts_);
    }
    TR_CHECK(runner_ == here, "a client is one loop's");
    return *pool_;
}

// A line break in a method or a field would let its author add fields, or a second request. CONNECT
// would make a tunnel, which has no ClientResponse.
bool Client::may_be_sent(const ClientRequest& request) {
    return wire::is_token(request.method_) && std::string_view(request.method_) != "CONNECT" &&
           request.fields_.valid() && wire::is_field_value(request.content_.type()) &&
           (request.form() == nullptr || request.form()->valid());
}

// One coroutine for all attempts at all URLs, and for the body, because each frame costs every
// request.
template <typename Made>
task::Task<ClientResult<Made>> Client::travel(ClientRequest asked) {
    constexpr bool reads_body = std::is_same_v<Made, ClientResponse>;
    const auto late = [&] {
        return fault(Kind::timed_out, asked.url() + (reads_body ? ": no whole answer in time"
                                                                : ": no answer in time"));
    };
    auto url = urls_.parse(asked.url_);
    if (!url) co_return fault(Kind::bad_request, "\"" + asked.url_ + "\" is no http(s) URL");
    if (!may_be_sent(asked)) {
        co_return fault(Kind::bad_request, url->text() + ": no message may hold its fields");
    }
    Journey journey(asked, *url, proxies_);
    ClientPool& pool = pool_here();
    const core::EventLoop& loop = runner_->loop();
    const Instant due = moment_after(loop.now(), asked.timeout_.value_or(options_.timeout));
    if (journey.form != nullptr) {
        const auto bytes = co_await asked.form()->measure();
        if (!bytes) co_return fault(Kind::body_failed, bytes.error().message());
        journey.form_bytes = *bytes;
    }
    while (true) {
        ClientConnection* ready = pool.take_at_once(journey.url, journey.proxy, journey.stale);
        if (ready == nullptr) {
            auto taken = co_await task::within(
                due - loop.now(), pool.take(journey.url, journey.proxy, journey.stale));
            if (!taken) co_return late();
            if (!*taken) co_return std::unexpected(std::move(taken->error()));
            ready = **taken;
        }
        OwnedExchange exchange = send(journey, *ready);
        for (bool in_time = true; exchange->status() == 0 && !exchange->over();) {
            if (!in_time) co_return late();
            in_time = co_await exchange->changed_until(due);
        }
        if (exchange->status() == 0) {
            if (!goes_again(journey, *exchange)) co_return std::unexpected(*exchange->fault());
            continue;
        }
        keep_cookies(journey.url, exchange->fields());
        const auto follows = follow(journey, *exchange);
        if (!follows) co_return std::unexpected(follows.error());
        if (*follows) continue;  // the rest of that answer is not read: its connection closes
        ClientResponseStream stream(std::move(exchange), std::move(journey.url),
                                    options_.read_timeout);
        if (options_.compression && !journey.own_coding && !stream.decode(memory_)) {
            co_return fault(Kind::bad_answer, stream.url().text() + ": a coding not asked for");
        }
        if constexpr (!reads_body) {
            co_return stream;
        } else {
            std::string body;
            AnswerShare share(memory_);
            while (!stream.ended()) {
                std::string piece = stream.take_received();
                if (piece.empty()) {
                    auto read = co_await task::within(due - loop.now(), stream.read());
                    if (!read) co_return late();
                    if (!*read) co_return std::unexpected(std::move(read->error()));
                    if ((*read)->empty()) break;
                    piece = std::move(**read);
                }
                const auto kept =
                    append(body, std::move(piece), options_.body_bytes_max, share, stream.url());
                if (!kept) co_return std::unexpected(kept.error());
            }
            co_return whole_answer(std::move(stream), std::move(body));
        }
    }
}

// How long to wait for the next attempt; nullopt: this result is the caller's.
template <typename Made>
std::optional<Duration> Client::pause_after(const ClientResult<Made>& made,
                                            task::Backoff& backoff) const {
    if (!made) {
        if (!is_worth_a_retry(made.error().kind)) return std::nullopt;
        return backoff.next();
    }
    int status = 0;
    std::string_view wanted;
    if constexpr (std::is_same_v<Made, ClientResponse>) {
        status = made->status;
        wanted = made->header("Retry-After");
    } else {
        status = made->status();
        wanted = made->header("Retry-After");
    }
    if (!is_worth_a_retry(status)) return std::nullopt;
    const Duration after =
        read_retry_after(wanted, runner_->loop().unix_now()).value_or(Duration::zero());
    if (after > options_.retry.retry_after_max) return std::nullopt;
    // Added, so that clients which a server sends away together do not return together.
    return after + backoff.next();
}

template <typename Made>
task::Task<ClientResult<Made>> Client::travel_often(ClientRequest asked) {
    budget_.on_request();
    pool_here();
    const core::EventLoop& loop = runner_->loop();
    const Instant due = std::min(
        moment_after(loop.now(), asked.timeout_.value_or(options_.timeout)), task::deadline());
    task::Backoff backoff(options_.retry.pause, options_.retry.pause_max);
    for (unsigned attempt = 1; true; ++attempt) {
        Duration pause{};
        {
            auto made = co_await travel<Made>(asked.again().timeout(due - loop.now()));
            if (attempt >= options_.retry.attempts_max) co_return made;
            const auto wanted = pause_after(made, backoff);
            if (!wanted || *wanted >= due - loop.now() || !budget_.take()) co_return made;
            pause = *wanted;
        }  // the answer gives its connection back before the pause
        co_await task::sleep(pause);
    }
}

template <typename Made>
task::Task<ClientResult<Made>> Client::begin(ClientRequest asked) {
    const bool may_retry =
        options_.retry.attempts_max > 1 && is_idempotent(asked.method_) && !asked.has_generator();
    return may_retry ? travel_often<Made>(std::move(asked)) : travel<Made>(std::move(asked));
}

task::Task<ClientResult<ClientResponse>> Client::get(std::string url) {
    return begin<ClientResponse>(ClientRequest("GET", std::move(url)));
}

task::Task<ClientResult<ClientResponse>> Client::post(std::string url, Content content) {
    return begin<ClientResponse>(ClientRequest("POST", std::move(url)).content(std::move(content)));
}

task::Task<ClientResult<ClientResponse>> Client::request(ClientRequest request) {
    return begin<ClientResponse>(std::move(request));
}

task::Task<ClientResult<ClientResponseStream>> Client::open(ClientRequest request) {
    return begin<ClientResponseStream>(std::move(request));
}

OwnedExchange Client::send(Journey& journey, ClientConnection& connection) {
    OwnedExchange made(new ClientExchange);
    made->body = journey.body;
    if (journey.streams) {
        made->pieces = std::move(journey.request.streamed_->pieces);
        made->piece_bytes_left = journey.request.known_stream_bytes();
        made->make_trailers = checked_trailers(journey.request.streamed_->trailers);
        journey.sent_stream = true;
    } else if (journey.form != nullptr) {
        made->pieces = MultipartForm::pieces(journey.form);
        made->piece_bytes_left = journey.form_bytes;
    }
    ++journey.attempts;
    // Before the request marks the connection as used, and perhaps ends it.
    journey.number = connection.number();
    journey.may_be_stale = connection.used();
    // An http request is the proxy's own to forward, so it names the whole URL (RFC 9112, 3.2.2).
    const std::string whole = journey.asks_proxy() ? journey.url.text() : std::string();
    const bool usual = is_usual(journey);
    const Headers others = usual ? Headers() : fields_of(journey);
    made->send(*runner_, connection,
               {.method = journey.method,
                .secure = journey.url.secure,
                .authority = connection.authority(),
                .target = whole.empty() ? journey.url.target : whole,
                .fields = usual ? usual_fields_ : others});
    return made;
}

// Whether a request that got no answer is sent once more.
bool Client::goes_again(Journey& journey, const ClientExchange& failed) {
    using Progress = ClientExchange::Progress;
    bool again = may_go_again(journey.method, failed, journey.may_be_stale);
    if (failed.progress() == Progress::http_1_1_required) {
        again &= pool_->fall_back(journey.url, journey.proxy);
    }
    // A generator has given its pieces away by now, so a request with one has a single attempt.
    if (!again || journey.streams || journey.attempts == attempts_max) return false;
    // A server that closes one kept connection has often closed all of them (it restarted, say).
    // Trying each in turn would spend the attempts, so the pool leaves out all that may be as
    // stale.
    const bool was_stale =
        failed.progress() == Progress::untouched || failed.progress() == Progress::unsent;
    if (was_stale) journey.stale = journey.number;
    return true;
}

// Whether another request takes the place of this answer.
ClientResult<bool> Client::follow(Journey& journey, ClientExchange& exchange) {
    const int status = exchange.status();
    if (!journey.streams && is_late_408(journey.method, exchange, journey.may_be_stale)) {
        journey.stale = journey.number;  // so the next connection is new, and its 408 an answer
        return true;
    }
    if (!is_redirect(status) || options_.redirects_max == 0) return false;
    const std::string_view location = exchange.fields().find("Location");
    // A redirect without Location leads nowhere: it is an answer as any other (RFC 9110, 15.4).
    if (location.empty()) return false;
    // One of them may be an attacker's, and other readers follow the other.
    if (exchange.fields().all("Location").size() > 1) {
        return fault(Kind::bad_redirect, journey.url.text() + ": leads to several URLs");
    }
    if (++journey.redirects > options_.redirects_max) {
        return fault(Kind::too_many_redirects, journey.url.text() + ": too many redirects");
    }
    auto next = journey.url.resolve(location);
    if (!next) return fault(Kind::bad_redirect, journey.url.text() + ": leads to no http(s) URL");
    // A server must not be able to lead a secret request into the clear.
    if (journey.url.secure && !next->secure) {
        return fault(Kind::bad_redirect, journey.url.text() + ": leads from https to http");
    }
    // As RFC 9110, 15.4 has it: 303 always, 301 and 302 for POST, as all browsers do; 307 and 308
    // never.
    const bool becomes_get = status == 303
                                 ? journey.method != "HEAD"
                                 : (status == 301 || status == 302) && journey.method == "POST";
    if (becomes_get) {
        journey.method = "GET";
        journey.body.reset();
        journey.form.reset();
        journey.type = {};
        journey.streams = journey.sent_stream = false;
        // Headers that describe a body are removed with it (RFC 9110, 15.4).
        for (const char* name : {"Content-Type", "Content-Encoding", "Content-Language",
                                 "Content-Location", "Content-Digest", "Repr-Digest"}) {
            journey.request.fields_.remove(name);
        }
    }
    // Meant for the first server alone: a redirect may lead to one of a stranger's.
    if (!next->same_origin(journey.url)) {
        for (const char* name : {"Authorization", "Cookie", "Proxy-Authorization"}) {
            journey.request.fields_.remove(name);
        }
    }
    if (journey.sent_stream) {
        return fault(Kind::bad_redirect, next->text() + ": the body cannot be sent twice");
    }
    journey.go_to(std::move(*next));
    return true;
}

// Whether it has no fields but usual_fields_, which are made once.
bool Client::is_usual(const Journey& journey) const {
    const bool may_have_cookies = options_.cookies && cookies_.size() > 0;
    return journey.request.fields_.empty() && !journey.has_body() && !journey.asks_proxy() &&
           !may_have_cookies;
}

Headers Client::fields_of(const Journey& journey) {
    const Headers& own = journey.request.fields_;
    Headers fields;
    fields.reserve(own.size() + 5);  // and those that are added below
    add_own(fields, options_, options_.compression && !journey.own_coding);
    if (!journey.type.empty()) fields.add("Content-Type", journey.type);
    if (const std::string cookies = cookies_for(journey.url); !cookies.empty()) {
        fields.add("Cookie", cookies);
    }
    // An https request goes through a tunnel: the server at its end must not get our credentials.
    if (journey.asks_proxy() && !journey.proxy->authorization.empty()) {
        fields.add("Proxy-Authorization", journey.proxy->authorization);
    }
    // In two passes: the caller's fields replace ours of the same name, and yet several of the
    // caller's own with one name are all sent.
    for (const Header& field : own) {
        if (!is_ours(field.name)) fields.remove(field.name);
    }
    for (const Header& field : own) {
        if (!is_ours(field.name)) fields.add(field.name, field.value);
    }
    if (const auto bytes = journey.body_bytes(); bytes && journey.has_body()) {
        fields.add("Content-Length", std::to_string(*bytes));
    }
    return fields;
}

std::string Client::cookies_for(const Url& url) {
    if (!options_.cookies || cookies_.size() == 0) return {};
    const std::string path = url.path();
    return cookies_.header({url.secure, url.host, path}, runner_->loop().unix_now());
}

void Client::keep_cookies(const Url& url, const Headers& fields) {
    if (!options_.cookies || !fields.has("Set-Cookie")) return;
    const std::string path = url.path();
    for (const std::string_view cookie : fields.all("Set-Cookie")) {
        cookies_.keep({url.secure, url.host, path}, cookie, runner_->loop().unix_now());
    }
}

}  // namespace tiderace::http
