// SPDX-License-Identifier: MIT
// Generators: no ID twice and all in order, over calls and worker threads; options, errors, the end.
'use strict';
const assert = require('node:assert/strict');
const { mkdtempSync, readFileSync, readdirSync, rmSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { after, test } = require('node:test');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { Generator, Layout, fromText, toText } = require('..');

const below = (generator, count) => Array.from({ length: count }, () => generator.next());
const increasing = (ids) => ids.every((id, i) => i === 0 || ids[i - 1] < id);
const code = (name) => ({ code: `SFID_${name}` });
const FINE = '40:6:16/1ms'; // 65536 IDs a millisecond: nothing waits

if (!isMainThread) {
  const generator = new Generator(workerData.options);
  const ids = below(generator, workerData.count);
  parentPort.postMessage({ ids, pid: generator.pid });
  if (workerData.hang) for (;;) generator.next();
  if (workerData.close) generator.close();
} else {
  const dir = mkdtempSync(join(tmpdir(), 'sfid-node-'));
  process.env.SFID_RUN_DIR = join(dir, 'run');
  process.env.SFID_STATE_DIR = join(dir, 'state');
  after(() => rmSync(dir, { recursive: true }));

  let apps = 0;
  const open = (t, options = {}) => {
    const generator = new Generator({ app: `app${apps += 1}`, store: 'local', ...options });
    t.after(() => generator.close());
    return generator;
  };
  // How often the event loop came round since.
  const goesOn = () => {
    let turns = 0;
    const timer = setInterval(() => { turns += 1; }, 1);
    return () => {
      clearInterval(timer);
      return turns;
    };
  };
  const work = (data) => new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: data });
    let said;
    worker.on('message', (message) => {
      said = message;
      if (data.hang) worker.terminate();
    });
    worker.on('error', reject);
    worker.on('exit', () => resolve(said));
  });

  test('one thread: each call above the one before, and none older than its call', (t) => {
    const g = open(t, { layout: FINE });
    const ids = [];
    for (let i = 0; i < 3000; i++) {
      const before = Date.now();
      if (i % 9 === 1) ids.push(...g.nextN(1 + (i % 5)));
      else ids.push(i % 9 === 2 ? g.tryNext() : g.next());
      assert.ok(Number(g.layout.decode(ids.at(-1)).unixMs) >= before - 1);
    }
    assert.deepEqual(g.nextN(0), []);
    assert.ok(increasing(ids));
    assert.equal(typeof ids[0], 'bigint');
    assert.equal(g.status().issued, BigInt(ids.length));
  });

  test('worker threads', async (t) => {
    for (const share of [false, true]) {
      const options = { app: `workers${share}`, store: 'local', share };
      const g = open(t, options);
      const mine = below(g, 500);
      const all = await Promise.all([0, 1, 2, 3].map((i) => work({ options, count: 4000, close: i % 2 })));
      mine.push(...below(g, 500));
      const lists = [mine, ...all.map((said) => said.ids)];
      for (const ids of lists) assert.ok(increasing(ids));
      assert.equal(new Set(lists.flat()).size, 17000);
      const pids = new Set([g.pid, ...all.map((said) => said.pid)]);
      assert.ok(share ? pids.size < 5 : pids.size >= 1, `${pids.size} pids`);
    }
  });

  test('workers that are ended give back their pids', async (t) => {
    const options = { app: 'ended', store: 'local', layout: FINE };
    for (let i = 0; i < 4; i++) assert.equal((await work({ options, count: 100, hang: true })).pid, 0);
    for (let i = 0; i < 4; i++) assert.equal((await work({ options, count: 100 })).pid, 0);
    assert.equal(open(t, options).pid, 0);
  });

  test('the end of a tick', async (t) => {
    const g = open(t, { layout: '40:12:9/1s', exhaustion: 'fail' });
    const ids = [];
    assert.throws(() => { for (;;) ids.push(g.next()); }, code('EAGAIN'));
    const { tick } = g.layout.decode(ids.at(-1));
    assert.deepEqual(ids.map((id) => g.layout.decode(id)).filter((p) => p.tick === tick).map((p) => Number(p.seq)),
      Array.from({ length: 512 }, (_, i) => i));
    assert.throws(() => g.tryNext(), code('EAGAIN'));
    assert.ok(g.retryMs() <= 1000);
    assert.equal(g.status().waits, 0n);
    assert.ok(g.status().refused >= 2n);
    assert.ok(await g.nextAsync() > ids.at(-1));
    // Of the two that follow next() would sleep.
    const patient = open(t, { layout: '40:4:3/10s', maxWaitMs: 10000 });
    assert.throws(() => { for (;;) patient.tryNext(); }, code('EAGAIN'));
    assert.equal(patient.status().waits, 0n);
    const soon = open(t, { layout: '40:4:3/300ms' });
    const before = [];
    assert.throws(() => { for (;;) before.push(soon.tryNext()); }, code('EAGAIN'));
    const went = goesOn();
    assert.ok(await soon.nextAsync() > before.at(-1));
    assert.ok(went() > 0, 'the event loop went on');
    const few = open(t, { layout: '40:4:9/10s', exhaustion: 'fail' });
    const some = few.nextN(600);
    assert.ok(some.length > 0 && some.length <= 512 && increasing(some));
    assert.equal(few.layout.decode(some.at(-1)).seq, 511n);
    const hasty = open(t, { layout: '40:12:3/10s', exhaustion: 'fail', maxWaitMs: 1, app: 'hasty' });
    await assert.rejects(async () => { for (;;) await hasty.nextAsync(); }, code('EAGAIN'));
  });

  test('options', async (t) => {
    const g = open(t, { app: 'o', store: undefined, pid: 7, layout: new Layout('twitter'), runDir: join(dir, 'r'), stateDir: join(dir, 's') });
    assert.equal(g.pid, 7);
    assert.equal(g.layout.decode(g.next()).pid, 7n);
    assert.ok(readdirSync(join(dir, 'r')).length > 0 && readdirSync(join(dir, 's')).length > 0);
    assert.ok(g.ready());
    const { open: is, pid, issued, waits, identity, limitTick, firstTick, replicas } = g.status();
    assert.deepEqual([is, pid, issued, waits, replicas], [1n, 7n, 1n, 0n, -1n]);
    assert.ok(firstTick > 0n && firstTick < limitTick);
    assert.match(identity, /:pid-7$/);
    assert.equal(open(t, { app: 'a', store: 'local?pid_min=8&pid_max=9' }).pid, 8);
    assert.equal(open(t, { app: 'b', pidMin: 3n, pidMax: 4 }).pid, 3);
    assert.equal(open(t, { layout: '41:10:12/1ms@1288834974657', app: 'c' }).layout.epochMs, 1288834974657);
    const later = await Generator.open({ app: 'd', store: 'local', layout: 'ms' });
    t.after(() => later.close());
    assert.equal(later.pid, 0);
    assert.ok(increasing(below(later, 500)));
    assert.equal(await Generator.open({ app: 'd', store: 'local', layout: 'ms' }).then((x) => { x.close(); return x.pid; }).catch((e) => e.code), 'SFID_ECLOSED');
  });

  test('refused', async (t) => {
    const bad = [{ store: 'nowhere' }, { app: 'a/b' }, { app: 'a\0b' }, { store: 'local\0' }, { layout: '41:1' }, { exhaustion: 'x' },
      { onUnknown: 1 }, { maxWaitMs: -1 }, { maxWaitMs: 2 ** 32 }, { maxWaitMs: 1 }, { pid: 2 ** 40 }, { pid: 1n << 64n }, { app: undefined }];
    for (const options of bad) {
      assert.throws(() => new Generator({ app: 't', store: 'local', ...options }), code('EINVAL'), JSON.stringify(Object.keys(options)));
      await assert.rejects(Generator.open({ app: 't', store: 'local', ...options }), code('EINVAL'));
    }
    for (const maxWiatMs of [5, undefined]) assert.throws(() => new Generator({ app: 't', store: 'local', maxWiatMs }), TypeError);
    assert.throws(() => new Generator({ app: 't', store: 'local', keepPid: 2 ** 32 }), { message: 'keepPid is out of range' });
    assert.throws(() => new Generator({ app: 5, store: 'local' }), TypeError);
    assert.throws(() => new Generator({ app: 't', store: 'local', maxWaitMs: 1.5 }), RangeError);
    const nobody = { app: 't', store: 'redis://127.0.0.1:1/0', openTimeoutMs: 200 };
    assert.throws(() => new Generator(nobody), { code: 'SFID_EREDIS', errno: -9, message: /127\.0\.0\.1:1/ });
    await assert.rejects(Generator.open(nobody), { code: 'SFID_EREDIS', message: /127\.0\.0\.1:1/ });
    const silent = createServer();
    t.after(() => silent.close());
    await new Promise((resolve) => { silent.listen(0, '127.0.0.1', resolve); });
    const went = goesOn();
    const mute = { app: 't', store: `redis://127.0.0.1:${silent.address().port}/0`, openTimeoutMs: 200 };
    await assert.rejects(Generator.open(mute), code('EREDIS'));
    assert.ok(went() > 3, 'the event loop went on');
    const layout = new Layout();
    const wide = new Layout('uuid7');
    const big = 1n << 64n;
    const zero = { tick: 0n, pid: 0n, seq: 0n };
    for (const call of [() => layout.decode(big), () => layout.decode(big >> 1n), () => layout.decode(-1n),
      () => layout.compose({ ...zero, pid: big }), () => layout.compose({ ...zero, seq: big }), () => layout.compose({ ...zero, random: 1n }),
      () => wide.compose({ ...zero, random: big }), () => wide.decode(big << 64n), () => toText(big >> 1n), () => toText(big),
      () => toText(big << 64n, 'hex', { bits: 128 }), () => toText(1n, 'hex', { width: 2 ** 32 }), () => toText(1n, 'x')]) {
      assert.throws(call, code('EINVAL'), String(call));
    }
    assert.throws(() => layout.compose({ ...zero, tick: big }), code('EOVERFLOW'));
    for (const id of [5, '5', null, undefined]) assert.throws(() => new Layout().decode(id), TypeError);
    assert.throws(() => fromText(5), TypeError);
    assert.throws(() => Generator.prototype.next.call({}), TypeError);
  });

  test('close', (t) => {
    const g = new Generator({ app: 'closed', store: 'local' });
    below(g, 50);
    g.close();
    for (const call of [() => g.next(), () => g.tryNext(), () => g.nextN(3), () => g.pid, () => g.retryMs()]) {
      assert.throws(call, code('ECLOSED'));
    }
    assert.ok(!g.ready());
    g.close();
    assert.equal(open(t, { app: 'closed' }).pid, 0);
  });

  test('wide', (t) => {
    const g = open(t, { layout: 'uuid7', app: 'uuid' });
    const ids = [...below(g, 300), ...g.nextN(300), g.tryNext()];
    assert.ok(increasing(ids));
    assert.equal(fromText(toText(ids[0], 'uuid', { bits: 128 }), 'uuid', { bits: 128 }), ids[0]);
    assert.ok(Math.abs(g.layout.decode(ids[600]).time - Date.now()) < 20000);
    const { unixMs } = g.layout.decode(ids[0]);
    assert.ok(g.layout.minAt(unixMs) <= ids[0] && ids[0] <= g.layout.maxAt(unixMs) && g.layout.maxAt(unixMs) < g.layout.minAt(unixMs + 1n));
    assert.throws(() => g.layout.tickAt(1n << 48n), code('EOVERFLOW'));
  });

  test('moments', () => {
    const layout = new Layout('ms');
    const ms = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
    assert.equal(layout.minAt(ms), layout.minAt(new Date(ms)));
    assert.equal(layout.maxAt(BigInt(ms)) + 1n, layout.minAt(ms + 1));
    assert.equal(layout.decode(layout.maxAt(ms)).time.getTime(), ms);
    assert.throws(() => layout.minAt(new Date(NaN)), RangeError);
  });

  test('names are those of index.d.ts', (t) => {
    const types = readFileSync(join(__dirname, '../index.d.ts'), 'utf8');
    const members = (name) => [...types.split(`interface ${name} {`)[1].split('}')[0].matchAll(/^  (\w+)\??:/gm)].map((m) => m[1]).sort();
    assert.deepEqual(Object.keys(open(t).status()).sort(), members('Status'));
    assert.ok(members('Options').length > 20);
    for (const name of members('Options')) assert.throws(() => new Generator({ app: 'a/b', store: 'local', [name]: undefined }), code('EINVAL'), name);
  });

  test('as a module', async () => {
    const esm = await import('../index.mjs');
    assert.equal(esm.Generator, Generator);
    assert.equal(esm.default.Layout, Layout);
    assert.equal(new esm.Layout().text, 'sfid');
  });
}
