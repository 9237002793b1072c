// A service worker that does nothing but control its pages.
onactivate = (event) => event.waitUntil(clients.claim());
