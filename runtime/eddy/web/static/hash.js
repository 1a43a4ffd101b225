// Copyright Eddy contributors. SPDX-License-Identifier: Apache-2.0
// SHA-256 after FIPS 180-4: a blob is named by it, and a browser has its own only over HTTPS or on the same machine.

function primes(count) {
  const found = [];
  for (let number = 2; found.length < count; number += 1) if (found.every((each) => number % each)) found.push(number);
  return found;
}

const bits = (value) => Math.floor((value - Math.floor(value)) * 2 ** 32) >>> 0;
const START = primes(8).map((prime) => bits(Math.sqrt(prime)));
const ROUND = primes(64).map((prime) => bits(Math.cbrt(prime)));
const turn = (word, by) => (word >>> by) | (word << (32 - by));

// The hash of bytes (Uint8Array), in lower-case hex.
export function sha256(data) {
  const whole = new Uint8Array(Math.ceil((data.length + 9) / 64) * 64);
  whole.set(data);
  whole[data.length] = 0x80;
  const view = new DataView(whole.buffer), words = new Int32Array(64), state = Int32Array.from(START);
  view.setUint32(whole.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(whole.length - 4, (data.length * 8) >>> 0);
  for (let at = 0; at < whole.length; at += 64) block(view, at, words, state);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

function block(view, at, words, state) {
  for (let place = 0; place < 16; place += 1) words[place] = view.getInt32(at + 4 * place);
  for (let place = 16; place < 64; place += 1) {
    const early = words[place - 15], late = words[place - 2];
    const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3), second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words[place] = (words[place - 16] + first + words[place - 7] + second) | 0;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let place = 0; place < 64; place += 1) {
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[place] + words[place]) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, place) => { state[place] += word; });
}
