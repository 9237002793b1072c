const size_ = () => JSON.stringify([px(window.innerWidth), px(window.innerHeight)]);

Object.defineProperty(globalThis, "__jurat", {
  value: Object.freeze({ find, more, relate, owner, adopt, held, proof, size: size_, paint }),
  configurable: true,
});
