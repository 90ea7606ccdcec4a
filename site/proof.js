// Asks the server that sent this page about itself, and says where each answer came from.
(async () => {
  const show = (id, text) => { document.getElementById(id).textContent = text; };
  const page = performance.getEntriesByType('navigation')[0];
  const protocols = { 'http/1.1': 'HTTP/1.1', 'http/1.0': 'HTTP/1.0', h2: 'HTTP/2', h3: 'HTTP/3' };
  if (page && page.nextHopProtocol) {
    show('protocol', protocols[page.nextHopProtocol] || page.nextHopProtocol);
  }

  const told = await fetch('/.well-known/tiderace.json', { cache: 'no-store' })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);
  const field = await fetch(location.pathname, { method: 'HEAD', cache: 'no-store' })
    .then((answer) => answer.headers.get('Server'))
    .catch(() => null);

  // The browser knows the version of HTTP, the server that of TLS.
  const secrecy = told && told.tls ? told.tls.replace('TLSv', 'TLS ') : null;
  const spoken = document.getElementById('protocol').textContent;
  if (secrecy) show('protocol', `${spoken}, ${secrecy}`);
  else if (location.protocol === 'https:') show('protocol', `${spoken}, TLS`);

  show('server', told ? `tiderace ${told.version}` : field || 'does not say');
  show('engine', told ? told.engine : 'see the terminal');
  show('loops', told ? String(told.loops) : 'see the terminal');

  const wait = page && page.responseStart > 0 ? page.responseStart - page.requestStart : 0;
  const source = told
    ? 'Reported by the server just now'
    : 'The server reports no more than its Server field';
  show('source', wait > 0
    ? `${source}. Your browser waited ${wait.toFixed(1)} ms for the first byte.`
    : `${source}.`);
})();
