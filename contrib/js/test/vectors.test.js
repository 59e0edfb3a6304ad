// SPDX-License-Identifier: MIT
// Every vector of vectors.json, both ways, and every refusal. $SFID_VECTORS names the file.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as sfid from '../sfid.js';

const vectors = JSON.parse(readFileSync(process.env.SFID_VECTORS, 'utf8'));
const raw = (form, text) => (form === 'bytes' ? Buffer.from(text, 'hex') : text);
let count = 0;

function checkText(form, text, id, bits, width = 0, readOnly = false) {
  assert.equal(sfid.fromText(raw(form, text), form, { bits }), id);
  if (form === 'bytes') {
    assert.equal(id.toString(16).padStart(bits / 4, '0'), text);
    assert.throws(() => sfid.toText(id, form, { bits }), { code: 'SFID_EINVAL' });
  } else if (!readOnly) {
    assert.equal(sfid.toText(id, form, { width, bits }), text);
    assert.equal(sfid.toText(`${id}`, form, { width, bits }), text);
  }
}

test('format', () => {
  assert.equal(vectors.format, 1);
  for (const kind of ['layouts', 'wide_layouts', 'ids', 'texts', 'refused']) assert.ok(vectors[kind].length > 0);
});

test('layouts', () => {
  assert.deepEqual(sfid.presets, vectors.layouts.map((v) => v.name));
  assert.deepEqual([...sfid.widePresets].sort(), vectors.wide_layouts.map((v) => v.name).sort());
  for (const v of [...vectors.layouts, ...vectors.wide_layouts]) {
    const layout = new sfid.Layout(v.name);
    assert.deepEqual([layout.text, layout.epochMs, layout.unitMs, layout.wide, layout.firstPid],
      [v.name, v.epoch_ms, v.unit_ms, vectors.wide_layouts.includes(v), v.first_pid ?? 0]);
    assert.deepEqual(layout.fields.map((f) => [f.name, f.shift, f.bits, f.kind]), v.fields, v.name);
    if (!layout.wide) assert.equal(layout.decode(layout.maxAt(1n << 70n)).unixMs, BigInt(v.last_ms));
    assert.equal(layout.decode(layout.minAt(-1n << 70n)).tick, 0n);
    assert.equal(layout.decode(layout.maxAt(v.epoch_ms)).tick, 0n);
    assert.throws(() => layout.tickAt(v.epoch_ms - 1), { code: 'SFID_ECLOCK' });
    count += 1;
  }
});

test('ids', () => {
  for (const v of vectors.ids) {
    const layout = new sfid.Layout(v.layout);
    const id = BigInt(v.id);
    const parts = sfid.decode(v.id, v.layout);
    for (const [name, key] of [['tick'], ['pid'], ['seq'], ['random'], ['unixMs', 'unix_ms']]) {
      assert.equal(parts[name], BigInt(v[key ?? name] ?? 0), `${v.layout} ${v.id} ${name}`);
    }
    if ('time' in v) assert.equal(parts.time.toISOString(), v.time);
    assert.equal(layout.compose(parts), id);
    assert.equal(layout.tickAt(parts.unixMs), parts.tick);
    // The bounds of a tick: the ID with the bits of pid, sequence and chance all clear and all set.
    const free = layout.fields.filter((f) => ['pid', 'seq', 'random'].includes(f.kind))
      .reduce((bits, f) => bits | (((1n << BigInt(f.bits)) - 1n) << BigInt(f.shift)), 0n);
    assert.equal(layout.minAt(parts.unixMs), id & ~free, `${v.layout} ${v.id}`);
    assert.equal(layout.maxAt(parts.unixMs + BigInt(layout.unitMs) - 1n), id | free, `${v.layout} ${v.id}`);
    for (const [name, value] of Object.entries(v.fields ?? {})) assert.equal(layout.split(id)[name], BigInt(value));
    for (const [form, t] of Object.entries(v.texts ?? {})) {
      checkText(form, t.text ?? t, id, layout.wide ? 128 : 64, t.width);
    }
    count += 1;
  }
});

test('texts', () => {
  for (const v of vectors.texts) {
    checkText(v.form, v.text, BigInt(v.id), v.bits, v.width, v.read_only);
    count += 1;
  }
});

function refused(v) {
  if (v.call === 'from_text') return sfid.fromText(raw(v.form, v.text), v.form, { bits: v.bits });
  if (v.call === 'layout_parse') return new sfid.Layout(v.text);
  const layout = new sfid.Layout(v.layout);
  if (v.call === 'tick_at') return layout.tickAt(v.unix_ms);
  if (v.call === 'compose') {
    return layout.compose({ tick: BigInt(v.tick), pid: BigInt(v.pid), seq: BigInt(v.seq), random: BigInt(v.random ?? 0) });
  }
  assert.equal(v.call, 'parse');
  return layout.decode(BigInt(v.id));
}

test('refused', () => {
  for (const v of vectors.refused) {
    assert.throws(() => refused(v), (error) => {
      assert.equal(error.code, `SFID_${v.error}`, JSON.stringify(v));
      assert.equal(error.at, v.at, JSON.stringify(v));
      return error instanceof sfid.SfidError && error instanceof Error;
    });
    count += 1;
  }
});

test('all were checked', () => {
  console.log(`# ${count} vectors agree`);
  assert.equal(count, ['layouts', 'wide_layouts', 'ids', 'texts', 'refused'].reduce((n, kind) => n + vectors[kind].length, 0));
});
