// ServeOptions: all settings of `tiderace serve`, as plain data with their defaults.
//
// Filled by the command line, read by assemble.cc. The flag of each field, its unit and its
// description stand in command_line/flags.cc. A default stands here, or in the part of the library
// that it belongs to; help, man page and completions are rendered from these defaults.
//
// Thread   Plain data: written before the loops start, read-only after.
// Errors   The texts were checked for form by the command line (a code is 400..599, a header has no
//          control characters). Whether a folder, a file or an address exists is not known here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/cache_sizes.h"
#include "server/program_options.h"
#include "server/site/route.h"
#include "tiderace/base/units.h"
#include "tiderace/core/event_loop.h"
#include "tiderace/http/handler/static_files.h"
#include "tiderace/http/stages.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/http/wire/request_head.h"
#include "tiderace/log/level.h"
#include "tiderace/net/serving.h"
#include "tiderace/tls/server_options.h"

namespace tiderace::server {

using net::AcceptMode;

enum class SymlinkPolicy : std::uint8_t {
    inside,    // followed while they stay beneath the root
    anywhere,  // followed wherever they lead
    never,     // not found
};

enum class Http2 : std::uint8_t {
    off,
    on,    // beside HTTP/1.1: by ALPN, or by its preface in clear text
    only,  // no HTTP/1.1 at all: for clients with prior knowledge
};

using LogFormat = http::AccessLogFormat;

using ClientAuth = tls::ClientCertificates;
using tls::CertificateFiles;

using LogLevel = log::Level;

struct TlsOptions {
    std::vector<CertificateFiles> certificates;  // chosen by name; the first where none fits
    bool self_signed = false;                    // one of our own making instead
    ClientAuth client_auth = ClientAuth::off;
    std::optional<std::string> client_ca;     // PEM; the authorities that sign client certificates
    std::vector<std::string> https_redirect;  // plain addresses that lead to the encrypted ones
    std::optional<std::uint64_t> https_port;  // where they lead; unset: the first of --listen
    Duration hsts = Duration::zero();         // Strict-Transport-Security; 0: not sent

    // Whether the addresses of --listen are encrypted.
    bool on() const { return self_signed || !certificates.empty(); }
    bool operator==(const TlsOptions&) const = default;
};

struct CacheControlRule {
    std::string pattern;  // a glob over the path below the root: *.css, /assets/*
    std::string value;
    bool operator==(const CacheControlRule&) const = default;
};

struct MimeAddition {
    std::string extension;  // lower case, without the dot
    std::string type;
    bool operator==(const MimeAddition&) const = default;
};

struct Timeouts {
    Duration header = http::MessageOptions{}.header_timeout;  // first byte to the end of the head
    Duration body = http::MessageOptions{}.body_timeout;  // without progress of the request body
    Duration write = net::ConnectionLimits{}.write;       // without progress of the response
    Duration idle = http::MessageOptions{}.idle_timeout;  // between requests of a kept connection
    // While the answer to a peer that ended its side makes no progress.
    Duration half_closed = http::MessageOptions{}.half_closed_timeout;
    Duration drain = net::ServingOptions{}.drain_timeout;  // from the first SIGTERM to the end

    // As the parts that drain take it: 0, which is no limit on the command line, would cut off
    // every answer at once.
    Duration drain_or_never() const { return drain == Duration::zero() ? Duration::max() : drain; }
    bool operator==(const Timeouts&) const = default;
};

// Averages over one timeout. A peer below one of them is taken for an attacker and cut off. 0: not
// checked.
struct MinimumRates {
    std::uint64_t receive_bytes_per_second_min = net::ServingDefaults::bytes_per_second_min;
    std::uint64_t send_bytes_per_second_min = net::ServingDefaults::bytes_per_second_min;
    bool operator==(const MinimumRates&) const = default;
};

struct RequestLimits {
    std::uint64_t request_line_bytes_max = http::wire::HeadLimits{}.request_line_bytes_max;  // 414
    std::uint64_t head_bytes_max = http::wire::HeadLimits{}.head_bytes_max;                  // 431
    std::uint64_t fields_max = http::wire::HeadLimits{}.fields_max;                          // 431
    // 413; a smaller body is given to a program, or read and dropped.
    std::uint64_t body_bytes_max = http::cgi::CallRules{}.body_bytes_max;
    // Unsent answers of a loop that wait for slow readers.
    std::uint64_t send_bytes_max = core::LoopOptions{}.send_bytes_max;
    bool operator==(const RequestLimits&) const = default;
};

struct CompressOptions {
    http::wire::AvailableCodings codings = {.gzip = true, .zstd = true, .br = true};
    std::uint64_t bytes_min =
        http::files::CompressRules{}.bytes_min;  // a smaller body is sent plain
    std::uint64_t bytes_max =
        http::files::CompressRules{}.bytes_max;  // a larger file is sent plain
    std::optional<std::string> folder;           // keeps compressed files over a restart
    std::uint64_t folder_bytes_max = 1_GiB;
    std::uint64_t memory_bytes_max = 64_MiB;  // of compressed files, for all loops
    bool operator==(const CompressOptions&) const = default;
};

struct ServeOptions {
    // Addresses.
    std::vector<std::string> listen = {"127.0.0.1:8080"};  // as given; see listen_address.h
    bool listen_is_default = true;  // then a taken port may be replaced by the next
    std::uint64_t backlog = net::ServingDefaults::backlog;
    std::optional<std::uint64_t> connections_max;  // unset: what the descriptor limit allows
    bool open_browser = false;
    bool quiet = false;  // no banner
    Http2 http2 = Http2::on;

    // TLS.
    TlsOptions tls;

    // Files and folders.
    std::string root = ".";
    std::vector<std::string> index =
        http::files::PathRules{}.index;   // the first that exists wins; empty: none
    std::optional<bool> listing;          // unset: assemble.cc decides
    std::optional<std::string> spa_file;  // served where nothing is found; unset: 404
    bool clean_urls = http::files::PathRules{}.clean_urls;
    bool precompressed = http::files::PathRules{}.precompressed;
    CompressOptions compress;
    bool hidden_files = http::files::PathRules{}.hidden;
    SymlinkPolicy symlinks = SymlinkPolicy::inside;
    std::vector<ErrorPage> error_pages;
    std::vector<MimeAddition> mime_additions;
    CgiSettings cgi;

    // Response fields.
    std::vector<CacheControlRule> cache_control;  // the first match wins
    std::vector<AddedHeader> added_headers;
    std::optional<std::string> cors_origin;  // "*" or one origin; unset: no CORS
    bool server_header = true;
    // Whose X-Forwarded-For and X-Forwarded-Proto are believed (http/filter/trusted_proxies.h).
    std::vector<std::string> trusted_proxies = {};
    bool about = false;  // describe this server; see about.h
    bool echo = false;   // no HTTP: what comes in goes out; see echo.h

    // The users with access. Each entry is USER:PASSWORD or a file of such; see password_file.h.
    std::vector<std::string> basic_auth;

    // A route without a match: the settings in the [[site]] of a file. They stand above the flags.
    Route whole;
    std::string canonical_host;  // where its other names lead; "": nowhere
    std::vector<Route> routes;

    // Logs.
    std::string access_log = "off";  // "off", "-" for standard output, or a file
    LogFormat log_format = LogFormat::combined;
    http::AccessLogRules log_rules = {};
    Duration slow{};  // requests that take longer are warnings; 0: none
    LogLevel log_level = LogLevel::info;
    Duration log_flush_interval = 1s;
    std::uint64_t log_rotate_bytes = 0;           // 0: never rotated by size
    std::optional<std::uint64_t> log_files_kept;  // unset: FileSinkOptions::files_kept

    // Threads, engine and caches.
    std::uint64_t threads = 0;  // loops; 0: one for each CPU that the process may use
    std::string engine{core::LoopOptions{}.engine};  // one of engines() in version.h, or auto
    AcceptMode accept = AcceptMode::reuseport;
    std::optional<std::string> user;  // NAME[:GROUP]; unset: nobody if root started it; account.h
    CacheOptions cache;
    std::vector<std::string> private_files = {};  // never sent, wherever they lie; whole names
    bool watch = false;             // the files of a configuration are read again when they change
    std::string admin_socket = {};  // "": none
    std::uint32_t admin_mode = 0600;
    MetricsOptions metrics;

    // Limits and time-outs.
    Timeouts timeouts;
    MinimumRates minimum_rates;
    RequestLimits limits;
    bool operator==(const ServeOptions&) const = default;
};

}  // namespace tiderace::server
