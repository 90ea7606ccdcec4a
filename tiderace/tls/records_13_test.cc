#include "tiderace/tls/records_13.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tiderace/testing/temporary_folder.h"

namespace tiderace::tls {
namespace {

using Event = Records::Event;

// Records13 as the server, and two ciphers as its peer.
class Records13Test : public ::testing::Test {
  protected:
    static const Suite13& suite() {
        static const Suite13* const found = [] {
            const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
            SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256");
            const SslPtr ssl(SSL_new(context.get()));
            return Suite13::find(sk_SSL_CIPHER_value(SSL_get_ciphers(ssl.get()), 0));
        }();
        return *found;
    }
    static TrafficSecrets secrets(std::uint64_t server_wrote = 0) {
        TrafficSecrets made;
        made.client.fill(1);
        made.server.fill(2);
        made.bytes = 32;
        made.server_wrote = server_wrote;
        return made;
    }
    std::string record(ByteView payload, ContentType type = ContentType::application_data) {
        std::string made(payload.size() + RecordCipher::overhead_bytes, '\0');
        const iovec piece{const_cast<char*>(payload.data()), payload.size()};
        peer_out_.seal(type, {&piece, 1}, payload.size(), made.data());
        return made;
    }
    Event open(ByteView in) {
        std::vector<char> plain(20'000);
        const Records::Opened opened = records_.open(in, plain, out());
        received_.append(plain.data(), opened.plain);
        used_ = opened.used;
        return opened.event;
    }
    Out out() { return {.queue = queue_, .pool = pool_}; }
    // The sent records, opened: payload and type of each record, in letters.
    std::vector<std::string> sent() {
        const std::string all = bytes_sent();
        std::vector<std::string> records;
        for (ByteView rest = all; !rest.empty();) records.push_back(opened(rest));
        return records;
    }
    std::string bytes_sent() {
        std::string all;
        iovec piece{};
        while (queue_.gather({&piece, 1}) == 1) {
            all.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
            queue_.consume(piece.iov_len);
        }
        return all;
    }
    // Takes the first record of `rest` from it.
    std::string opened(ByteView& rest) {
        const ByteView one = rest.substr(0, declared_bytes(rest));
        rest.remove_prefix(one.size());
        std::string plain(one.size(), '\0');
        const std::size_t bytes = peer_in_.open(one, plain.data());
        return bytes == ByteView::npos ? "(damaged)" : plain.substr(0, bytes);
    }
    // A connection of its own for another case.
    void renew() {
        records_ = Records13(suite(), secrets());
        peer_out_ = RecordCipher(suite(), secrets().client, RecordCipher::Direction::seal, 0);
        peer_in_ = RecordCipher(suite(), secrets().server, RecordCipher::Direction::open, 0);
        received_.clear();
    }
    static std::string alert(int code) { return {2, static_cast<char>(code), 21}; }

    core::BlockPool pool_;
    core::SendQueue queue_;
    Records13 records_{suite(), secrets()};
    RecordCipher peer_out_{suite(), secrets().client, RecordCipher::Direction::seal, 0};
    RecordCipher peer_in_{suite(), secrets().server, RecordCipher::Direction::open, 0};
    std::string received_;
    std::size_t used_ = 0;
};

const std::string update_asked{"\x18\0\0\1\1", 5};
const std::string update_plain{"\x18\0\0\1\0", 5};

TEST_F(Records13Test, OpensSeveralRecordsInOneGo) {
    std::string three = record("one ");
    three += record("two ");
    three += record("three");
    EXPECT_EQ(open(three), Event::none);
    EXPECT_EQ(received_, "one two three");
}

TEST_F(Records13Test, StopsWhereThereIsNoRoom) {
    const std::string big(15'000, 'x');
    std::string both = record(big);
    both += record(big);
    EXPECT_EQ(open(both), Event::full);
    EXPECT_EQ(used_, both.size() / 2);
    EXPECT_EQ(open(ByteView(both).substr(used_)), Event::none);
    EXPECT_EQ(received_.size(), 30'000U);
}

TEST_F(Records13Test, AnswersWhatIsOutOfPlaceWithItsAlert) {
    const std::string too_long(16'385, 'x');
    const struct {
        const char* what;
        std::string payload;
        ContentType type;
        int alert;
    } cases[] = {
        {"an unknown type", "x", static_cast<ContentType>(99), 10},
        {"a cipher change", "\1", ContentType::change_cipher_spec, 10},
        {"another handshake message", std::string("\1\0\0\0", 4), ContentType::handshake, 10},
        {"two messages in a record", update_plain + update_plain, ContentType::handshake, 10},
        {"a message and a piece of another", update_plain + '\x18', ContentType::handshake, 10},
        {"nothing of a message", "", ContentType::handshake, 10},
        {"an update of no kind", std::string("\x18\0\0\1\2", 5), ContentType::handshake, 47},
        {"an update of no bytes", std::string("\x18\0\0\0", 4), ContentType::handshake, 50},
        {"an update of two", std::string("\x18\0\0\2\0\0", 6), ContentType::handshake, 50},
        {"an update of many", std::string("\x18\1\0\1\0", 5), ContentType::handshake, 50},
        {"a long message's first byte", "\1", ContentType::handshake, 10},
        {"a ticket, from a client", std::string("\4\0\0\1\0", 5), ContentType::handshake, 10},
        {"nothing of an alert", "", ContentType::alert, 10},
        {"half an alert", "\2", ContentType::alert, 50},
        {"an alert with more behind it", "\1\1\1", ContentType::alert, 50},
        {"too much payload", too_long, ContentType::application_data, 22},
    };
    for (const auto& [what, payload, type, code] : cases) {
        renew();
        std::string stream = record("before");
        stream += record(payload, type);
        EXPECT_EQ(open(stream), Event::failed) << what;
        EXPECT_EQ(received_, "before") << what;
        EXPECT_EQ(sent(), std::vector<std::string>{alert(code)}) << what;
    }
}

// RFC 8446, 5.4: of these types no record is empty. Padding does not make one longer.
TEST_F(Records13Test, AnEmptyAlertOrHandshakeRecordIsUnexpected) {
    for (const ContentType type : {ContentType::alert, ContentType::handshake}) {
        for (const std::size_t padding : {0U, 1U, 300U}) {
            SCOPED_TRACE(padding);
            renew();
            const std::string inside = static_cast<char>(type) + std::string(padding, '\0');
            std::string stream = record("before");
            stream += record(inside, static_cast<ContentType>(0));
            EXPECT_EQ(open(stream), Event::failed);
            EXPECT_EQ(received_, "before");
            EXPECT_EQ(used_, stream.size());
            EXPECT_EQ(sent(), std::vector<std::string>{alert(10)});
        }
    }
}

TEST_F(Records13Test, AnOuterTypeIsApplicationDataAndNothingElse) {
    for (int type = 0; type < 256; ++type) {
        if (type == 23) continue;
        std::string bad = record("x");
        bad[0] = static_cast<char>(type);
        EXPECT_EQ(open(bad), Event::failed);
        EXPECT_EQ(sent(), std::vector<std::string>{alert(10)});
    }
}

TEST_F(Records13Test, TakesPaddingAndRefusesARecordOfNothingElse) {
    // The type byte is inside: a payload that ends with type and zeros, sealed with type 0.
    EXPECT_EQ(open(record(std::string("hello\x17\0\0\0", 9), static_cast<ContentType>(0))),
              Event::none);
    EXPECT_EQ(received_, "hello");
    EXPECT_EQ(open(record(std::string(10, '\0'), static_cast<ContentType>(0))), Event::failed);
    EXPECT_EQ(sent(), std::vector<std::string>{alert(10)});
}

TEST_F(Records13Test, TellsEndsAndAlertsApart) {
    EXPECT_EQ(open(record({"\1\x5a", 2}, ContentType::alert)), Event::none);  // user_canceled
    std::string stream = record("last");
    stream += record({"\1\0", 2}, ContentType::alert);
    stream += record("after");
    EXPECT_EQ(open(stream), Event::closed);
    peer_out_ = RecordCipher(suite(), secrets().client, RecordCipher::Direction::seal, 3);
    EXPECT_EQ(received_, "last");
    EXPECT_EQ(open(record({"\2\x14", 2}, ContentType::alert)), Event::failed);
    EXPECT_TRUE(sent().empty());  // an alert is not answered
}

TEST_F(Records13Test, AKeyUpdateMayComeInPieces) {
    // Each bit: a record ends behind that byte.
    for (unsigned cuts = 0; cuts < 16; ++cuts) {
        std::string piece;
        for (std::size_t i = 0; i < update_asked.size(); ++i) {
            piece += update_asked[i];
            if (i < 4 && (cuts >> i & 1U) == 0) continue;
            EXPECT_EQ(open(record(piece, ContentType::handshake)), Event::none) << cuts;
            piece.clear();
        }
        peer_out_.update();
        EXPECT_EQ(open(record("x")), Event::none) << cuts;
    }
    EXPECT_EQ(received_, std::string(16, 'x'));
    EXPECT_TRUE(queue_.empty());
}

TEST_F(Records13Test, OneByteOfAMessageIsAPieceToo) {
    std::string stream = record(update_plain.substr(0, 1), ContentType::handshake);
    stream += record("x");
    EXPECT_EQ(open(stream), Event::failed);
    EXPECT_EQ(received_, "");
    EXPECT_EQ(sent(), std::vector<std::string>{alert(10)});
}

TEST_F(Records13Test, NothingButAnAlertComesBetweenThePiecesOfAMessage) {
    const struct {
        const char* what;
        std::string payload;
        ContentType type;
        Event event;
        int alert;
    } cases[] = {
        {"payload", "x", ContentType::application_data, Event::failed, 10},
        {"an empty record", "", ContentType::application_data, Event::failed, 10},
        {"an empty piece", "", ContentType::handshake, Event::failed, 10},
        {"another message", update_plain, ContentType::handshake, Event::failed, 50},
        {"more than the rest", update_plain.substr(2) + '\0', ContentType::handshake, Event::failed,
         10},
        {"the end", std::string("\1\0", 2), ContentType::alert, Event::closed, -1},
        {"a fatal alert", std::string("\2\50", 2), ContentType::alert, Event::failed, -1},
    };
    for (const auto& [what, payload, type, event, code] : cases) {
        renew();
        std::string stream = record(update_plain.substr(0, 2), ContentType::handshake);
        stream += record(payload, type);
        EXPECT_EQ(open(stream), event) << what;
        EXPECT_EQ(received_, "") << what;
        const std::vector<std::string> expected(code < 0 ? 0 : 1, alert(code));
        EXPECT_EQ(sent(), expected) << what;
    }
}

TEST_F(Records13Test, ARecordIsAsLongAsItMayBeOrRefusedByItsHeader) {
    for (const std::size_t bytes : {0U, 1U, 15U, 16U}) {  // less than a tag and a type
        renew();
        const std::string short_one{23, 3, 3, 0, static_cast<char>(bytes)};
        EXPECT_EQ(open(short_one + std::string(bytes, 'x')), Event::failed) << bytes;
        EXPECT_EQ(sent(), std::vector<std::string>{alert(20)}) << bytes;
    }
    renew();
    // All that a record may have: payload, type, padding, tag.
    const std::string padded = std::string(16'384, 'x') + '\x17' + std::string(238, '\0');
    EXPECT_EQ(open(record(padded, static_cast<ContentType>(0))), Event::none);
    EXPECT_EQ(received_.size(), 16'384U);
    // And a byte more, of which nothing but the header is there.
    std::string stream = record("first");
    stream += std::string{23, 3, 3, 0x41, 1};
    EXPECT_EQ(open(stream), Event::failed);
    EXPECT_TRUE(received_.ends_with("first"));
    EXPECT_EQ(used_, stream.size());
    EXPECT_EQ(sent(), std::vector<std::string>{alert(22)});
}

TEST_F(Records13Test, TheOuterVersionIsNotLookedAtButSealed) {
    std::string odd = record("x");
    odd[1] = 9;  // RFC 8446, 5.2: ignored; what came is what was sealed, so it shows as damage
    EXPECT_EQ(open(odd), Event::failed);
    EXPECT_EQ(sent(), std::vector<std::string>{alert(20)});
}

TEST_F(Records13Test, AlertsThatEndNothingAreTakenInModeration) {
    for (unsigned i = 0; i < Records13::empty_records_max; ++i) {
        EXPECT_EQ(open(record({"\1\x5a", 2}, ContentType::alert)), Event::none);
    }
    EXPECT_EQ(open(record({"\1\x5a", 2}, ContentType::alert)), Event::failed);
    EXPECT_EQ(sent(), std::vector<std::string>{alert(10)});
}

TEST_F(Records13Test, EveryPieceOfAKeyUpdateCountsAsARecordWithoutPayload) {
    unsigned taken = 0;
    for (; taken < 1'000; ++taken) {
        const std::size_t at = taken % 5;
        if (open(record(update_asked.substr(at, 1), ContentType::handshake)) != Event::none) break;
        if (at == 4) peer_out_.update();
    }
    EXPECT_EQ(taken, Records13::empty_records_max);
    EXPECT_EQ(sent(), std::vector<std::string>{alert(10)});
}

TEST_F(Records13Test, ItsOwnKeyIsChangedBeforeItIsWornOut) {
    const std::uint64_t last = RecordCipher::records_per_key_max - 1;
    Records13 old(suite(), secrets(last));
    peer_in_ = RecordCipher(suite(), secrets().server, RecordCipher::Direction::open, last);
    for (int i = 0; i < 2; ++i) {
        core::SendQueue plain;
        plain.append(pool_, "word");
        EXPECT_EQ(old.seal(plain, out(), 10'000, core::system_kernel()), 0);
    }
    const std::string all = bytes_sent();
    std::vector<std::string> got;
    for (ByteView rest = all; !rest.empty();) {
        got.push_back(opened(rest));
        if (got.back().back() == '\x16') peer_in_.update();
    }
    EXPECT_EQ(got, (std::vector<std::string>{"word\x17", update_plain + '\x16', "word\x17"}));
}

TEST_F(Records13Test, EmptyRecordsAreTakenInModeration) {
    for (unsigned i = 0; i < Records13::empty_records_max; ++i) {
        EXPECT_EQ(open(record("")), Event::none);
    }
    EXPECT_EQ(open(record("x")), Event::none);
    for (unsigned i = 0; i < Records13::empty_records_max; ++i) {
        EXPECT_EQ(open(record("")), Event::none);
    }
    EXPECT_EQ(open(record("")), Event::failed);
}

TEST_F(Records13Test, ARequestedKeyUpdateGoesBeforeTheNextPayload) {
    EXPECT_EQ(open(record(update_asked, ContentType::handshake)), Event::none);
    peer_out_.update();
    EXPECT_EQ(open(record(update_asked, ContentType::handshake)), Event::none);
    peer_out_.update();
    EXPECT_EQ(open(record("x")), Event::none);
    EXPECT_TRUE(queue_.empty());
    core::SendQueue plain;
    plain.append(pool_, "answer");
    EXPECT_EQ(records_.seal(plain, out(), 10'000, core::system_kernel()), 0);
    std::vector<std::string> got = sent();
    ASSERT_EQ(got.size(), 2U);
    EXPECT_EQ(got[0], update_plain + '\x16');
    EXPECT_EQ(got[1], "(damaged)");  // sealed with the next key
    peer_in_.update();
    plain.append(pool_, "more");
    EXPECT_EQ(records_.seal(plain, out(), 10'000, core::system_kernel()), 0);
    peer_in_ = RecordCipher(suite(), secrets().server, RecordCipher::Direction::open, 0);
    peer_in_.update();
    got = sent();
    EXPECT_EQ(got, std::vector<std::string>{"(damaged)"});  // the second with that key
}

TEST_F(Records13Test, AnOwedKeyUpdateIsNotForgottenForOneThatRequestsNone) {
    EXPECT_EQ(open(record(update_asked, ContentType::handshake)), Event::none);
    peer_out_.update();
    EXPECT_EQ(open(record(update_plain, ContentType::handshake)), Event::none);
    peer_out_.update();
    records_.seal_end(out());
    const std::string all = bytes_sent();
    ByteView rest = all;
    EXPECT_EQ(opened(rest), update_plain + '\x16');
    peer_in_.update();
    EXPECT_EQ(opened(rest), std::string("\1\0\x15", 3));
    EXPECT_TRUE(rest.empty());
    // Answered once: the next payload follows with the same key.
    core::SendQueue plain;
    plain.append(pool_, "x");
    EXPECT_EQ(records_.seal(plain, out(), 10'000, core::system_kernel()), 0);
    EXPECT_EQ(sent(), std::vector<std::string>{"x\x17"});
}

TEST_F(Records13Test, ASealedStreamGoesOnFromTheHandshakesRecords) {
    Records13 later(suite(), secrets(2));
    later.seal_end(out());
    EXPECT_EQ(sent(), std::vector<std::string>{"(damaged)"});
    Records13 now(suite(), secrets(1));
    now.seal_end(out());
    EXPECT_EQ(sent(), std::vector<std::string>{std::string("\1\0\x15", 3)});
}

TEST_F(Records13Test, ManySmallPiecesShareARecordAndLargeOnesFillThem) {
    core::SendQueue plain;
    for (int i = 0; i < 10; ++i) {
        core::SendQueue one;
        one.append(pool_, "piece ");
        plain.append_queue(std::move(one));
    }
    EXPECT_EQ(records_.seal(plain, out(), 10'000, core::system_kernel()), 0);
    EXPECT_EQ(sent().size(), 1U);
    plain.append(pool_, std::string(100'000, 'x'));
    EXPECT_EQ(records_.seal(plain, out(), 1'000'000, core::system_kernel()), 0);
    EXPECT_TRUE(plain.empty());
    const auto records = sent();
    EXPECT_LE(records.size(), 8U);
    std::size_t bytes = 0;
    for (const std::string& one : records) bytes += one.size() - 1;
    EXPECT_EQ(bytes, 100'000U);
}

// max_fragment_length, as the handshake agreed on it: both ways, to the byte.
TEST_F(Records13Test, KeepsToTheFragmentsThatWereAgreedOn) {
    testing::TemporaryFolder folder;
    const std::string body(10'000, 'f');
    folder.write("file", body);
    for (const std::uint16_t most : {512, 1'024, 2'048, 4'096}) {
        Records13 small(suite(), secrets(), {.payload_bytes_max = most});
        renew();
        core::SendQueue plain;
        plain.append(pool_, body);
        plain.append_shared(body, {});
        struct File final : core::SharedFile {
            explicit File(int fd) : file(fd) {}
            ~File() override { ::close(file); }
            int descriptor() const override { return file; }
            int file;
        };
        plain.append_file(
            core::make_ref<File>(::open(folder.path_of("file").c_str(), O_RDONLY | O_CLOEXEC)), 0,
            body.size());
        EXPECT_EQ(small.seal(plain, out(), 1'000'000, core::system_kernel()), 0);
        EXPECT_TRUE(plain.empty());
        std::size_t bytes = 0;
        std::size_t records = 0;
        for (const std::string& one : sent()) {
            EXPECT_LE(one.size() - 1, most);
            EXPECT_EQ(one.back(), '\x17');
            bytes += one.size() - 1;
            ++records;
        }
        EXPECT_EQ(bytes, 3 * body.size());
        EXPECT_LE(records, bytes / most + 10);  // full ones, but at the seams
        const auto received = [&](std::size_t size) {
            std::vector<char> room(20'000);
            return small.open(record(std::string(size, 'x')), room, out());
        };
        EXPECT_EQ(received(most).plain, most);
        EXPECT_EQ(received(most + 1u).event, Event::failed);
        EXPECT_EQ(sent(), std::vector<std::string>{alert(22)});
    }
}

TEST_F(Records13Test, SealsNoMoreThanRequested) {
    core::SendQueue plain;
    plain.append(pool_, std::string(200'000, 'x'));
    EXPECT_EQ(records_.seal(plain, out(), 50'000, core::system_kernel()), 0);
    EXPECT_GE(queue_.bytes(), 50'000U);
    EXPECT_LT(queue_.bytes(), 70'000U);
    EXPECT_GT(plain.bytes(), 100'000U);
}

// Nothing of the room that was reserved for its bytes is left in the queue.
TEST_F(Records13Test, AFileWithoutABytesLeavesNoBlockBehind) {
    testing::TemporaryFolder folder;
    folder.write("file", "");
    struct File final : core::SharedFile {
        explicit File(int fd) : file(fd) {}
        ~File() override { ::close(file); }
        int descriptor() const override { return file; }
        int file;
    };
    core::SendQueue plain;
    plain.append_file(
        core::make_ref<File>(::open(folder.path_of("file").c_str(), O_RDONLY | O_CLOEXEC)), 0, 10);
    EXPECT_EQ(records_.seal(plain, out(), 10'000, core::system_kernel()), -EBADMSG);
    EXPECT_TRUE(queue_.empty());
    iovec piece{};
    EXPECT_EQ(queue_.gather({&piece, 1}), 0U);
    EXPECT_EQ(pool_.taken(), 0U);
}

}  // namespace
}  // namespace tiderace::tls
