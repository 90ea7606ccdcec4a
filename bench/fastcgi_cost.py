#!/usr/bin/env python3
"""Processor time of one FastCGI request beside nginx's, before the same php-fpm.

usage: fastcgi_cost.py TIDERACE [REQUESTS] [ROUNDS] [CONNECTIONS]

Each server has one worker on the first CPU and keeps its connections to 4 processes of php-fpm,
which have the second CPU with the load. What php-fpm spends is not counted. Rounds in turns,
medians. Where bench/floor_fastcgi is built beside TIDERACE, the floor is measured with them: the
calls that no server can do without.
"""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import procfs
import servers

PHP = ("php-fpm", "php-fpm8.4", "php-fpm8.3", "php-fpm8.2", "php-fpm8.1")
STAY_ROOT = ["--user", "root"] if os.geteuid() == 0 else []
PAGES = {"hello": "<?php echo 'hello';", "57 KB": "<?php echo str_repeat('0123456789', 5724);"}

FPM = """[global]
error_log = {at}/fpm.log
daemonize = no
"""

# A kept connection keeps its process from the other server, so each has processes of its own.
POOL = """[{who}]
listen = {at}/{who}.sock
listen.backlog = 511
pm = static
pm.max_children = 4
{user}
"""

NGINX = """daemon off;
worker_processes 1;
pid {at}/nginx.pid;
error_log {at}/nginx.log crit;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;
    uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;
    upstream php {{ server unix:{at}/nginx.sock; keepalive 4; }}
    server {{
        listen 127.0.0.1:{port};
        root {at}/site;
        location ~ [.]php$ {{
            fastcgi_pass php;
            fastcgi_keep_conn on;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            include {params};
        }}
    }}
}}
"""

PARAMS = """fastcgi_param QUERY_STRING $query_string;
fastcgi_param REQUEST_METHOD $request_method;
fastcgi_param CONTENT_TYPE $content_type;
fastcgi_param CONTENT_LENGTH $content_length;
fastcgi_param SCRIPT_NAME $fastcgi_script_name;
fastcgi_param REQUEST_URI $request_uri;
fastcgi_param DOCUMENT_ROOT $document_root;
fastcgi_param SERVER_PROTOCOL $server_protocol;
fastcgi_param REQUEST_SCHEME $scheme;
fastcgi_param GATEWAY_INTERFACE CGI/1.1;
fastcgi_param SERVER_SOFTWARE nginx/$nginx_version;
fastcgi_param REMOTE_ADDR $remote_addr;
fastcgi_param REMOTE_PORT $remote_port;
fastcgi_param SERVER_ADDR $server_addr;
fastcgi_param SERVER_PORT $server_port;
fastcgi_param SERVER_NAME $server_name;
"""


def found(names):
    path = next((at for name in names if (at := shutil.which(name, path=servers.PATH))), None)
    return path or sys.exit(f"{names[0]} is not installed")


@contextlib.contextmanager
def running(words, core):
    process = subprocess.Popen(servers.pinned(core, [str(word) for word in words]),
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def ask(tiderace, port, page, requests, connections, core):
    """Every answer is read and checked to be a 200."""
    words = [tiderace, "load", f"http://127.0.0.1:{port}/{page}", "-c", connections, "-n", requests]
    subprocess.run(servers.pinned(core, [str(word) for word in [*words, "-t", 1, "--json"]]),
                   check=True, stdout=subprocess.DEVNULL)


def main(tiderace, requests=20_000, rounds=5, connections=4):
    cores = procfs.cores()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ended:
        at = pathlib.Path(folder)
        at.chmod(0o755)
        (at / "site").mkdir()
        for number, text in enumerate(PAGES.values()):
            (at / "site" / f"{number}.php").write_text(text)
        (at / "fastcgi_params").write_text(PARAMS)
        root = os.geteuid() == 0
        port = servers.free_port()
        (at / "fpm.conf").write_text(
            FPM.format(at=at) + "".join(
                POOL.format(at=at, who=who, user="user = root\ngroup = root\n" if root else "")
                for who in ("nginx", "tiderace", "floor")))
        (at / "nginx.conf").write_text(NGINX.format(
            at=at, port=port, params=at / "fastcgi_params", user="user root;" if root else ""))
        ended.enter_context(running(
            [found(PHP), "-n", "-F", "-R", "-y", at / "fpm.conf", "-p", at], cores[-1]))
        while not (at / "floor.sock").exists():
            time.sleep(0.05)
        nginx = ended.enter_context(running(
            [found(["nginx"]), "-p", at, "-c", at / "nginx.conf", "-e", at / "nginx.log"],
            cores[0]))
        ours = ended.enter_context(running(
            [tiderace, "serve", at / "site", "--listen", "127.0.0.1:0", "--fastcgi",
             f"*.php=unix:{at}/tiderace.sock", "--threads", "1", "--compress", "off",
             "--access-log", "off", *STAY_ROOT], cores[0]))
        our_port = next(int(place[1]) for line in ours.stdout
                        if (place := re.search(r"http://[^/]*:(\d+)", line)))
        floor = pathlib.Path(tiderace).resolve().parent / "bench/floor_fastcgi"
        for number, name in enumerate(PAGES):
            cost = {"nginx": [], "tiderace": []}
            measured = [("nginx", nginx, port), ("tiderace", ours, our_port)]
            if floor.exists():
                cost["floor"] = []
                least = ended.enter_context(running(
                    [floor, at / "floor.sock", at / "site" / f"{number}.php", "level"], cores[0]))
                measured.append(("floor", least, int(least.stdout.readline().split(":")[-1])))
            for turn in range(int(rounds) + 1):
                for who, process, where in measured:
                    before = procfs.cpu_microseconds(process.pid)
                    ask(tiderace, where, f"{number}.php", requests, connections, cores[-1])
                    spent = procfs.cpu_microseconds(process.pid) - before
                    if turn > 0:  # the first is to warm up
                        cost[who].append(spent / int(requests))
            unit = statistics.median(cost["nginx"])
            print(f"{name}: " + ", ".join(
                f"{who} {statistics.median(each):.1f} us ({min(each):.1f} to {max(each):.1f}; "
                f"{statistics.median(each) / unit:.2f} x)" for who, each in cost.items()))
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
