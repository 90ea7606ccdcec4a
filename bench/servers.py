"""The servers that stand side by side: how each is started, told what to serve, and ended.

Each gets one worker, no access log, and the settings under which it serves static files best. The
room for connections is set from the number that will be opened, since some take its memory ahead.
"""

import contextlib
import dataclasses
import functools
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import lib_servers

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/bench"
BEFORE = ", before"  # ends the name of the same server from another build (`--before`)
DEADLINE_FLAGS = ["--header-timeout", "--body-timeout", "--write-timeout", "--idle-timeout"]
DEADLINE_FLAGS += ["--min-receive-rate", "--min-send-rate"]

NGINX = """
daemon off;
worker_processes 1;
worker_rlimit_nofile {descriptors};
pid {scratch}/nginx.pid;
error_log {scratch}/nginx-error.log crit;
events {{ worker_connections {room}; multi_accept on; use epoll; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=3600s;
    open_file_cache_valid 60s;
    types {{ text/html html; text/plain txt; }}
    gzip {gzip};
    gzip_types text/plain;
    gzip_proxied any;
    client_body_temp_path {scratch}/body;
    proxy_temp_path {scratch}/proxy;
    fastcgi_temp_path {scratch}/fastcgi;
    uwsgi_temp_path {scratch}/uwsgi;
    scgi_temp_path {scratch}/scgi;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:tls:10m;
    ssl_session_tickets on;
    server {{ listen 127.0.0.1:{port} backlog=4096 {tls_words}; root {root}; {tls_files} }}
}}
"""

H2O = """
num-threads: 1
max-connections: {room}
tcp-fastopen: 0
http1-request-timeout: 3600
http2-idle-timeout: 3600
error-log: {scratch}/h2o-error.log
pid-file: {scratch}/h2o.pid
compress: {h2o_compress}
ssl-session-resumption:
  mode: ticket
file.mime.addtypes:
  text/plain: .txt
listen:
  host: 127.0.0.1
  port: {port}
{h2o_tls}
hosts:
  default:
    paths:
      /:
        file.dir: {root}
"""

# The one cipher for all of them. h2o has no setting for it, so it is set in OpenSSL's file.
OPENSSL_CONF = """
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = one_cipher
[one_cipher]
Ciphersuites = TLS_AES_128_GCM_SHA256
"""

H2O_TLS = """  ssl:
    certificate-file: {certificate}
    key-file: {key}
    minimum-version: TLSv1.2
"""

LIGHTTPD = """
server.document-root = "{root}"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{scratch}/lighttpd-error.log"
server.event-handler = "linux-sysepoll"
server.network-backend = "sendfile"
server.max-fds = {descriptors}
server.max-connections = {room}
server.listen-backlog = 4096
server.max-keep-alive-idle = 3600
server.max-keep-alive-requests = 65535
server.max-read-idle = 3600
server.max-write-idle = 3600
server.stat-cache-engine = "simple"
mimetype.assign = ( ".html" => "text/html" )
"""


class Server:
    """One running server. `ended` must be called; use it through started()."""

    def __init__(self, name, port, child, address="127.0.0.1", secure=False):
        self.name = name
        self.port = port
        self.child = child
        self.address = address
        self.secure = secure

    @property
    def pid(self):
        return self.child.pid

    def alive(self):
        return self.child.poll() is None

    def end(self):
        if self.alive():
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(core, words):
    return words if core is None else ["taskset", "-c", str(core), *words]


def spawn(words, core, log, environment):
    with open(log, "ab") as out:
        return subprocess.Popen(
            pinned(core, [str(word) for word in words]),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def spawn_that_says_where(words, core):
    return subprocess.Popen(
        pinned(core, [str(word) for word in words]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )


def echo_port(name, child):
    """The right one of its lines "tcp 127.0.0.1:7000" and "websocket ws://127.0.0.1:7001/"."""
    for line in child.stdout:
        word, _, place = line.decode().partition(" ")
        if word == ECHOES[name]:
            return int(re.search(r":(\d+)/?$", place.strip())[1])
    raise RuntimeError(f"{name} does not say where it listens")


def wait_until_it_listens(server, log, seconds_max=10):
    until = time.monotonic() + seconds_max
    while time.monotonic() < until:
        if not server.alive():
            break
        with contextlib.suppress(OSError):
            socket.create_connection((server.address, server.port), timeout=1).close()
            return
        time.sleep(0.01)
    server.end()
    raise RuntimeError(f"{server.name} does not listen: {pathlib.Path(log).read_text()[-500:]}")


# ---- one function for each kind: a Plan -> the words of its command -----------------------------


@dataclasses.dataclass(frozen=True)
class Plan:
    site: pathlib.Path
    scratch: pathlib.Path  # for logs, configs, and the certificate
    port: int
    room: int  # connections
    secure: bool = False
    gzip: bool = False
    build: pathlib.Path = BUILD  # whose tiderace

    @property
    def certificate(self):
        return self.scratch / "certificate.pem"

    @property
    def key(self):
        return self.scratch / "key.pem"

    @property
    def openssl_conf(self):
        return self.scratch / "openssl.cnf"


def make_certificate(scratch):
    """A P-256 certificate for all of them, made once, and OpenSSL's configuration."""
    plan = Plan(scratch, scratch, 0, 0)
    if plan.certificate.exists():
        return
    plan.openssl_conf.write_text(OPENSSL_CONF)
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    words += f" -subj /CN=localhost -keyout {plan.key} -out {plan.certificate}"
    subprocess.run(words.split(), check=True, capture_output=True)


def filled(template, plan):
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    tls_files = f"ssl_certificate {plan.certificate}; ssl_certificate_key {plan.key};"
    h2o_tls = H2O_TLS.format(certificate=plan.certificate, key=plan.key)
    return template.format(
        root=plan.site,
        scratch=plan.scratch,
        port=plan.port,
        room=plan.room,
        descriptors=descriptors,
        gzip="on" if plan.gzip else "off",
        tls_words="ssl http2" if plan.secure else "",
        tls_files=tls_files if plan.secure else "",
        h2o_compress="ON" if plan.gzip else "OFF",
        h2o_tls=h2o_tls if plan.secure else "",
    )


def with_config(name, template, plan, before=""):
    config = plan.scratch / name
    config.write_text(before + filled(template, plan))
    return config


def nginx(plan):
    user = "user root;\n" if os.geteuid() == 0 else ""  # the site may be readable by us only
    config = with_config("nginx.conf", NGINX, plan, user)
    errors = plan.scratch / "nginx-error.log"
    return [shutil.which("nginx", path=PATH), "-p", plan.scratch, "-c", config, "-e", errors]


def lighttpd(plan):
    config = with_config("lighttpd.conf", LIGHTTPD, plan)
    return [shutil.which("lighttpd", path=PATH), "-D", "-f", config]


def h2o(plan):
    user = "user: root\n" if os.geteuid() == 0 else ""
    return [shutil.which("h2o", path=PATH), "-c", with_config("h2o.conf", H2O, plan, user)]


@functools.cache
def has_user(program):
    """Whether it takes --user: an earlier build may be older than the flag."""
    words = [program, "serve", "--help"]
    return "--user" in subprocess.run(words, capture_output=True, text=True, check=False).stdout


def tiderace(*flags):
    def words(plan):
        plain = ["--threads", "1", "--quiet"]
        if "--access-log" not in flags:
            plain += ["--access-log", "off"]
        if plan.secure:
            plain += ["--tls", f"{plan.certificate},{plan.key}"]
        placed = [flag.format(scratch=plan.scratch) for flag in flags]
        listen = ["--listen", f"127.0.0.1:{plan.port}"]
        program = plan.build / "tiderace"
        stay_root = ["--user", "root"] if os.geteuid() == 0 and has_user(program) else []
        return [program, "serve", plan.site, *listen, *plain, *placed, *stay_root]

    return words


PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin"
LOG_TO_FILE = ["--access-log", "{scratch}/access.json", "--log-format", "json"]
KINDS = {
    "nginx": nginx,
    "lighttpd": lighttpd,
    "h2o": h2o,
    "tiderace": tiderace(),
    "tiderace, gzip": tiderace(),
    "tiderace, JSON access log": tiderace(*LOG_TO_FILE),
    "tiderace, no deadlines": tiderace(*(word for flag in DEADLINE_FLAGS for word in (flag, "0"))),
}
FLOORS = {"floor, memory": ["memory"], "floor, sendfile": ["sendfile"]}
# examples/echo listens for both, and says where: the line that begins with this word.
ECHOES = {"echo, raw TCP": "tcp", "echo, WebSocket": "websocket"}
ECHO = "examples/echo/echo"


def is_ours(name):
    return name.startswith("tiderace") or name in ECHOES or lib_servers.is_ours(name)


def available(name, before=None):
    """Why it cannot run here, or nothing. before: the build of servers named so."""
    build = before if name.endswith(BEFORE) else BUILD
    name = name.removesuffix(BEFORE)
    if name == lib_servers.FLOOR_ECHO:
        found = (BUILD / "bench/lib/floor_echo").exists()
    elif name in FLOORS:
        found = (BUILD / "bench/floor_epoll").exists()
    elif name in ECHOES:
        found = (build / ECHO).exists()
    elif name in lib_servers.PROGRAMS:
        found = lib_servers.program(name, build).exists()
    elif name.startswith("tiderace"):
        found = (build / "tiderace").exists()
    else:
        found = shutil.which(name, path=PATH) is not None
    return None if found else "not installed or not built"


def room_for(workload):
    """nginx closes idle connections when less than a sixteenth of its room is left; under load the
    connections of one round may still be closing when the next round begins."""
    return workload.connections * 23 // 20 if workload.kind.startswith("idle") else 20_000


def start(name, workload, place, core, wait=True, before=None):
    """One server for the workload. place: the folder with site/ in it, for logs and configs too;
    before: the build of servers named so."""
    site, scratch = place / "site", place
    log = scratch / (re.sub("[^a-zA-Z0-9]+", "-", name) + ".log")
    build, kind = (before if name.endswith(BEFORE) else BUILD), name.removesuffix(BEFORE)
    if kind in ECHOES:
        child = spawn_that_says_where([build / ECHO], core)
        return Server(name, echo_port(kind, child), child)
    if name == lib_servers.FLOOR_ECHO:
        child = spawn_that_says_where([BUILD / "bench/lib/floor_echo"], core)
        return Server(name, int(child.stdout.readline()), child)
    if name in FLOORS:
        words = [BUILD / "bench/floor_epoll", site / workload.path.lstrip("/"), *FLOORS[name]]
        child = spawn_that_says_where([*words, *(["close"] if workload.closes else [])], core)
        return Server(name, int(child.stdout.readline()), child)
    if workload.secure:
        make_certificate(scratch)
    plan = Plan(
        site, scratch, free_port(), room_for(workload), workload.secure, workload.wants_gzip, build
    )
    environment = {"OPENSSL_CONF": str(plan.openssl_conf)} if workload.secure else {}
    words = lib_servers.words(kind, plan) if kind in lib_servers.PROGRAMS else KINDS[kind](plan)
    child = spawn(words, core, log, environment)
    server = Server(name, plan.port, child, secure=workload.secure)
    if wait:
        wait_until_it_listens(server, log)
    return server


@contextlib.contextmanager
def started(names, workload, place, core, before=None):
    """All of them, running at once; ended, whatever happens."""
    running = []
    try:
        for name in names:
            running.append(start(name, workload, place, core, before=before))
        yield running
    finally:
        for server in running:
            server.end()
