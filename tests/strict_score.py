"""How another server does on the strict table, judged by the RFC alone (`rfc_want`): no strictness
of ours is held against it.

    python3 strict_score.py nginx            starts nginx on a free port, on a folder of its own
    python3 strict_score.py 127.0.0.1:8080   a server that runs already and serves site_folder.py's
"""

import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from raw_client import Connection
from server import wait_until
from site_folder import build_site
from strict_cases import CASES
from test_http1_strict import check, send_whole

NGINX = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log crit;
events {{ worker_connections 512; }}
http {{
  types {{ text/plain txt; text/html html; }}
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  large_client_header_buffers 4 8k; client_header_timeout 2s; client_body_timeout 2s;
  server {{ listen 127.0.0.1:{port}; root {folder}/site; }}
}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(address):
    try:
        Connection(address).close()
        return True
    except OSError:
        return False


def run_table(address, deadline=2.0):
    failed = {}
    for case in CASES:
        try:
            with Connection(address, deadline=deadline) as connection:
                send_whole(connection, case)
                check(connection, case, case.rfc_want or case.want, case.rfc_then or case.then,
                      allow_always=False)
        except (AssertionError, OSError) as failure:
            failed[case.name] = str(failure).split("\n")[0]
    return failed


def start_nginx(folder):
    (folder / "site").mkdir()
    folder.chmod(0o755)
    build_site(folder / "site")
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    wait_until(lambda: answers(("127.0.0.1", port)), what="nginx listening")
    return process, ("127.0.0.1", port)


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "nginx"
    folder = Path(tempfile.mkdtemp(prefix="strict-score-"))
    process = None
    try:
        if target == "nginx":
            process, address = start_nginx(folder)
        else:
            name, _, port = target.rpartition(":")
            address = (name, int(port))
        failed = run_table(address)
        for case in CASES:
            if case.name in failed:
                print(f"  {case.section:12} {case.name}: {failed[case.name][:150]}")
        print(f"{target}: {len(CASES) - len(failed)} of {len(CASES)}")
    finally:
        if process:
            process.terminate()
            process.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
