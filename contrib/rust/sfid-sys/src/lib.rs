// SPDX-License-Identifier: MIT
//! What `sfid.h` declares, by hand. `tests/layout.rs` holds it against the header. The crate `sfid` is the safe face of it.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

/// A generator: opaque.
#[repr(C)]
pub struct sfid {
    _opaque: [u8; 0],
}

/// Declares structs, and lists size and fields of each for the test.
macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $(#[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $(pub $field: $type),*
        })*
        #[doc(hidden)]
        pub fn layouts(each: &mut dyn FnMut(&str, usize, &[(&str, usize, usize)])) {
            $({
                let s = core::mem::MaybeUninit::<$name>::uninit();
                let (s, at) = (s.as_ptr(), s.as_ptr() as usize);
                // SAFETY: no field is read, and its address is inside s.
                let fields = [$((stringify!($field), unsafe { core::ptr::addr_of!((*s).$field) } as usize - at,
                    core::mem::size_of::<$type>())),*];
                each(stringify!($name), core::mem::size_of::<$name>(), &fields);
            })*
        }
    };
}

structs! {
    sfid_layout {
        epoch_ms: i64, unit_ms: u32, time_bits: u8, pid_bits: u8, seq_bits: u8, time_shift: u8, pid_shift: u8, seq_shift: u8,
        pid_low: u8, reserved: [u8; 5], max_tick: u64, max_pid: u64, max_seq: u64,
    }
    sfid_parts { tick: u64, pid: u64, seq: u64, unix_ms: i64 }
    sfid_event { kind: c_uint, code: c_int, pid: i64, value: i64, text: *const c_char, app: *const c_char }
    sfid_options {
        size: usize,
        // mirrors: rust-members
        app: *const c_char, store: *const c_char, pid: i64, pid_min: i64, pid_max: i64,
        layout: *const sfid_layout, run_dir: *const c_char, state_dir: *const c_char,
        exhaustion: c_uint, max_wait_ms: u32, max_ahead_ms: u32, random_start: u64, ttl_ms: u32,
        heartbeat_ms: u32, open_timeout_ms: u32, max_skew_ms: u32, skew_budget_ms: u32,
        on_unknown: c_uint,
        on_event: Option<unsafe extern "C" fn(user: *mut c_void, event: *const sfid_event)>,
        user: *mut c_void, wide: *const sfid_wide_layout, short_ms: u32, keep_pid: u32,
        share: u64,
        // mirrors: end
    }
    sfid_field { name: *const c_char, shift: c_uint, bits: c_uint, kind: c_uint }
    sfid_layout_facts {
        name: *const c_char, last_ms: i64, ids_per_tick: u64, ids_per_second: u64, processes: u64, fleet_per_second: u64,
        fingerprint: u64, first_pid: u64, order: c_uint,
    }
    sfid_wide { high: u64, low: u64 }
    sfid_wide_layout { kind: c_uint, reserved: u32, epoch_ms: i64 }
    sfid_wide_parts { tick: u64, pid: u64, seq: u64, random: u64, unix_ms: i64 }
    sfid_wide_facts {
        facts: sfid_layout_facts, max_tick: u64, max_pid: u64, max_seq: u64, max_random: u64, bits: c_uint, form: c_uint, width: c_uint,
    }
}

/// `SFID_OPTIONS_INIT`.
#[rustfmt::skip]
pub const SFID_OPTIONS_INIT: sfid_options = sfid_options {
    size: core::mem::size_of::<sfid_options>(),
    // mirrors: rust-defaults
    app: core::ptr::null(), store: core::ptr::null(), pid: -1, pid_min: 0, pid_max: 0,
    layout: core::ptr::null(), run_dir: core::ptr::null(), state_dir: core::ptr::null(),
    exhaustion: 0, max_wait_ms: 2000, max_ahead_ms: 10000, random_start: 0, ttl_ms: 600000,
    heartbeat_ms: 180000, open_timeout_ms: 5000, max_skew_ms: 300000, skew_budget_ms: 15000,
    on_unknown: 0, on_event: None, user: core::ptr::null_mut(), wide: core::ptr::null(),
    short_ms: 30000, keep_pid: 0, share: 0,
    // mirrors: end
};

#[rustfmt::skip]
extern "C" {
    pub fn sfid_open(out: *mut *mut sfid, opt: *const sfid_options) -> c_int;
    pub fn sfid_next(g: *mut sfid) -> i64;
    pub fn sfid_try_next(g: *mut sfid) -> i64;
    pub fn sfid_next_n(g: *mut sfid, ids: *mut i64, n: usize) -> i64;
    pub fn sfid_next_wide(g: *mut sfid, id: *mut sfid_wide) -> c_int;
    pub fn sfid_retry_ms(g: *const sfid) -> c_int;
    pub fn sfid_ready(g: *const sfid) -> c_int;
    pub fn sfid_pid(g: *const sfid) -> i64;
    pub fn sfid_last_error(g: *const sfid) -> *const c_char;
    pub fn sfid_close(g: *mut sfid);
    pub fn sfid_strerror(code: c_int) -> *const c_char;
    pub fn sfid_version() -> *const c_char;
    pub fn sfid_event_level(kind: c_uint) -> c_int;
    pub fn sfid_event_to_stderr(user: *mut c_void, event: *const sfid_event);
    pub fn sfid_event_to_syslog(user: *mut c_void, event: *const sfid_event);
    pub fn sfid_version_of(library: *const c_char) -> *const c_char;
    pub fn sfid_parse(l: *const sfid_layout, id: i64, out: *mut sfid_parts) -> c_int;
    pub fn sfid_compose(l: *const sfid_layout, parts: *const sfid_parts, id: *mut i64) -> c_int;
    pub fn sfid_tick_at(l: *const sfid_layout, unix_ms: i64, tick: *mut u64) -> c_int;
    pub fn sfid_min_at(l: *const sfid_layout, unix_ms: i64) -> i64;
    pub fn sfid_max_at(l: *const sfid_layout, unix_ms: i64) -> i64;
    pub fn sfid_layout_parse(text: *const c_char, out: *mut sfid_layout) -> c_int;
    pub fn sfid_layout_format(l: *const sfid_layout, buf: *mut c_char, size: usize) -> c_int;
    pub fn sfid_layout_describe(l: *const sfid_layout, out: *mut sfid_layout_facts) -> c_int;
    pub fn sfid_layout_fields(l: *const sfid_layout, fields: *mut sfid_field, max: usize) -> c_int;
    pub fn sfid_from_text_at(form: c_uint, text: *const c_char, len: usize, id: *mut i64, at: *mut usize) -> c_int;
    pub fn sfid_to_text_padded(form: c_uint, id: i64, width: c_uint, buf: *mut c_char, size: usize) -> c_int;
    pub fn sfid_form_name(form: c_uint) -> *const c_char;
    pub fn sfid_wide_layout_parse(text: *const c_char, out: *mut sfid_wide_layout) -> c_int;
    pub fn sfid_wide_layout_describe(l: *const sfid_wide_layout, out: *mut sfid_wide_facts) -> c_int;
    pub fn sfid_wide_layout_fields(l: *const sfid_wide_layout, fields: *mut sfid_field, max: usize) -> c_int;
    pub fn sfid_wide_parse(l: *const sfid_wide_layout, id: sfid_wide, out: *mut sfid_wide_parts) -> c_int;
    pub fn sfid_wide_compose(l: *const sfid_wide_layout, parts: *const sfid_wide_parts, id: *mut sfid_wide) -> c_int;
    pub fn sfid_wide_min_at(l: *const sfid_wide_layout, unix_ms: i64, id: *mut sfid_wide) -> c_int;
    pub fn sfid_wide_max_at(l: *const sfid_wide_layout, unix_ms: i64, id: *mut sfid_wide) -> c_int;
    pub fn sfid_wide_from_text(form: c_uint, text: *const c_char, len: usize, id: *mut sfid_wide, at: *mut usize) -> c_int;
    pub fn sfid_wide_to_text(form: c_uint, id: sfid_wide, width: c_uint, buf: *mut c_char, size: usize) -> c_int;
}
