// SPDX-License-Identifier: MIT
//! Unique, time-ordered 64-bit IDs, by the C library libsfid. libsfid(7) has the words.
//!
//! ```
//! # std::env::set_var("SFID_RUN_DIR", std::env::temp_dir().join("sfid-doc-run"));
//! # std::env::set_var("SFID_STATE_DIR", std::env::temp_dir().join("sfid-doc-state"));
//! let generator = sfid::Options::new().app("orders").store("local").open()?;
//! let id = generator.next()?;
//! println!("{id} {:?}", id.time());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
use sfid_sys as sys;
use std::ffi::{c_char, c_int, CStr, CString};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fmt, ptr, str::FromStr};

/// What went wrong: the codes of `sfid/error.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
#[non_exhaustive]
pub enum Error {
    // mirrors: rust-codes
    Invalid = -1, OutOfMemory = -2, Again = -3, Busy = -4, Clock = -5, Overflow = -6, Lease = -7,
    NoPid = -8, Redis = -9, Auth = -10, Layout = -11, State = -12, Closed = -13,
    Unsupported = -14,
    // mirrors: end
    Unknown = -128,
}

#[rustfmt::skip]
fn checked(code: impl Into<i64>) -> Result<i64, Error> {
    use Error::*;
    let codes = [
        // mirrors: rust-list
        Invalid, OutOfMemory, Again, Busy, Clock, Overflow, Lease, NoPid, Redis, Auth, Layout,
        State, Closed, Unsupported,
        // mirrors: end
    ];
    match code.into() {
        good @ 0.. => Ok(good),
        bad => Err(codes.into_iter().find(|&e| e as i64 == bad).unwrap_or(Unknown)),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // SAFETY: the text is static.
        f.write_str(&unsafe { CStr::from_ptr(sys::sfid_strerror(*self as c_int)) }.to_string_lossy())
    }
}
impl std::error::Error for Error {}

/// Why a generator could not be opened: an [`Error`] and a sentence for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    pub error: Error,
    pub text: String,
}
impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.text)
    }
}
impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// An ID; never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Id(i64);

/// How an ID is written. Of big-endian bytes, `i64::from(id).to_be_bytes()` does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Form { Dec = 0, Hex = 1, Base62 = 2, Base32 = 3, Base58 = 4 }

impl Id {
    /// Writes an ID with at least `width` digits. 0 is the form's own width, in which texts sort as IDs do.
    pub fn to_text(self, form: Form, width: u32) -> Result<String, Error> {
        let mut buf = [0u8; 24];
        // SAFETY: the library writes at most buf.len() bytes.
        let n = unsafe { sys::sfid_to_text_padded(form as u32, self.0, width, buf.as_mut_ptr() as *mut c_char, buf.len()) };
        Ok(String::from_utf8_lossy(&buf[..checked(n)? as usize]).into_owned())
    }
    /// Reads an ID. Each byte has to be a digit of the form; the error says which is the first that is not.
    pub fn from_text(form: Form, text: &str) -> Result<Id, (Error, usize)> {
        let (mut id, mut at) = (0, 0);
        // SAFETY: the library reads text.len() bytes.
        checked(unsafe { sys::sfid_from_text_at(form as u32, text.as_ptr() as *const c_char, text.len(), &mut id, &mut at) })
            .map(|_| Id(id))
            .map_err(|e| (e, at))
    }
    /// When the tick of an ID of the default layout began. [`Layout::parse`] is for all.
    pub fn time(self) -> SystemTime {
        Layout::default().parse(self).map_or(UNIX_EPOCH, |parts| parts.time) // each ID fits that layout
    }
}
impl TryFrom<i64> for Id {
    type Error = Error;
    fn try_from(id: i64) -> Result<Id, Error> {
        checked(id).map(Id).map_err(|_| Error::Invalid)
    }
}
impl From<Id> for i64 {
    fn from(id: Id) -> i64 {
        id.0
    }
}
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl FromStr for Id {
    type Err = Error;
    fn from_str(text: &str) -> Result<Id, Error> {
        Id::from_text(Form::Dec, text).map_err(|(e, _)| e)
    }
}

/// How an ID is cut into fields; from text: a preset's name, or `TIME:PID:SEQ[/UNIT][@EPOCH_MS]`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout(Option<sys::sfid_layout>);

/// What an ID is made of. `time` is when its tick began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    pub tick: u64,
    pub pid: u64,
    pub seq: u64,
    pub time: SystemTime,
}

/// Unix milliseconds of a moment, rounded down.
fn unix_ms(t: SystemTime) -> i64 {
    let ms = match t.duration_since(UNIX_EPOCH) {
        Ok(after) => after.as_millis() as i128,
        Err(e) => -((e.duration().as_nanos() as i128 + 999_999) / 1_000_000),
    };
    ms.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

// SAFETY of all calls below: the library reads and writes what the references stand for, and no longer than the call.
impl Layout {
    fn raw(&self) -> *const sys::sfid_layout {
        self.0.as_ref().map_or(ptr::null(), |l| l) // none: the default
    }
    /// Takes an ID apart.
    pub fn parse(&self, id: Id) -> Result<Parts, Error> {
        let mut p = sys::sfid_parts { tick: 0, pid: 0, seq: 0, unix_ms: 0 };
        checked(unsafe { sys::sfid_parse(self.raw(), id.0, &mut p) })?;
        let off = Duration::from_millis(p.unix_ms.unsigned_abs());
        let time = if p.unix_ms < 0 { UNIX_EPOCH - off } else { UNIX_EPOCH + off };
        Ok(Parts { tick: p.tick, pid: p.pid, seq: p.seq, time })
    }
    /// Puts an ID together from tick, pid and sequence. It may not be unique.
    pub fn compose(&self, p: &Parts) -> Result<Id, Error> {
        let (p, mut id) = (sys::sfid_parts { tick: p.tick, pid: p.pid, seq: p.seq, unix_ms: 0 }, 0);
        checked(unsafe { sys::sfid_compose(self.raw(), &p, &mut id) }).map(|_| Id(id))
    }
    /// The tick that contains a moment.
    pub fn tick_at(&self, t: SystemTime) -> Result<u64, Error> {
        let mut tick = 0;
        checked(unsafe { sys::sfid_tick_at(self.raw(), unix_ms(t), &mut tick) }).map(|_| tick)
    }
    /// The lowest and the highest ID of the tick that contains a moment, for range queries.
    pub fn bounds(&self, t: SystemTime) -> (Id, Id) {
        unsafe { (Id(sys::sfid_min_at(self.raw(), unix_ms(t))), Id(sys::sfid_max_at(self.raw(), unix_ms(t)))) }
    }
}
impl FromStr for Layout {
    type Err = Error;
    fn from_str(text: &str) -> Result<Layout, Error> {
        let text = CString::new(text).map_err(|_| Error::Invalid)?;
        let mut l = std::mem::MaybeUninit::uninit();
        checked(unsafe { sys::sfid_layout_parse(text.as_ptr(), l.as_mut_ptr()) })?;
        Ok(Layout(Some(unsafe { l.assume_init() }))) // it succeeded
    }
}

/// A layout of IDs of 128 bits, from text: `uuid7`, `flake`, `flake-go`, `awsflake` or `awsflake@EPOCH_MS`.
#[derive(Clone, Copy, Debug)]
pub struct WideLayout(sys::sfid_wide_layout);

impl WideLayout {
    /// The lowest and the highest ID of the millisecond that contains a moment, for range queries. All UUIDs of version 7 lie
    /// between these bounds, also those of other makers.
    pub fn bounds(&self, t: SystemTime) -> (u128, u128) {
        let bound = |of: unsafe extern "C" fn(*const sys::sfid_wide_layout, i64, *mut sys::sfid_wide) -> c_int| {
            let mut id = sys::sfid_wide { high: 0, low: 0 };
            unsafe { of(&self.0, unix_ms(t), &mut id) }; // it fails for an unusable layout alone
            (id.high as u128) << 64 | id.low as u128
        };
        (bound(sys::sfid_wide_min_at), bound(sys::sfid_wide_max_at))
    }
}
impl FromStr for WideLayout {
    type Err = Error;
    fn from_str(text: &str) -> Result<WideLayout, Error> {
        let text = CString::new(text).map_err(|_| Error::Invalid)?;
        let mut l = sys::sfid_wide_layout { kind: 0, reserved: 0, epoch_ms: 0 };
        checked(unsafe { sys::sfid_wide_layout_parse(text.as_ptr(), &mut l) }).map(|_| WideLayout(l))
    }
}

/// What a call does when the sequence of the current tick is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum Exhaustion { Wait = 0, Borrow = 1, Fail = 2 }

/// What [`Options::open`] does when Redis does not know the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub enum OnUnknown { WaitOut = 0, Trust = 1 }

/// The options of `sfid.h`, under their names there.
#[derive(Clone, Debug)]
pub struct Options {
    texts: [Option<CString>; 4],
    layout: Layout,
    raw: sys::sfid_options,
}

macro_rules! setters {
    ($($name:ident: $type:ty;)*) => {$(
        pub fn $name(mut self, value: $type) -> Options {
            self.raw.$name = value as _;
            self
        }
    )*};
}

impl Options {
    pub fn new() -> Options {
        Options { texts: Default::default(), layout: Layout(None), raw: sys::SFID_OPTIONS_INIT }
    }
    fn text(mut self, i: usize, text: &str) -> Options {
        match CString::new(text) {
            Ok(text) => self.texts[i] = Some(text),
            Err(_) => self.raw.size = 0, // with a NUL byte it is none: open() is refused
        }
        self
    }
    pub fn app(self, name: &str) -> Options {
        self.text(0, name)
    }
    pub fn store(self, url: &str) -> Options {
        self.text(1, url)
    }
    pub fn run_dir(self, path: &str) -> Options {
        self.text(2, path)
    }
    pub fn state_dir(self, path: &str) -> Options {
        self.text(3, path)
    }
    pub fn layout(mut self, layout: Layout) -> Options {
        self.layout = layout;
        self
    }
    setters! {
        // mirrors: rust-setters
        pid: u32; pid_min: u32; pid_max: u32; exhaustion: Exhaustion; max_wait_ms: u32;
        max_ahead_ms: u32; random_start: u64; ttl_ms: u32; heartbeat_ms: u32;
        open_timeout_ms: u32; max_skew_ms: u32; skew_budget_ms: u32; on_unknown: OnUnknown;
        short_ms: u32; keep_pid: bool; share: bool;
        // mirrors: end
    }
    /// Opens a generator.
    pub fn open(&self) -> Result<Generator, OpenError> {
        let text = |i: usize| self.texts[i].as_ref().map_or(ptr::null(), |text| text.as_ptr());
        let mut g = Generator(ptr::null_mut());
        let raw = sys::sfid_options {
            app: text(0),
            store: text(1),
            run_dir: text(2),
            state_dir: text(3),
            layout: self.layout.raw(),
            ..self.raw
        };
        // SAFETY: what raw points to outlives the call, which copies it. If it fails, g has the reason, and is freed by its drop.
        match checked(unsafe { sys::sfid_open(&mut g.0, &raw) }) {
            Ok(_) => Ok(g),
            Err(error) => Err(OpenError { error, text: g.last_error() }),
        }
    }
}
impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

/// A generator. Any number of threads may use it at once, and children that the process forks. To drop it releases the pid.
#[derive(Debug)]
pub struct Generator(*mut sys::sfid);

// SAFETY: sfid.h says of each call made here, but the close: "Threads: any". Only the owner can drop it.
unsafe impl Send for Generator {}
unsafe impl Sync for Generator {}

impl Generator {
    /// Generates an ID. It may sleep, for `max_wait_ms` at most.
    #[inline]
    pub fn next(&self) -> Result<Id, Error> {
        checked(unsafe { sys::sfid_next(self.0) }).map(Id)
    }
    /// Generates an ID without ever sleeping: [`Error::Again`], see [`Generator::retry_after`].
    #[inline]
    pub fn try_next(&self) -> Result<Id, Error> {
        checked(unsafe { sys::sfid_try_next(self.0) }).map(Id)
    }
    /// How long until `try_next` may succeed.
    pub fn retry_after(&self) -> Result<Duration, Error> {
        checked(unsafe { sys::sfid_retry_ms(self.0) }).map(|ms| Duration::from_millis(ms as u64))
    }
    /// Generates as many IDs as fit, increasing. It returns how many: fewer only if `max_wait_ms`, the window or the clock ended it.
    pub fn fill(&self, ids: &mut [Id]) -> Result<usize, Error> {
        checked(unsafe { sys::sfid_next_n(self.0, ids.as_mut_ptr() as *mut i64, ids.len()) }).map(|n| n as usize)
    }
    /// Generates up to `n` IDs, as `fill`.
    pub fn batch(&self, n: usize) -> Result<Vec<Id>, Error> {
        let mut ids = vec![Id(0); n];
        let done = self.fill(&mut ids)?;
        ids.truncate(done);
        Ok(ids)
    }
    /// The pid in the IDs.
    pub fn pid(&self) -> Result<u64, Error> {
        checked(unsafe { sys::sfid_pid(self.0) }).map(|pid| pid as u64)
    }
    /// Whether IDs can be generated now: for a probe.
    pub fn ready(&self) -> bool {
        unsafe { sys::sfid_ready(self.0) != 0 }
    }
    /// A sentence for the operator about the last error, or "".
    pub fn last_error(&self) -> String {
        unsafe { CStr::from_ptr(sys::sfid_last_error(self.0)) }.to_string_lossy().into_owned()
    }
}
impl Drop for Generator {
    fn drop(&mut self) {
        unsafe { sys::sfid_close(self.0) }
    }
}
