"""How another server does on the strict table, judged by the RFC alone (`rfc_want`): no strictness
of ours is held against it.

    python3 strict_score.py nginx            starts nginx on a folder of its own
    python3 strict_score.py 127.0.0.1:8080   a server that runs already and serves site_folder.py's
"""

import sys
import tempfile
from pathlib import Path

from load_servers import nginx
from raw_client import Connection
from site_folder import build_site
from strict_cases import CASES
from test_http1_strict import check, send_whole

NGINX = """
types { text/plain txt; text/html html; }
large_client_header_buffers 4 8k; client_header_timeout 2s; client_body_timeout 2s;
"""


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


def print_score(target, address):
    failed = run_table(address)
    for case in CASES:
        if case.name in failed:
            print(f"  {case.section:12} {case.name}: {failed[case.name][:150]}")
    print(f"{target}: {len(CASES) - len(failed)} of {len(CASES)}")


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else "nginx"
    if target != "nginx":
        name, _, port = target.rpartition(":")
        print_score(target, (name, int(port)))
        return
    with tempfile.TemporaryDirectory(prefix="strict-score-") as folder:
        Path(folder).chmod(0o755)  # for a worker that is not root
        build_site(Path(folder))
        with nginx(Path(folder), http=NGINX) as url:
            name, _, port = url.removeprefix("http://").rstrip("/").rpartition(":")
            print_score(target, (name, int(port)))


if __name__ == "__main__":
    main()
