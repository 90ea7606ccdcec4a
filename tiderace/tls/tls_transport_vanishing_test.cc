// The peer vanishes at every step of the handshake and of what follows: our side as server and as
// client, in full and resumed, with client certificates and without.
#include <set>

#include "tiderace/tls/both_roles_fixture.h"

namespace tiderace::tls {
namespace {

enum class Visit : std::uint8_t { full, resumed, with_certificates };

struct Case {
    const char* name;
    Role role;
    int version;
    Visit visit;
};

class VanishingTest : public BothRolesTest, public ::testing::WithParamInterface<Case> {
  protected:
    // One side says hello, the other echoes; as far as the peer's bytes go.
    void talk(RawPeer& raw) {
        bool said = false;
        if (ours_ != nullptr) ours_->say("hello");
        for (int i = 0; i < 6; ++i) {
            const bool done = raw.pump();
            if (done && role_ == Role::server && !std::exchange(said, true)) raw.say("hello");
            if (done && role_ == Role::client && !raw.plain().empty() &&
                !std::exchange(said, true)) {
                raw.say(raw.plain());
            }
            world_.settle();
        }
    }
    // For the resumed visits: what a first one leaves. Our client keeps it by itself.
    void take_session() {
        RawPeer raw = meet();
        talk(raw);
        raw.pump();
        if (role_ == Role::server) session_.reset(SSL_get1_session(raw.ssl()));
        raw.end();
        raw.below().close();
        world_.settle();
    }
    // Every byte of each record's header, its first and its last, and some between.
    static std::set<std::size_t> places(const RawPeer& whole) {
        constexpr std::size_t between = 11;
        std::set<std::size_t> all;
        for (std::size_t record = 0, at = 0; at < whole.said(); ++record) {
            for (std::size_t i = 0; i <= Records::header_bytes + 1; ++i) all.insert(at + i);
            const std::size_t next = whole.first_records(record + 1);
            for (; at < next; at += between) all.insert(at);
            all.insert(next - 1);
            at = next;
        }
        all.erase(all.lower_bound(whole.said()), all.end());
        return all;
    }
};

TEST_P(VanishingTest, ThePeerMayGoAtAnyByteAndNothingIsLeft) {
    const Case& its = GetParam();
    resumes_ = its.visit == Visit::resumed;
    prepare(its.role, its.version, its.visit == Visit::with_certificates);
    const auto other = connect();
    other->say("one");
    ASSERT_TRUE(run_until([&] { return other->heard() == "one"; }));
    if (its.visit == Visit::resumed) take_session();
    RawPeer whole = meet();
    talk(whole);
    ASSERT_TRUE(heard().ends_with("hello"));
    ASSERT_EQ(SSL_session_reused(whole.ssl()), its.visit == Visit::resumed ? 1 : 0);
    whole.below().close();
    world_.settle();

    const std::uint64_t gone_before = counters().failures(HandshakeFailure::peer_gone);
    const std::uint64_t done_before = counters().done();
    const std::set<std::size_t> all = places(whole);
    for (const std::size_t bytes : all) {
        const std::size_t closed_before = sessions_.closed.size();
        RawPeer raw = meet();
        raw.bytes_max = bytes;
        talk(raw);
        bytes % 2 == 0 ? raw.below().close() : raw.below().reset();
        world_.settle();
        if (its.role == Role::server) {
            ASSERT_EQ(sessions_.closed.size(), closed_before + 1) << bytes;
            EXPECT_EQ(sessions_.closed.back(), net::CloseReason::peer_reset) << bytes;
        } else {
            ASSERT_TRUE(ours_->over()) << bytes;
            EXPECT_FALSE(ours_->ended()) << bytes;
            EXPECT_EQ(ours_->error(), -ECONNRESET) << bytes;
            ours_->close();
        }
    }
    // Each was one or the other, and nothing else was ever wrong.
    const std::uint64_t gone = counters().failures(HandshakeFailure::peer_gone) - gone_before;
    EXPECT_EQ(gone + counters().done() - done_before, all.size());
    EXPECT_GT(gone, 10U);
    EXPECT_LT(gone, all.size());

    other->say("two");
    EXPECT_TRUE(run_until([&] { return other->heard() == "onetwo"; }));
    EXPECT_EQ(server_->size(), 1U);
    EXPECT_EQ(world_.loop().blocks().taken(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    , VanishingTest,
    ::testing::Values(
        Case{"server_12", Role::server, TLS1_2_VERSION, Visit::full},
        Case{"server_13", Role::server, TLS1_3_VERSION, Visit::full},
        Case{"server_12_resumed", Role::server, TLS1_2_VERSION, Visit::resumed},
        Case{"server_13_resumed", Role::server, TLS1_3_VERSION, Visit::resumed},
        Case{"server_12_certificates", Role::server, TLS1_2_VERSION, Visit::with_certificates},
        Case{"server_13_certificates", Role::server, TLS1_3_VERSION, Visit::with_certificates},
        Case{"client_12", Role::client, TLS1_2_VERSION, Visit::full},
        Case{"client_13", Role::client, TLS1_3_VERSION, Visit::full},
        Case{"client_12_resumed", Role::client, TLS1_2_VERSION, Visit::resumed},
        Case{"client_13_resumed", Role::client, TLS1_3_VERSION, Visit::resumed},
        Case{"client_12_certificates", Role::client, TLS1_2_VERSION, Visit::with_certificates},
        Case{"client_13_certificates", Role::client, TLS1_3_VERSION, Visit::with_certificates}),
    [](const auto& tried) { return tried.param.name; });

}  // namespace
}  // namespace tiderace::tls
