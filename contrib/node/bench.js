// SPDX-License-Identifier: MIT
// What an ID costs: nanoseconds beside crypto.randomUUID(), medians of rounds that take turns. Needs an installed libsfid.
'use strict';
const { randomUUID } = require('node:crypto');
const { Generator, Layout, toText } = require('.');

const ROUNDS = 25;
const CALLS = 3000; // all of them fewer than a tick of the default layout has, so that nothing waits
let sink;

const generator = new Generator({ app: 'bench', store: 'local' });
const many = new Generator({ app: 'bench', store: 'local' });
const layout = new Layout();
const id = generator.next();
const stock = new BigInt64Array(CALLS).fill(id);
const until = Date.now() + 1e9;
let at = 0;
// What next() would be if it had IDs in advance: with a look at the clock.
const fromStock = () => (Date.now() < until ? stock[at++ % CALLS] : 0n);
const each = (call) => () => { for (let i = 0; i < CALLS; i++) sink = call(); };
const rows = {
  'crypto.randomUUID()': each(randomUUID),
  'an empty call': each(() => 7n),
  'next()': each(() => generator.next()),
  'nextN(3000), an ID': () => { sink = many.nextN(CALLS); },
  'an ID out of a stock': each(fromStock),
  'layout.decode()': each(() => layout.decode(id)),
  'toText()': each(() => toText(id)),
};
const times = Object.fromEntries(Object.keys(rows).map((name) => [name, []]));
for (let round = -3; round < ROUNDS; round++) { // the first ones for the compiler
  for (const [name, row] of Object.entries(rows)) {
    const begin = process.hrtime.bigint();
    row();
    if (round >= 0) times[name].push(Number(process.hrtime.bigint() - begin) / CALLS);
  }
}
const median = (list) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const uuid = median(times['crypto.randomUUID()']);
for (const [name, list] of Object.entries(times)) {
  console.log(`${name.padEnd(22)} ${median(list).toFixed(0).padStart(6)} ns  ${(median(list) / uuid).toFixed(2).padStart(6)} of randomUUID()`);
}
generator.close();
many.close();
if (sink === undefined) throw new Error('nothing was measured');
