#include "tiderace/tls/ssl_settings.h"

#include <gtest/gtest.h>

namespace tiderace::tls {
namespace {

TEST(SslSettings, AllowOnlyAuthenticatedCiphersWithForwardSecrecy) {
    const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_set_security_level(context.get(), 1);  // as some systems have it
    ASSERT_TRUE(apply_settings(context.get()));
    EXPECT_GE(SSL_CTX_get_security_level(context.get()), 2);
    EXPECT_EQ(SSL_CTX_get_min_proto_version(context.get()), TLS1_2_VERSION);
    const STACK_OF(SSL_CIPHER)* ciphers = SSL_CTX_get_ciphers(context.get());
    ASSERT_GT(sk_SSL_CIPHER_num(ciphers), 0);
    for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
        const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(ciphers, i);
        EXPECT_EQ(SSL_CIPHER_is_aead(cipher), 1) << SSL_CIPHER_get_name(cipher);
        EXPECT_NE(SSL_CIPHER_get_kx_nid(cipher), NID_kx_rsa) << SSL_CIPHER_get_name(cipher);
    }
}

TEST(SslSettings, KeepNoMemoryOfAnIdleConnectionAndNoSessionOfTheirOwn) {
    const SslContextPtr context(SSL_CTX_new(TLS_server_method()));
    ASSERT_TRUE(apply_settings(context.get()));
    const long mode = SSL_CTX_get_mode(context.get());
    EXPECT_NE(mode & SSL_MODE_RELEASE_BUFFERS, 0);
    EXPECT_NE(mode & SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, 0);
    EXPECT_EQ(mode & SSL_MODE_AUTO_RETRY, 0);
    EXPECT_EQ(SSL_CTX_get_session_cache_mode(context.get()), SSL_SESS_CACHE_OFF);
    for (const auto option : {SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_COMPRESSION,
                              SSL_OP_CIPHER_SERVER_PREFERENCE, SSL_OP_PRIORITIZE_CHACHA}) {
        EXPECT_NE(SSL_CTX_get_options(context.get()) & option, 0U) << option;
    }
}

TEST(SslSettings, ProtocolsCarryTheirLengths) {
    EXPECT_EQ(*alpn_bytes({"h2", "http/1.1"}), "\x02h2\x08http/1.1");
    EXPECT_EQ(*alpn_bytes({}), "");
    EXPECT_FALSE(alpn_bytes({""}));
    EXPECT_EQ(alpn_bytes({std::string(255, 'x')})->size(), 256u);
    EXPECT_FALSE(alpn_bytes({std::string(256, 'x')}));
}

}  // namespace
}  // namespace tiderace::tls
