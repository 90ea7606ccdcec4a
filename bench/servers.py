"""The servers that stand side by side: how each is started, told what to serve, and ended.

Each gets one worker, no access log, and the settings under which it serves static files best. The
room for connections is set from the number that will be opened, since some take its memory ahead.
"""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/bench"
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
    types {{ text/html html; }}
    client_body_temp_path {scratch}/body;
    proxy_temp_path {scratch}/proxy;
    fastcgi_temp_path {scratch}/fastcgi;
    uwsgi_temp_path {scratch}/uwsgi;
    scgi_temp_path {scratch}/scgi;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {root}; }}
}}
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

    def __init__(self, name, port, child, address="127.0.0.1"):
        self.name = name
        self.port = port
        self.child = child
        self.address = address

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


def spawn(words, core, log):
    with open(log, "ab") as out:
        return subprocess.Popen(
            pinned(core, [str(word) for word in words]),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


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


# ---- one function for each kind: (site, scratch, port, room) -> the words of its command----------


def filled(template, site, scratch, port, room):
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return template.format(
        root=site, scratch=scratch, port=port, room=room, descriptors=descriptors
    )


def nginx(site, scratch, port, room):
    config = scratch / "nginx.conf"
    user = "user root;\n" if os.geteuid() == 0 else ""  # the site may be readable by us only
    config.write_text(user + filled(NGINX, site, scratch, port, room))
    errors = scratch / "nginx-error.log"
    return [shutil.which("nginx", path=PATH), "-p", scratch, "-c", config, "-e", errors]


def lighttpd(site, scratch, port, room):
    config = scratch / "lighttpd.conf"
    config.write_text(filled(LIGHTTPD, site, scratch, port, room))
    return [shutil.which("lighttpd", path=PATH), "-D", "-f", config]


def tiderace(*flags):
    def words(site, scratch, port, _):
        plain = ["--threads", "1", "--quiet"]
        if "--access-log" not in flags:
            plain += ["--access-log", "off"]
        placed = [flag.format(scratch=scratch) for flag in flags]
        listen = ["--listen", f"127.0.0.1:{port}"]
        return [BUILD / "tiderace", "serve", site, *listen, *plain, *placed]

    return words


PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin"
LOG_TO_FILE = ["--access-log", "{scratch}/access.json", "--log-format", "json"]
KINDS = {
    "nginx": nginx,
    "lighttpd": lighttpd,
    "tiderace": tiderace(),
    "tiderace, JSON access log": tiderace(*LOG_TO_FILE),
    "tiderace, no deadlines": tiderace(*(word for flag in DEADLINE_FLAGS for word in (flag, "0"))),
}
FLOORS = {"floor, memory": ["memory"], "floor, sendfile": ["sendfile"]}


def available(name):
    """Why it cannot run here, or nothing."""
    if name in FLOORS:
        found = (BUILD / "bench/floor_epoll").exists()
    elif name.startswith("tiderace"):
        found = (BUILD / "tiderace").exists()
    else:
        found = shutil.which(name, path=PATH) is not None
    return None if found else "not installed or not built"


def room_for(workload):
    """nginx closes idle connections when less than a sixteenth of its room is left; under load the
    connections of one round may still be closing when those of the next come."""
    return workload.connections * 23 // 20 if workload.kind == "idle" else 20_000


def start(name, workload, place, core, wait=True):
    """One server for the workload. place: the folder with site/ in it, for logs and configs too."""
    site, scratch = place / "site", place
    log = scratch / f"{name.replace(' ', '-').replace(',', '')}.log"
    if name in FLOORS:
        words = [BUILD / "bench/floor_epoll", site / workload.path.lstrip("/"), *FLOORS[name]]
        child = subprocess.Popen(
            pinned(core, [*map(str, words), *(["close"] if workload.closes else [])]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        return Server(name, int(child.stdout.readline()), child)
    port = free_port()
    words = KINDS[name](site, scratch, port, room_for(workload))
    server = Server(name, port, spawn(words, core, log))
    if wait:
        wait_until_it_listens(server, log)
    return server


@contextlib.contextmanager
def started(names, workload, place, core):
    """All of them, running at once; ended, whatever happens."""
    running = []
    try:
        for name in names:
            running.append(start(name, workload, place, core))
        yield running
    finally:
        for server in running:
            server.end()
