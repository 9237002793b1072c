// A service worker that answers its page with what another origin says.
onactivate = (event) => event.waitUntil(clients.claim());
onfetch = (event) => {
  if (event.request.url.endsWith('/answered')) event.respondWith(fetch('{{tcp1}}/hit', { mode: 'no-cors' }));
};
