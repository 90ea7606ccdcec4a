"""A TLS client on top of raw_client.Connection: Python's ssl, with every choice in the open."""

import socket
import ssl

from raw_client import DEADLINE, Connection


def client_context(authority=None, version=None, alpn=(), pair=None, ciphers=None):
    """Trusts this authority only; with None, does not verify."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority is None:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    else:
        context.load_verify_locations(authority)
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    if ciphers is not None:
        context.set_ciphers(ciphers)
    return context


class TlsConnection(Connection):
    """HTTP over TLS. An end without close_notify raises ssl.SSLEOFError, as it must."""

    def __init__(self, address, context, name="localhost", session=None, deadline=DEADLINE):
        super().__init__(address, deadline)
        try:
            self.socket = context.wrap_socket(self.socket, server_hostname=name, session=session,
                                              suppress_ragged_eofs=False)
        except BaseException:
            self.socket.close()
            raise
        self.socket.settimeout(deadline)

    def receive_some(self, until, size=16384):
        return super().receive_some(until, size)

    @property
    def version(self):
        return self.socket.version()

    @property
    def certificate(self):
        """The server's, as SHA-256 in the form that openssl prints."""
        import hashlib
        digest = hashlib.sha256(self.socket.getpeercert(binary_form=True)).hexdigest().upper()
        return ":".join(digest[i:i + 2] for i in range(0, len(digest), 2))


def plain_socket(address, deadline=DEADLINE):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    peer = socket.socket(family, socket.SOCK_STREAM)
    peer.settimeout(deadline)
    peer.connect(address)
    return peer
