// A TLS server and whatever a peer may send it. The first byte says where it begins: even, with the
// first byte of the handshake; odd, behind a handshake, with records that are sealed right and hold
// anything.
#include <algorithm>
#include <string>

#include "tiderace/base/check.h"
#include "tiderace/testing/certificates.h"
#include "tiderace/testing/echo_session.h"
#include "tiderace/testing/fake_world.h"
#include "tiderace/testing/pipe_transport.h"
#include "tiderace/testing/transport_peer.h"
#include "tiderace/tls/records_13.h"
#include "tiderace/tls/server_context.h"

namespace tiderace::tls {
namespace {

const CertificateFiles& certificate() {
    static const testing::TemporaryFolder folder;
    static const CertificateFiles files = testing::Authority().issue(folder, "server");
    return files;
}

// Cut in two, so that a record may come in pieces; then silence until the deadline.
void shake_hands(ByteView bytes) {
    testing::FakeWorld world;
    auto context = ServerContext::create(
        world.loop(), {.certificates = {certificate()}, .reload_check = Duration::zero()});
    TR_CHECK(context.has_value());
    testing::EchoSessions sessions;
    {
        net::TcpServer server(world.loop(), sessions, {});
        auto pipe = testing::make_pipe(world.loop());
        server.adopt((*context)->wrap(std::move(pipe.near)), core::Address::loopback(1));
        testing::TransportPeer peer(world.loop(), std::move(pipe.far));
        const std::size_t half = bytes.size() / 2;
        peer.say(bytes.substr(0, half));
        world.settle();
        peer.say(bytes.substr(half));
        world.settle();
        world.advance(11s);
        TR_CHECK(server.size() == 0);  // no handshake succeeds by chance
    }
    TR_CHECK(world.loop().blocks().taken() == 0);
}

const Suite13& suite() {
    static const Suite13* const found = [] {
        const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
        SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256");
        const SslPtr ssl(SSL_new(context.get()));
        return Suite13::find(sk_SSL_CIPHER_value(SSL_get_ciphers(ssl.get()), 0));
    }();
    return *found;
}

// Each record: its type, its length, its bytes.
void open_sealed(ByteView bytes) {
    TrafficSecrets secrets;
    secrets.bytes = 32;
    core::BlockPool pool;
    core::SendQueue queue;
    Records13 records(suite(), secrets);
    RecordCipher peer(suite(), secrets.client, RecordCipher::Direction::seal, 0);
    std::string plain(20'000, '\0');
    std::size_t message_bytes = 0;
    while (bytes.size() >= 2) {
        const auto type = static_cast<ContentType>(bytes[0]);
        const ByteView payload = bytes.substr(2, static_cast<unsigned char>(bytes[1]));
        bytes.remove_prefix(2 + payload.size());
        std::string record(payload.size() + RecordCipher::overhead_bytes, '\0');
        const iovec piece{const_cast<char*>(payload.data()), payload.size()};
        peer.seal(type, {&piece, 1}, payload.size(), record.data());
        const Records::Opened opened = records.open(record, plain, {.queue = queue, .pool = pool});
        TR_CHECK(opened.plain <= payload.size());
        TR_CHECK(ByteView(plain).substr(0, opened.plain) == payload.substr(0, opened.plain));
        TR_CHECK(queue.bytes() <= 2 + RecordCipher::overhead_bytes);  // one alert, nothing else
        if (opened.event != Records::Event::none) return;
        TR_CHECK(opened.used == record.size());
        if (type != ContentType::handshake) continue;
        message_bytes += payload.size();
        TR_CHECK(message_bytes <= Records13::key_update_bytes);
        if (message_bytes < Records13::key_update_bytes) continue;
        message_bytes = 0;
        peer.update();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* input, std::size_t size) {
    const ByteView bytes(reinterpret_cast<const char*>(input), std::min<std::size_t>(size, 4'096));
    if (bytes.empty()) return 0;
    if (bytes.front() % 2 == 0) {
        shake_hands(bytes.substr(1));
    } else {
        open_sealed(bytes.substr(1));
    }
    return 0;
}

}  // namespace tiderace::tls
