"""One question over HTTP/1.1 and over HTTP/2: (status, fields, body) of each, to be compared."""

import re

from raw_client import request

# Fields that depend on the connection, or on the second of the answer.
CONNECTION_FIELDS = {"connection", "keep-alive", "transfer-encoding", "date"}


def http1(server, target, method, fields):
    with server.connect() as connection:
        connection.send(request(target, *[f"{n}: {v}" for n, v in fields], method=method))
        answer = connection.read_answer(method)
    return (answer.status,
            sorted((n.lower(), v) for n, v in answer.fields
                   if n.lower() not in CONNECTION_FIELDS),
            bytes(answer.body))


def http2(client, target, method, fields):
    stream, data = client.request_bytes(target, method, fields)
    client.send(data)
    answer = client.answer(stream)
    return (answer.status, sorted((n, v) for n, v in answer.fields if n not in CONNECTION_FIELDS),
            bytes(answer.body))


def masked(result):
    """A multipart boundary is made anew for each answer."""
    status, fields, body = result
    boundary = next((re.search(r"boundary=(\S+)", v)[1] for n, v in fields
                     if n == "content-type" and "boundary=" in v), None)
    if boundary is None:
        return result
    return (status, [(n, v.replace(boundary, "B")) for n, v in fields],
            body.replace(boundary.encode(), b"B"))
