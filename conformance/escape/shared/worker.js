// A dedicated worker that tries two ways out, then tells its page.
const request = new XMLHttpRequest();
const asked = new Promise((done) => { request.onloadend = done; });
request.open('GET', '{{tcp1}}/hit?xhr');
request.send();
Promise.allSettled([asked, fetch('{{tcp1}}/hit?fetch', { mode: 'no-cors' })]).then(() => postMessage(1));
