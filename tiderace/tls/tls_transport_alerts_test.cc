// Every type of record in every state of a connection, with lengths and versions that it must not
// have: each is answered by its alert, ends that connection, and no other.
#include <array>
#include <memory>
#include <optional>

#include "tiderace/tls/both_roles_fixture.h"
#include "tiderace/tls/record_cipher.h"
#include "tiderace/tls/traffic_secrets.h"

namespace tiderace::tls {
namespace {

// How far the connection is when the record comes.
enum class State : std::uint8_t { first, in_handshake, established };
constexpr std::array states{State::first, State::in_handshake, State::established};

// The answer to it in each of the three states.
struct Answers {
    std::array<int, 3> server_12, server_13, client_12, client_13;
};
constexpr int nothing = -1;  // it is passed over: there may be a few such before the deadline
constexpr int closed = 0;    // without a word: it is no TLS, or an alert, which is not answered

struct Bad {
    const char* what;
    std::string record;
    Answers answers;
};

std::string record(int type, int version, const std::string& payload) {
    return std::string{static_cast<char>(type), static_cast<char>(version >> 8),
                       static_cast<char>(version), static_cast<char>(payload.size() >> 8U),
                       static_cast<char>(payload.size())} +
           payload;
}

std::vector<Bad> bad_records() {
    const std::string finished = std::string("\x14\0\0\x0c", 4) + "twelve bytes";
    return {
        {"type 0",
         record(0, 0x303, "x"),
         {{{closed, 10, 20}}, {{closed, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"type 24, a heartbeat",
         record(24, 0x303, std::string("\1\x40\0", 3)),
         {{{closed, 10, 20}}, {{closed, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"type 255",
         record(255, 0x303, "x"),
         {{{closed, 10, 20}}, {{closed, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"data",
         record(23, 0x303, "hello, in clear text or not"),
         {{{10, 10, 20}}, {{10, 20, 20}}, {{10, 10, 20}}, {{10, 20, 20}}}},
        {"data of no bytes",
         record(23, 0x303, ""),
         {{{10, 10, 20}}, {{10, 20, 20}}, {{10, 10, 20}}, {{10, 20, 20}}}},
        {"a cipher change of no bytes",
         record(20, 0x303, ""),
         {{{10, nothing, 20}}, {{10, 47, 10}}, {{nothing, nothing, 20}}, {{nothing, 47, 10}}}},
        {"a cipher change of two",
         record(20, 0x303, "\1\1"),
         {{{10, 10, 20}}, {{10, 47, 10}}, {{10, 10, 20}}, {{10, 47, 10}}}},
        {"a cipher change to something else",
         record(20, 0x303, "\2"),
         {{{10, 10, 20}}, {{10, 47, 10}}, {{10, 10, 20}}, {{10, 47, 10}}}},
        {"half an alert",
         record(21, 0x303, "\2"),
         {{{closed, 10, 20}}, {{closed, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"an alert of no bytes",
         record(21, 0x303, ""),
         {{{closed, 10, 20}}, {{closed, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"a handshake record of no bytes",
         record(22, 0x303, ""),
         {{{nothing, nothing, 20}},
          {{nothing, 10, 10}},
          {{nothing, nothing, 20}},
          {{nothing, 10, 10}}}},
        {"a finished that comes too early",
         record(22, 0x303, finished),
         {{{10, 10, 20}}, {{10, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"a message of an unknown type",
         record(22, 0x303, std::string("\x63\0\0\0", 4)),
         {{{10, 10, 20}}, {{10, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"a message that is too long",
         record(22, 0x303, std::string("\1\xff\xff\xff\2", 5)),
         {{{47, 10, 20}}, {{47, 10, 10}}, {{10, 10, 20}}, {{10, 10, 10}}}},
        {"a version of another world",
         record(22, 0x1603, finished),
         {{{closed, 70, 70}}, {{closed, 70, 10}}, {{closed, 70, 70}}, {{closed, 70, 70}}}},
        {"SSL 3's version",
         record(23, 0x300, "x"),
         {{{10, 40, 70}}, {{10, 50, 20}}, {{10, 40, 70}}, {{10, 50, 50}}}},
        {"a length beyond any",
         std::string("\x17\3\3\xff\xff", 5),
         {{{10, 22, 22}}, {{10, 22, 22}}, {{22, 22, 22}}, {{22, 22, 22}}}},
        {"a handshake record beyond any",
         std::string("\x16\3\3\xff\xff", 5),
         {{{22, 22, 22}}, {{22, 10, 22}}, {{22, 22, 22}}, {{22, 10, 10}}}},
        {"the first length beyond all",
         std::string("\x16\3\3\x48\1", 5),
         {{{22, 22, 22}}, {{22, 10, 22}}, {{22, 22, 22}}, {{22, 10, 10}}}},
    };
}

class AlertsTest : public BothRolesTest,
                   public ::testing::WithParamInterface<std::tuple<Role, int>> {
  protected:
    // The alert that answers, 0 for none; -1: the connection goes on.
    int answer_to(const Bad& bad, State state) {
        RawPeer raw = meet();
        world_.settle();
        if (state == State::in_handshake) {
            // A client's hello; a server's first record.
            raw.records_max = 1;
            raw.pump();
            world_.settle();
        } else if (state == State::established) {
            EXPECT_TRUE(run_until([&] { return raw.pump(); }));
            world_.settle();
            raw.pump();
        }
        raw.bytes_max = raw.said();
        raw.below().say(bad.record);
        world_.settle();
        const bool over = role_ == Role::server ? raw.below().over() : ours_->over();
        raw.records_max = SIZE_MAX;
        raw.pump();
        raw.pump();
        const int answer = alert_in(raw);
        raw.below().close();
        if (ours_ != nullptr) ours_->close();
        world_.settle();
        return over ? answer : -1;
    }
    // The alert that OpenSSL read, or the last record in clear text, whatever its version.
    static int alert_in(const RawPeer& raw) {
        if (raw.reason() > SSL_AD_REASON_OFFSET) return raw.reason() - SSL_AD_REASON_OFFSET;
        const std::string& heard = raw.heard_below();
        if (heard.size() < 7) return 0;
        const ByteView last = ByteView(heard).substr(heard.size() - 7);
        const bool fatal =
            last[0] == 21 && last[1] == 3 && last.substr(3, 3) == ByteView("\0\2\2", 3);
        return fatal ? last[6] : 0;
    }
};

// A refusal by OpenSSL has OpenSSL's numbers, which change even between its patch releases: where
// an alert is expected, another one will do.
bool says_the_same(int got, int expected) {
    return got == expected || (got > 0 && expected > 0);
}

TEST_P(AlertsTest, EveryWrongRecordGetsItsAlertAndDisturbsNoOther) {
    const auto [role, version] = GetParam();
    prepare(role, version);
    const auto other = connect();
    other->say("one");
    ASSERT_TRUE(run_until([&] { return other->heard() == "one"; }));
    for (const Bad& bad : bad_records()) {
        for (const State state : states) {
            const auto at = static_cast<std::size_t>(state);
            const Answers& all = bad.answers;
            const int expected =
                (role == Role::server
                     ? (version == TLS1_2_VERSION ? all.server_12 : all.server_13)
                     : (version == TLS1_2_VERSION ? all.client_12 : all.client_13))[at];
            const int got = answer_to(bad, state);
            // Bytes behind our own handshake are ours to refuse.
            const bool ours =
                role == Role::server && version == TLS1_3_VERSION && state == State::established;
            EXPECT_TRUE(ours ? got == expected : says_the_same(got, expected))
                << bad.what << " in state " << at << ": " << got << ", not " << expected;
        }
    }
    other->say("two");
    EXPECT_TRUE(run_until([&] { return other->heard() == "onetwo"; }));
    EXPECT_EQ(server_->size(), 1U);
    EXPECT_EQ(world_.loop().blocks().taken(), 0U);
}

// Records that a peer seals with its application key are ours to open.
class SealedRecordsTest : public BothRolesTest {
  protected:
    // A new connection that has shaken hands.
    std::unique_ptr<RawPeer> meet_13(Role role = Role::server) {
        prepare(role, TLS1_3_VERSION);
        SSL_CTX_set_num_tickets(raw_context_.get(), 0);  // the number of our first record is 0
        secrets() = {};
        SSL_CTX_set_keylog_callback(
            raw_context_.get(), [](const SSL*, const char* line) { secrets().take_line(line); });
        std::unique_ptr<RawPeer> raw(new RawPeer(meet()));
        EXPECT_TRUE(run_until([&] { return raw->pump(); }));
        world_.settle();
        raw->pump();
        EXPECT_TRUE(secrets().complete());
        seals_.emplace(*Suite13::find(SSL_get_current_cipher(raw->ssl())),
                       role == Role::server ? secrets().client : secrets().server,
                       RecordCipher::Direction::seal, 0);
        return raw;
    }
    std::string sealed(ContentType type, const std::string& payload) {
        std::string made(payload.size() + RecordCipher::overhead_bytes, '\0');
        const iovec piece{const_cast<char*>(payload.data()), payload.size()};
        seals_->seal(type, {&piece, 1}, payload.size(), made.data());
        return made;
    }
    // A callback of OpenSSL's without a context of its own fills it.
    static TrafficSecrets& secrets() {
        static TrafficSecrets of_last;
        return of_last;
    }

    std::optional<RecordCipher> seals_;
};

// RFC 8446, 5.4.
TEST_F(SealedRecordsTest, AnEmptyAlertOrHandshakeRecordEndsTheConnectionAsUnexpected) {
    for (const ContentType type :
         {ContentType::alert, ContentType::handshake, ContentType::application_data}) {
        const auto raw = meet_13();
        raw->below().say(sealed(type, ""));
        world_.settle();
        raw->pump();
        const bool is_data = type == ContentType::application_data;  // which may be empty
        EXPECT_EQ(raw->below().over(), !is_data) << static_cast<int>(type);
        EXPECT_EQ(raw->reason(), is_data ? 0 : SSL_R_SSLV3_ALERT_UNEXPECTED_MESSAGE);
        raw->below().close();
        world_.settle();
    }
}

// RFC 8446, 6.1.
TEST_F(SealedRecordsTest, NothingIsReadBehindTheEnd) {
    const auto raw = meet_13();
    const std::string before = sealed(ContentType::application_data, "before");
    const std::string end = sealed(ContentType::alert, std::string("\1\0", 2));
    raw->below().say(before + end + sealed(ContentType::application_data, "behind"));
    world_.settle();
    raw->below().say(sealed(ContentType::application_data, "later"));
    world_.settle();
    EXPECT_EQ(sessions_.received, "before");
    EXPECT_EQ(sessions_.peer_finished, 1);
    raw->below().close();
    world_.settle();
}

// BoringSSL puts the two tickets of a handshake into one record.
TEST_F(SealedRecordsTest, OurClientTakesSeveralMessagesFromOneRecord) {
    const auto raw = meet_13(Role::client);
    const std::string ticket = std::string("\4\0\0\x10\0\0\x0e\x10\0\0\0\0\1n\0\2tt\0\0", 20);
    for (const std::size_t count : {2U, 3U, 40U}) {
        std::string several;
        for (std::size_t i = 0; i < count; ++i) several += ticket;
        raw->below().say(sealed(ContentType::handshake, several));
        world_.settle();
        raw->below().say(sealed(ContentType::application_data, "x"));
        world_.settle();
        EXPECT_FALSE(ours_->over()) << count;
    }
    EXPECT_EQ(heard(), "xxx");
}

INSTANTIATE_TEST_SUITE_P(, AlertsTest,
                         ::testing::Combine(::testing::Values(Role::server, Role::client),
                                            ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION)),
                         [](const auto& tried) {
                             return std::string(std::get<0>(tried.param) == Role::server
                                                    ? "server"
                                                    : "client") +
                                    (std::get<1>(tried.param) == TLS1_2_VERSION ? "_12" : "_13");
                         });

}  // namespace
}  // namespace tiderace::tls
