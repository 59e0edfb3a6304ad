// SPDX-License-Identifier: MIT
// Takes IDs apart, in plain JavaScript: no addon, no import, nothing of a browser or of Node. IDs are BigInts. It generates none.
// sfid.d.ts has the calls. `sfid serve` sends this very text inside its page, so no end tag of a script may stand here.

const EPOCH = 1766361600000;

// Epoch and tick in milliseconds; fields from the top bit down as NAME:BITS:KIND, the kind of time, pid, seq and random being
// their name. A fixed field has its value behind it. What is left at the top is reserved. vectors.json holds each to C's.
const NARROW = {
  sfid: [EPOCH, 1000, 'time:36 pid:11 seq:17'],
  'sfid-0.1.13': [EPOCH, 1000, 'time:35 pid:10 seq:19'],
  ms: [EPOCH, 1, 'time:41 pid:10 seq:12'],
  js53: [EPOCH, 1000, 'time:32 pid:8 seq:13'],
  twitter: [1288834974657, 1, 'time:41 datacenter:5:pid worker:5:pid seq:12'],
  leaf: [1288834974657, 1, 'time:41 worker:10:pid seq:12'],
  discord: [1420070400000, 1, 'time:42 worker:5:pid process:5:pid increment:12:seq'],
  instagram: [1314220021721, 1, 'time:41 shard:13:pid seq:10'],
  sonyflake: [1409529600000, 10, 'time:39 seq:8 machine:16:pid'],
  sonyflake2: [1735689600000, 10, 'time:39 seq:8 machine:16:pid'],
  mastodon: [0, 1, 'time:48 seq:16'],
  icicle: [1455788600316, 1, 'time:41 logical_shard:10:pid seq:12', 1],
  kestrel: [1451566800000, 1, 'time:41 logical_shard:10:pid seq:12'],
  cosid: [1577203200000, 1, 'time:41 machine:10:pid seq:12'],
  baidu: [1463673600000, 1000, 'time:28 worker:22:pid seq:13'],
  tso: [0, 1, 'physical:46:time logical:18:seq'],
};
const WIDE = {
  flake: [0, 1, 'time:64 worker:48:pid seq:16'],
  awsflake: [1577836800000, 1, 'time:41 region:5:pid ip:16:pid seq:15'],
  uuid7: [0, 1, 'time:48 version:4:fixed:7 seq:12 variant:2:fixed:2 seq_low:2:seq pid:16 random:44'],
  'flake-go': [0, 1, 'time:48 zero:16:fixed:0 worker:48:pid seq:16'],
};

export const presets = Object.freeze(Object.keys(NARROW));
export const widePresets = Object.freeze(Object.keys(WIDE));

const WHY = {
  SFID_EINVAL: 'an argument is invalid',
  SFID_EOVERFLOW: 'the value is too large',
  SFID_ECLOCK: 'the time is before the epoch of the layout',
};

export class SfidError extends Error {
  constructor(code, text = WHY[code], at = undefined) {
    super(text);
    this.name = 'SfidError';
    this.code = code;
    if (at !== undefined) this.at = at;
  }
}

const invalid = (text, at) => new SfidError('SFID_EINVAL', text, at);
const ones = (bits) => (1n << BigInt(bits)) - 1n;

// ---- text ----

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
// Digits; how many there are at most of 64 and of 128 bits.
const FORMS = {
  dec: ['0123456789', 20, 39],
  hex: ['0123456789abcdef', 16, 32],
  base62: [BASE62, 11, 22],
  base32: [CROCKFORD, 13, 26],
  base58: ['123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11, 22],
  uuid: ['0123456789abcdef', 0, 36],
};
const HYPHENS = [8, 13, 18, 23];

function digitOf(form, c) {
  if (form === 'base32') return CROCKFORD.indexOf(c.toUpperCase().replace('O', '0').replace(/[IL]/, '1'));
  return FORMS[form][0].indexOf(form === 'hex' || form === 'uuid' ? c.toLowerCase() : c);
}

function fromBytes(bytes, bits) {
  if (bytes.length !== bits / 8) throw invalid('the number of bytes is wrong', Math.min(bytes.length, bits / 8));
  const id = bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  if (bits === 64 && id >> 63n) throw new SfidError('SFID_EOVERFLOW', undefined, 0);
  return id;
}

function fromUuid(text) {
  const wrong = [...text].findIndex((c, i) => (HYPHENS.includes(i) ? c !== '-' : i >= 36 || digitOf('uuid', c) < 0));
  if (wrong >= 0 || text.length < 36) throw invalid('this is no UUID', wrong >= 0 ? wrong : text.length);
  return BigInt('0x' + text.replace(/-/g, ''));
}

export function fromText(text, form = 'base62', { bits = 64 } = {}) {
  if (form === 'bytes') return fromBytes(text, bits);
  if (typeof text !== 'string') throw new TypeError('a string is needed');
  const most = FORMS[form]?.[bits === 128 ? 2 : 1];
  if (!most || text === '') throw invalid(most ? 'the text is empty' : 'there is no such form', 0);
  if (form === 'uuid') return fromUuid(text);
  const digits = [...text].map((c) => (c.length === 1 && c < '\x80' ? digitOf(form, c) : -1));
  const wrong = digits.indexOf(-1);
  if (wrong >= 0) throw invalid(`character ${wrong + 1} is no digit`, wrong);
  const base = BigInt(FORMS[form][0].length);
  const limit = ones(bits === 128 ? 128 : 63);
  let id = 0n;
  digits.forEach((digit, at) => {
    id = id * base + BigInt(digit);
    if (at >= most || id > limit) throw new SfidError('SFID_EOVERFLOW', undefined, at);
  });
  return id;
}

export function toText(id, form = 'base62', { width = 0, bits = 64 } = {}) {
  const most = FORMS[form]?.[bits === 128 ? 2 : 1];
  const value = whole(id);
  if (!most || width > most || value > ones(bits === 128 ? 128 : 63)) throw invalid();
  if (form === 'uuid') {
    if (width !== 0 && width !== most) throw invalid();
    return value.toString(16).padStart(32, '0').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
  const digits = FORMS[form][0];
  let text = '';
  for (let left = value; left > 0n || text === ''; left /= BigInt(digits.length)) text = digits[left % BigInt(digits.length)] + text;
  return text.padStart(width || (form === 'dec' ? 1 : most), digits[0]);
}

// An ID as its caller has it. A number is refused: above 2^53 it is no longer the ID.
function whole(id) {
  const value = typeof id === 'string' ? fromText(id, 'dec', { bits: 128 }) : id;
  if (typeof value !== 'bigint') throw new TypeError(`a BigInt or a string of digits is needed, not ${typeof id}`);
  if (value < 0n) throw invalid('an ID is not negative');
  return value;
}

// What was pasted, or an ID: a text all the same.
function textOf(given) {
  if (typeof given !== 'string' && typeof given !== 'bigint') throw new TypeError(`a string or a BigInt is needed, not ${typeof given}`);
  return `${given}`.trim();
}

// ---- layouts ----

// In JSON all whole numbers are strings, since JSON's readers round those above 2^53.
class Parts {
  constructor(parts) { Object.assign(this, parts); }

  toJSON() {
    return Object.fromEntries(Object.entries(this).map(([name, value]) => [name, typeof value === 'bigint' ? `${value}` : value]));
  }
}

const readFields = (text) => text.split(' ').map((field) => {
  const [name, bits, kind = name, value = 0] = field.split(':');
  return { name, bits: Number(bits), kind, value: BigInt(value) };
});

// The bits of each kind, from the top down: two layouts of one shape read the same bits.
function shapeOf(fields) {
  const bits = {};
  for (const field of readFields(fields)) bits[field.kind] = (bits[field.kind] ?? 0) + field.bits;
  return JSON.stringify(bits);
}

const isEpoch = (ms) => ms >= -62135596800000 && ms <= 253402300799999; // years 0001 to 9999

// TIME:PID:SEQ[/UNIT][@EPOCH_MS], as sfid-layout(1) has it.
function readWidths(text) {
  const found = /^(\d+):(\d+):(\d+)(?:\/(\d+)(ms|s))?(?:@(-?\d+))?$/.exec(text);
  if (!found) throw invalid(`'${text}' is no layout`);
  const [time, pid, seq, count, epoch] = [found[1], found[2], found[3], found[4] ?? 1, found[6] ?? EPOCH].map(Number);
  const unit = count * (found[5] === 's' ? 1000 : 1);
  const tick = time + pid + seq === 64 ? time - 1 : time;
  if (time < 2 || time > 63 || pid > 32 || seq > 61 || time + pid + seq > 64 || unit < 1 || unit > 0xffffffff || !isEpoch(epoch)
    || ones(tick) >= (ones(63) - 253402300799999n) / BigInt(unit)) {
    throw invalid(`'${text}' is no layout`);
  }
  const fields = `time:${time}${pid ? ` pid:${pid}` : ''}${seq ? ` seq:${seq}` : ''}`;
  const same = presets.find((name) => NARROW[name][0] === epoch && NARROW[name][1] === unit && shapeOf(NARROW[name][2]) === shapeOf(fields));
  const own = `${time}:${pid}:${seq}/${unit % 1000 ? `${unit}ms` : `${unit / 1000}s`}@${epoch}`;
  return same ? [same, 64, ...NARROW[same]] : [own, 64, epoch, unit, fields];
}

function readLayout(text) {
  if (Object.hasOwn(NARROW, text)) return [text, 64, ...NARROW[text]];
  if (Object.hasOwn(WIDE, text)) return [text, 128, ...WIDE[text]];
  const [, name, ms] = /^(awsflake|sonyflake2?)@(-?\d+)$/.exec(text) ?? [];
  const epoch = Number(ms ?? NaN);
  if (!isEpoch(epoch)) return readWidths(text);
  const same = (name === 'awsflake' ? [name] : ['sonyflake', 'sonyflake2']).find((own) => (NARROW[own] ?? WIDE[own])[0] === epoch);
  if (same) return readLayout(same);
  // The machine of Sonyflake is a word of its presets alone.
  return name === 'awsflake' ? [`${name}@${epoch}`, 128, epoch, ...WIDE[name].slice(1)] : [`sonyflake@${epoch}`, 64, epoch, 10, 'time:39 seq:8 pid:16'];
}

// The fields with their places.
function place(text, size) {
  const fields = readFields(text);
  let shift = 0;
  for (const field of [...fields].reverse()) {
    field.shift = shift;
    shift += field.bits;
  }
  const top = { name: 'reserved', bits: size - shift, kind: 'reserved', value: 0n, shift };
  return (shift < size ? [top, ...fields] : fields).map(Object.freeze);
}

const valueOf = (field, id) => (id >> BigInt(field.shift)) & ones(field.bits);

function milliseconds(moment) {
  if (typeof moment === 'bigint') return moment;
  if (typeof moment !== 'number' && !(moment instanceof Date)) throw new TypeError('a Date, or milliseconds since 1970, are needed');
  const ms = Math.floor(Number(moment));
  if (!Number.isFinite(ms)) throw invalid('this is no moment');
  return BigInt(ms);
}

export class Layout {
  constructor(text = 'sfid') {
    const [name, size, epochMs, unitMs, fields, firstPid = 0] = readLayout(text);
    Object.assign(this, { text: name, wide: size === 128, epochMs, unitMs, firstPid, fields: Object.freeze(place(fields, size)) });
    Object.freeze(this);
  }

  #bits(kind) { return this.fields.reduce((sum, field) => sum + (field.kind === kind ? field.bits : 0), 0); }

  // Of 64 bits the top one stays 0, since an ID is no negative number; flake's times are those that int64 holds.
  get #lastTick() {
    const time = this.fields.find((field) => field.kind === 'time');
    return ones(time.bits - Number(time.bits === 64 || (!this.wide && time.bits + time.shift === 64)));
  }

  #gather(kind, id) {
    return this.fields.filter((field) => field.kind === kind).reduce((sum, f) => (sum << BigInt(f.bits)) | valueOf(f, id), 0n);
  }

  decode(given) {
    const id = whole(given);
    const same = (field) => valueOf(field, id) === field.value;
    if (id > ones(this.wide ? 128 : 63) || !this.fields.every((f) => !['reserved', 'fixed'].includes(f.kind) || same(f))) {
      throw invalid(`${id} is no ID of layout ${this.text}`);
    }
    const [tick, pid, seq, random] = ['time', 'pid', 'seq', 'random'].map((kind) => this.#gather(kind, id));
    if (tick > this.#lastTick) throw new SfidError('SFID_EOVERFLOW');
    const unixMs = BigInt(this.epochMs) + tick * BigInt(this.unitMs);
    return new Parts({ id, layout: this.text, tick, pid, seq, random, unixMs, time: new Date(Number(unixMs)) });
  }

  split(given) {
    const { id } = this.decode(given);
    return new Parts(Object.fromEntries(this.fields.map((field) => [field.name, valueOf(field, id)])));
  }

  compose({ tick, pid, seq, random = 0n }) {
    const left = { pid, seq, random };
    for (const [kind, value] of Object.entries(left)) if (value < 0n || value > ones(this.#bits(kind))) throw invalid();
    if (tick < 0n || tick > this.#lastTick) throw new SfidError('SFID_EOVERFLOW');
    left.time = tick;
    let id = 0n;
    for (const field of [...this.fields].reverse()) {
      const value = field.kind in left ? left[field.kind] & ones(field.bits) : field.value;
      if (field.kind in left) left[field.kind] >>= BigInt(field.bits);
      id |= value << BigInt(field.shift);
    }
    return id;
  }

  tickAt(moment) {
    const past = milliseconds(moment) - BigInt(this.epochMs);
    if (past < 0n) throw new SfidError('SFID_ECLOCK');
    const tick = past / BigInt(this.unitMs);
    if (tick > this.#lastTick) throw new SfidError('SFID_EOVERFLOW');
    return tick;
  }

  #nearest(moment) {
    const past = milliseconds(moment) - BigInt(this.epochMs);
    const tick = past < 0n ? 0n : past / BigInt(this.unitMs);
    return tick < this.#lastTick ? tick : this.#lastTick;
  }

  minAt(moment) { return this.compose({ tick: this.#nearest(moment), pid: 0n, seq: 0n }); }

  maxAt(moment) {
    const [pid, seq, random] = ['pid', 'seq', 'random'].map((kind) => ones(this.#bits(kind)));
    return this.compose({ tick: this.#nearest(moment), pid, seq, random });
  }
}

export const decode = (id, layout) => (layout instanceof Layout ? layout : new Layout(layout)).decode(id);

// ---- what could have made it ----

const DAY_MS = 86400000;
const FIRST_MS = Date.UTC(2010, 0, 1);
const hex = (value, digits) => value.toString(16).padStart(digits, '0');

// Parts of IDs that others' documents describe, by their form alone.
const seconds = (value, since = 0n) => new Date(Number((value + since) * 1000n));
const gregorian = (ticks) => new Date(Number(ticks / 10000n - 12219292800000n)); // 100 ns since 1582-10-15: RFC 9562, 5.1

function uuidParts(id) {
  const version = Number((id >> 76n) & 15n);
  const node = hex(id & ones(48), 12);
  const clock = `${(id >> 48n) & ones(14)}`;
  const low = (id >> 96n) & ones(32);
  const middle = (id >> 80n) & ones(16);
  const high = (id >> 64n) & ones(12);
  if (version === 1) return { time: gregorian((high << 48n) | (middle << 32n) | low), clock, node };
  if (version === 6) return { time: gregorian((((low << 16n) | middle) << 12n) | high), clock, node };
  if (version === 7) return { time: new Date(Number(id >> 80n)) };
  return {};
}

// The documents: RFC 9562; github.com/ulid/spec; MongoDB's manual, "ObjectId()"; github.com/segmentio/ksuid; github.com/rs/xid;
// github.com/f4b6a3/tsid-creator.
const BY_FORM = [
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i, (text) => ({
    name: `UUID version ${text[14]}`, ...uuidParts(fromUuid(text)),
  })],
  [/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i, (text) => {
    const id = fromText(text, 'base32', { bits: 128 });
    return { name: 'ULID', time: new Date(Number(id >> 80n)), random: hex(id & ones(80), 20) };
  }],
  [/^[0-9a-f]{24}$/i, (text) => {
    const id = BigInt(`0x${text}`);
    return { name: 'MongoDB ObjectId', time: seconds(id >> 64n), process: hex((id >> 24n) & ones(40), 10), counter: `${id & ones(24)}` };
  }],
  [/^[0-9A-Za-z]{27}$/, (text) => {
    const id = [...text].reduce((sum, c) => sum * 62n + BigInt(BASE62.indexOf(c)), 0n);
    return id > ones(160) ? null : { name: 'KSUID', time: seconds(id >> 128n, 1400000000n), random: hex(id & ones(128), 32) };
  }],
  [/^[0-9a-v]{19}[0g]$/, (text) => {
    const id = [...text].reduce((sum, c) => sum * 32n + BigInt(parseInt(c, 32)), 0n) >> 4n;
    const machine = hex((id >> 40n) & ones(24), 6);
    return { name: 'xid', time: seconds(id >> 64n), machine, pid: `${(id >> 24n) & ones(16)}`, counter: `${id & ones(24)}` };
  }],
  [/^(?!\d+$)[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$/i, (text) => {
    const id = fromText(text, 'base32');
    const note = 'if its epoch is 2020; any 64-bit ID may be written so';
    return { name: 'TSID', time: new Date(Number(id >> 22n) + 1577836800000), random: `${id & ones(22)}`, note };
  }],
];

export function byForm(given) {
  const text = textOf(given);
  const found = BY_FORM.find(([pattern]) => pattern.test(text));
  return found ? found[1](text) : null;
}

// The numbers that a text may stand for: [form, ID, bits].
function readings(text) {
  const forms = [[/^\d{1,20}$/, 'dec', 64], [/^[0-9a-f]{16}$/i, 'hex', 64], [/^[0-9A-Za-z]{11}$/, 'base62', 64],
    [/^[1-9A-HJ-NP-Za-km-z]{11}$/, 'base58', 64], [/^[0-9A-TV-Z]{13}$/i, 'base32', 64], [/^[0-9a-f]{32}$/i, 'hex', 128],
    [/^[0-9A-Za-z]{12,13}$/, 'base62', 128], [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'uuid', 128]];
  return forms.filter(([pattern]) => pattern.test(text)).flatMap(([, form, bits]) => {
    try {
      return [[form, fromText(text, form, { bits }), bits]];
    } catch {
      return []; // too large
    }
  });
}

// A decimal number is no text in another form, though its digits would do.
function readingsOf(text) {
  const all = readings(text);
  return all[0]?.[0] === 'dec' ? all.slice(0, 1) : all;
}

// Does an ID's time make sense? Small numbers lie on the first day of every layout: that is no sign.
const isLikely = (layout, { unixMs, pid }, now) => unixMs >= BigInt(Math.max(FIRST_MS, layout.epochMs + DAY_MS))
  && unixMs <= BigInt(now + DAY_MS) && pid >= BigInt(layout.firstPid);

// What decides which bits are read, and in which unit.
const familyOf = (layout) => {
  const low = layout.fields.filter((f) => ['pid', 'seq', 'random'].includes(f.kind));
  const shift = layout.fields.find((f) => f.kind === 'time').shift;
  const kinds = [...new Set(low.map((f) => f.kind))].map((kind) => `${kind} ${low.reduce((n, f) => n + (f.kind === kind ? f.bits : 0), 0)}`);
  return `ticks of ${layout.unitMs % 1000 ? `${layout.unitMs} ms` : `${layout.unitMs / 1000} s`} above ${shift} bits: ${kinds.join(', ')}`;
};

let ours;

export function couldBe(given, { now = Date.now(), layouts = [] } = {}) {
  const text = textOf(given);
  ours ??= [...presets, ...widePresets].map((name) => new Layout(name)); // once, when it is first asked for
  const all = [...layouts.map((layout) => (layout instanceof Layout ? layout : new Layout(layout))), ...ours];
  const found = new Map();
  for (const [form, id, bits] of readingsOf(text)) {
    for (const layout of all.filter((l) => l.wide === (bits === 128))) {
      let parts;
      try {
        parts = layout.decode(id);
      } catch {
        continue;
      }
      if (!isLikely(layout, parts, now)) continue;
      const family = familyOf(layout);
      const key = `${form} ${family} ${parts.unixMs}`; // these read the ID alike
      const entry = found.get(key) ?? { names: [], family, form, parts };
      if (!entry.names.includes(layout.text)) entry.names.push(layout.text);
      found.set(key, entry);
    }
  }
  return [...found.values()];
}

// ---- what was damaged before it came ----

const DAMAGES = [
  [/^\d+\.0*$/, 'a number with a decimal point: a program such as pandas has read the ID as a floating-point number, and its last digits may be lost'],
  [/^="\d+"$/, 'a formula of a spreadsheet around the ID; the digits inside are whole'],
  [/^'\d+'?$/, 'an apostrophe of a spreadsheet before the ID; the digits are whole'],
];

export function damage(given) {
  const text = textOf(given);
  const found = /^[-+]?\d+(?:[.,](\d+))?[eE]\+?(-?\d+)$/.exec(text);
  if (!found) return DAMAGES.find(([pattern]) => pattern.test(text))?.[1] ?? '';
  const lost = (found[1] ?? '').length < Number(found[2]) ? 'digits are lost' : 'its last digits may be lost';
  return `a number with an exponent: a spreadsheet or a program has read the ID as a floating-point number, and ${lost}`;
}

const lostBits = (id) => id.toString(2).length - 53; // what a double has no room for
const zeros = (id) => id.toString(2).length - id.toString(2).replace(/0+$/, '').length;

// How rounded numbers look: what each does; one of 2^x sound ones looks so by chance; and what one of them has to show. IDs whose
// sequence is 0 have more zero bits than a double makes, so they are no sign.
const SIGNS = [
  ['double', (id) => zeros(id) >= lostBits(id), lostBits, (id) => zeros(id) === lostBits(id)],
  ['javascript', (id) => BigInt(String(Number(id))) === id, lostBits, () => true],
  ['spreadsheet', (id) => /^0+$/.test(`${id}`.slice(15)), (id) => (`${id}`.length - 15) * Math.log2(10), () => true],
];

export function rounding(texts) {
  const ids = texts.map(textOf).filter((text) => /^\d{16,19}$/.test(text)).map(BigInt).filter((id) => id > ones(53));
  const found = SIGNS.filter(([, all, , some]) => ids.every(all) && ids.some(some))
    .map(([by, , bits]) => ({ by, bits: ids.reduce((sum, id) => sum + bits(id), 0) })).sort((a, b) => b.bits - a.bits);
  return found[0]?.bits >= 4 ? { by: found[0].by, count: ids.length, chance: 2 ** -found[0].bits } : null;
}
