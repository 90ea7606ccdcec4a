#include "lab/opponent/launches.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "tiderace/core/process_limits.h"

namespace tiderace::lab::opponent {
namespace {

using Replacements = std::vector<std::pair<std::string_view, std::string>>;

std::string fill(std::string text, const Replacements& values) {
    for (const auto& [mark, value] : values) {
        const std::string wanted = '<' + std::string(mark) + '>';
        for (std::size_t at = 0; (at = text.find(wanted, at)) != std::string::npos;) {
            text.replace(at, wanted.size(), value);
            at += value.size();
        }
    }
    return text;
}

bool is_root() {
    return ::geteuid() == 0;
}

// The number of files that our children may open: they inherit the limit.
std::string descriptors() {
    const auto limit = core::raise_descriptor_limit();
    // At most a million: some servers allocate a table of this size.
    return std::to_string(limit ? std::min<std::uint64_t>(limit->after, 1'000'000) : 1024);
}

Replacements defaults(const OpponentStart& start) {
    return {{"root", start.plan.folder},
            {"port", std::to_string(start.address.port())},
            {"workers", std::to_string(start.plan.workers)},
            {"room", std::to_string(start.plan.connections_max)},
            {"descriptors", descriptors()}};
}

// Its master ends its workers on SIGTERM, so it also gets SIGTERM when we die.
ServerLaunch with_config(std::vector<std::string> words, std::string name, std::string text) {
    ServerLaunch launch;
    launch.child.arguments = std::move(words);
    launch.child.death_signal = SIGTERM;
    launch.files.emplace_back(std::move(name), std::move(text));
    return launch;
}

ServerLaunch own_program(const OpponentStart& start, const std::string& served) {
    ServerLaunch launch;
    launch.child.arguments = {start.program, served,
                              "--listen",    start.address.to_string(),
                              "--threads",   std::to_string(start.plan.workers)};
    return launch;
}

ServerLaunch by_sendfile(ServerLaunch launch) {
    launch.child.arguments.emplace_back("--sendfile");
    return launch;
}

// The configs have in common: 3600 s and more for whatever waits, because idle clients are part of
// a load; no access log; room for more connections than come; and, where it can be set, a queue of
// 4096, as our own server has. In the foreground, so that the process that was started is the one
// to be ended; and every path in a folder of the run's, because a server of the machine's may use
// the usual ones.
//
// nginx: its open_file_cache saves an open() for each answer, as our own cache does. 65,535 is
// lighttpd's largest number of requests; a connection of a longer load is opened again.
constexpr const char* nginx_config = R"(daemon off;
<user>worker_processes <workers>;
worker_rlimit_nofile <descriptors>;
pid {folder}/nginx.pid;
error_log stderr crit;
events { worker_connections <room>; multi_accept on; use epoll; }
http {
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=3600s;
    open_file_cache_valid 60s;
    types { text/html html; text/plain txt; }
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server { listen 127.0.0.1:<port> backlog=4096<spread>; root "<root>"; }
}
)";

constexpr const char* lighttpd_config = R"(server.document-root = "<root>"
server.bind = "127.0.0.1"
server.port = <port>
server.event-handler = "linux-sysepoll"
server.network-backend = "sendfile"
server.max-fds = <descriptors>
server.max-connections = <room>
server.listen-backlog = 4096
server.max-keep-alive-idle = 3600
server.max-keep-alive-requests = 65535
server.max-read-idle = 3600
server.max-write-idle = 3600
server.stat-cache-engine = "simple"
index-file.names = ( "index.html" )
mimetype.assign = ( ".html" => "text/html", ".txt" => "text/plain" )
<processes>)";

constexpr const char* h2o_config = R"(<user>num-threads: <workers>
max-connections: <room>
tcp-fastopen: 0
http1-request-timeout: 3600
compress: OFF
file.mime.addtypes:
  text/plain: .txt
listen:
  host: 127.0.0.1
  port: <port>
hosts:
  default:
    paths:
      /:
        file.dir: "<root>"
)";

constexpr const char* apache_config = R"(ServerRoot "{folder}"
PidFile "{folder}/httpd.pid"
DefaultRuntimeDir "{folder}"
ServerName localhost
Listen 127.0.0.1:<port>
ListenBacklog 4096
ErrorLog /dev/stderr
LogLevel error
<modules><user>ServerLimit <workers>
StartServers <workers>
ThreadLimit <threads>
ThreadsPerChild <threads>
MaxRequestWorkers <all>
MinSpareThreads 1
MaxSpareThreads <all>
AsyncRequestWorkerFactor <factor>
MaxConnectionsPerChild 0
Timeout 3600
KeepAlive On
KeepAliveTimeout 3600
MaxKeepAliveRequests 0
EnableSendfile On
EnableMMAP Off
TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
DirectoryIndex index.html
DocumentRoot "<root>"
<Directory "<root>">
    Require all granted
    AllowOverride None
    Options FollowSymLinks
</Directory>
)";

constexpr std::size_t apache_threads_min = 64;  // of each process
constexpr std::size_t apache_threads_max = 1'024;
constexpr std::size_t apache_spare_threads = 16;

constexpr const char* caddy_config = R"({
  "admin": {"disabled": true, "config": {"persist": false}},
  "logging": {"logs": {"default": {"level": "ERROR"}}},
  "apps": {"http": {"servers": {"all": {
    "listen": ["127.0.0.1:<port>"],
    "idle_timeout": "1h",
    "automatic_https": {"disable": true},
    "routes": [{"handle": [{"handler": "file_server", "root": "<root>"}]}]
  }}}}
}
)";

constexpr const char* haproxy_config = R"(global
    nbthread <workers>
    maxconn <room>
    no strict-limits
    ulimit-n <descriptors>
    tune.bufsize <buffer>
defaults
    mode http
    no log
    option http-keep-alive
    timeout connect 1h
    timeout client 1h
    timeout server 1h
    timeout http-keep-alive 1h
frontend all
    bind 127.0.0.1:<port> backlog 4096
    http-request return status 200 content-type text/html file "<root><path>"
)";

// A module may be compiled in, and then is no file.
std::string apache_modules() {
    constexpr std::string_view folders[] = {"/usr/lib/apache2/modules", "/usr/lib64/httpd/modules",
                                            "/usr/lib/httpd/modules", "/etc/httpd/modules",
                                            "/usr/libexec/apache2"};
    constexpr std::string_view wanted[] = {"mpm_event", "unixd", "authz_core", "mime", "dir"};
    std::string text;
    for (const std::string_view folder : folders) {
        for (const std::string_view name : wanted) {
            const std::string file = std::string(folder) + "/mod_" + std::string(name) + ".so";
            std::error_code none;
            if (!std::filesystem::exists(file, none)) continue;
            text += "LoadModule " + std::string(name) + "_module " + file + '\n';
        }
        if (!text.empty()) break;
    }
    return text;
}

}  // namespace

ServerLaunch launch_evhttp(const OpponentStart& start) {
    return own_program(start, start.plan.folder);
}

ServerLaunch launch_evhttp_sendfile(const OpponentStart& start) {
    return by_sendfile(launch_evhttp(start));
}

ServerLaunch launch_asio_http(const OpponentStart& start) {
    ServerLaunch launch = own_program(start, start.plan.folder);
    // The example that it follows closes after every answer: where the load does so too, it stays
    // as it is.
    if (!start.plan.closes) launch.child.arguments.emplace_back("--keep-alive");
    return launch;
}

ServerLaunch launch_nginx(const OpponentStart& start) {
    Replacements values = defaults(start);
    values.emplace_back("user", is_root() ? "user root;\n" : "");
    // A listener for each worker, as our own server has.
    values.emplace_back("spread", start.plan.workers > 1 ? " reuseport" : "");
    return with_config(
        {start.program, "-p", "{folder}", "-c", "{folder}/nginx.conf", "-e", "stderr"},
        "nginx.conf", fill(nginx_config, values));
}

// One process has one loop: workers are further processes, and a single one runs without a master.
ServerLaunch launch_lighttpd(const OpponentStart& start) {
    Replacements values = defaults(start);
    values.emplace_back("processes",
                        start.plan.workers > 1
                            ? "server.max-worker = " + std::to_string(start.plan.workers) + '\n'
                            : "");
    return with_config({start.program, "-D", "-f", "{folder}/lighttpd.conf"}, "lighttpd.conf",
                       fill(lighttpd_config, values));
}

ServerLaunch launch_h2o(const OpponentStart& start) {
    Replacements values = defaults(start);
    values.emplace_back("user", is_root() ? "user: root\n" : "");
    return with_config({start.program, "-c", "{folder}/h2o.conf"}, "h2o.conf",
                       fill(h2o_config, values));
}

ServerLaunch launch_apache(const OpponentStart& start) {
    // While no thread of a process is free it closes kept connections that wait for their next
    // request, so that with fewer threads than clients its answers are mostly "Connection: close".
    const std::size_t threads =
        std::clamp(start.plan.connections / start.plan.workers + apache_spare_threads,
                   apache_threads_min, apache_threads_max);
    Replacements values = defaults(start);
    const std::size_t all = threads * start.plan.workers;
    values.emplace_back("threads", std::to_string(threads));
    values.emplace_back("all", std::to_string(all));
    values.emplace_back("factor", std::to_string(start.plan.connections_max / all + 1));
    values.emplace_back("modules", apache_modules());
    values.emplace_back("user", is_root() ? "User #65534\nGroup #65534\n" : "");  // not as root
    return with_config({start.program, "-DFOREGROUND", "-f", "{folder}/httpd.conf"}, "httpd.conf",
                       fill(apache_config, values));
}

// GOMAXPROCS is what workers are elsewhere: how many threads run goroutines at a time.
ServerLaunch launch_caddy(const OpponentStart& start) {
    ServerLaunch launch = with_config({start.program, "run", "--config", "{folder}/caddy.json"},
                                      "caddy.json", fill(caddy_config, defaults(start)));
    // It writes its state under HOME and XDG_*: those are not to be the user's own.
    launch.child.environment = {{"GOMAXPROCS", std::to_string(start.plan.workers)},
                                {"HOME", "{folder}"},
                                {"XDG_CONFIG_HOME", "{folder}"},
                                {"XDG_DATA_HOME", "{folder}"}};
    return launch;
}

// The answer is read when it starts, and has to fit into a buffer with its head.
ServerLaunch launch_haproxy(const OpponentStart& start) {
    Replacements values = defaults(start);
    values.emplace_back("path", file_of(start.plan.path));
    values.emplace_back("buffer", std::to_string(haproxy_buffer_bytes));
    return with_config({start.program, "-db", "-f", "{folder}/haproxy.cfg"}, "haproxy.cfg",
                       fill(haproxy_config, values));
}

ServerLaunch launch_floor(const OpponentStart& start) {
    ServerLaunch launch = own_program(start, start.plan.folder + file_of(start.plan.path));
    if (start.plan.closes) launch.child.arguments.emplace_back("--close");
    return launch;
}

ServerLaunch launch_floor_sendfile(const OpponentStart& start) {
    return by_sendfile(launch_floor(start));
}

}  // namespace tiderace::lab::opponent
