// FastCgi: answers requests by programs that run already and speak FastCGI: php-fpm, fcgiwrap, the
// servers of many languages.
//
//   pattern "*.php"  ->  /a/x.php/info: SCRIPT_FILENAME ROOT/a/x.php, PATH_INFO /info
//   pattern "/app"   ->  /app/x:        SCRIPT_NAME /app, PATH_INFO /x
//
// With a pattern, the script must be a file beneath the root, now or a second ago; a request for a
// script that is not there is 404 and never reaches the peer, which might run another file instead.
// Such files are not sent as files either.
//
// Connections are kept and used again, each for one request at a time. Output that a client is slow
// to take is held up to output_bytes_high; above it the connection is not read.
//
// Owner    The program; one per loop.
// Thread   The loop's.
// Errors   404: no such script. 502: the peer is gone, refuses, or answers garbage. 503: no place,
//          or the peer is overloaded. 504: it does nothing for too long. Logged, but for the first.
// Limits   FastCgiOptions.
// Keywords: FastCGI, PHP, php-fpm
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tiderace/base/result.h"
#include "tiderace/core/address.h"
#include "tiderace/http/cgi/known_scripts.h"
#include "tiderace/http/cgi/program_call.h"
#include "tiderace/http/cgi/program_folder.h"
#include "tiderace/http/handler.h"
#include "tiderace/http/site_loop.h"
#include "tiderace/http/wire/cgi/fcgi_records.h"

namespace tiderace::http::cgi {

struct FastCgiOptions {
    std::string pattern = "*.php";        // a glob; or a path without one: all below it
    core::Address address;                // of the peer: unix:PATH, HOST:PORT
    std::string root;                     // where scripts are; "" with a path: not sent
    std::vector<std::string> index = {};  // names that match the pattern stand for their folder
    CallRules rules = {};
    std::size_t connections_max = 32;  // of this handler
    std::size_t waiting_max = 256;     // requests for one that others use; above: 503
    // A kept connection may occupy one of a few processes, so it ends after idle_least
    // where another request has waited that long for its first byte.
    Duration idle_max = 1s;
    Duration idle_least = 100ms;
    Duration connect_max = 5s;
    std::size_t output_bytes_high = 256_KiB;  // of each request
    std::string server_software = MessageOptions{}.server_name;
};

class FastCgiCall;
class FastCgiPeer;

class FastCgi final : public Handler, private core::TurnEnd {
  public:
    static Result<std::unique_ptr<FastCgi>> create(core::EventLoop& loop, FastCgiOptions options);
    ~FastCgi() override;

    // 404 where the pattern matches neither the path nor the index of a folder at that path.
    void handle(Exchange& exchange) override;
    // Answers by the script of this path, which the request's own stands for. False: it is none,
    // nor a folder that has one of these names of the pattern's, and the exchange is not touched.
    bool handle_as(Exchange& exchange, ByteView path, std::span<const std::string> index);

    FastCgiPeer& peer() { return *peer_; }
    // No request is under way.
    bool is_idle() const { return calls_.empty(); }

  private:
    friend class FastCgiCall;

    FastCgi(core::EventLoop& loop, FastCgiOptions options, std::optional<ProgramFolder> folder);
    bool is_path() const;
    bool is_script(ByteView path) const;
    std::optional<std::string> index_of(ByteView folder, std::span<const std::string> names);
    // The front of the path that is a script's name, "/a/x.php"; what follows is PATH_INFO.
    std::optional<ByteView> script_in(ByteView path) const;
    void run(Exchange& exchange, ByteView script);
    void on_turn_end() override;
    void retire(FastCgiCall& call);
    // The records that begin the request of this script; until the next call.
    ByteView begin_request(const Exchange& exchange, ByteView script, std::uint16_t id,
                           std::optional<std::uint64_t> content_length);

    core::EventLoop* loop_;
    FastCgiOptions options_;
    std::optional<ProgramFolder> folder_;
    KnownScripts known_;
    CallRoom room_;
    // Used again for each request, so that it allocates nothing.
    wire::cgi::FcgiParams params_;
    std::string file_, translated_;
    IntrusiveList<FastCgiCall> calls_;    // owned
    IntrusiveList<FastCgiCall> retired_;  // owned
    // Ends before the calls that use it; null from its end on, while it fails these.
    std::unique_ptr<FastCgiPeer> peer_;
};

}  // namespace tiderace::http::cgi
