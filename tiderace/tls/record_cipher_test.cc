#include "tiderace/tls/record_cipher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tiderace::tls {
namespace {

// The suites, by way of what an SSL_CTX knows of them.
class RecordCipherTest : public ::testing::Test {
  protected:
    RecordCipherTest() {
        SSL_CTX_set_ciphersuites(context_.get(),
                                 "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
                                 "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_CCM_SHA256");
        ssl_.reset(SSL_new(context_.get()));
        const STACK_OF(SSL_CIPHER)* all = SSL_get_ciphers(ssl_.get());
        for (int i = 0; i < sk_SSL_CIPHER_num(all); ++i) {
            const Suite13* suite = Suite13::find(sk_SSL_CIPHER_value(all, i));
            if (suite != nullptr) suites_.push_back(suite);
        }
        secret_.fill(0x42);
    }
    std::string sealed(RecordCipher& cipher, ByteView payload) {
        std::string record(payload.size() + RecordCipher::overhead_bytes, '\0');
        const iovec piece{const_cast<char*>(payload.data()), payload.size()};
        cipher.seal(ContentType::application_data, {&piece, 1}, payload.size(), record.data());
        return record;
    }
    // Payload and type, or "(damaged)".
    std::string opened(RecordCipher& cipher, ByteView record) {
        std::string to(record.size(), '\0');
        const std::size_t bytes = cipher.open(record, to.data());
        return bytes == ByteView::npos ? "(damaged)" : to.substr(0, bytes);
    }
    RecordCipher sealer(const Suite13& suite) {
        return {suite, secret_, RecordCipher::Direction::seal, 0};
    }
    RecordCipher opener(const Suite13& suite) {
        return {suite, secret_, RecordCipher::Direction::open, 0};
    }

    SslContextPtr context_{SSL_CTX_new(TLS_server_method())};
    SslPtr ssl_;
    std::vector<const Suite13*> suites_;
    TrafficSecrets::Secret secret_{};
};

TEST_F(RecordCipherTest, KnowsTheThreeSuitesThatWeOffer) {
    EXPECT_EQ(suites_.size(), 3U);
    EXPECT_EQ(Suite13::find(nullptr), nullptr);
}

TEST_F(RecordCipherTest, OpensWhatItSealedAtEveryLength) {
    for (const Suite13* suite : suites_) {
        RecordCipher seal = sealer(*suite);
        RecordCipher open = opener(*suite);
        std::string payload;
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(opened(open, sealed(seal, payload)), payload + '\x17');
            payload += static_cast<char>(i);
        }
    }
}

TEST_F(RecordCipherTest, GathersPiecesOfAnyLength) {
    for (const Suite13* suite : suites_) {
        RecordCipher seal = sealer(*suite);
        RecordCipher open = opener(*suite);
        const std::string text = "The quick brown fox jumps over the lazy dog, twice.";
        for (std::size_t first = 0; first < text.size(); ++first) {
            for (const std::size_t second : {0U, 1U, 7U, 16U}) {
                const std::size_t middle = std::min(second, text.size() - first);
                const std::vector<iovec> pieces{{const_cast<char*>(text.data()), first},
                                                {const_cast<char*>(text.data()) + first, middle},
                                                {const_cast<char*>(text.data()) + first + middle,
                                                 text.size() - first - middle}};
                std::string record(text.size() + RecordCipher::overhead_bytes, '\0');
                seal.seal(ContentType::application_data, pieces, text.size(), record.data());
                ASSERT_EQ(opened(open, record), text + '\x17');
            }
        }
    }
}

TEST_F(RecordCipherTest, SealsInPlace) {
    for (const Suite13* suite : suites_) {
        RecordCipher seal = sealer(*suite);
        RecordCipher open = opener(*suite);
        std::string record(1'000 + RecordCipher::overhead_bytes, 'y');
        const iovec piece{record.data() + RecordCipher::header_bytes, 1'000};
        seal.seal(ContentType::application_data, {&piece, 1}, 1'000, record.data());
        EXPECT_EQ(opened(open, record), std::string(1'000, 'y') + '\x17');
    }
}

TEST_F(RecordCipherTest, RefusesEveryChangedByteAndEveryCut) {
    for (const Suite13* suite : suites_) {
        const std::string record = [&] {
            RecordCipher seal = sealer(*suite);
            return sealed(seal, "hello");
        }();
        for (std::size_t at = 0; at < record.size(); ++at) {
            std::string changed = record;
            changed[at] ^= 1;
            RecordCipher open = opener(*suite);
            EXPECT_EQ(opened(open, changed), "(damaged)") << at;
        }
        for (std::size_t bytes = 0; bytes < record.size(); ++bytes) {
            RecordCipher open = opener(*suite);
            EXPECT_EQ(opened(open, record.substr(0, bytes)), "(damaged)") << bytes;
        }
    }
}

TEST_F(RecordCipherTest, ARecordIsGoodInItsPlaceOnly) {
    RecordCipher seal = sealer(*suites_[0]);
    const std::string first = sealed(seal, "one");
    const std::string second = sealed(seal, "two");
    RecordCipher open = opener(*suites_[0]);
    EXPECT_EQ(opened(open, second), "(damaged)");
    RecordCipher again = opener(*suites_[0]);
    EXPECT_EQ(opened(again, first), "one\x17");
    EXPECT_EQ(opened(again, first), "(damaged)");
}

// Two records under one nonce would give their difference away. Every bit of the sequence number is
// in it, and each in a place of its own.
TEST_F(RecordCipherTest, NoTwoRecordsOfAKeyShareANonce) {
    const auto at = [&](RecordCipher::Direction direction, int bit) {
        const std::uint64_t sequence = bit < 0 ? 0 : std::uint64_t{1} << bit;
        return RecordCipher(*suites_[0], secret_, direction, sequence);
    };
    for (int bit = -1; bit < 64; ++bit) {
        RecordCipher seal = at(RecordCipher::Direction::seal, bit);
        const std::string record = sealed(seal, "one");
        for (int other = -1; other < 64; ++other) {
            RecordCipher open = at(RecordCipher::Direction::open, other);
            EXPECT_EQ(opened(open, record) == "one\x17", bit == other) << bit << ' ' << other;
        }
    }
}

TEST_F(RecordCipherTest, ANewKeyStartsAnew) {
    for (const Suite13* suite : suites_) {
        RecordCipher seal = sealer(*suite);
        RecordCipher open = opener(*suite);
        const std::string before = sealed(seal, "one");
        EXPECT_EQ(opened(open, before), "one\x17");
        seal.update();
        open.update();
        const std::string after = sealed(seal, "one");
        EXPECT_NE(before, after);
        EXPECT_EQ(opened(open, after), "one\x17");
        seal.update();
        EXPECT_EQ(opened(open, sealed(seal, "two")), "(damaged)");
    }
}

TEST_F(RecordCipherTest, WearsOut) {
    RecordCipher fresh(*suites_[0], secret_, RecordCipher::Direction::seal, 0);
    EXPECT_FALSE(fresh.worn_out());
    RecordCipher old(*suites_[0], secret_, RecordCipher::Direction::seal,
                     RecordCipher::records_per_key_max);
    EXPECT_TRUE(old.worn_out());
    old.update();
    EXPECT_FALSE(old.worn_out());
}

}  // namespace
}  // namespace tiderace::tls
