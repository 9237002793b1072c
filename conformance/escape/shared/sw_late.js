// A service worker that asks only when the page that told it to is gone.
onactivate = (event) => event.waitUntil(clients.claim());
const gone = async (id) => {
  while (await clients.get(id)) await new Promise((again) => setTimeout(again, 10));
};
onmessage = (event) => event.waitUntil((async () => {
  await gone(event.source.id);
  await fetch('{{tcp1}}/hit', { mode: 'no-cors' }).catch(() => {});
  new BroadcastChannel('escape').postMessage(1);
})());
