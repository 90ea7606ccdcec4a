#include "tiderace/tls/development_authority.h"

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

namespace tiderace::tls {
namespace {

constexpr UnixSeconds today = 1'795'000'000;  // 2026-11-18
constexpr UnixSeconds day = seconds_per_day;

struct Free {
    void operator()(X509* x) const { X509_free(x); }
    void operator()(X509_STORE* x) const { X509_STORE_free(x); }
    void operator()(X509_STORE_CTX* x) const { X509_STORE_CTX_free(x); }
};
using ParsedCertificate = std::unique_ptr<X509, Free>;

ParsedCertificate parsed(const std::string& pem) {
    BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    ParsedCertificate certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
    BIO_free(bio);
    return certificate;
}

// OpenSSL's verdict on this chain, as for a client; X509_V_OK when it is trusted.
int verified(const CertificateAndKey& leaf, const CertificateAndKey& authority, UnixSeconds when,
             const char* host) {
    const ParsedCertificate certificate = parsed(leaf.certificate);
    const ParsedCertificate root = parsed(authority.certificate);
    const std::unique_ptr<X509_STORE, Free> store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), root.get());
    const std::unique_ptr<X509_STORE_CTX, Free> context(X509_STORE_CTX_new());
    X509_STORE_CTX_init(context.get(), store.get(), certificate.get(), nullptr);
    X509_STORE_CTX_set_default(context.get(), "ssl_server");
    X509_VERIFY_PARAM* asked = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_time(asked, when);
    X509_VERIFY_PARAM_set_flags(asked, X509_V_FLAG_X509_STRICT);
    if (X509_VERIFY_PARAM_set1_ip_asc(asked, host) != 1) {
        X509_VERIFY_PARAM_set1_host(asked, host, 0);
    }
    X509_verify_cert(context.get());
    return X509_STORE_CTX_get_error(context.get());
}

class DevelopmentAuthority : public ::testing::Test {
  protected:
    // The test's authority with this constraint in the place of its own. Takes it.
    CertificateAndKey constrained(X509_EXTENSION* constraint) const {
        const ParsedCertificate changed = parsed(authority_.certificate);
        const int at = X509_get_ext_by_NID(changed.get(), NID_name_constraints, -1);
        X509_EXTENSION_free(X509_delete_ext(changed.get(), at));
        X509_add_ext(changed.get(), constraint, -1);
        X509_EXTENSION_free(constraint);
        i2d_re_X509_tbs(changed.get(), nullptr);  // or it would be written as it was read
        BIO* bio = BIO_new(BIO_s_mem());
        PEM_write_bio_X509(bio, changed.get());
        char* bytes = nullptr;
        const long size = BIO_get_mem_data(bio, &bytes);
        const std::string pem(bytes, static_cast<std::size_t>(size));
        BIO_free(bio);
        return {pem, authority_.key};
    }

    // Narrow enough, as an earlier version wrote it.
    const std::string own_constraints_ =
        "critical,permitted;DNS:localhost,permitted;DNS:box,excluded;DNS:.box,"
        "permitted;DNS:box.local,excluded;DNS:.box.local,"
        "permitted;IP:127.0.0.0/255.0.0.0,permitted;IP:192.168.0.0/255.255.0.0,"
        "permitted;IP:::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff,"
        "permitted;IP:fc00::/fe00::";
    LocalNames names_ = local_names("Box", {"192.168.1.5", "fd00::5"});
    CertificateAndKey authority_ = *make_authority(names_, today);
    CertificateAndKey leaf_ = *make_leaf(authority_, names_, today);
};

// Whatever the random bytes are; of as many as these, some begin with each pair of bits.
TEST_F(DevelopmentAuthority, NumbersItsCertificatesWithPositiveNumbersOfSixteenBytes) {
    std::set<std::string> numbers;
    for (int i = 0; i < 32; ++i) {
        const ParsedCertificate certificate =
            parsed(make_leaf(authority_, names_, today)->certificate);
        const ASN1_INTEGER* number = X509_get0_serialNumber(certificate.get());
        const unsigned char* const bytes = ASN1_STRING_get0_data(number);
        ASSERT_EQ(ASN1_STRING_length(number), 16);
        EXPECT_EQ(ASN1_STRING_type(number), V_ASN1_INTEGER);
        EXPECT_EQ(bytes[0] & 0xc0, 0x40);
        numbers.emplace(bytes, bytes + 16);
    }
    EXPECT_EQ(numbers.size(), 32U);
}

TEST_F(DevelopmentAuthority, MakesALeafThatAClientTrustsForEveryNameOfTheMachine) {
    for (const char* host :
         {"localhost", "box", "box.local", "127.0.0.1", "::1", "192.168.1.5", "fd00::5"}) {
        EXPECT_EQ(verified(leaf_, authority_, today, host), X509_V_OK) << host;
    }
}

TEST_F(DevelopmentAuthority, MakesALeafForNoOtherName) {
    EXPECT_EQ(verified(leaf_, authority_, today, "example.org"), X509_V_ERR_HOSTNAME_MISMATCH);
    EXPECT_EQ(verified(leaf_, authority_, today, "192.168.1.6"), X509_V_ERR_IP_ADDRESS_MISMATCH);
}

TEST_F(DevelopmentAuthority, CannotSignForTheInternet) {
    for (const LocalNames& names :
         {LocalNames{{"example.org"}, {}}, LocalNames{{"mybox"}, {}}, LocalNames{{"local"}, {}},
          LocalNames{{"other.local"}, {}}, LocalNames{{"www.box"}, {}}, LocalNames{{"*.box"}, {}},
          LocalNames{{"a.b.box"}, {}}, LocalNames{{"www.box.local"}, {}},
          LocalNames{{}, {"198.51.100.7"}}, LocalNames{{}, {"2001:db8::1"}}}) {
        LocalNames with_localhost = names;
        with_localhost.hosts.insert(with_localhost.hosts.begin(), "localhost");
        const auto forged = make_leaf(authority_, with_localhost, today);
        ASSERT_TRUE(forged.has_value());
        const std::string name = names.hosts.empty() ? names.addresses[0] : names.hosts[0];
        const int refused = verified(*forged, authority_, today, "localhost");
        EXPECT_TRUE(refused == X509_V_ERR_PERMITTED_VIOLATION ||
                    refused == X509_V_ERR_EXCLUDED_VIOLATION)
            << name << ' ' << refused;
    }
}

// Names of machines that are domains of the Internet, or have domains of it below them.
TEST(DevelopmentAuthorityNames, AreExactlyTheMachines) {
    for (const std::string& host :
         std::vector<std::string>{"dev", "app", "box.example.org", "local", "a.local"}) {
        const LocalNames names = local_names(host, {});
        const CertificateAndKey authority = *make_authority(names, today);
        const auto leaf = make_leaf(authority, names, today);
        ASSERT_TRUE(leaf.has_value());
        for (const std::string& own : names.hosts) {
            EXPECT_EQ(verified(*leaf, authority, today, own.c_str()), X509_V_OK) << own;
        }
        for (const std::string& below : {"www." + host, "a.b." + host, "*." + host}) {
            // Beside a name that it may sign for, so that nothing else is wrong with it.
            const auto forged = make_leaf(authority, {{"localhost", below}, {}}, today);
            const int refused = verified(*forged, authority, today, "localhost");
            EXPECT_TRUE(refused == X509_V_ERR_PERMITTED_VIOLATION ||
                        refused == X509_V_ERR_EXCLUDED_VIOLATION)
                << below << ' ' << refused;
        }
    }
}

TEST_F(DevelopmentAuthority, MaySignForWhatIsBelowLocalhost) {
    const auto leaf = make_leaf(authority_, {{"app.localhost"}, {}}, today);
    EXPECT_EQ(verified(*leaf, authority_, today, "app.localhost"), X509_V_OK);
}

TEST_F(DevelopmentAuthority, SaysWhatItMaySignFor) {
    const CertificateAndKey own = *make_authority(local_names("box", {"198.51.100.7"}), today);
    const LocalNames names = names_of_authority(own.certificate);
    EXPECT_EQ(names.hosts, (std::vector<std::string>{"localhost", "box", "box.local"}));
    EXPECT_EQ(names.addresses, std::vector<std::string>{"198.51.100.7"});
    EXPECT_TRUE(names_of_authority(authority_.certificate).addresses.empty());
    EXPECT_TRUE(names_of_authority("nonsense").hosts.empty());
    EXPECT_EQ(private_range_texts(),
              (std::vector<std::string>{"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12",
                                        "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "::1",
                                        "fc00::/7", "fe80::/10"}));
}

// As earlier versions made it.
TEST_F(DevelopmentAuthority, IsMadeAnewWhenItMaySignForMore) {
    for (const char* more : {"", ",permitted;DNS:local", ",permitted;DNS:dev",
                             ",permitted;IP:8.8.8.0/255.255.255.0", ",permitted;email:local"}) {
        X509_EXTENSION* constraint = X509V3_EXT_conf_nid(nullptr, nullptr, NID_name_constraints,
                                                         (own_constraints_ + more).c_str());
        ASSERT_NE(constraint, nullptr) << more;
        EXPECT_EQ(authority_serves(constrained(constraint), names_, today), *more == '\0') << more;
    }
}

// Neither four bytes nor sixteen, each with a mask of as many.
TEST_F(DevelopmentAuthority, IsMadeAnewWhenItMaySignForWhatIsNoAddress) {
    for (const std::size_t bytes : {2U, 6U, 9U, 10U, 30U, 33U, 34U}) {
        std::string range(bytes, '\xff');
        X509_EXTENSION* text =
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_name_constraints, own_constraints_.c_str());
        auto* const all = static_cast<NAME_CONSTRAINTS*>(X509V3_EXT_d2i(text));
        X509_EXTENSION_free(text);
        GENERAL_SUBTREE* const more = GENERAL_SUBTREE_new();
        ASN1_OCTET_STRING* const address = ASN1_OCTET_STRING_new();
        ASN1_OCTET_STRING_set(address, reinterpret_cast<const unsigned char*>(range.data()),
                              static_cast<int>(range.size()));
        GENERAL_NAME_set0_value(more->base, GEN_IPADD, address);
        sk_GENERAL_SUBTREE_push(all->permittedSubtrees, more);
        X509_EXTENSION* constraint = X509V3_EXT_i2d(NID_name_constraints, 1, all);
        NAME_CONSTRAINTS_free(all);
        ASSERT_NE(constraint, nullptr);
        EXPECT_FALSE(authority_serves(constrained(constraint), names_, today)) << bytes;
    }
}

TEST_F(DevelopmentAuthority, MayNotHaveAnAuthorityBelowIt) {
    const ParsedCertificate root = parsed(authority_.certificate);
    EXPECT_EQ(X509_get_pathlen(root.get()), 0);
    const ParsedCertificate leaf = parsed(leaf_.certificate);
    EXPECT_EQ(X509_check_ca(leaf.get()), 0);
    EXPECT_NE(X509_check_ca(root.get()), 0);
}

TEST_F(DevelopmentAuthority, GivesTheLeafLessThan398Days) {
    const ParsedCertificate leaf = parsed(leaf_.certificate);
    int days = 0;
    int seconds = 0;
    ASSERT_EQ(ASN1_TIME_diff(&days, &seconds, X509_get0_notBefore(leaf.get()),
                             X509_get0_notAfter(leaf.get())),
              1);
    EXPECT_EQ(days, leaf_days);
    EXPECT_EQ(ends_at(leaf_.certificate), today + (leaf_days - 1) * day);
    EXPECT_EQ(verified(leaf_, authority_, today + leaf_days * day, "localhost"),
              X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_F(DevelopmentAuthority, IsMadeAnewWhenItCouldNotSignForAWholeYearAnyMore) {
    EXPECT_TRUE(authority_serves(authority_, names_, today));
    const UnixSeconds last = ends_at(authority_.certificate) - authority_spare_days * day;
    EXPECT_TRUE(authority_serves(authority_, names_, last));
    EXPECT_FALSE(authority_serves(authority_, names_, last + 1));
    EXPECT_FALSE(authority_serves(authority_, names_, today - 2 * day));  // not valid yet
}

TEST_F(DevelopmentAuthority, ServesFromADayBeforeItWasMade) {
    EXPECT_EQ(ends_at(authority_.certificate), today + authority_days * day);
    EXPECT_TRUE(authority_serves(authority_, names_, today - day));
    EXPECT_FALSE(authority_serves(authority_, names_, today - day - 1));
    EXPECT_TRUE(leaf_serves(leaf_, authority_, names_, today - day));
    EXPECT_FALSE(leaf_serves(leaf_, authority_, names_, today - day - 1));
}

TEST_F(DevelopmentAuthority, IsNotOutlivedByItsLeaf) {
    const UnixSeconds end = ends_at(authority_.certificate);
    const UnixSeconds last = end - (leaf_days - 1) * day;
    for (const UnixSeconds late : {UnixSeconds{-1}, UnixSeconds{0}, UnixSeconds{1}, 30 * day}) {
        const auto leaf = make_leaf(authority_, names_, last + late);
        ASSERT_TRUE(leaf.has_value());
        EXPECT_EQ(ends_at(leaf->certificate), end + std::min<UnixSeconds>(late, 0)) << late;
    }
}

TEST_F(DevelopmentAuthority, SignsNothingThatCannotBeWritten) {
    const auto leaf = make_leaf(authority_, {{"localhost"}, {"no address"}}, today);
    ASSERT_FALSE(leaf.has_value());
    EXPECT_TRUE(leaf.error().message().starts_with("make a local certificate: "))
        << leaf.error().message();
    const auto authority = make_authority({{"localhost", "a,b"}, {}}, today);
    ASSERT_FALSE(authority.has_value());
    EXPECT_TRUE(authority.error().message().starts_with("make a local certificate authority: "))
        << authority.error().message();
}

std::string subject_of(const std::string& pem) {
    const ParsedCertificate certificate = parsed(pem);
    BIO* bio = BIO_new(BIO_s_mem());
    X509_NAME_print_ex(bio, X509_get_subject_name(certificate.get()), 0, XN_FLAG_RFC2253);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    const std::string text(bytes, static_cast<std::size_t>(size));
    BIO_free(bio);
    constexpr std::string_view end = ",O=Tiderace development";
    EXPECT_TRUE(text.ends_with(end)) << text;
    return text.substr(0, text.size() - end.size());
}

TEST_F(DevelopmentAuthority, IsNamedAfterItsMachine) {
    const auto named = [](std::string_view host) {
        return subject_of(make_authority(local_names(host, {}), today)->certificate);
    };
    EXPECT_EQ(named("Box"), "CN=Tiderace local authority of box");
    EXPECT_EQ(named("localhost"), "CN=Tiderace local authority");
    // At most 64 characters (RFC 5280).
    const std::string label(60, 'a');
    EXPECT_EQ(named(label), "CN=Tiderace local authority of " + label.substr(0, 36));
    EXPECT_EQ(subject_of(leaf_.certificate), "CN=localhost");
}

TEST_F(DevelopmentAuthority, IsMadeAnewWhenTheHostHasAnotherName) {
    EXPECT_FALSE(authority_serves(authority_, local_names("raft", {}), today));
    EXPECT_TRUE(authority_serves(authority_, local_names("", {"10.1.2.3"}), today));
}

TEST_F(DevelopmentAuthority, MaySignForThisMachinesOwnPublicAddressAndNoOther) {
    const LocalNames here = local_names("box", {"198.51.100.7"});
    EXPECT_FALSE(authority_serves(authority_, here, today));
    const CertificateAndKey own = *make_authority(here, today);
    EXPECT_TRUE(authority_serves(own, here, today));
    EXPECT_TRUE(authority_serves(own, names_, today));
    EXPECT_FALSE(authority_serves(own, local_names("box", {"198.51.100.8"}), today));
    const auto leaf = make_leaf(own, here, today);
    EXPECT_EQ(verified(*leaf, own, today, "198.51.100.7"), X509_V_OK);
}

TEST_F(DevelopmentAuthority, IsNoPairWithTheKeyOfAnother) {
    const CertificateAndKey other = *make_authority(names_, today);
    EXPECT_FALSE(authority_serves({authority_.certificate, other.key}, names_, today));
    EXPECT_FALSE(leaf_serves({leaf_.certificate, other.key}, authority_, names_, today));
    EXPECT_FALSE(leaf_serves(leaf_, other, names_, today));
}

TEST_F(DevelopmentAuthority, ALeafServesUntilItNearsItsEndOrANameIsMissing) {
    EXPECT_TRUE(leaf_serves(leaf_, authority_, names_, today));
    const UnixSeconds last = ends_at(leaf_.certificate) - leaf_spare_days * day;
    EXPECT_TRUE(leaf_serves(leaf_, authority_, names_, last));
    EXPECT_FALSE(leaf_serves(leaf_, authority_, names_, last + 1));
    EXPECT_TRUE(leaf_serves(leaf_, authority_, local_names("box", {}), today));  // more than asked
    EXPECT_FALSE(leaf_serves(leaf_, authority_, local_names("box", {"10.0.0.9"}), today));
}

TEST_F(DevelopmentAuthority, AFileThatIsNotPemIsRefused) {
    EXPECT_FALSE(authority_serves({"", ""}, names_, today));
    EXPECT_FALSE(authority_serves({"nonsense", authority_.key}, names_, today));
    EXPECT_FALSE(leaf_serves({leaf_.certificate, ""}, authority_, names_, today));
    EXPECT_EQ(fingerprint("nonsense"), "");
    EXPECT_EQ(ends_at(""), 0);
    EXPECT_FALSE(make_leaf({"nonsense", "nonsense"}, names_, today).has_value());
    EXPECT_FALSE(make_leaf({authority_.certificate, "nonsense"}, names_, today).has_value());
    EXPECT_EQ(ERR_peek_error(), 0UL) << "a later call would take it for its own";
}

TEST_F(DevelopmentAuthority, NoTwoAreAlike) {
    const CertificateAndKey other = *make_authority(names_, today);
    EXPECT_NE(fingerprint(other.certificate), fingerprint(authority_.certificate));
    EXPECT_EQ(fingerprint(authority_.certificate).size(), 32U * 3 - 1);
    // As other programs show it, for a user to compare.
    const ParsedCertificate certificate = parsed(authority_.certificate);
    unsigned char digest[32];
    ASSERT_EQ(X509_digest(certificate.get(), EVP_sha256(), digest, nullptr), 1);
    std::string expected;
    for (const unsigned char byte : digest) {
        char pair[4];
        std::snprintf(pair, sizeof pair, "%02X:", byte);
        expected += pair;
    }
    EXPECT_EQ(fingerprint(authority_.certificate) + ':', expected);
}

TEST(LocalNames, LeaveOutWhatIsPublicOrNoName) {
    struct Case {
        const char* host;
        std::vector<std::string> addresses;
        LocalNames expected;
    };
    const std::vector<Case> cases{
        {"box", {}, {{"localhost", "box", "box.local"}, {"127.0.0.1", "::1"}}},
        {"Box.Example.org", {}, {{"localhost", "box.example.org"}, {"127.0.0.1", "::1"}}},
        {"localhost", {}, {{"localhost"}, {"127.0.0.1", "::1"}}},
        {"box,DNS:evil", {}, {{"localhost"}, {"127.0.0.1", "::1"}}},
        {"-x", {}, {{"localhost"}, {"127.0.0.1", "::1"}}},
        {".x", {}, {{"localhost"}, {"127.0.0.1", "::1"}}},
        {"x.", {}, {{"localhost"}, {"127.0.0.1", "::1"}}},
        {"AZ-az-09.x", {}, {{"localhost", "az-az-09.x"}, {"127.0.0.1", "::1"}}},
        {"local", {}, {{"localhost", "local.local"}, {"127.0.0.1", "::1"}}},
        {"dev", {}, {{"localhost", "dev", "dev.local"}, {"127.0.0.1", "::1"}}},
        {"", {"192.168.1.5", "192.168.1.5"}, {{"localhost"}, {"127.0.0.1", "::1", "192.168.1.5"}}},
        {"", {"8.8.8.8", "2001:db8::1", "x"}, {{"localhost"}, {"127.0.0.1", "::1", "8.8.8.8"}}},
        {"", {"172.31.0.1", "1.2.3"}, {{"localhost"}, {"127.0.0.1", "::1", "172.31.0.1"}}},
        {"", {"fe80::1", "fdff::1"}, {{"localhost"}, {"127.0.0.1", "::1", "fe80::1", "fdff::1"}}},
    };
    for (const Case& one : cases) {
        const LocalNames names = local_names(one.host, one.addresses);
        EXPECT_EQ(names.hosts, one.expected.hosts) << one.host;
        EXPECT_EQ(names.addresses, one.expected.addresses) << one.host;
    }
}

TEST(LocalNames, AreOfLettersDigitsHyphensAndDotsAndNotTooLong) {
    for (int c = 1; c < 256; ++c) {
        const auto letter = static_cast<char>(c);
        const bool good = std::isalnum(c) != 0 || letter == '-' || letter == '.';
        EXPECT_EQ(local_names(std::string("a") + letter + "b.c", {}).hosts.size(), good ? 2U : 1U)
            << c;
    }
    const std::string longest = std::string(251, 'a') + ".b";
    EXPECT_EQ(local_names(longest, {}).hosts.back(), longest);
    EXPECT_EQ(local_names('a' + longest, {}).hosts.back(), "localhost");
}

TEST(LocalNames, OfAnyMachineMayBeSignedFor) {
    for (const char* host : {"box", "box.example.org", "localhost", "", "x,y"}) {
        const LocalNames names = local_names(
            host, {"10.0.0.1", "172.16.0.1", "100.64.0.1", "169.254.1.1", "fe80::1", "fd00::1"});
        const auto authority = make_authority(names, today);
        ASSERT_TRUE(authority.has_value()) << host;
        EXPECT_TRUE(authority_serves(*authority, names, today)) << host;
    }
}

}  // namespace
}  // namespace tiderace::tls
