// SPDX-License-Identifier: MIT
// What vectors.json has no rows for: JSON, forms of others, what could have made an ID, what was rounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Layout, SfidError, byForm, couldBe, damage, decode, fromText, rounding, toText } from '../sfid.js';

const NOW = Date.UTC(2026, 10, 30);
const found = (text, options) => couldBe(text, { now: NOW, ...options });
const names = (text, options) => found(text, options).map((c) => c.names.join('+'));

test('an ID is a BigInt inside and a string in JSON', () => {
  const parts = decode('175928847299117063', 'discord');
  assert.deepEqual(JSON.parse(JSON.stringify(parts)), {
    id: '175928847299117063', layout: 'discord', tick: '41944705796', pid: '32', seq: '7', random: '0',
    unixMs: '1462015105796', time: '2016-04-30T11:18:25.796Z',
  });
  assert.equal(JSON.stringify(new Layout('discord').split(parts.id)), '{"time":"41944705796","worker":"1","process":"0","increment":"7"}');
});

test('a number is no ID', () => {
  for (const call of [decode, toText, (id) => new Layout().split(id)]) assert.throws(() => call(7), /TypeError.*not number/);
  assert.throws(() => fromText(7, 'dec'), TypeError);
  for (const wrong of [7, 175928847299117063, undefined, null, true, {}, [5n]]) {
    for (const call of [couldBe, byForm, damage, (id) => rounding(['5', id])]) assert.throws(() => call(wrong), /TypeError: a string or a BigInt is needed/);
  }
  assert.deepEqual(names(175928847299117063n), names('175928847299117063'));
  assert.deepEqual(rounding([175928847299117060n]), rounding([' 175928847299117060']));
  const layout = new Layout('discord');
  for (const wrong of [null, '', '2024-01-01', true, [], undefined]) {
    for (const call of ['minAt', 'maxAt', 'tickAt']) assert.throws(() => layout[call](wrong), /TypeError: a Date/);
  }
  assert.throws(() => layout.minAt(new Date('x')), /no moment/);
});

test('sonyflake and awsflake with another epoch, as sfid decode --guess --known prints them', () => {
  const own = new Layout('sonyflake@1593561600000');
  assert.deepEqual({ ...own.split(5n << 24n | 6n << 16n | 7n) }, { reserved: 0n, time: 5n, seq: 6n, pid: 7n });
  assert.equal(own.decode(5n << 24n).unixMs, 1593561600050n);
  const texts = { 'sonyflake@5': 'sonyflake@5', 'sonyflake2@5': 'sonyflake@5', 'sonyflake@-0': 'sonyflake@0', 'sonyflake@1735689600000': 'sonyflake2',
    'sonyflake2@1409529600000': 'sonyflake', 'awsflake@5': 'awsflake@5', 'awsflake@1577836800000': 'awsflake' };
  for (const [text, want] of Object.entries(texts)) assert.equal(new Layout(text).text, want);
  for (const text of ['sonyflake@', 'sonyflake@+5', 'sonyflake@253402300800000', 'sonyflake3@5', 'twitter@5', 'awsflake2@5']) {
    assert.throws(() => new Layout(text), { code: 'SFID_EINVAL' }, text);
  }
  assert.throws(() => decode(-1n), { code: 'SFID_EINVAL' });
  assert.throws(() => decode('12x'), { code: 'SFID_EINVAL', at: 2 });
  assert.throws(() => decode(1n << 64n), { code: 'SFID_EINVAL' });
});

test('layouts of one\'s own', () => {
  for (const [text, want] of [['41:10:12/1ms@1577836800000', '41:10:12/1ms@1577836800000'], ['41:10:12', 'ms'], ['36:11:17/1s', 'sfid'],
    ['41:10:12@1288834974657', 'twitter'], ['39:8:16/10ms@1409529600000', '39:8:16/10ms@1409529600000'], ['42:10:12/1ms@1420070400000', 'discord'],
    ['48:0:16/1ms@0', 'mastodon'], ['10:0:3/2000ms@-5', '10:0:3/2s@-5'], ['awsflake@1577836800000', 'awsflake'], ['awsflake@-7', 'awsflake@-7']]) {
    assert.equal(new Layout(text).text, want);
    assert.equal(new Layout(want).text, want);
  }
  assert.equal(decode('362637573840961538', '39:16:8/10ms@1409529600000').seq, 2n);
  for (const text of ['toString', '20:33:0', '2:0:62', '63:0:0/4294967295ms', '2:0:0/4294968s', '3:0:0/4294967296ms', '41:10:12/1ms@-62135596800001', '41:10:12 ']) {
    assert.throws(() => new Layout(text), SfidError, text);
  }
  assert.equal(new Layout('2:0:0/4294967s').unitMs, 4294967000);
  assert.throws(() => new Layout().tickAt(new Date(NaN)), { code: 'SFID_EINVAL' });
  assert.equal(new Layout('twitter').tickAt(new Date(1288834974659)), 2n);
  assert.equal(new Layout('twitter').tickAt(1288834974658.9), 1n);
});

test('others by their form', () => {
  // Each is published: RFC 9562 (appendices A and B), ulid/spec, ulid/javascript, MongoDB's manual, segmentio/ksuid, rs/xid,
  // f4b6a3/tsid-creator.
  for (const [text, name, time, parts] of [
    ['C232AB00-9414-11EC-B3C8-9F6BDECED846', 'UUID version 1', '2022-02-22T19:22:22.000Z', { clock: '13256', node: '9f6bdeced846' }],
    ['5df41881-3aed-3515-88a7-2f4a814cf09e', 'UUID version 3'],
    ['919108f7-52d1-4320-9bac-f847db4148a8', 'UUID version 4'],
    ['2ed6657d-e927-568b-95e1-2665a8aea6a2', 'UUID version 5'],
    ['1EC9414C-232A-6B00-B3C8-9F6BDECED846', 'UUID version 6', '2022-02-22T19:22:22.000Z', { clock: '13256', node: '9f6bdeced846' }],
    ['017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 'UUID version 7', '2022-02-22T19:22:22.000Z'],
    ['5c146b14-3c52-8afd-938a-375d0df1fbf6', 'UUID version 8'],
    ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'ULID', '2016-07-30T23:54:10.259Z', { random: 'd6764c61efb99302bd5b' }],
    ['01aryz6s41tsv4rrffq69g5fav', 'ULID', '2016-07-30T22:36:16.385Z'],
    ['507f191e810c19729de860ea', 'MongoDB ObjectId', '2012-10-17T20:46:22.000Z', { process: '810c19729d', counter: '15229162' }],
    ['0ujtsYcgvSTl8PAuAdqWYSMnLOv', 'KSUID', '2017-10-10T04:00:47.000Z', { random: 'b5a1cd34b5f99d1154fb6853345c9735' }],
    ['9m4e2mr0ui3e8a215n4g', 'xid', '2011-03-22T17:50:19.000Z', { machine: '60f486', pid: '58408', counter: '4271561' }],
    ['01226N0640J7K', 'TSID', '2020-04-15T20:22:07.665Z', { random: '18675' }],
    ['01226n0640j7k', 'TSID', '2020-04-15T20:22:07.665Z'],
  ]) {
    const got = byForm(text);
    assert.equal(got?.name, name, text);
    assert.equal(got.time?.toISOString(), time, text);
    for (const [key, value] of Object.entries(parts ?? {})) assert.equal(got[key], value, `${text} ${key}`);
  }
  for (const text of ['', '175928847299117063', '919108f7-52d1-0320-9bac-f847db4148a8', '919108f7-52d1-9320-9bac-f847db4148a8',
    '919108f7-52d1-4320-cbac-f847db4148a8', '81ARZ3NDEKTSV4RRFFQ69G5FAV', '01ARZ3NDEKTSV4RRFFQ69G5FAU', '507f191e810c19729de860eg',
    'zzzzzzzzzzzzzzzzzzzzzzzzzzz', '9m4e2mr0ui3e8a215n41', '9m4e2mr0ui3e8a215n4', 'G1226N0640J7K', '01226N0640J7U',
    '1759288472991']) {
    assert.equal(byForm(text), null, text);
  }
  assert.equal(byForm('aWgEPTl1tmebfsQzFP4bxwgy80V').name, 'KSUID'); // its largest: segmentio/ksuid, Max
});

test('what could have made it', () => {
  assert.deepEqual(names('175928847299117063'), ['twitter+leaf', 'discord', 'instagram', 'sonyflake', 'icicle', 'kestrel', 'cosid', 'baidu']);
  const [twitter, discord, instagram] = found('175928847299117063');
  assert.equal(twitter.family, 'ticks of 1 ms above 22 bits: pid 10, seq 12');
  assert.equal(discord.family, twitter.family);
  assert.equal(instagram.family, 'ticks of 1 ms above 23 bits: pid 13, seq 10');
  assert.equal(discord.parts.time.toISOString(), '2016-04-30T11:18:25.796Z');
  assert.deepEqual([discord.form, discord.parts.pid, discord.parts.seq], ['dec', 32n, 7n]);
  assert.deepEqual(names('110368129515784116').slice(-1), ['baidu']);
  assert.ok(names('110368129515784116').includes('mastodon'));
  assert.deepEqual(names('20'), []); // small numbers lie on every layout's first day
  assert.deepEqual(names('9223372036854775808'), []);
  assert.deepEqual(names('no ID'), []);
  assert.deepEqual(names(' 175928847299117063\n'), names('175928847299117063'));
});

test('the bounds of its date', () => {
  const own = '41:10:12/1ms@1243814400000'; // 2009-06-01
  const at = (layout, ms) => `${new Layout(layout).minAt(ms)}`;
  const has = (layout, ms) => names(at(layout, ms), { layouts: [layout] }).join('+').split('+').includes(layout);
  const day = 86400000;
  assert.deepEqual([has(own, Date.UTC(2010, 0, 1) - 1), has(own, Date.UTC(2010, 0, 1))], [false, true]);
  assert.deepEqual([has('discord', 1420070400000 + day - 1), has('discord', 1420070400000 + day)], [false, true]);
  assert.deepEqual([has('ms', NOW + day), has('ms', NOW + day + 1)], [true, false]);
  const icicle = new Layout('icicle').minAt(NOW); // it numbers its shards from 1
  assert.deepEqual([names(`${icicle}`).includes('icicle'), names(`${icicle + 4096n}`).includes('icicle')], [false, true]);
  assert.deepEqual(names(at(own, NOW), { layouts: [new Layout(own)] })[0], own);
  assert.equal(found(`${new Layout('ms').minAt(Date.now())}`, { now: undefined }).some((c) => c.names.includes('ms')), true);
});

test('other texts of the same IDs', () => {
  const id = 175928847299117063n;
  for (const form of ['hex', 'base62', 'base32', 'base58']) {
    const all = found(toText(id, form)).filter((c) => c.form === form && c.names.includes('discord'));
    assert.deepEqual(all.map((c) => c.parts.id), [id], form);
  }
  for (const digits of ['1759288472991170', '17592884729', '1759288472991', '00175928847299117063']) { // digits are a number
    assert.deepEqual(found(digits).filter((c) => c.form !== 'dec'), [], digits);
  }
  assert.deepEqual(names('00175928847299117063'), names(`${id}`));
  assert.deepEqual(names(`${id}`, { layouts: ['discord', 'leaf'] }).slice(0, 2), ['discord', 'leaf+twitter']);
  assert.deepEqual(found('00000134d4212d43109add5e0e8f0000').map((c) => [c.names.join(), c.parts.time.toISOString()]),
    [['flake', '2012-01-12T22:54:31.235Z']]);
  assert.deepEqual(found('017F22E2-79B0-7CC3-98C4-DC0C0C07398F').map((c) => [c.names.join(), c.form, c.parts.pid]), [['uuid7', 'uuid', 35917n]]);
  assert.ok(names('57NO5HEVlVCa').includes('awsflake'));
  assert.ok(names('0aDuEi4sFesTo').includes('awsflake'));
});

test('damaged texts', () => {
  for (const text of ['4.79E+17', '7.9155723368987E+017', '4e17', '479386071891505153.0', '479386071891505153.', '="479386071891505153"', "'479386071891505153"]) {
    assert.notEqual(damage(text), '', text);
  }
  assert.match(damage('4.79E+17'), /digits are lost/);
  assert.equal(damage('4,79E+17'), damage('4.79E+17'));
  assert.match(damage('4.793860718915051520e+17'), /last digits may be lost/); // as NumPy's savetxt writes them
  assert.match(damage('="479386071891505153"'), /digits inside are whole/);
  for (const text of ['', '479386071891505153', '0ujtsYcgvSTl8PAuAdqWYSMnLOv', '01ARZ3NDEKTSV4RRFFQ69G5FAV', '1e', '.5']) assert.equal(damage(text), '', text);
});

// Numbers of one kind, the same in every run: a linear congruential generator (Knuth, The Art of Computer Programming, 3.3.4).
function* someIds(layout, low) {
  let state = 1n;
  for (let i = 0; i < 3000; i++) {
    state = (state * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n);
    yield layout.minAt(NOW - Number(state >> 30n)) + low(state >> 20n);
  }
}

test('rounded IDs are noticed, sound ones are not', () => {
  const random = (bits) => (state) => state & ((1n << bits) - 1n);
  for (const [name, bits] of [['twitter', 22n], ['discord', 22n], ['instagram', 23n], ['sonyflake', 24n], ['mastodon', 16n], ['tso', 18n]]) {
    const ids = [...someIds(new Layout(name), random(bits))];
    for (const [by, texts] of [['double', ids.map((id) => `${BigInt(Number(id))}`)], ['javascript', ids.map((id) => `${Number(id)}`)],
      ['spreadsheet', ids.map((id) => `${id}`.slice(0, 15).padEnd(`${id}`.length, '0'))]]) {
      const got = rounding(texts);
      assert.deepEqual([got?.by, got?.count], [by, 3000], `${name} ${by}`);
      assert.equal(rounding([...texts, `${ids.find((id) => BigInt(Number(id)) !== id && BigInt(`${Number(id)}`) !== id)}`]), null, `${name} ${by} and a sound one`);
    }
    assert.equal(rounding(ids.map(String)), null, name);
  }
});

test('a sequence of 0 is no rounding', () => {
  for (const name of ['twitter', 'discord', 'ms', 'leaf']) {
    const ids = [...someIds(new Layout(name), (state) => (state & 1023n) << 12n)];
    assert.equal(rounding(ids.map(String)), null, name);
    assert.equal(ids.filter((id) => rounding([`${id}`])?.by === 'double').length, 0, `${name}, one by one`);
  }
});

test('a single rounded ID', () => {
  assert.deepEqual(rounding(['175928847299117060']), { by: 'javascript', count: 1, chance: 1 / 32 });
  assert.deepEqual(rounding(['175928847299117063', '01ARZ3NDEKTSV4RRFFQ69G5FAV']), null);
  assert.deepEqual(rounding(['9007199254740992']), null); // 54 bits: every second number is a double
  assert.deepEqual(rounding([]), null);
  assert.deepEqual(rounding(['1000000000000001', '175928847299117060', '17592884729911706x']), { by: 'javascript', count: 1, chance: 1 / 32 });
  const { by, chance } = rounding(['1234567890123450000']);
  assert.deepEqual([by, chance.toPrecision(3)], ['spreadsheet', '0.000100']);
});
