"""Several nodes of Tidepool on one database: nodes die, restart, are cut off, the database dies.

TIDEPOOL_NODES_SECONDS=600 makes each phase of the long test longer (40 unless told otherwise).
"""

import os
import signal
import threading
import time

import pytest

import tidepool_nodes as nodes
from tidepool_nodes import Client, Cluster, Ear

pytestmark = pytest.mark.slow  # minutes

SECONDS = float(os.environ.get("TIDEPOOL_NODES_SECONDS", "40"))
WRITERS = 4
PAUSE = 0.2  # between the posts of a writer
MEMORY_KB_MAX = 64 * 1024


@pytest.fixture
def cluster_of(binary):
    why = nodes.missing()
    if why:
        pytest.skip(why)
    made = []

    def make(count, redis, database=nodes.Postgres):
        program = binary.parent / "examples" / "tidepool" / "tidepool"
        assert program.exists(), f"{program} is not built"
        made.append(Cluster(program, count, redis, database))
        return made[-1]

    yield make
    for each in made:
        each.close()


def sources(number):
    return [f"10.77.1.{1 + 8 * number + i}" for i in range(8)]


def in_load_space(cluster, work):
    """Runs it on a thread that is in the load's namespace; what it returns or raises."""
    result = {}

    def run():
        try:
            nodes.enter(cluster.load_space)
            result["value"] = work()
        except BaseException as error:  # noqa: BLE001: raised again below
            result["error"] = error

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if "error" in result:
        raise result["error"]
    return result["value"]


def answers(client, node):
    try:
        return client.ask(node, "GET", "/settings")[0] == 200
    except OSError:
        return False


def wait_for_node(cluster, client, node):
    """Seconds until it serves a member."""
    began = time.monotonic()
    cluster.eventually(lambda: in_load_space(cluster, lambda: answers(client, node)),
                       f"node {node} serves a member")
    return time.monotonic() - began


class Writer(threading.Thread):
    """Posts and reads in turn, at one node after the other. Never stops because a node fails."""

    def __init__(self, cluster, number):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.client = Client(cluster, f"writer_{number}", sources(number))
        self.over = threading.Event()
        self.acknowledged = []
        self.begun = []
        self.failures = []  # when
        self.requests = 0
        self.error = None

    def run(self):
        try:
            nodes.enter(self.cluster.load_space)
            while not self.over.is_set():
                self.write_one()
                self.over.wait(PAUSE)
        except BaseException as error:  # noqa: BLE001: the test raises it
            self.error = error

    def write_one(self):
        number = len(self.begun)
        text = f"{self.client.name} {number} of the tide"
        self.begun.append(text)
        node = number % len(self.cluster.nodes)
        failed = self.client.send_until_done(node, "/posts", body=text, form=f"form-{number}")
        self.acknowledged.append(text)
        self.requests += failed + 1
        self.failures += [time.monotonic()] * failed
        self.requests += 1
        try:
            status, _ = self.client.ask(node, "GET", "/")
            if status >= 500:
                self.failures.append(time.monotonic())
        except OSError:
            self.failures.append(time.monotonic())


class Story:
    """The cluster under load, and what was seen in each phase."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.writers = [Writer(cluster, i) for i in range(WRITERS)]
        self.members = [Client(cluster, f"ear_{i}", sources(WRITERS + i))
                        for i in range(len(cluster.nodes))]
        self.probe = Client(cluster, "probe", sources(7))
        self.probes = 0
        self.lines = []
        in_load_space(cluster, self.sign_up)
        self.ears = [Ear(member, i) for i, member in enumerate(self.members)]

    def sign_up(self):
        for number, client in enumerate([*[w.client for w in self.writers], *self.members,
                                         self.probe]):
            client.sign_up(number % len(self.cluster.nodes))
        for member in self.members:
            for writer in self.writers:
                member.send_until_done(0, f"/members/{writer.client.name}/follow")

    def begin(self):
        for thread in [*self.writers, *self.ears]:
            thread.start()
        self.cluster.eventually(lambda: all(ear.heard for ear in self.ears), "pages are open")

    def phase(self, name, seconds, during=lambda: None):
        began = time.monotonic()
        requests = sum(writer.requests for writer in self.writers)
        recovery = during()
        rest = began + seconds - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        told = self.all_ears_hear()
        asked = sum(writer.requests for writer in self.writers) - requests
        failed = sum(at >= began for writer in self.writers for at in writer.failures)
        share = 100 * failed / max(asked, 1)
        line = (f"{name}: {asked} requests, {failed} failed ({share:.1f} %), "
                f"a notice at every node after {told:.2f} s")
        if recovery is not None:
            line += f", served members again after {recovery:.2f} s"
        self.lines.append(line)
        print(line)
        assert asked > failed

    def all_ears_hear(self):
        """Seconds until a mention is in every open page."""
        since = time.monotonic()
        self.probes += 1
        names = " ".join(f"@{member.name}" for member in self.members)
        number = self.probes
        in_load_space(self.cluster, lambda: self.probe.send_until_done(
            number, "/posts", body=f"probe {number} {names}", form=f"probe-{number}"))
        self.cluster.eventually(
            lambda: all(ear.hears("mentioned you", since) or ear.hears('"unseen":', since)
                        for ear in self.ears), "a notice in every open page")
        return time.monotonic() - since

    def end(self):
        for thread in [*self.writers, *self.ears]:
            thread.over.set()
        for writer in self.writers:
            writer.join()
            if writer.error:
                raise writer.error

    def check_posts(self):
        rows = self.cluster.sql(
            "select concat(p.body, '|', count(*)) from posts p join members m on m.id = p.author"
            " where m.username like 'writer%' group by p.body")
        stored = dict(line.rsplit("|", 1) for line in rows.splitlines())
        lost = [text for writer in self.writers for text in writer.acknowledged
                if text not in stored]
        doubled = [text for text, count in stored.items() if count != "1"]
        strange = set(stored) - {text for writer in self.writers for text in writer.begun}
        total = sum(len(writer.acknowledged) for writer in self.writers)
        print(f"{total} posts acknowledged, {len(lost)} lost, {len(doubled)} doubled")
        assert (lost, doubled, strange) == ([], [], set())
        timelines = self.cluster.sql(
            "select count(*) from posts p join members m on m.id = p.author"
            " where m.username like 'writer%' and (select count(*) from timelines t"
            f" where t.post = p.id) <> {1 + len(self.members)}")
        assert timelines == "0", "a post is missing in a timeline"


@pytest.mark.parametrize("database", [nodes.Postgres, nodes.Mariadb])
def test_three_nodes_lose_no_post_whatever_fails(cluster_of, database):
    cluster = cluster_of(3, redis=True, database=database)
    watcher = Client(cluster, "watcher", sources(7))
    cluster.eventually(lambda: in_load_space(cluster, lambda: is_up(watcher)), "nodes are up")
    story = Story(cluster)
    step = max(SECONDS / 10, 3)
    story.begin()
    story.phase("steady", step)
    memory = max(node.resident() for node in cluster.nodes)

    def kill_one():
        cluster.nodes[0].end(signal.SIGKILL)
        time.sleep(step)
        cluster.start_node(0)
        return wait_for_node(cluster, story.probe, 0)

    def restart_another():
        cluster.nodes[1].end(signal.SIGTERM)
        cluster.start_node(1)
        return wait_for_node(cluster, story.probe, 1)

    def cut_off_a_third():
        cluster.cut_off_from_the_database(2)
        time.sleep(2 * step)
        cluster.heal(2)
        return wait_for_node(cluster, story.probe, 2)

    def restart_database():
        cluster.crash_database()
        time.sleep(1)
        cluster.start_database()
        return max(wait_for_node(cluster, story.probe, node) for node in range(3))

    story.phase("one node killed, then started", 2 * step, kill_one)
    story.phase("another drained and started", step, restart_another)
    story.phase("a third cut off from database and Redis, then healed", 3 * step, cut_off_a_third)
    story.phase("the database crashed and started", 2 * step, restart_database)
    story.phase("steady again", step)
    memory = max(memory, *[node.resident() for node in cluster.nodes])
    story.end()
    story.check_posts()
    print(f"the largest node had {memory / 1024:.1f} MB")
    assert memory < MEMORY_KB_MAX


def is_up(client):
    try:
        return all(client.ask(node, "GET", "/about")[0] == 200
                   for node in range(len(client.cluster.nodes)))
    except OSError:
        return False


@pytest.mark.parametrize(("redis", "database"), [
    pytest.param(True, nodes.Postgres, id="redis"),
    pytest.param(False, nodes.Postgres, id="postgres-alone"),
    pytest.param(True, nodes.Mariadb, id="mariadb-redis"),
])
def test_sessions_notices_and_limits_are_those_of_all_nodes(cluster_of, redis, database):
    cluster = cluster_of(2, redis, database)
    watcher = Client(cluster, "watcher", sources(7))
    cluster.eventually(lambda: in_load_space(cluster, lambda: is_up(watcher)), "nodes are up")
    ann, bob = (Client(cluster, name, sources(i)) for i, name in enumerate(("ann", "bob")))

    def meet():
        ann.sign_up(0)
        bob.sign_up(1)
        assert answers(ann, 1), "a session of node 0 is not known at node 1"
        ann.send_until_done(1, "/members/bob/follow")

    in_load_space(cluster, meet)
    ear = Ear(ann, 0)
    ear.start()
    cluster.eventually(lambda: ear.heard, "the page is open")
    since = time.monotonic()
    in_load_space(cluster, lambda: bob.send_until_done(1, "/posts", body="hello @ann"))
    cluster.eventually(lambda: ear.hears("bob mentioned you", since), "a notice from another node")
    cluster.eventually(lambda: ear.hears('"posts":true', since), "a post from another node")
    print(f"a notice from node to node took {ear.heard[-1][0] - since:.3f} s")

    # A session that ends at one node ends the page that is open at the other.
    connections = ear.connections
    in_load_space(cluster, lambda: ann.send(1, "/log-out"))
    cluster.eventually(lambda: ear.connections > connections or not ear.is_alive(),
                       "the page of an ended session is closed")
    ear.over.set()

    def guess():
        guesser = Client(cluster, "guesser", ["10.77.1.64"])
        # Each node alone would let twelve pass at once, and one more every five seconds.
        return [guesser.ask(number % 2, "POST", "/log-in", {"who": "bob", "password": "wrong"},
                            seconds=nodes.WAIT_SECONDS)[0] for number in range(24)]

    statuses = in_load_space(cluster, guess)
    assert statuses.index(429) >= 12, statuses
