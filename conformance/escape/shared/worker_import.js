// A dedicated worker that imports a script.
try {
  importScripts('{{tcp1}}/hit');
} catch (refused) {
  // Told by the message all the same.
}
postMessage(1);
