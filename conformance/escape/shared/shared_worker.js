// A shared worker that asks, then tells every page that connects.
const asked = fetch('{{tcp1}}/hit', { mode: 'no-cors' });
onconnect = ({ ports: [port] }) => { asked.finally(() => port.postMessage(1)); };
