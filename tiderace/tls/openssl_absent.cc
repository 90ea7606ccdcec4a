// This room in a program that was built without OpenSSL: functions that make an object fail with
// one sentence, so members of such objects never run.
#include "tiderace/base/check.h"
#include "tiderace/tls/client_context.h"
#include "tiderace/tls/library.h"
#include "tiderace/tls/loop_parts.h"
#include "tiderace/tls/self_signed.h"
#include "tiderace/tls/server_context.h"
#include "tiderace/tls/ticket_keys.h"

namespace tiderace::tls {
namespace {

std::unexpected<Error> absent(std::string_view operation, std::string_view object) {
    return fail(Error(0, operation, object,
                      "this program was built without TLS; it needs OpenSSL 3.0 or later and "
                      "-DTIDERACE_TLS=ON"));
}

}  // namespace

bool is_built_in() {
    return false;
}

std::string library_text() {
    return "none, built without it";
}

// ---- contexts: there are none -------------------------------------------------------------------

class CertificateSet {};
class ServerContext::Endpoint {};
class ServerContext::ReloadTimer {};
struct ServerContext::Next {};

Result<std::unique_ptr<ServerContext>> ServerContext::create(core::EventLoop&, ServerOptions) {
    return absent("set up", "TLS");
}
ServerContext::~ServerContext() = default;
std::unique_ptr<net::Transport> ServerContext::wrap(std::unique_ptr<net::Transport> below) {
    return below;
}
Result<> ServerContext::prepare(ServerOptions) {
    return absent("set up", "TLS");
}
void ServerContext::publish() {}
ServerContext::Reload ServerContext::reload_if_changed() {
    return Reload::unchanged;
}
const HandshakeCounters& ServerContext::counters() const {
    return parts_->counters();
}
std::vector<std::string> ServerContext::warnings() const {
    return {};
}

std::vector<CertificateEnd> ServerContext::certificate_ends() const {
    return {};
}

class ClientContext::Endpoint {};

Result<std::unique_ptr<ClientContext>> ClientContext::create(core::EventLoop&, ClientOptions) {
    return absent("set up", "TLS");
}
ClientContext::~ClientContext() = default;
std::string ClientContext::look_at_files(const ClientOptions&) {
    return {};
}
std::unique_ptr<net::Transport> ClientContext::wrap(std::unique_ptr<net::Transport>,
                                                    const std::string&) {
    return nullptr;
}
const HandshakeCounters& ClientContext::counters() const {
    return parts_->counters();
}

// ---- their parts --------------------------------------------------------------------------------

TicketKey::~TicketKey() = default;
Result<std::shared_ptr<const TicketKeys>> TicketKeys::fresh() {
    return absent("make", "a session ticket key");
}
Result<std::shared_ptr<const TicketKeys>> TicketKeys::rotated() const {
    return absent("make", "a session ticket key");
}
const TicketKey* TicketKeys::find(const unsigned char*) const {
    return nullptr;
}
Result<std::shared_ptr<const TicketKeys>> TicketShare::keys(Instant) {
    // Named, because clang warns about unused members.
    static_cast<void>(period_);
    static_cast<void>(renewed_at_);
    return absent("make", "a session ticket key");
}

Result<std::string> self_signed_folder() {
    return absent("make", "a certificate");
}
Result<SelfSigned> self_signed(const std::string&, std::string_view,
                               const std::vector<std::string>&, UnixSeconds, Duration) {
    return absent("make", "a certificate");
}
Result<SelfSigned> self_signed() {
    return absent("make", "a certificate");
}

}  // namespace tiderace::tls
