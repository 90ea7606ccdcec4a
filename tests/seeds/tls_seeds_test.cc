// A static site over TLS, and clients that are OpenSSL alone, in every weather: what each hears is
// the beginning of the right answers in their order, and an end in order is never a cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/seeds/fake_talk.h"
#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"
#include "tests/seeds/tls_talker.h"
#include "tiderace/base/check.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/tls/server_context.h"
#include "tiderace/tls/ssl_records.h"
#include "tiderace/tls/ssl_settings.h"
#include "tiderace/tls/tls_transport.h"

namespace tiderace::testing {
namespace {

SSL_CTX* client_context(bool newest) {
    static const tls::SslContextPtr both[2]{tls::SslContextPtr(SSL_CTX_new(TLS_client_method())),
                                            tls::SslContextPtr(SSL_CTX_new(TLS_client_method()))};
    SSL_CTX_set_max_proto_version(both[0].get(), TLS1_2_VERSION);
    return both[newest ? 1 : 0].get();
}

// The common part of all seeds, made once: keys and certificates cost more than a seed.
class Shared {
  public:
    static Shared& get() {
        static Shared made;
        return made;
    }
    tls::ServerOptions options() const {
        tls::ServerOptions made;
        made.certificates = {files_};
        made.reload_check = Duration::zero();
        made.tickets = tickets_;
        return made;
    }
    SSL_CTX* server_context() { return server_context_.get(); }
    // Taken from an undisturbed connection, to be resumed in any other.
    tls::SslSessionPtr& session(bool of_context, bool newest) {
        return sessions_[of_context ? 1 : 0][newest ? 1 : 0];
    }

  private:
    Shared()
        : tickets_(std::make_shared<tls::TicketShare>(Duration::max())),
          server_context_(SSL_CTX_new(TLS_server_method())) {
        // The leaf certificate alone: its chain is not what these scenarios test.
        files_ = Authority().issue(folder_, "server");
        std::ostringstream text;
        text << std::ifstream(files_.certificate).rdbuf();
        const std::string chain = text.str();
        const std::string_view end = "-----END CERTIFICATE-----\n";
        folder_.write("server.pem", chain.substr(0, chain.find(end) + end.size()));
        SSL_CTX* context = server_context_.get();
        TR_CHECK(tls::apply_settings(context).has_value());
        SSL_CTX_use_certificate_file(context, files_.certificate.c_str(), SSL_FILETYPE_PEM);
        SSL_CTX_use_PrivateKey_file(context, files_.key.c_str(), SSL_FILETYPE_PEM);
        SSL_CTX_set_keylog_callback(context, &tls::SslRecords::on_key_log);
        SSL_CTX_set_num_tickets(context, 1);
    }

    TemporaryFolder folder_;
    tls::CertificateFiles files_;
    std::shared_ptr<tls::TicketShare> tickets_;
    tls::SslContextPtr server_context_;
    tls::SslSessionPtr sessions_[2][2];
};

// TLS on the connections of one world: by a ServerContext, as the program has it, or, in most of
// the seeds, by what costs a third: its transports alone, over an SSL_CTX that all worlds share.
class Layer final : public net::TransportLayer, public tls::Endpoint {
  public:
    Layer(FakeWorld& world, bool of_context, std::size_t steps_per_turn_max)
        : parts_(world.loop(), steps_per_turn_max, 10s) {
        if (!of_context) return;
        tls::ServerOptions options = Shared::get().options();
        options.handshakes_per_turn_max = steps_per_turn_max;
        context_ = std::move(*tls::ServerContext::create(world.loop(), options));
    }
    std::unique_ptr<net::Transport> wrap(std::unique_ptr<net::Transport> below) override {
        if (context_ != nullptr) return context_->wrap(std::move(below));
        return std::make_unique<tls::TlsTransport>(*this, std::move(below));
    }

  private:
    tls::LoopParts& parts() override { return parts_; }
    tls::SslPtr make_ssl() override {
        tls::SslPtr ssl(SSL_new(Shared::get().server_context()));
        SSL_set_accept_state(ssl.get());
        return ssl;
    }
    std::string_view known_protocol(std::string_view) const override { return {}; }
    std::string_view plain_http_answer() const override { return {}; }

    std::unique_ptr<tls::ServerContext> context_;
    tls::LoopParts parts_;
};

// A session to resume; the first caller connects to get one.
SSL_SESSION* session_of(bool of_context, bool newest) {
    tls::SslSessionPtr& session = Shared::get().session(of_context, newest);
    if (session != nullptr) return session.get();
    FakeWorld world;
    Layer layer(world, of_context, 1);
    HttpSite site(world, {}, {});
    site.server().listen(world.listen(), &layer);
    TlsTalker talker(world.connect_fake(), client_context(newest), nullptr);
    talker.say(all_asked().front().request);
    world.run_until([&] {
        talker.pump();
        return !talker.heard().empty();
    });
    session.reset(SSL_SESSION_dup(tls::SslSessionPtr(talker.session()).get()));
    return session.get();
}

enum class Ending : std::uint8_t { finish, cut, close, reset, none, count_ };

struct TlsClient {
    std::unique_ptr<TlsTalker> talker;
    std::vector<const Asked*> asked;
    std::string text;
    Ending ending = Ending::finish;
    bool gave_up = false;
    bool resumes = false;

    bool done() const { return gave_up || talker->peer().over() || talker->peer().refused(); }
};

void plan_talk(FakeWorld& world, Random& random, TlsClient& client) {
    FakeNetwork& network = world.network();
    Instant when = world.clock().now() + std::chrono::milliseconds(random.below(200));
    for (std::size_t from = 0; from < client.text.size();) {
        const std::size_t bytes = 1 + random.below(client.text.size() - from);
        network.at(when, [&client, from, bytes] {
            if (!client.gave_up) client.talker->say(ByteView(client.text).substr(from, bytes));
        });
        from += bytes;
        when += std::chrono::milliseconds(random.below(60));
    }
    client.ending = static_cast<Ending>(random.below(static_cast<std::uint64_t>(Ending::count_)));
    network.at(when + std::chrono::milliseconds(random.below(300)), [&client] {
        client.gave_up = client.ending == Ending::close || client.ending == Ending::reset;
        if (client.ending == Ending::finish) client.talker->finish();
        if (client.ending == Ending::cut) client.talker->peer().finish();
        if (client.ending == Ending::close) client.talker->peer().close();
        if (client.ending == Ending::reset) client.talker->peer().reset();
    });
}

void start(FakeWorld& world, Random& random, std::vector<TlsClient>& clients, bool of_context) {
    for (TlsClient& client : clients) {
        const std::vector<Asked>& all = all_asked();
        for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
            client.asked.push_back(&all[random.below(all.size())]);
            client.text += client.asked.back()->request;
            if (client.asked.back()->last) break;
        }
        const bool newest = random.chance(3, 4);
        client.resumes = random.chance(7, 8);
        client.talker =
            std::make_unique<TlsTalker>(world.connect_fake(), client_context(newest),
                                        client.resumes ? session_of(of_context, newest) : nullptr);
        client.talker->peer().set_saying_pace(random_pace(random, 1, 3'000));
        client.talker->peer().set_hearing_pace(random_pace(random, 500, 3'000));
        plan_talk(world, random, client);
    }
}

void tls_site(FakeWorld& world, Random& random) {
    const bool quiet = is_quiet(world);
    const bool of_context = random.chance(1, 16);
    Layer layer(world, of_context, 1 + random.below(4));
    std::vector<TlsClient> clients(random.chance(1, 4) ? 2 : 1);
    HttpSite site(world, {}, {});
    site.server().listen(world.listen(), &layer);
    start(world, random, clients, of_context);
    const auto pump = [&] {
        for (TlsClient& client : clients) {
            if (!client.gave_up) client.talker->pump();
        }
    };
    const bool early = serve_and_drain(world, random, site.server(), [&] {
        pump();
        return std::ranges::all_of(clients, [](const TlsClient& c) { return c.done(); });
    });
    pump();
    for (TlsClient& client : clients) {
        const bool whole = quiet && !early && client.ending == Ending::finish;
        EXPECT_EQ(fault_in(client.talker->heard(), client.asked, whole), "");
        EXPECT_TRUE(!whole || client.talker->ended());
        EXPECT_TRUE(!client.talker->established() || client.talker->resumed() == client.resumes);
    }
}

TEST(TlsSeeds, Site) {
    run_seeds(tls_site, {.one_in_sanitized = 20});
}

}  // namespace
}  // namespace tiderace::testing
