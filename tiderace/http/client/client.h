// Client: requests over HTTP/1.1 and HTTP/2. tiderace/client.h begins with an example.
//
//   auto answer = co_await client.get("https://example.org/");
//   if (answer) use(answer->text()); else log(answer.error().message);
//
//   request -> cookies -> [proxy] -> pool: a connection -> the answer -> redirect? again
//                                                       \-> never begun, and may be sent again
//
// Redirects    301, 302 and 303 make a GET of a POST, 307 and 308 keep method and body (RFC 9110,
//              15.4). To another origin go all fields of the request but Authorization, Cookie and
//              Proxy-Authorization: also a key in a field of another name (redirects_max = 0).
//              From https to http: bad_redirect.
// Versions     https: HTTP/2 where the server agrees, and its requests share one connection;
//              ClientResponse::version names it. ClientOptions::versions chooses. A server that
//              resets a request with HTTP_1_1_REQUIRED (RFC 9113, 7) gets it, and all later ones
//              of its origin, over HTTP/1.1.
// Again        A kept connection may have been closed meanwhile. If no byte of an answer came, a
//              request that is idempotent (RFC 9110, 9.2.2) is sent again, on a new one, and so is
//              one that was answered with 408 there; a POST only if that answer ends the
//              connection. Whatever its method: a request of which no byte had left when the kept
//              connection ended or was answered unasked, and one that an HTTP/2 server reports as
//              unprocessed. At most attempts_max times; a body that is a generator is never sent
//              twice.
// Retries      None, unless ClientOptions::retry has some: see retry.h.
// Time         `timeout` is for all of get() and request(), and for open() up to the answer's head;
//              the deadline of the task (task::deadline()) counts as well. Between two reads of a
//              stream no time-out runs, nor read_timeout while the answer is complete and the
//              generator of the request's body is not.
// Codings      gzip, br and zstd, where built in, are accepted and decoded, unless the request has
//              an Accept-Encoding of its own.
//
// Owner    Its maker. It ends after the tasks that use it, and on its loop's thread.
// Thread   One loop's: the one of the first task that uses it. Each loop has its own.
// Errors   A ClientFault; any status is an answer.
// Limits   ClientOptions.
// Keywords: redirect, retry, time-out
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tiderace/core/shared.h"
#include "tiderace/http/client/answer_memory.h"
#include "tiderace/http/client/client_fault.h"
#include "tiderace/http/client/client_metrics.h"
#include "tiderace/http/client/client_pool.h"
#include "tiderace/http/client/client_request.h"
#include "tiderace/http/client/client_response.h"
#include "tiderace/http/client/client_response_stream.h"
#include "tiderace/http/client/cookie_jar.h"
#include "tiderace/http/client/proxy.h"
#include "tiderace/http/client/retry.h"
#include "tiderace/http/client/url.h"
#include "tiderace/task/backoff.h"
#include "tiderace/tcp/tls.h"

namespace tiderace::http {

struct ClientOptions {
    Duration timeout = 30s;                 // for a whole request; see above
    Duration read_timeout = 30s;            // for each read() of a stream
    std::uint64_t body_bytes_max = 16_MiB;  // of a decoded body that is read whole
    // For bodies that are being read whole and the decoders, all together; above: busy. Large
    // bodies in many requests at once need more.
    std::size_t memory_bytes_max = 256_MiB;
    unsigned redirects_max = 10;  // 0: a redirect is an answer as any
    bool cookies = false;         // kept and sent back; they are one user's
    bool compression = true;
    ClientVersions versions = ClientVersions::any;
    bool proxy_from_environment = true;  // http_proxy and others; see proxy.h
    // Where all connections go: "unix:/run/docker.sock", "10.0.0.7:80"; "": where the URL leads. Of
    // the URL remain Host, path and the name in the certificate. No proxy is used.
    std::string connect_to = "";
    std::string user_agent = "tiderace";  // "" for none
    PoolLimits pool = {};
    RetryPolicy retry = {};
    TlsClient tls = {};  // a kept connection keeps what it began with
};

class Client {
  public:
    static constexpr unsigned attempts_max = 16;  // of one request

    // https is verified against the system's roots. (Of tiderace::client.)
    explicit Client(ClientOptions options = {});
    // With TLS of one's own; nullptr: http alone. `http_1_1`: the same, which agrees on HTTP/1.1
    // alone; nullptr: what a server requires over HTTP/1.1 fails.
    Client(std::shared_ptr<const tcp::ClientSecurity> security, ClientOptions options,
           std::shared_ptr<const tcp::ClientSecurity> http_1_1 = nullptr);
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    task::Task<ClientResult<ClientResponse>> get(std::string url);
    task::Task<ClientResult<ClientResponse>> post(std::string url, Content content);
    template <NamelessStruct T>
    task::Task<ClientResult<ClientResponse>> post(std::string url, T&& value) {
        refuse_nameless<T>();
        return post(std::move(url), Content(value));
    }
    task::Task<ClientResult<ClientResponse>> request(ClientRequest request);
    // The answer as soon as its head is there.
    task::Task<ClientResult<ClientResponseStream>> open(ClientRequest request);

    CookieJar& cookies() { return cookies_; }
    // For requests that begin from now on; those on their way keep the ones before. Nothing with
    // ClientOptions::connect_to.
    void set_proxies(Proxies proxies) {
        if (options_.connect_to.empty())
            proxies_ = core::make_ref<SharedProxies>(std::move(proxies));
    }
    const Proxies& proxies() const { return proxies_->all; }
    RetryCounters retries() const { return budget_.counters(); }
    std::shared_ptr<const ClientCounts> counts() const { return counts_; }  // client_metrics.h
    const std::string& connect_to() const { return options_.connect_to; }
    // The memory of answers while they are received, its maximum so far, and the number refused.
    const AnswerMemory& memory() const { return *memory_; }
    // nullptr before the first request.
    ClientPool* pool() { return pool_.get(); }
    // The TLS that agrees on HTTP/1.1 alone; nullptr: none.
    const tcp::ClientSecurity* http_1_1_security() const { return http_1_1_.get(); }

  private:
    struct Journey;
    // The client and the requests that began with these keep them.
    struct SharedProxies final : core::Shared {
        explicit SharedProxies(Proxies proxies) : all(std::move(proxies)) {}
        const Proxies all;
    };

    static bool may_be_sent(const ClientRequest& request);
    ClientPool& pool_here();
    template <typename Made>  // a ClientResponseStream, or a ClientResponse, which is read whole
    task::Task<ClientResult<Made>> travel(ClientRequest asked);
    template <typename Made>
    task::Task<ClientResult<Made>> travel_often(ClientRequest asked);
    template <typename Made>
    task::Task<ClientResult<Made>> begin(ClientRequest asked);
    template <typename Made>
    std::optional<Duration> pause_after(const ClientResult<Made>& made,
                                        task::Backoff& backoff) const;
    OwnedExchange send(Journey& journey, ClientConnection& connection);
    bool goes_again(Journey& journey, const ClientExchange& failed);
    ClientResult<bool> follow(Journey& journey, ClientExchange& exchange);
    bool is_usual(const Journey& journey) const;
    Headers fields_of(const Journey& journey);
    std::string cookies_for(const Url& url);
    void keep_cookies(const Url& url, const Headers& fields);

    ClientOptions options_;
    core::Ref<AnswerMemory> memory_;
    std::shared_ptr<ClientCounts> counts_ = std::make_shared<ClientCounts>();
    RetryBudget budget_;
    UrlMemo urls_;
    Headers usual_fields_;  // of a request that has none of its own and no body
    std::shared_ptr<const tcp::ClientSecurity> security_;
    std::shared_ptr<const tcp::ClientSecurity> http_1_1_;
    core::Ref<SharedProxies> proxies_ = core::make_ref<SharedProxies>(Proxies());
    CookieJar cookies_;
    task::Runner* runner_ = nullptr;
    std::unique_ptr<ClientPool> pool_;
};

}  // namespace tiderace::http
