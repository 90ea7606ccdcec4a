#include "tiderace/tls/openssl.h"

#include <openssl/err.h>

#include <algorithm>
#include <ctime>

namespace tiderace::tls {

std::string take_openssl_error() {
    // The first entry is the cause; later ones report that callers failed because of it. The queue
    // must end empty, because SSL_get_error() reads it.
    const unsigned long first = ERR_peek_error();
    ERR_clear_error();
    if (first == 0) return {};
    const char* reason = ERR_reason_error_string(first);
    if (reason != nullptr) return reason;
    return "error " + std::to_string(first);
}

TlsFault take_tls_fault() {
    TlsFault fault;
    for (unsigned long error = 0; (error = ERR_get_error()) != 0;) {
        const int reason = ERR_GET_REASON(error);
        fault.no_memory = fault.no_memory || reason == ERR_R_MALLOC_FAILURE;
        // Entries of other libraries (ASN.1, EVP) are details; only TLS's have a reason to count.
        if (fault.reason == 0 && ERR_GET_LIB(error) == ERR_LIB_SSL) fault.reason = reason;
    }
    return fault;
}

std::string subject_text(const X509* certificate) {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    const X509_NAME* const name = X509_get_subject_name(certificate);
    if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0) {
        ERR_clear_error();
        return {};
    }
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(std::max(0L, bytes))};
}

UnixSeconds seconds_of(const ASN1_TIME* time) {
    std::tm parts{};
    // 0: a time that cannot be read has passed.
    return ASN1_TIME_to_tm(time, &parts) == 1 ? ::timegm(&parts) : 0;
}

std::string time_text(UnixSeconds time) {
    using TimePtr = std::unique_ptr<ASN1_TIME, FreedBy<ASN1_TIME_free>>;
    const TimePtr made(ASN1_TIME_set(nullptr, time));
    const BioPtr bio(BIO_new(BIO_s_mem()));
    ASN1_TIME_print(bio.get(), made.get());
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(bytes)};
}

}  // namespace tiderace::tls
