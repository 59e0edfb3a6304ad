// SPDX-License-Identifier: MIT
// Unique, time-ordered 64-bit IDs, by libsfid. README.md has an example, index.d.ts what each call takes.
'use strict';
const native = require('./build/Release/sfid.node');
const { now } = Date; // not what a test puts in its place
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

class SfidError extends Error {
  constructor(errno, message, handle, at) {
    const buffer = Buffer.alloc(512);
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
  if (value < 0n || value >> BigInt(bits) !== 0n) throw new SfidError(errno, `${value} is out of range`);
  return value;
}

const words = (id) => BigUint64Array.of(fits(id, 128) >> 64n, BigInt.asUintN(64, id));
const joined = (pair) => (pair[0] << 64n) | pair[1];

// With the NUL that ends it in C, where no other may be.
function zero(text, name) {
  if (typeof text !== 'string') throw new TypeError(`${name} has to be a string`);
  if (text.includes('\0')) throw new SfidError(EINVAL, `${name} has a NUL`);
  return Buffer.from(`${text}\0`);
}

function milliseconds(moment) {
  const ms = BigInt(moment instanceof Date ? moment.getTime() : moment);
  const most = (1n << 63n) - 1n;
  return BigInt64Array.of(ms > most ? most : ms < ~most ? ~most : ms);
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
    const buffer = Buffer.alloc(256);
    const [own, ...names] = buffer.toString('latin1', 0, check(native.describe(this.#c, about, buffer))).split(' ');
    [this.text, this.epochMs, this.unitMs, this.wide] = [own, about[0], about[1], about[2] === 1];
    this.fields = Object.freeze(names.map((name, i) => Object.freeze(
      { name, shift: about[3 * i + 3], bits: about[3 * i + 4], kind: KINDS[about[3 * i + 5]] })));
    Object.freeze(this);
  }

  decode(id) {
    const out = new BigUint64Array(5);
    check(native.parse(this.#c, words(id), out));
    const [tick, pid, seq, random] = out;
    const unixMs = BigInt.asIntN(64, out[4]);
    return { id, tick, pid, seq, random, unixMs, time: new Date(Number(unixMs)) };
  }

  split(id) {
    this.decode(id);
    return Object.fromEntries(this.fields.map((f) => [f.name, BigInt.asUintN(f.bits, id >> BigInt(f.shift))]));
  }

  compose({ tick, pid, seq, random = 0n }) {
    const id = new BigUint64Array(2);
    check(native.compose(this.#c, BigUint64Array.of(fits(tick, 64, EOVERFLOW), fits(pid, 64), fits(seq, 64), fits(random, 64), 0n), id));
    return joined(id);
  }

  #bound(which, moment) {
    const id = new BigInt64Array(1);
    check(native.bound(this.#c, which, milliseconds(moment), id));
    return id[0];
  }

  tickAt(moment) { return this.#bound(0, moment); }
  minAt(moment) { return this.#bound(1, moment); }
  maxAt(moment) { return this.#bound(2, moment); }
}

const layouts = (layout) => (layout instanceof Layout ? layout : new Layout(layout));
const decode = (id, layout) => layouts(layout).decode(id);

function toText(id, form = 'base62', { width = 0, bits = 64 } = {}) {
  const buffer = Buffer.alloc(40);
  const known = form === 'bytes' ? -1 : FORMS.indexOf(form);
  return buffer.toString('latin1', 0, check(native.toText(known, words(id), width, Number(bits === 128), buffer)));
}

function fromText(text, form = 'base62', { bits = 64 } = {}) {
  const id = new BigUint64Array(2);
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  if (!(bytes instanceof Uint8Array)) throw new TypeError('a string or bytes are needed');
  const rc = native.fromText(FORMS.indexOf(form), bytes, Number(bits === 128), id);
  check(rc, undefined, Number(id[1]));
  return joined(id);
}

function opening(options, later) {
  const { layout, batch, ...rest } = options;
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

/*
 * Some IDs are drawn in advance (sfid.c, draw()), for this generator alone, which belongs to one thread of JavaScript: so no two
 * calls return the same ID. They go out lowest first, and a call that draws past them drops them: so IDs increase. They are used
 * while the tick of the lowest of them lasts: so no ID is older than its call. Node does not fork without exec.
 */
class Generator {
  #h;
  #ids;
  #count = 0;
  #at = 0;
  #until = new Float64Array(1);
  #maxWaitMs;

  constructor(options) {
    this.layout = layouts(options.layout);
    this.#h = options[OPENED] ?? opening({ ...options, layout: this.layout }, false);
    this.#maxWaitMs = Number(options.maxWaitMs ?? 2000);
    this.#ids = new BigInt64Array(1 + Math.min(Math.max(Math.trunc(options.batch ?? 256) || 0, 0), 4096));
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

  next() {
    if (this.#at < this.#count && now() < this.#until[0]) return this.#ids[this.#at++];
    this.#at = this.#count = 0;
    if (this.layout.wide) return this.#one(1);
    this.#count = check(native.draw(this.#h, this.#ids, this.#until), this.#h);
    this.#at = 1;
    return this.#ids[0];
  }

  #one(sleeps) {
    const id = new BigUint64Array(2);
    check(native.next(this.#h, sleeps, id), this.#h);
    return joined(id);
  }

  tryNext() {
    if (this.#at < this.#count && now() < this.#until[0]) return this.#ids[this.#at++];
    this.#at = this.#count = 0;
    return this.#one(0);
  }

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
    this.#at = this.#count = 0;
    if (this.layout.wide) return Array.from({ length: n }, () => this.#one(1));
    const ids = new BigInt64Array(n);
    return Array.from(ids.subarray(0, check(native.nextN(this.#h, ids), this.#h)));
  }

  get pid() { return check(native.pid(this.#h), this.#h); }
  retryMs() { return check(native.retryMs(this.#h), this.#h); }
  ready() { return native.ready(this.#h) === 1; }

  status() {
    const numbers = new BigInt64Array(STATUS.length);
    const buffer = Buffer.alloc(160);
    const length = check(native.status(this.#h, numbers, buffer), this.#h);
    return { ...Object.fromEntries(STATUS.map((name, i) => [name, numbers[i]])), identity: buffer.toString('latin1', 0, length) };
  }

  close() {
    this.#at = this.#count = 0;
    native.close(this.#h);
  }
}

module.exports = { Generator, Layout, SfidError, decode, fromText, toText };
