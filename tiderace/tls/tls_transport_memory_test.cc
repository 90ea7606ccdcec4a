// Memory that runs out inside a handshake or a transport: that connection ends, and no other.
#include <openssl/crypto.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "tiderace/log/doorbell.h"
#include "tiderace/log/ring_fixture.h"
#include "tiderace/tls/server_fixture.h"

namespace tiderace::tls {
namespace {

// OpenSSL's allocations in this program. While `armed`, the one after `left` others fails, once.
struct OpensslMemory {
    bool armed = false;
    std::size_t left = 0;
    bool failed = false;
    std::size_t largest = 0;  // while armed

    bool fails(std::size_t bytes) {
        if (armed) largest = std::max(largest, bytes);
        if (!armed || failed) return false;
        failed = left == 0;
        --left;
        return failed;
    }
} openssl_memory;

// Before OpenSSL's first allocation, or it does not take them.
const bool is_installed =
    CRYPTO_set_mem_functions(
        [](std::size_t bytes, const char*, int) {
            return openssl_memory.fails(bytes) ? nullptr : std::malloc(bytes);
        },
        [](void* old, std::size_t bytes, const char*, int) {
            return openssl_memory.fails(bytes) ? nullptr : std::realloc(old, bytes);
        },
        [](void* memory, const char*, int) { std::free(memory); }) == 1;

class MemoryTest : public ServerTest {
  protected:
    MemoryTest() { world_.loop().set_log(&logger_); }
    ~MemoryTest() override { world_.loop().set_log(nullptr); }

    // At most one line, for a second has room for no more. OpenSSL reports some of its failures as
    // others, of which there is none.
    bool is_logged() {
        const std::string lines = log::take_all(ring_);
        time_.ms += 1'000;
        EXPECT_LE(std::ranges::count(lines, '\n'), 1) << lines;
        return lines.find("by=\"a TLS connection\" what=std::bad_alloc") != std::string::npos;
    }

    // The server's part alone: the client's SSL works between the turns.
    void serve_without_allocation(std::size_t number) {
        openssl_memory.left = number;
        openssl_memory.failed = false;
    }
    void turn() {
        openssl_memory.armed = true;
        world_.settle();
        openssl_memory.armed = false;
    }
    // A handshake, an echo, a new key, another echo. False: it ended before.
    bool talks(RawPeer& client) {
        bool asked = false;
        for (int round = 0; round < 20; ++round) {
            turn();
            const bool done = client.pump();
            if (client.plain() == "xy") return true;
            if (client.reason() != 0 || client.ended() ||
                (client.below().ended() || client.below().was_reset()))
                return false;
            if (done && client.plain().empty() && round < 10) client.say("x");
            if (client.plain().empty()) continue;
            if (std::exchange(asked, true)) continue;
            if (SSL_version(client.ssl()) == TLS1_3_VERSION) {
                SSL_key_update(client.ssl(), SSL_KEY_UPDATE_REQUESTED);
            }
            client.say("y");
        }
        return false;
    }

    struct Time final : log::TimeSource {
        std::int64_t unix_ms() override { return ms; }
        std::int64_t ms = 1'000'000;
    };
    log::Doorbell bell_;
    log::Ring ring_{64_KiB, bell_};
    Time time_;
    log::Logger logger_{ring_, time_};
};

TEST_F(MemoryTest, EachAllocationOfOpensslMayFail) {
    if (!is_installed) GTEST_SKIP() << "this OpenSSL allocates before main";
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        const SslContextPtr context = raw_context(version, version);
        std::size_t ended = 0, logged = 0;
        std::size_t number = 0;
        for (bool failed = true; failed; number += number < 100 ? 1 : 5) {
            ASSERT_LT(number, 20'000u);
            {
                RawPeer client = raw(context.get());
                serve_without_allocation(number);
                const bool good = talks(client);
                failed = openssl_memory.failed;
                EXPECT_TRUE(good || failed) << number;
                if (!good) ++ended;
                if (is_logged()) ++logged;
            }
            world_.settle();
            world_.advance(20s);
            ASSERT_EQ(server_->size(), 0u) << number;
        }
        EXPECT_GT(ended, 20u);  // it was not all in vain
        EXPECT_GT(logged, ended / 2) << ended;
        openssl_memory.failed = true;  // none fails from here on
        RawPeer client = raw(context.get());
        EXPECT_TRUE(talks(client));
        client.end();
        world_.settle();
    }
}

// OpenSSL's own layer takes the records of TLS 1.2, and returns its buffers between them.
TEST_F(MemoryTest, AConnectionOfTls12ThatRunsOutIsLogged) {
    if (!is_installed) GTEST_SKIP() << "this OpenSSL allocates before main";
    const SslContextPtr context = raw_context(TLS1_2_VERSION, TLS1_2_VERSION);
    std::size_t ended = 0, logged = 0;
    for (std::size_t number = 0; true; ++number) {
        ASSERT_LT(number, 100u);
        openssl_memory.failed = true;  // none fails in the handshake
        {
            RawPeer client = raw(context.get());
            ASSERT_TRUE(shakes_hands(client));
            serve_without_allocation(number);
            client.say("x");
            for (int round = 0; round < 4; ++round) {
                turn();
                client.pump();
            }
            if (!openssl_memory.failed) break;
            if (client.plain() != "x") {
                ++ended;
                if (is_logged()) ++logged;
            }
        }
        world_.settle();
        world_.advance(20s);
    }
    EXPECT_GT(ended, 0u);
    EXPECT_EQ(logged, ended);
}

// Its first is for the SSL itself.
TEST_F(MemoryTest, AnSslThatCannotBeMadeEndsItsConnectionAtOnce) {
    if (!is_installed) GTEST_SKIP() << "this OpenSSL allocates before main";
    const SslContextPtr context = raw_context();
    RawPeer client = raw(context.get());
    client.pump();
    serve_without_allocation(0);
    turn();
    EXPECT_TRUE(openssl_memory.failed);
    EXPECT_EQ(server_->size(), 0u);
    EXPECT_EQ(failures(HandshakeFailure::no_memory), 1u);
    EXPECT_LT(world_.elapsed(), 1s);
}

// A hello announces its length in its first bytes. Ten thousand peers may send no more than these.
TEST_F(MemoryTest, AHelloTakesNothingOfOpensslBeforeItIsWhole) {
    if (!is_installed) GTEST_SKIP() << "this OpenSSL allocates before main";
    openssl_memory.failed = true;  // none fails
    serve();
    const ByteView longest("\x16\3\1\0\4\1\2\0\0", 9);
    testing::TransportPeer liar(world_.loop(), reach());
    testing::TransportPeer slow(world_.loop(), reach());
    openssl_memory.largest = 0;
    liar.say(longest);
    slow.say(ByteView("\x16\3\1\0\x9\1\0\2\0\3\3", 11));
    turn();
    EXPECT_EQ(openssl_memory.largest, 0U);
    EXPECT_EQ(liar.heard(), ByteView("\x15\3\3\0\2\2\x2f", 7));
    EXPECT_TRUE(liar.over());
    EXPECT_FALSE(slow.over());
    EXPECT_EQ(failures(HandshakeFailure::bad_message), 1U);
}

// The second hello, which answers a HelloRetryRequest, is no other.
TEST_F(MemoryTest, ASecondHelloTakesNothingBeforeItIsWhole) {
    if (!is_installed) GTEST_SKIP() << "this OpenSSL allocates before main";
    openssl_memory.failed = true;  // none fails
    const SslContextPtr context = raw_context(TLS1_3_VERSION);
    const std::string longest("\x16\3\3\0\4\1\2\0\0", 9);
    // Right behind the first, or after the answer; before it what may precede it.
    for (const bool at_once : {true, false}) {
        for (const std::string& before : {std::string(), std::string("\x14\3\3\0\1\1", 6)}) {
            RawPeer client = raw(context.get());
            ASSERT_EQ(SSL_set1_groups_list(client.ssl(), "P-521:X25519"), 1);
            client.pump();
            if (!at_once) world_.settle();
            client.below().say(before + longest);
            openssl_memory.largest = 0;
            turn();
            EXPECT_LT(openssl_memory.largest, 64_KiB) << at_once;
            EXPECT_TRUE(client.heard_below().ends_with(ByteView("\x15\3\3\0\2\2\x2f", 7)));
            EXPECT_TRUE(client.below().over());
        }
    }
}

TEST_F(MemoryTest, ASessionThatRunsOutEndsItsConnectionAlone) {
    const SslContextPtr context = raw_context();
    RawPeer other = raw(context.get());
    ASSERT_TRUE(shakes_hands(other));
    RawPeer client = raw(context.get());
    ASSERT_TRUE(shakes_hands(client));
    sessions_.on_data = [](net::Connection& connection, ByteView data) {
        if (data == "too much") throw std::bad_alloc();
        connection.write(data);
        return data.size();
    };
    client.say("too much");
    EXPECT_TRUE(run_until([&] {
        client.pump();
        return (client.below().ended() || client.below().was_reset());
    }));
    other.say("still here");
    EXPECT_TRUE(run_until([&] { return other.pump() && other.plain() == "still here"; }));
    EXPECT_EQ(server_->size(), 1u);
}

}  // namespace
}  // namespace tiderace::tls
