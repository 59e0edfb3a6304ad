// SPDX-License-Identifier: MIT
/** sfid.h has the whole of each call; here is what differs. An ID and its parts are BigInts. */

export type Form = 'dec' | 'hex' | 'base62' | 'base32' | 'base58' | 'uuid';
/** A Date, or Unix milliseconds. */
export type Moment = Date | number | bigint;

/** What every call throws: code is 'SFID_EAGAIN' and the like, errno its number, message one sentence for the operator. */
export class SfidError extends Error {
  readonly code: string;
  readonly errno: number;
  /** Of fromText(): the byte at which the text goes wrong. */
  readonly at?: number;
}

export interface Parts {
  id: bigint;
  tick: bigint;
  pid: bigint;
  seq: bigint;
  /** Of a UUID. */
  random: bigint;
  /** When the tick begins. */
  unixMs: bigint;
  /** The same; invalid past the year 275760. */
  time: Date;
}

export interface Field {
  readonly name: string;
  readonly shift: number;
  readonly bits: number;
  readonly kind: 'reserved' | 'time' | 'pid' | 'seq' | 'fixed' | 'random';
}

/** A preset's name, TIME:PID:SEQ[/UNIT][@EPOCH_MS], or one of up to 128 bits, such as 'uuid7'. */
export class Layout {
  constructor(text?: string);
  readonly text: string;
  readonly epochMs: number;
  readonly unitMs: number;
  readonly wide: boolean;
  readonly fields: readonly Field[];
  decode(id: bigint): Parts;
  /** The fields of an ID under the layout's own names. */
  split(id: bigint): Record<string, bigint>;
  /** The promise that no two IDs are equal does not cover this one. */
  compose(parts: { tick: bigint; pid: bigint; seq: bigint; random?: bigint }): bigint;
  /** Throws before the epoch and past the end. */
  tickAt(moment: Moment): bigint;
  /** The lowest ID of a moment's tick, for BETWEEN; outside the layout's range the nearer end counts. */
  minAt(moment: Moment): bigint;
  /** The highest ID of a moment's tick. */
  maxAt(moment: Moment): bigint;
}

export function decode(id: bigint, layout?: Layout | string): Parts;
/** For the form 'bytes' there is Buffer.writeBigUInt64BE(). */
export function toText(id: bigint, form?: Form, options?: { width?: number; bits?: 64 | 128 }): string;
export function fromText(text: string | Uint8Array, form?: Form | 'bytes', options?: { bits?: 64 | 128 }): bigint;

/** The members of sfid_options. */
export interface Options {
  layout?: Layout | string;
  exhaustion?: 'wait' | 'borrow' | 'fail';
  onUnknown?: 'waitOut' | 'trust';
  // mirrors: node-members
  app?: string;
  store?: string;
  pid?: number | bigint;
  pidMin?: number | bigint;
  pidMax?: number | bigint;
  runDir?: string;
  stateDir?: string;
  maxWaitMs?: number;
  maxAheadMs?: number;
  randomStart?: number | bigint;
  ttlMs?: number;
  heartbeatMs?: number;
  openTimeoutMs?: number;
  maxSkewMs?: number;
  skewBudgetMs?: number;
  shortMs?: number;
  keepPid?: boolean;
  share?: boolean;
  // mirrors: end
}

export interface Status {
  open: bigint;
  lastCode: bigint;
  pid: bigint;
  windowMs: bigint;
  aheadMs: bigint;
  issued: bigint;
  waits: bigint;
  refused: bigint;
  regressions: bigint;
  largestRegressionMs: bigint;
  losses: bigint;
  renewals: bigint;
  renewFailures: bigint;
  keeperHere: bigint;
  connected: bigint;
  skewMs: bigint;
  firstTick: bigint;
  limitTick: bigint;
  replicas: bigint;
  shared: bigint;
  left: bigint;
  identity: string;
}

/** Generates IDs, in the thread that made it. */
export class Generator {
  /** Waits for the store, in this thread. */
  constructor(options: Options);
  /** The same, without holding up the event loop. */
  static open(options: Options): Promise<Generator>;
  readonly layout: Layout;
  readonly pid: number;
  /** Sleeps if a tick is used up, the clock went back or the window has to be renewed; at most maxWaitMs, and the event loop with it. */
  next(): bigint;
  /** Never sleeps: throws SFID_EAGAIN where next() would. */
  tryNext(): bigint;
  /** As next(), but lets the event loop run meanwhile. */
  nextAsync(): Promise<bigint>;
  /** Up to n, increasing; fewer only if maxWaitMs, the window, the clock or a close ended the call. */
  nextN(n: number): bigint[];
  /** How long until tryNext() may succeed again. */
  retryMs(): number;
  /** Whether IDs can be generated now: for a readiness probe. */
  ready(): boolean;
  status(): Status;
  /** Gives the pid back. */
  close(): void;
}

declare const sfid: {
  Generator: typeof Generator;
  Layout: typeof Layout;
  SfidError: typeof SfidError;
  decode: typeof decode;
  fromText: typeof fromText;
  toText: typeof toText;
};
export default sfid;
