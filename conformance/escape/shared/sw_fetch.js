// A service worker that asks two origins when it is told to, then answers.
onactivate = (event) => event.waitUntil(clients.claim());
onmessage = (event) => event.waitUntil(Promise.allSettled([
  fetch('{{tcp1}}/hit', { mode: 'no-cors' }),
  fetch('{{same_name}}/hit', { mode: 'no-cors' }),
]).then(() => event.source.postMessage(1)));
