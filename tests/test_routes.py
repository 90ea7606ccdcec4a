"""Features of routes, over real sockets: access logs, and the document that describes them."""

import json
import re
import urllib.error
import urllib.request

import pytest
from openapi_spec_validator import validate

from example_program import Example
from server import wait_until


@pytest.fixture
def routes(binary, tmp_path):
    program = binary.parent / "tests/samples/sample_routes"
    if not program.exists():
        pytest.fail(f"{program} is not built")
    running = Example(program, "127.0.0.1:0", tmp_path, folder=tmp_path)
    try:
        yield "http://{}:{}".format(*running.wait_ready().places()[0])
        running.stop()
    finally:
        running.kill()


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as refused:
        return refused.read()


def test_each_route_is_logged_where_it_says(routes, tmp_path):
    for path in ("/api/x", "/api/own", "/quiet", "/nothing", "/ticks", "/api/x"):
        get(routes + path)

    def lines(name):
        return (tmp_path / name).read_text().splitlines()

    def targets(name):
        return [re.search(r'"GET (\S+) HTTP', line).group(1) for line in lines(name)]
    wait_until(lambda: len(lines("api.log")) == 2 and len(lines("own.log")) == 1
               and len(lines("rest.log")) == 2, what="all lines are written")
    assert [json.loads(line)["target"] for line in lines("api.log")] == ["/api/x", "/api/x"]
    assert targets("own.log") == ["/api/own"]
    assert sorted(targets("rest.log")) == ["/nothing", "/ticks"]


def test_the_document_is_valid_openapi(routes):
    document = json.loads(get(routes + "/openapi.json"))
    validate(document)
    rig = document["paths"]["/rigs/{rig}"]["put"]
    assert rig["security"] == [{"bearer": []}]
    assert rig["operationId"] == "putRig"
    assert {"401", "413"} < set(rig["responses"])
    schemas = document["components"]["schemas"]
    assert schemas["Boat"]["properties"]["name"] == {
        "type": "string", "minLength": 1, "maxLength": 40}
    assert schemas["Sail"]["properties"]["handle"]["description"] == "a text without spaces"
    assert schemas["Engine"]["properties"]["kilowatts"]["maximum"] == 900
    page = next(one for one in document["paths"]["/boats"]["get"]["parameters"]
                if one["name"] == "page")
    assert (page["schema"]["minimum"], page["schema"]["maximum"]) == (1, 100)


def test_the_validator_sees_faults(routes):
    document = json.loads(get(routes + "/openapi.json"))
    del document["info"]["version"]
    with pytest.raises(Exception, match="version"):
        validate(document)
