// A static site over TLS, and clients that are OpenSSL alone, in every weather: what each hears is
// the beginning of the right answers in their order, and an end in order is never a cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/seeds/http_site.h"
#include "tests/seeds/seed_runner.h"
#include "tests/seeds/tls_talker.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::testing {
namespace {

// Made once: keys cost more than seeds.
const tls::CertificateFiles& certificate() {
    static const TemporaryFolder folder;
    static const tls::CertificateFiles files = Authority().issue(folder, "server");
    return files;
}

SSL_CTX* client_context(bool newest) {
    static const tls::SslContextPtr both[2]{tls::SslContextPtr(SSL_CTX_new(TLS_client_method())),
                                            tls::SslContextPtr(SSL_CTX_new(TLS_client_method()))};
    SSL_CTX_set_max_proto_version(both[0].get(), TLS1_2_VERSION);
    return both[newest ? 1 : 0].get();
}

enum class Ending : std::uint8_t { finish, cut, close, reset, none, count_ };

struct Client {
    std::unique_ptr<TlsTalker> talker;
    std::vector<const Asked*> asked;
    std::string text;
    Ending ending = Ending::finish;
    bool gave_up = false;

    bool done() const { return gave_up || talker->peer().over() || talker->peer().refused(); }
};

void plan_talk(FakeWorld& world, Random& random, Client& client) {
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

// Slow, but done long before the scenario is.
FakePeer::Pace random_pace(Random& random, std::size_t least) {
    if (random.chance(2, 3)) return {};
    return {.bytes = least + random.below(3'000),
            .every = std::chrono::microseconds(random.below(20'000))};
}

void start(FakeWorld& world, Random& random, std::vector<Client>& clients) {
    for (Client& client : clients) {
        const std::vector<Asked>& all = all_asked();
        for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
            client.asked.push_back(&all[random.below(all.size())]);
            client.text += client.asked.back()->request;
            if (client.asked.back()->last) break;
        }
        client.talker = std::make_unique<TlsTalker>(world.connect_fake(),
                                                    client_context(random.chance(3, 4)), nullptr);
        client.talker->peer().set_saying_pace(random_pace(random, 1));
        client.talker->peer().set_hearing_pace(random_pace(random, 500));
        plan_talk(world, random, client);
    }
}

void site(FakeWorld& world, Random& random) {
    const FaultPlan& plan = world.network().plan();
    const bool quiet = plan.describe() == FaultPlan{.seed = plan.seed}.describe();
    tls::ServerOptions options;
    options.certificates = {certificate()};
    options.handshakes_per_turn_max = 1 + random.below(4);
    auto context = tls::ServerContext::create(world.loop(), options);
    ASSERT_TRUE(context) << context.error().message();
    std::vector<Client> clients(1 + random.below(3));
    HttpSite site(world, {}, {});
    site.server().listen(world.listen(), context->get());
    start(world, random, clients);
    const bool early = random.chance(1, 4);  // the server stops in the middle of it
    const Instant stop =
        world.clock().now() + std::chrono::milliseconds(early ? random.below(500) : 5min / 1ms);
    const auto pump = [&] {
        for (Client& client : clients) {
            if (!client.gave_up) client.talker->pump();
        }
    };
    world.run_until([&] {
        pump();
        return world.clock().now() >= stop ||
               std::ranges::all_of(clients, [](const Client& c) { return c.done(); });
    });
    bool drained = false;
    site.server().drain(world.loop().now() + 10s, [&] { drained = true; });
    EXPECT_TRUE(world.run_until([&] {
        pump();
        return drained;
    }));
    EXPECT_EQ(site.server().size(), 0U);
    world.settle();
    world.advance(10min);  // slow peers hear the rest
    pump();
    for (Client& client : clients) {
        const bool whole = quiet && !early && client.ending == Ending::finish;
        EXPECT_EQ(fault_in(client.talker->heard(), client.asked, whole), "");
        EXPECT_TRUE(!whole || client.talker->ended());
    }
}

TEST(TlsSeeds, Site) {
    run_seeds(site, {.one_in = 20});
}

}  // namespace
}  // namespace tiderace::testing
