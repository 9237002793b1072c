fetch('{{other}}/_site/echo', { mode: 'no-cors' }).then(() => postMessage('done'), () => postMessage('refused'));
