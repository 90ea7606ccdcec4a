"""packaging/: its files are valid, and agree with the program that they run.

tools/suite_needs.py builds the tools once from the Go module proxy, into build/tools: Helm renders
the chart, kubeconform validates it by Kubernetes' own OpenAPI documents, compose-spec reads the
compose file.
"""

import copy
import http.server
import json
import os
import re
import shutil
import socket
import socketserver
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from server import wait_until

ROOT = Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "packaging"
CHART = PACKAGING / "kubernetes"
TOOLS = ROOT / "build/tools"
SECONDS_MAX = 120
SERVE_SECONDS = 10  # ServeOptions::drain

sys.path.insert(0, str(ROOT / "tools"))
import suite_needs  # noqa: E402

VERSIONS = {name: version for name, _, version in suite_needs.PACKAGING_TOOLS}


def tool(name):
    program = TOOLS / f"{name}-{VERSIONS[name]}"
    if not program.exists():
        if suite_needs.go_version() < suite_needs.GO_OLDEST_FOR_PACKAGING:
            pytest.skip("no Go here, or one that is too old for Helm")
        pytest.fail(f"{program} is not built; ./dev test all builds it")
    return program


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
                          **more)


# Kubernetes

DATABASE = {"database.url": "postgres://tidepool:secret@db.example/tidepool"}
EVERYTHING = {
    **DATABASE, "redis.url": "redis://redis.example", "pictures.enabled": "true",
    "pictures.storageClass": "nfs", "ingress.enabled": "true", "ingress.className": "nginx",
    "ingress.annotations.example\\.org/a": "b", "networkPolicy.enabled": "true",
    "networkPolicy.ingressFrom[0].namespaceSelector.matchLabels.name": "ingress",
    "trustedProxies[0]": "10.0.0.0/8", "trustedProxies[1]": "fd00::/8",
    "moderators[0]": "ada_1", "moderators[1]": "brook_2",
    "imagePullSecrets[0].name": "registry", "podAnnotations.a": "b", "nodeSelector.disk": "fast",
    "tolerations[0].operator": "Exists", "priorityClassName": "high", "drain.noticeSeconds": "25",
}
LITTLE = {
    "database.existingSecret": "the-database", "redis.existingSecret": "the-redis",
    "autoscaling.enabled": "false", "disruptionBudget.enabled": "false",
    "migrations.enabled": "false", "replicas": "1", "pictures.enabled": "true",
    "pictures.existingClaim": "shared", "ingress.enabled": "true", "ingress.tlsSecret": "",
}
SETS = {"default": DATABASE, "everything": EVERYTHING, "little": LITTLE}


def helm(verb, values, *more):
    flags = [word for pair in values.items() for word in ("--set", "{}={}".format(*pair))]
    # Built by `go install` it does not know which Kubernetes it is for.
    flags += ["--kube-version", suite_needs.KUBERNETES_VERSION]
    return run(tool("helm"), verb, *(["tidepool-1"] if verb == "template" else []), CHART, *flags,
               *more)


def rendered(values):
    done = helm("template", values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(values):
    """{kind: object}; a kind of which there are several has the one without a hook."""
    found = {}
    for each in yaml.safe_load_all(rendered(values)):
        hook = "helm.sh/hook" in each["metadata"].get("annotations", {})
        found[("hook " if hook else "") + each["kind"]] = each
    return found


def closed(schema):
    """A schema of OpenAPI as JSON Schema that refuses unknown fields."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: closed(value) for key, value in schema.items()}
    if isinstance(told.get("$ref"), str):
        told["$ref"] = "#/definitions/" + told["$ref"].rsplit("/", 1)[1]
    if isinstance(told.get("properties"), dict) and "additionalProperties" not in told:
        told["additionalProperties"] = False
    return told


@pytest.fixture(scope="session")
def schemas(tmp_path_factory):
    """A folder with a schema for each kind, made of what Kubernetes publishes."""
    source = TOOLS / f"kubernetes-{suite_needs.KUBERNETES_VERSION}"
    tool("kubeconform")
    folder = tmp_path_factory.mktemp("schemas")
    for name in ("api__v1", "apis__apps__v1", "apis__autoscaling__v2", "apis__batch__v1",
                 "apis__networking.k8s.io__v1", "apis__policy__v1"):
        document = json.loads((source / f"{name}_openapi.json").read_text())
        definitions = closed(document["components"]["schemas"])
        # Values that may be text or number, which OpenAPI calls text.
        for type_name, schema in definitions.items():
            if type_name.endswith((".IntOrString", ".Quantity")):
                schema.clear()
                schema["type"] = ["string", "integer", "number"]
        for type_name, schema in definitions.items():
            kinds = schema.get("x-kubernetes-group-version-kind", [])
            if len(kinds) != 1:
                continue
            group = kinds[0]["group"].split(".")[0]
            file = "-".join(filter(None, [kinds[0]["kind"].lower(), group, kinds[0]["version"]]))
            one = copy.deepcopy(schema)
            one["required"] = sorted({*one.get("required", []), "apiVersion", "kind", "metadata"})
            one["definitions"] = definitions
            (folder / f"{file}.json").write_text(json.dumps(one))
    return folder


def conform(schemas, text):
    return run(tool("kubeconform"), "-strict", "-summary", "-schema-location",
               f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json", "-", input=text)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_the_chart_gives_objects_that_kubernetes_knows(schemas, name):
    linted = helm("lint", SETS[name], "--strict")
    assert linted.returncode == 0, linted.stdout + linted.stderr
    text = rendered(SETS[name])
    done = conform(schemas, text)
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(list(yaml.safe_load_all(text)))
    assert f"{count} resource" in done.stdout and f"Valid: {count}," in done.stdout, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("right, wrong", [
    ("terminationGracePeriodSeconds:", "terminationGraceSeconds:"),  # an unknown field
    ("containerPort: 8080", "containerPort: http"),                  # of another type
    ("minReplicas: 3", "minReplicas: three"),
    ("scaleTargetRef:", "scaleTarget:"),                             # missing, and unknown
    ("kind: PodDisruptionBudget", "kind: PodDisruptionBudgets"),     # an unknown kind
])
def test_the_checker_finds_what_is_wrong(schemas, right, wrong):
    text = rendered(EVERYTHING)
    assert right in text
    assert conform(schemas, text.replace(right, wrong)).returncode != 0


@pytest.mark.slow
@pytest.mark.parametrize("values, complaint", [
    ({}, "database"),
    ({"database.url": "sqlite:/tmp/a"}, "database"),
    ({**DATABASE, "replica": "3"}, "replica"),
    ({**DATABASE, "autoscaling.min": "5", "autoscaling.max": "4"}, "autoscaling.max"),
])
def test_wrong_values_are_refused(values, complaint):
    done = helm("template", values)
    assert done.returncode != 0 and complaint in done.stderr, done.stderr


def containers(found):
    for each in found.values():
        if each["kind"] in ("Deployment", "Job"):
            yield each["spec"]["template"]["spec"]


@pytest.mark.slow
def test_nothing_runs_as_root_or_writes_where_it_should_not():
    pods = list(containers(objects(EVERYTHING)))
    assert len(pods) == 2
    for pod in pods:
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for one in pod["containers"]:
            context = one["securityContext"]
            assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "limits" in one["resources"]


@pytest.mark.slow
def test_secrets_are_in_secrets_alone():
    found = objects(EVERYTHING)
    for name, each in found.items():
        if not name.endswith("Secret"):
            assert "secret@" not in json.dumps(each), name
    assert found["Secret"]["stringData"]["database"] == DATABASE["database.url"]
    assert found["hook Secret"]["stringData"] == found["Secret"]["stringData"]
    little = objects(LITTLE)
    assert "Secret" not in little and "hook Secret" not in little
    environment = little["Deployment"]["spec"]["template"]["spec"]["containers"][0]["env"]
    named = {one["name"]: one.get("valueFrom", {}).get("secretKeyRef", {}).get("name")
             for one in environment}
    assert named["TIDEPOOL_DB"] == "the-database" and named["TIDEPOOL_REDIS"] == "the-redis"


@pytest.mark.slow
def test_moderators_are_named_by_values():
    def moderators(values):
        pod = objects(values)["Deployment"]["spec"]["template"]["spec"]
        return [one["value"] for one in pod["containers"][0]["env"]
                if one["name"] == "TIDEPOOL_MODERATORS"]

    assert moderators(EVERYTHING) == ["ada_1,brook_2"] and moderators(DATABASE) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_pod_has_the_time_that_its_drain_takes(name):
    pod = objects(SETS[name])["Deployment"]["spec"]["template"]["spec"]
    words = pod["containers"][0]["args"]
    notice = int(words[words.index("--drain-notice") + 1])
    assert pod["terminationGracePeriodSeconds"] > notice + SERVE_SECONDS
    # It is taken out of the balancers before it stops taking requests.
    probe = pod["containers"][0]["readinessProbe"]
    if name != "everything":
        assert probe["periodSeconds"] * probe["failureThreshold"] <= notice


def test_the_time_to_drain_is_that_of_the_library():
    header = (ROOT / "tiderace/net/serving_defaults.h").read_text()
    assert f"Duration drain_timeout = {SERVE_SECONDS}s;" in header


@pytest.mark.slow
def test_objects_belong_together():
    found = objects(EVERYTHING)
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"].items()
    for selector in (found["Deployment"]["spec"]["selector"]["matchLabels"],
                     found["Service"]["spec"]["selector"],
                     found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
                     found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]):
        assert selector.items() <= labels
        # Or the Service would send requests to the migration.
        job = found["hook Job"]["spec"]["template"]["metadata"]["labels"]
        assert not selector.items() <= job.items()
    name = found["Deployment"]["metadata"]["name"]
    assert found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == name
    assert "replicas" not in found["Deployment"]["spec"]  # or each upgrade would undo the scaling
    assert objects(LITTLE)["Deployment"]["spec"]["replicas"] == 1
    assert found["PodDisruptionBudget"]["spec"]["maxUnavailable"] < \
        found["HorizontalPodAutoscaler"]["spec"]["minReplicas"]
    claim = found["Deployment"]["spec"]["template"]["spec"]["volumes"][1]
    assert claim["persistentVolumeClaim"]["claimName"] == \
        found["PersistentVolumeClaim"]["metadata"]["name"]
    assert int(found["hook Secret"]["metadata"]["annotations"]["helm.sh/hook-weight"]) < \
        int(found["hook Job"]["metadata"]["annotations"]["helm.sh/hook-weight"])


# The program: what probes, flags and settings of the files rest on


@pytest.mark.slow
def test_probes_flags_and_settings_are_those_of_the_program(binary, run_example, tmp_path):
    program = binary.parent / "examples/tidepool/tidepool"
    here = {"TIDEPOOL_DB": f"sqlite:{tmp_path}/a.db", "TIDEPOOL_PICTURES": ""}
    done = run(program, "migrate", env=here)
    assert done.returncode == 0 and "migrated: 0001 start" in done.stdout, done.stderr
    assert run(program, "migrate", env=here).stdout == ""
    container = objects(EVERYTHING)["Deployment"]["spec"]["template"]["spec"]["containers"][0]
    words = ["127.0.0.1:0" if word == "0.0.0.0:8080" else word for word in container["args"]]
    proxies = next(one["value"] for one in container["env"] if one["name"] == "TIDEPOOL_PROXIES")
    node = run_example("tidepool", *words, env={**here, "TIDEPOOL_PROXIES": proxies})
    host, port = node.places()[0]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        path = container[probe]["httpGet"]["path"]
        said = run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                   f"http://{host}:{port}{path}")
        assert said.stdout == "200", path
    settings = {one["name"] for one in container["env"]}
    sources = "".join(path.read_text() for path in (ROOT / "examples/tidepool").glob("*.cc"))
    assert not [one for one in settings if f'"{one}"' not in sources]


@pytest.mark.parametrize("words", [["--drain-notice", "soon"], ["--drain-notice", "-1"],
                                   ["--drain-notice", "3601"], ["--drain-notice"],
                                   ["migrate", "now"]])
def test_the_program_refuses_wrong_words(binary, words):
    done = run(binary.parent / "examples/tidepool/tidepool", *words)
    assert done.returncode == 2 and done.stderr.startswith("tidepool: ")


# One host


def compose_spec(folder):
    # The program reads no environment, whatever its flags promise: variables stay as they stand.
    return run(tool("compose-spec"), "-no-interpolation", "-format", "json", "compose.yaml",
               cwd=folder)


@pytest.mark.slow
def test_the_compose_file_is_one():
    done = compose_spec(PACKAGING)
    assert done.returncode == 0, done.stderr
    services = json.loads(done.stdout)["services"]
    assert services.keys() == {"balancer", "node", "migrate", "postgres", "redis"}
    node = services["node"]
    assert node["read_only"] and node["cap_drop"] == ["ALL"]
    # There is no moderator until the host's owner names one.
    assert node["environment"]["TIDEPOOL_MODERATORS"] == "${TIDEPOOL_MODERATORS:-}"
    # Without a password nothing starts, and no file has one.
    required = "${TIDEPOOL_PASSWORD:?"
    assert f"postgres://tidepool:{required}" in json.dumps(node["environment"])
    assert services["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith(required)
    notice = int(node["command"][node["command"].index("--drain-notice") + 1])
    assert node["stop_grace_period"] == f"{notice + SERVE_SECONDS + 5}s"
    # Only the balancer is reached from outside, and only through this host.
    assert [name for name, one in services.items() if one.get("ports")] == ["balancer"]
    assert services["balancer"]["ports"][0]["host_ip"] == "127.0.0.1"
    whole = json.loads(done.stdout)
    for one in services.values():
        assert one.get("depends_on", {}).keys() <= services.keys()
        assert one["networks"].keys() <= whole["networks"].keys()
    assert services["node"]["networks"].keys() == {"front", "back"}
    assert services["postgres"]["networks"].keys() == {"back"}


@pytest.mark.slow
@pytest.mark.parametrize("right, wrong", [
    ("healthcheck:", "healthchecks:"), ("read_only: true", "read_only: [yes]"),
    ("service_healthy", "service_fine"), ("command: [migrate]", "command: {a: [b]}"),
])
def test_the_checker_of_the_compose_file_finds_what_is_wrong(tmp_path, right, wrong):
    text = (PACKAGING / "compose.yaml").read_text()
    assert right in text
    (tmp_path / "compose.yaml").write_text(text.replace(right, wrong))
    assert compose_spec(tmp_path).returncode != 0


def test_the_balancer_takes_its_configuration():
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    if nginx is None:
        pytest.skip("no nginx here (apt: nginx)")
    done = run(nginx, "-t", "-c", PACKAGING / "nginx.conf", "-g", "error_log stderr;")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_balancer_believes_what_speaks_tls_for_the_host(tmp_path):
    """Otherwise all members would be one client to the limits of rate. Its conf has its own
    addresses replaced by sockets of a folder."""
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    if nginx is None:
        pytest.skip("no nginx here (apt: nginx)")
    front, back = tmp_path / "front", tmp_path / "back"
    conf = (PACKAGING / "nginx.conf").read_text()
    for old, new in (("/tmp/", f"{tmp_path}/"), ("listen 8080;", f"listen unix:{front};"),
                     ("node:8080;", f"unix:{back}:;"), ("127.0.0.11 valid=5s", "127.0.0.1"),
                     ("from 10.0.0.0/8;", "from unix:;")):
        assert old in conf, old
        conf = conf.replace(old, new)
    if os.geteuid() == 0:
        conf = "user root;\n" + conf
    (tmp_path / "nginx.conf").write_text("daemon off;\nerror_log stderr;\n" + conf)
    heard = {}

    class Node(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.update(self.headers)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with socketserver.UnixStreamServer(str(back), Node) as node:
        threading.Thread(target=node.serve_forever, daemon=True).start()
        with subprocess.Popen([nginx, "-p", tmp_path, "-c", tmp_path / "nginx.conf"],
                              stderr=subprocess.PIPE, text=True) as running:
            try:
                wait_until(lambda: front.exists() or running.poll() is not None)
                assert running.poll() is None, running.stderr.read()
                with socket.socket(socket.AF_UNIX) as client:
                    client.connect(str(front))
                    client.sendall(b"GET / HTTP/1.1\r\nHost: tidepool.example\r\n"
                                   b"X-Forwarded-For: 192.0.2.1, 203.0.113.9\r\n"
                                   b"X-Forwarded-Proto: https\r\nConnection: close\r\n\r\n")
                    assert client.makefile("rb").read().startswith(b"HTTP/1.1 204 ")
            finally:
                running.terminate()
        node.shutdown()
    # The last address is the one that the terminator has written; the client wrote the others.
    assert heard["X-Forwarded-For"] == "203.0.113.9"
    assert heard["X-Forwarded-Proto"] == "https"


def packages_of_container():
    text = (PACKAGING / "Containerfile").read_text().replace("\\\n", " ")
    found = re.findall(r"--no-install-recommends ([^&]*?)\s*(?:&&|\n)", text)
    assert len(found) == 2
    return [set(each.split()) for each in found]


def test_the_image_is_built_with_the_packages_of_dev():
    script = (ROOT / "dev").read_text().replace("\\\n", " ")
    wanted = set()
    for purpose in ("serve", "data"):
        wanted |= set(re.search(rf"{purpose}:apt\) echo ([^;]*);;", script)[1].split())
    assert wanted | {"libpq-dev", "libmariadb-dev"} == packages_of_container()[0]


@pytest.mark.slow
def test_the_image_has_the_libraries_of_the_program(binary, sanitized):
    if shutil.which("dpkg-query") is None or "Debian" not in Path("/etc/os-release").read_text():
        pytest.skip("the image is Debian's, and this system is not")
    if sanitized:
        pytest.skip("it has other libraries with a sanitizer")
    program = binary.parent / "examples/tidepool/tidepool"
    needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", program).stdout)
    places = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", program).stdout))
    base = {"libc6", "libgcc-s1", "libstdc++6"}
    packages = set()
    for library in needed:
        if library.startswith("ld-linux"):
            continue
        said = run("dpkg-query", "-S", Path(places[library]).name).stdout
        owners = {line.split(":")[0] for line in said.splitlines() if "lib" in line.split(":")[0]}
        packages.add(frozenset(owners))
    runtime = packages_of_container()[1] | base
    assert packages and not [owners for owners in packages if not owners & runtime]
    for path in re.findall(r"COPY --from=build /source/(examples\S+)",
                           (PACKAGING / "Containerfile").read_text()):
        assert (ROOT / path).exists()


# systemd


def test_the_unit_is_one_of_systemd(tmp_path, binary):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    text = (PACKAGING / "systemd/tiderace.service").read_text()
    words = re.search(r"^ExecStart=/usr/bin/tiderace (serve .*)$", text, re.M)[1].split()
    # Where it would be installed there is nothing now.
    unit = tmp_path / "tiderace.service"
    unit.write_text(text.replace("/usr/bin/tiderace", str(binary)))
    socket_unit = shutil.copy(PACKAGING / "systemd/tiderace.socket", tmp_path)
    verified = run("systemd-analyze", "verify", "--man=no", socket_unit)
    assert verified.returncode == 0 and "tiderace.socket" not in verified.stderr, verified.stderr
    served = words[words.index("--listen") + 1]
    assert f"ListenStream={served.removeprefix(':')}\n" in Path(socket_unit).read_text()
    done = run("systemd-analyze", "verify", "--man=no", unit)
    assert done.returncode == 0 and unit.name not in done.stderr, done.stderr
    unit.write_text(unit.read_text().replace("RestartSec=1s", "RestartSecs=1s"))
    assert "RestartSecs" in run("systemd-analyze", "verify", "--man=no", unit).stderr
    helped = run(binary, "serve", "--help").stdout
    assert all(word in helped for word in words if word.startswith("--"))


def test_the_unit_gives_the_service_little(tmp_path):
    unit = PACKAGING / "systemd/tiderace.service"
    done = run("systemd-analyze", "security", "--offline=yes", "--threshold=20", unit)
    if "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze judges only units that are loaded")
    assert done.returncode == 0, done.stdout[-200:]
