#include "tiderace/tls/staple.h"

#include <openssl/ocsp.h>

#include <ctime>
#include <limits>

#include "tiderace/tls/certificate.h"
#include "tiderace/tls/read_file.h"

namespace tiderace::tls {
namespace {

using ResponsePtr = std::unique_ptr<OCSP_RESPONSE, FreedBy<OCSP_RESPONSE_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, FreedBy<ASN1_TIME_free>>;
using BasicPtr = std::unique_ptr<OCSP_BASICRESP, FreedBy<OCSP_BASICRESP_free>>;

BasicPtr parse(std::string_view der) {
    const auto* at = reinterpret_cast<const unsigned char*>(der.data());
    const ResponsePtr response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
    if (response == nullptr ||
        OCSP_response_status(response.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL) {
        return nullptr;
    }
    return BasicPtr(OCSP_response_get1_basic(response.get()));
}

// The response for this certificate, by its serial number, which is unique for its authority.
OCSP_SINGLERESP* find(OCSP_BASICRESP* basic, const X509* leaf) {
    for (int i = 0; i < OCSP_resp_count(basic); ++i) {
        OCSP_SINGLERESP* single = OCSP_resp_get0(basic, i);
        ASN1_INTEGER* serial = nullptr;
        auto* about = const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(single));
        OCSP_id_get0_info(nullptr, nullptr, nullptr, &serial, about);
        if (serial != nullptr && ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaf)) == 0) {
            return single;
        }
    }
    return nullptr;
}

}  // namespace

Result<Staple> Staple::load(const std::string& file, const X509* leaf, UnixSeconds now) {
    auto der = read_file(file, Certificate::file_bytes_max);
    if (!der) return fail(der.error());
    const BasicPtr basic = parse(*der);
    // The message names ASN.1 fields, which help no operator. Taken, so no later call finds it.
    take_openssl_error();
    if (basic == nullptr) {
        return fail(Error(0, "load", file, "expected a successful OCSP response in DER"));
    }
    Staple made;
    OCSP_SINGLERESP* single = find(basic.get(), leaf);
    // A warning, not an error: after a renewal the old response may lie there until the next fetch.
    if (single == nullptr) {
        made.warning = file + " is about another certificate and is not stapled";
        return made;
    }
    ASN1_GENERALIZEDTIME* next = nullptr;
    OCSP_single_get0_status(single, nullptr, nullptr, nullptr, &next);
    // Without nextUpdate newer information is always available (RFC 6960, 4.2.2.1); we do not judge
    // it.
    made.ends = next != nullptr ? seconds_of(next) : std::numeric_limits<UnixSeconds>::max();
    if (made.ends <= now) {
        made.warning = made.ended_text(file);
        return made;
    }
    // The authority's signature is the client's business: only the bytes are passed on.
    made.der = std::move(*der);
    return made;
}

std::string Staple::ended_text(const std::string& file) const {
    return file + " ended on " + time_text(ends) + " and is not stapled";
}

UnixSeconds seconds_of(const ASN1_TIME* time) {
    std::tm parts{};
    // 0: a time that cannot be read has passed.
    return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

std::string time_text(UnixSeconds time) {
    const TimePtr made(ASN1_TIME_set(nullptr, time));
    const BioPtr bio(BIO_new(BIO_s_mem()));
    ASN1_TIME_print(bio.get(), made.get());
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(bytes)};
}

}  // namespace tiderace::tls
