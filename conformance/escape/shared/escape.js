// What the pages of the escape corpus share: a button that starts the attempt, and helpers that wait for its end.
const out = document.getElementById('out');

// What has no end that a page could see: a navigation, a popup of another origin.
const never = new Promise(() => {});

// Milliseconds after which an attempt counts as made, whatever came of it.
const LIMIT = 1000;

const attempt = (act) => {
  document.getElementById('go').onclick = async () => {
    const limit = new Promise((done) => setTimeout(done, LIMIT));
    try {
      await Promise.race([act(), limit]);
    } catch (refused) {
      document.title = String(refused);
    }
    out.textContent = 'Done';
  };
};

// Adds an element, and waits until it has loaded or failed.
const element = (name, properties) => new Promise((done) => {
  const made = Object.assign(document.createElement(name), properties);
  for (const event of ['load', 'error', 'loadeddata']) made.addEventListener(event, done);
  document.body.append(made);
});

const go = (url) => {
  location.href = url;
  return never;
};

const press = (properties) => {
  const link = Object.assign(document.createElement('a'), properties);
  document.body.append(link);
  link.click();
  return never;
};

const submit = (action, properties) => {
  const form = Object.assign(document.createElement('form'), { method: 'post', action, ...properties });
  document.body.append(form);
  form.submit();
};

const socket = (url) => new Promise((done) => {
  const opened = new WebSocket(url);
  opened.onopen = opened.onerror = opened.onclose = done;
});

// The first message of a worker or port, of a frame, of the service worker, and of another page of this origin.
const message = (port) => new Promise((done) => { port.onmessage = done; });
const told = () => message(window);
const heard = () => message(new BroadcastChannel('escape'));
const ask = async () => {
  const answer = message(navigator.serviceWorker);
  (await navigator.serviceWorker.ready).active.postMessage(1);
  await answer;
};

// Registers a service worker, and waits until it controls this page.
const worker = async (path) => {
  const controlled = new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done; });
  const registration = await navigator.serviceWorker.register(path);
  await controlled;
  return registration;
};

const gathered = (peer) => new Promise((done) => {
  peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') done(); };
});

// Two peers of this page; the first asks the servers and is told of further candidates of the second.
const connect = async (iceServers, candidates = []) => {
  const [near, far] = [new RTCPeerConnection({ iceServers }), new RTCPeerConnection()];
  near.createDataChannel('escape');
  const end = gathered(near);
  await near.setLocalDescription();
  await far.setRemoteDescription(near.localDescription);
  await far.setLocalDescription();
  await near.setRemoteDescription(far.localDescription);
  for (const candidate of candidates) await near.addIceCandidate(candidate);
  await (candidates.length ? never : end);
};

// A candidate (RFC 8839, section 5.1) of the other peer at `HOST:PORT`.
const candidate = ([at, protocol], index) => {
  const [, host, port] = at.match(/^\[?(.*?)\]?:(\d+)$/);
  const kind = protocol === 'tcp' ? 'typ host tcptype passive' : 'typ host';
  return { candidate: `candidate:${index + 7} 1 ${protocol} 2122260223 ${host} ${port} ${kind}`, sdpMid: '0' };
};

const transport = (at, serverCertificateHashes) => (
  at ? new WebTransport(`https://${at}/hit`, { serverCertificateHashes }).ready : undefined
);
