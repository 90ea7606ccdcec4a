// ServeOptions: everything `tiderace serve` was told, as plain data with its defaults.
//
// Filled by cli.h, read by assemble.cc. The flag of each field, its unit and its one-line
// description stand in flags.cc; the defaults stand here and nowhere else (help, man page and
// completions are rendered from them).
//
// Thread   Plain data: written before the loops start, read-only after.
// Errors   The texts were checked for form by the command line (a code is 400..599, a header has no
//          control characters). Whether a folder, a file or an address exists is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tiderace/base/units.h"
#include "tiderace/http/wire/accept.h"
#include "tiderace/log/level.h"
#include "tiderace/tls/server_options.h"

namespace tiderace::server {

enum class AcceptMode : std::uint8_t {
    reuseport,  // one listening socket per loop, the kernel spreads
    queue,      // one listening thread, a bounded queue to the loops, 503 over the bound
    shared,     // one listening socket that every loop accepts from
};

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

enum class LogFormat : std::uint8_t { common, combined, json };

using ClientAuth = tls::ClientCertificates;
using tls::CertificateFiles;

using LogLevel = log::Level;

struct TlsOptions {
    std::vector<CertificateFiles> certificates;  // chosen by name; the first where none fits
    bool self_signed = false;                    // one of our own making instead
    ClientAuth client_auth = ClientAuth::off;
    std::string client_ca;                    // PEM; who may sign client certificates
    std::vector<std::string> https_redirect;  // plain addresses that lead to the encrypted ones
    std::uint64_t https_port = 0;             // where they lead; 0: the first of --listen
    Duration hsts = Duration::zero();         // Strict-Transport-Security; 0: not sent

    // Whether the addresses of --listen are encrypted.
    bool on() const { return self_signed || !certificates.empty(); }
};

struct ErrorPage {
    std::uint16_t code = 0;  // 400..599
    std::string file;        // as given, relative to the root
};

struct CacheControlRule {
    std::string pattern;  // a glob over the path below the root: *.css, /assets/*
    std::string value;
};

struct AddedHeader {
    std::string name;  // a token; never one of the fields that the server itself must decide
    std::string value;
};

struct MimeAddition {
    std::string extension;  // lower case, without the dot
    std::string type;
};

struct Timeouts {
    Duration header = 10s;  // from the first byte of a request to the end of its head
    Duration body = 30s;    // without progress of the request body
    Duration write = 30s;   // without progress of the response
    Duration idle = 60s;    // between requests of a kept connection
    Duration drain = 10s;   // from the first SIGTERM to the end of everything
};

// Averages over one timeout below which a peer is taken for an attacker and cut off. 0: not
// checked.
struct MinimumRates {
    std::uint64_t receive_bytes_per_second = 256;
    std::uint64_t send_bytes_per_second = 256;
};

struct RequestLimits {
    std::uint64_t line_bytes_max = 8_KiB;   // 414
    std::uint64_t head_bytes_max = 32_KiB;  // 431
    std::uint64_t field_count_max = 100;    // 431
    std::uint64_t body_bytes_max = 1_MiB;   // 413; a smaller body is read and dropped
    std::uint64_t send_bytes_max = 64_MiB;  // of a loop's answers that wait for slow readers
};

struct CacheOptions {
    std::uint64_t bytes_max = 64_MiB;             // per loop; 0: no cache
    std::uint64_t file_bytes_max = 32_KiB;        // a larger file is never held in memory
    std::uint64_t small_copy_bytes_max = 16_KiB;  // up to here a file is copied next to its headers
    std::uint64_t sendfile_bytes_min = 32_KiB;    // from here an uncached file goes by sendfile
    Duration revalidate = 1s;  // an entry is trusted so long without a look at the disk
};

struct CompressOptions {
    http::wire::AvailableCodings codings = {.gzip = true, .zstd = true, .br = true};
    std::uint64_t bytes_min = 1_KiB;       // a smaller body is sent as it is
    std::uint64_t file_bytes_max = 8_MiB;  // a larger file is sent as it is
    std::string folder;                    // keeps compressed files over a restart; empty: none
    std::uint64_t folder_bytes_max = 1_GiB;
    std::uint64_t memory_bytes_max = 64_MiB;  // of compressed files, for all loops
};

struct ServeOptions {
    // Where it listens.
    std::vector<std::string> listen = {"127.0.0.1:8080"};  // as given; see listen_address.h
    bool listen_is_default = true;  // then a taken port may be replaced by the next
    std::uint64_t backlog = 4096;
    std::uint64_t connections_max = 0;  // 0: what the descriptor limit allows
    bool open_browser = false;
    bool quiet = false;  // no banner
    Http2 http2 = Http2::on;

    // How it is encrypted.
    TlsOptions tls;

    // What it serves.
    std::string root = ".";
    std::vector<std::string> index = {"index.html"};  // the first that exists wins; empty: none
    bool listing = false;
    std::string spa_file;  // served where nothing is found; empty: 404
    bool clean_urls = false;
    bool precompressed = true;
    CompressOptions compress;
    bool hidden_files = false;
    SymlinkPolicy symlinks = SymlinkPolicy::inside;
    std::vector<ErrorPage> error_pages;
    std::vector<MimeAddition> mime_additions;

    // What it adds to answers.
    std::vector<CacheControlRule> cache_control;  // the first match wins
    std::vector<AddedHeader> added_headers;
    std::string cors_origin;  // "*" or one origin; empty: no CORS
    bool server_header = true;
    bool about = false;  // tell what this server is; see about.h
    bool echo = false;   // no HTTP: what comes in goes out; see echo.h

    // Who may read. Each entry is USER:PASSWORD or a file of such; see password_file.h.
    std::vector<std::string> basic_auth;

    // What it writes down.
    std::string access_log = "off";  // "off", "-" for standard output, or a file
    LogFormat log_format = LogFormat::combined;
    LogLevel log_level = LogLevel::info;
    Duration log_flush_interval = 1s;
    std::uint64_t log_rotate_bytes = 0;  // 0: never rotated by size

    // How it runs.
    std::uint64_t threads = 0;    // loops; 0: one for each CPU that the process may use
    std::string engine = "auto";  // one of engines() in version.h, or auto
    AcceptMode accept = AcceptMode::reuseport;
    std::string user;  // NAME[:GROUP]; empty: nobody where root started it; see account.h
    CacheOptions cache;

    // What it puts up with.
    Timeouts timeouts;
    MinimumRates minimum_rates;
    RequestLimits limits;
};

}  // namespace tiderace::server
