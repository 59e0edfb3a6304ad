// SPDX-License-Identifier: MIT
/** Takes IDs apart. An ID and its parts are BigInts; an ID may also be given as a string of digits, as JSON has it. */

export type Form = 'dec' | 'hex' | 'base62' | 'base32' | 'base58' | 'uuid';
/** A Date, or Unix milliseconds. */
export type Moment = Date | number | bigint;
/** A number is none: above 2^53 JavaScript has rounded it. */
export type Id = bigint | string;

/** What calls throw: code is 'SFID_EINVAL', 'SFID_EOVERFLOW' or 'SFID_ECLOCK', as in sfid.h; the message is one sentence. */
export class SfidError extends Error {
  readonly code: string;
  /** Of fromText(): where the text goes wrong, from 0. */
  readonly at?: number;
}

export interface Parts {
  id: bigint;
  /** The layout's text. */
  layout: string;
  tick: bigint;
  pid: bigint;
  seq: bigint;
  /** Of a UUID. */
  random: bigint;
  /** When the tick begins. */
  unixMs: bigint;
  /** The same; invalid past the year 275760. */
  time: Date;
  /** For JSON.stringify(): each BigInt as a string, since JSON's readers round what is above 2^53. */
  toJSON(): Record<string, unknown>;
}

export interface Field {
  readonly name: string;
  readonly shift: number;
  readonly bits: number;
  readonly kind: 'reserved' | 'time' | 'pid' | 'seq' | 'fixed' | 'random';
  /** Of a fixed field. */
  readonly value: bigint;
}

/** The names of all layouts, of 64 and of up to 128 bits. */
export const presets: readonly string[];
export const widePresets: readonly string[];

/** A preset's name, sonyflake@EPOCH_MS, TIME:PID:SEQ[/UNIT][@EPOCH_MS], or one of up to 128 bits, such as 'uuid7'. */
export class Layout {
  constructor(text?: string);
  readonly text: string;
  readonly epochMs: number;
  readonly unitMs: number;
  /** The lowest pid that its makers give out. */
  readonly firstPid: number;
  readonly wide: boolean;
  readonly fields: readonly Field[];
  decode(id: Id): Parts;
  /** The fields of an ID under the layout's own names. */
  split(id: Id): Record<string, bigint>;
  /** Puts an ID together, which may not be unique. */
  compose(parts: { tick: bigint; pid: bigint; seq: bigint; random?: bigint }): bigint;
  /** Throws before the epoch and past the end. */
  tickAt(moment: Moment): bigint;
  /** The lowest ID of a moment's tick, for BETWEEN; outside the layout's range the nearer end counts. */
  minAt(moment: Moment): bigint;
  /** The highest ID of a moment's tick. */
  maxAt(moment: Moment): bigint;
}

export function decode(id: Id, layout?: Layout | string): Parts;
export function toText(id: Id, form?: Form, options?: { width?: number; bits?: 64 | 128 }): string;
export function fromText(text: string, form?: Form, options?: { bits?: 64 | 128 }): bigint;
export function fromText(bytes: Uint8Array, form: 'bytes', options?: { bits?: 64 | 128 }): bigint;

export interface Candidate {
  /** Layouts that read the ID alike: same bits, same date. */
  names: string[];
  /** What layouts with other epochs share that read the same bits. */
  family: string;
  /** How the text was read. */
  form: Form;
  parts: Parts;
}

/**
 * The layouts that could have made an ID: they date it between 2010, or the second day of their epoch, and a day after now. None of
 * them need have. layouts: some besides the presets, which come first.
 */
export function couldBe(text: Id, options?: { now?: number; layouts?: (Layout | string)[] }): Candidate[];

/** What a text is by its form alone: a UUID, ULID, ObjectId, KSUID, xid or TSID, with its time and its parts; else null. */
export function byForm(text: Id): { name: string; time?: Date; [part: string]: unknown } | null;

/** A sentence on what a spreadsheet or a floating-point number did to a text, or ''. */
export function damage(text: Id): string;

/**
 * Do all decimal IDs above 2^53 among the texts look rounded? by says to what; count is how many there are; chance is that of as many
 * sound ones. null: no, or by a chance above 1 in 16.
 */
export function rounding(texts: Id[]): { by: 'double' | 'javascript' | 'spreadsheet'; count: number; chance: number } | null;
