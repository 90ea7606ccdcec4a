#include "tiderace/tls/openssl.h"

#include <gtest/gtest.h>
#include <openssl/err.h>

#include <string_view>

namespace tiderace::tls {
namespace {

void add(X509* certificate, int kind, int type, std::string_view value) {
    ASSERT_EQ(X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), kind, type,
                                         reinterpret_cast<const unsigned char*>(value.data()),
                                         static_cast<int>(value.size()), -1, 0),
              1);
}

TEST(SubjectText, IsTheNameAsRfc2253WritesIt) {
    const X509Ptr certificate(X509_new());
    EXPECT_EQ(subject_text(certificate.get()), "");
    add(certificate.get(), NID_organizationName, V_ASN1_UTF8STRING, "reef, inc");
    add(certificate.get(), NID_commonName, V_ASN1_UTF8STRING, "alice");
    EXPECT_EQ(subject_text(certificate.get()), "CN=alice,O=reef\\, inc");
}

// Its last part is written first: cut off there, it would be the name of another.
TEST(SubjectText, IsEmptyWhereItCannotBeWritten) {
    const X509Ptr certificate(X509_new());
    add(certificate.get(), NID_organizationName, V_ASN1_BMPSTRING, "even");
    add(certificate.get(), NID_commonName, V_ASN1_UTF8STRING, "alice");
    X509_NAME_ENTRY* first = X509_NAME_get_entry(X509_get_subject_name(certificate.get()), 0);
    // Half of a two-byte character.
    ASSERT_EQ(ASN1_STRING_set(X509_NAME_ENTRY_get_data(first), "odd", 3), 1);
    EXPECT_EQ(subject_text(certificate.get()), "");
    EXPECT_EQ(ERR_peek_error(), 0U) << "the next call of TLS would take it for its own";
}

}  // namespace
}  // namespace tiderace::tls
