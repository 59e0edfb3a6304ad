// SPDX-License-Identifier: MIT
// Unique, time-ordered 64-bit IDs, by libsfid. README.md has an example, index.d.ts what each call takes.
'use strict';
const native = require('./build/Release/sfid.node');
const FORMS = ['dec', 'hex', 'base62', 'base32', 'base58', 'uuid', 'bytes'];
const KINDS = ['reserved', 'time', 'pid', 'seq', 'fixed', 'random'];
const NUMBERS = ['pid', 'pidMin', 'pidMax', 'randomStart', 'share', 'exhaustion', 'onUnknown', 'maxWaitMs', 'maxAheadMs', 'ttlMs',
  'heartbeatMs', 'openTimeoutMs', 'maxSkewMs', 'skewBudgetMs', 'shortMs', 'keepPid'];
const TEXTS = ['app', 'store', 'runDir', 'stateDir'];
const WORDS = { exhaustion: ['wait', 'borrow', 'fail'], onUnknown: ['waitOut', 'trust'] };
const STATUS = ['open', 'lastCode', 'pid', 'windowMs', 'aheadMs', 'issued', 'waits', 'refused', 'regressions', 'largestRegressionMs',
  'losses', 'renewals', 'renewFailures', 'keeperHere', 'connected', 'skewMs', 'firstTick', 'limitTick', 'replicas', 'shared'];
const EINVAL = -1;
const EOVERFLOW = -6;
const MOST = { 64: (1n << 64n) - 1n, 128: (1n << 128n) - 1n };
// Scratch: no call of ours is made inside another.
const [number, pair, parts] = [new BigInt64Array(1), new BigUint64Array(2), new BigUint64Array(5)];
const buffer = Buffer.alloc(512);

class SfidError extends Error {
  constructor(errno, message, handle, at) {
    const [, code, text] = /^(\S+) (.*)$/s.exec(buffer.toString('utf8', 0, native.errorText(errno, handle, buffer)));
    super(message ?? text);
    this.code = code;
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
    const about = new Float64Array(32);
    const [own, ...names] = buffer.toString('latin1', 0, check(native.describe(this.#c, about, buffer))).split(' ');
    [this.text, this.epochMs, this.unitMs, this.wide] = [own, about[0], about[1], about[2] === 1];
    this.fields = Object.freeze(names.map((name, i) => Object.freeze(
      { name, shift: about[3 * i + 3], bits: about[3 * i + 4], kind: KINDS[about[3 * i + 5]] })));
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

  #bound(which, moment) {
    check(native.bound(this.#c, which, milliseconds(moment), number));
    return number[0];
  }

  tickAt(moment) { return this.#bound(0, moment); }
  minAt(moment) { return this.#bound(1, moment); }
  maxAt(moment) { return this.#bound(2, moment); }
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
  const numbers = new BigInt64Array(NUMBERS.length);
  const texts = new Array(TEXTS.length);
  native.defaults(numbers);
  for (const [name, value] of Object.entries(rest)) {
    if (TEXTS.includes(name)) {
      texts[TEXTS.indexOf(name)] = value === undefined ? undefined : zero(value, name);
    } else if (!NUMBERS.includes(name)) {
      throw new TypeError(`there is no option ${name}`);
    } else if (value !== undefined) {
      const number = BigInt(name in WORDS ? WORDS[name].indexOf(value) : value);
      const small = NUMBERS.indexOf(name) > NUMBERS.indexOf('share');
      if (BigInt[small ? 'asUintN' : 'asIntN'](small ? 32 : 64, number) !== number) throw new SfidError(EINVAL, `${name} is out of range`);
      numbers[NUMBERS.indexOf(name)] = number;
    }
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
    this.#maxWaitMs = Number(options.maxWaitMs ?? 2000);
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
