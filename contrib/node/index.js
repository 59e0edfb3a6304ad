// SPDX-License-Identifier: MIT
// Unique, time-ordered 64-bit IDs, by libsfid. README.md has an example, index.d.ts what each call takes.
'use strict';
const native = load();
const FORMS = ['dec', 'hex', 'base62', 'base32', 'base58', 'uuid', 'bytes'];
const KINDS = ['reserved', 'time', 'pid', 'seq', 'fixed', 'random'];
const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase());
const [CODES, NUMBERS, STATUS] = native.names.split('|').map((list) => list.trim().split(' ').map(camel));
const DEFAULTS = new BigInt64Array(NUMBERS.length);
native.defaults(DEFAULTS);
const TEXTS = ['app', 'store', 'runDir', 'stateDir'];
const WORDS = { exhaustion: ['wait', 'borrow', 'fail'], onUnknown: ['waitOut', 'trust'] };
const EINVAL = -1;
const ECLOCK = -5;
const EOVERFLOW = -6;
const MOST = { 64: (1n << 64n) - 1n, 128: (1n << 128n) - 1n };
// Scratch: no call of ours is made inside another.
const [number, pair, parts] = [new BigInt64Array(1), new BigUint64Array(2), new BigUint64Array(5)];
const buffer = Buffer.alloc(512);

function load() {
  try {
    return require('./build/Release/sfid.node');
  } catch (error) {
    const cure = error.code === 'MODULE_NOT_FOUND'
      ? 'it was not built: install libsfid, then run `npm rebuild sfid` (npm 11 and later: first `npm install-scripts approve sfid`)'
      : 'run ldconfig as root after libsfid is installed, or set LD_LIBRARY_PATH to its directory';
    throw new Error(`the addon of sfid cannot be loaded: ${cure}; ${error.message.split('\n', 1)[0]}`, { cause: error });
  }
}

class SfidError extends Error {
  constructor(errno, message, handle, at) {
    super(message ?? buffer.toString('utf8', 0, native.errorText(errno, handle, buffer)));
    this.code = `SFID_${CODES[-errno - 1] ?? 'E'}`; // of a newer library: no name
    this.errno = errno;
    if (at !== undefined) this.at = at;
  }
}

function check(rc, handle, at) {
  if (rc < 0) throw new SfidError(rc, undefined, handle, at);
  return rc;
}

// A BigInt of so many bits; arrays would drop the rest.
function fits(value, bits, errno = EINVAL) {
  if (typeof value !== 'bigint') throw new TypeError(`a BigInt is needed, not ${typeof value}`);
  if (value < 0n || value > MOST[bits]) throw new SfidError(errno, `${value} is out of range`);
  return value;
}

function words(id) {
  pair[0] = fits(id, 128) > MOST[64] ? id >> 64n : 0n;
  pair[1] = id; // its lower 64 bits
  return pair;
}

const joined = () => (pair[0] === 0n ? pair[1] : (pair[0] << 64n) | pair[1]);

// With the NUL that ends it in C, where no other may be.
function zero(text, name) {
  if (typeof text !== 'string') throw new TypeError(`${name} has to be a string`);
  if (text.includes('\0')) throw new SfidError(EINVAL, `${name} has a NUL`);
  return Buffer.from(`${text}\0`);
}

function milliseconds(moment) {
  const ms = BigInt(moment instanceof Date ? moment.getTime() : moment);
  const most = MOST[64] >> 1n;
  number[0] = ms > most ? most : ms < ~most ? ~most : ms;
  return number;
}

let raw;

class Layout {
  #c = new BigUint64Array(16); // struct layout of sfid.c

  static {
    raw = (layout) => layout.#c;
  }

  constructor(text = 'sfid') {
    if (native.layout(this.#c, zero(text, 'a layout')) < 0) throw new SfidError(EINVAL, `'${text}' is no layout`);
    const [own, epoch, unit, wide, ...fields] = buffer.toString('latin1', 0, check(native.describe(this.#c, buffer))).split(' ');
    [this.text, this.epochMs, this.unitMs, this.wide] = [own, Number(epoch), Number(unit), wide === '1'];
    this.fields = Object.freeze(fields.map((field) => {
      const [name, shift, bits, kind] = field.split(':');
      return Object.freeze({ name, shift: Number(shift), bits: Number(bits), kind: KINDS[kind] });
    }));
    Object.freeze(this);
  }

  decode(id) {
    check(native.parse(this.#c, words(id), parts));
    const unixMs = BigInt.asIntN(64, parts[4]);
    return { id, tick: parts[0], pid: parts[1], seq: parts[2], random: parts[3], unixMs, time: new Date(Number(unixMs)) };
  }

  split(id) {
    this.decode(id);
    return Object.fromEntries(this.fields.map((f) => [f.name, BigInt.asUintN(f.bits, id >> BigInt(f.shift))]));
  }

  compose({ tick, pid, seq, random = 0n }) {
    parts.set([fits(tick, 64, EOVERFLOW), fits(pid, 64), fits(seq, 64), fits(random, 64)]);
    check(native.compose(this.#c, parts, pair));
    return joined();
  }

  #bound(highest, moment) {
    native.bound(this.#c, highest, milliseconds(moment), pair);
    return joined();
  }

  minAt(moment) { return this.#bound(0, moment); }
  maxAt(moment) { return this.#bound(1, moment); }

  tickAt(moment) {
    const nearest = this.decode(this.minAt(moment));
    const past = milliseconds(moment)[0] - nearest.unixMs;
    if (past < 0n || past >= BigInt(this.unitMs)) throw new SfidError(past < 0n ? ECLOCK : EOVERFLOW);
    return nearest.tick;
  }
}

const layouts = (layout) => (layout instanceof Layout ? layout : new Layout(layout));
const decode = (id, layout) => layouts(layout).decode(id);

function toText(id, form = 'base62', { width = 0, bits = 64 } = {}) {
  const known = form === 'bytes' ? -1 : FORMS.indexOf(form);
  return buffer.toString('latin1', 0, check(native.toText(known, words(id), width, Number(bits === 128), buffer)));
}

function fromText(text, form = 'base62', { bits = 64 } = {}) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  if (!(bytes instanceof Uint8Array)) throw new TypeError('a string or bytes are needed');
  const rc = native.fromText(FORMS.indexOf(form), bytes, Number(bits === 128), pair);
  check(rc, undefined, Number(pair[1]));
  return joined();
}

function opening(options, later) {
  const { layout, ...rest } = options;
  const numbers = DEFAULTS.slice();
  const texts = new Array(TEXTS.length);
  for (const [name, value] of Object.entries(rest)) {
    const [text, at] = [TEXTS.indexOf(name), NUMBERS.indexOf(name)];
    if (text < 0 && at < 0) throw new TypeError(`there is no option ${name}`);
    if (value === undefined) continue;
    if (text >= 0) {
      texts[text] = zero(value, name);
      continue;
    }
    const wanted = BigInt(name in WORDS ? WORDS[name].indexOf(value) : value);
    numbers[at] = wanted;
    if (numbers[at] !== wanted || native.fit(numbers) <= at) throw new SfidError(EINVAL, `${name} is out of range`);
  }
  return native.open(numbers, raw(layout), ...texts, Number(later));
}

const OPENED = Symbol('opened'); // ours alone: no other can put something in the place of a generator

// Each ID is a call of the library: one out of an array that is filled in advance would cost as much (README.md).
class Generator {
  #h;
  #maxWaitMs;

  constructor(options) {
    this.layout = layouts(options.layout);
    this.#h = options[OPENED] ?? opening({ ...options, layout: this.layout }, false);
    this.#maxWaitMs = Number(options.maxWaitMs ?? DEFAULTS[NUMBERS.indexOf('maxWaitMs')]);
    const rc = native.opened(this.#h);
    if (rc < 0) {
      const error = new SfidError(rc, undefined, this.#h);
      native.close(this.#h);
      throw error;
    }
  }

  static async open(options) {
    const given = { ...options, layout: layouts(options.layout) };
    return new Generator({ ...given, [OPENED]: await opening(given, true) });
  }

  #draw(sleeps) {
    check(native.draw(this.#h, sleeps, pair), this.#h);
    return joined();
  }

  next() {
    const id = this.layout.wide ? this.#draw(1) : native.next(this.#h);
    return typeof id === 'bigint' ? id : check(id, this.#h);
  }

  tryNext() { return this.#draw(0); }

  async nextAsync() {
    const end = performance.now() + this.#maxWaitMs;
    for (;;) {
      try {
        return this.tryNext();
      } catch (error) {
        const ms = error.code === 'SFID_EAGAIN' ? Math.max(this.retryMs(), 1) : Infinity;
        if (performance.now() + ms > end) throw error;
        await new Promise((resolve) => { setTimeout(resolve, ms); });
      }
    }
  }

  nextN(n) {
    if (this.layout.wide) return Array.from({ length: n }, () => this.#draw(1));
    const ids = new BigInt64Array(n);
    return Array.from(ids.subarray(0, check(native.nextN(this.#h, ids), this.#h)));
  }

  get pid() { return check(native.pid(this.#h), this.#h); }
  retryMs() { return check(native.retryMs(this.#h), this.#h); }
  ready() { return native.ready(this.#h) === 1; }

  status() {
    const numbers = new BigInt64Array(STATUS.length);
    const length = check(native.status(this.#h, numbers, buffer), this.#h);
    return { ...Object.fromEntries(STATUS.map((name, i) => [name, numbers[i]])), identity: buffer.toString('latin1', 0, length) };
  }

  close() { native.close(this.#h); }
}

module.exports = { Generator, Layout, SfidError, decode, fromText, toText };
