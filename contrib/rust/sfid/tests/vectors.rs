// SPDX-License-Identifier: MIT
//! Every vector of vectors.json: 64-bit IDs by the safe calls, fields, bytes and IDs of up to 128 bits by those of sfid-sys.
mod json;

use json::Json;
use sfid::{Error, Form, Id, Layout, Parts, WideLayout};
use sfid_sys as sys;
use std::ffi::{c_char, CStr, CString};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn moment(unix_ms: i64) -> SystemTime {
    let off = Duration::from_millis(unix_ms.unsigned_abs());
    if unix_ms < 0 {
        UNIX_EPOCH - off
    } else {
        UNIX_EPOCH + off
    }
}

fn error(name: &str) -> Error {
    match name {
        "EINVAL" => Error::Invalid,
        "EOVERFLOW" => Error::Overflow,
        "ECLOCK" => Error::Clock,
        _ => panic!("{name} is no error"),
    }
}

fn form_number(name: &str) -> u32 {
    (0..).find(|&f| unsafe { CStr::from_ptr(sys::sfid_form_name(f)) }.to_str() == Ok(name)).unwrap()
}

/// None for the two forms that the safe crate leaves out.
fn form(name: &str) -> Option<Form> {
    [Form::Dec, Form::Hex, Form::Base62, Form::Base32, Form::Base58].into_iter().find(|&f| f as u32 == form_number(name))
}

/// The text of a vector: bytes are given in hex.
fn given(form: &str, text: &str) -> Vec<u8> {
    match form {
        "bytes" => (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect(),
        _ => text.into(),
    }
}

fn wide(id: u128) -> sys::sfid_wide {
    sys::sfid_wide { high: (id >> 64) as u64, low: id as u64 }
}

fn raw_read(form: u32, text: &[u8], bits: u64) -> (i32, u128, usize) {
    let (mut id, mut w, mut at) = (77, wide(77), 999);
    let text = (text.as_ptr() as *const c_char, text.len());
    if bits == 64 {
        let rc = unsafe { sys::sfid_from_text_at(form, text.0, text.1, &mut id, &mut at) };
        return (rc, id as u128, at);
    }
    let rc = unsafe { sys::sfid_wide_from_text(form, text.0, text.1, &mut w, &mut at) };
    (rc, (w.high as u128) << 64 | w.low as u128, at)
}

fn raw_write(form: u32, id: u128, bits: u64, width: u32) -> Vec<u8> {
    let mut buf = [0u8; 40];
    let p = buf.as_mut_ptr() as *mut c_char;
    let n = match bits {
        64 => unsafe { sys::sfid_to_text_padded(form, id as i64, width, p, buf.len()) },
        _ => unsafe { sys::sfid_wide_to_text(form, wide(id), width, p, buf.len()) },
    };
    buf[..n as usize].to_vec()
}

fn text_vector(form_name: &str, bits: u64, id: u128, v: &Json, text: &str) {
    let (f, width) = (form_number(form_name), v.number("width").unwrap_or(0));
    let (bytes, read_only) = (given(form_name, text), matches!(v.get("read_only"), Some(Json::Bool(true))));
    assert_eq!(raw_read(f, &bytes, bits), (0, id, 999), "{form_name} {text}");
    assert!(read_only || raw_write(f, id, bits, width) == bytes, "{form_name} {text}");
    if let (Some(f), 64) = (form(form_name), bits) {
        let safe = Id::from_text(f, text).unwrap();
        assert_eq!(i64::from(safe) as u128, id);
        assert!(read_only || safe.to_text(f, width).unwrap() == text);
    } else if form_name == "bytes" && bits == 64 {
        assert_eq!((id as i64).to_be_bytes().to_vec(), bytes);
    }
}

fn wide_layout(name: &str) -> Option<sys::sfid_wide_layout> {
    let mut l = sys::sfid_wide_layout { kind: 0, reserved: 0, epoch_ms: 0 };
    let name = CString::new(name).unwrap();
    (unsafe { sys::sfid_wide_layout_parse(name.as_ptr(), &mut l) } == 0).then_some(l)
}

fn raw_layout(name: &str) -> sys::sfid_layout {
    let mut l = std::mem::MaybeUninit::uninit();
    let name = CString::new(name).unwrap();
    assert_eq!(unsafe { sys::sfid_layout_parse(name.as_ptr(), l.as_mut_ptr()) }, 0);
    unsafe { l.assume_init() }
}

const NO_FIELD: sys::sfid_field = sys::sfid_field { name: std::ptr::null(), shift: 0, bits: 0, kind: 0 };

fn fields_agree(v: &Json, fields: &[sys::sfid_field]) {
    let kinds = ["reserved", "time", "pid", "seq", "fixed", "random"];
    let got: Vec<String> = fields
        .iter()
        .map(|f| {
            let name = unsafe { CStr::from_ptr(f.name) }.to_str().unwrap();
            format!("{name} {} {} {}", f.shift, f.bits, kinds[f.kind as usize])
        })
        .collect();
    let want: Vec<String> = v
        .list("fields")
        .iter()
        .map(|f| match f {
            Json::List(f) => match &f[..] {
                [Json::Text(name), Json::Number(shift), Json::Number(bits), Json::Text(kind)] => {
                    format!("{name} {shift} {bits} {kind}")
                }
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(got, want);
}

fn order_agrees(v: &Json, facts: &sys::sfid_layout_facts) {
    let order = ["time, pid, seq", "time, seq, pid"][facts.order as usize];
    let order = if facts.processes == 1 { "time, seq" } else { order };
    assert_eq!(order, v.text("order"));
}

fn layout_vector(v: &Json) {
    let name = v.text("name");
    let raw = raw_layout(name);
    let mut facts = std::mem::MaybeUninit::uninit();
    assert_eq!(unsafe { sys::sfid_layout_describe(&raw, facts.as_mut_ptr()) }, 0);
    let facts = unsafe { facts.assume_init() };
    let mut fields = [NO_FIELD; 8];
    let n = unsafe { sys::sfid_layout_fields(&raw, fields.as_mut_ptr(), fields.len()) } as usize;
    fields_agree(v, &fields[..n]);
    order_agrees(v, &facts);
    assert_eq!(facts.first_pid, v.number("first_pid").unwrap(), "{name}");
    assert_eq!(unsafe { CStr::from_ptr(facts.name) }.to_str(), Ok(name));
    let (epoch, unit, last) = (v.number("epoch_ms").unwrap(), v.number::<i64>("unit_ms").unwrap(), v.number("last_ms").unwrap());
    let l: Layout = name.parse().unwrap();
    let (low, high) = (l.bounds(moment(epoch)).0, l.bounds(moment(last + unit)).1);
    assert_eq!(l.parse(low).unwrap(), Parts { tick: 0, pid: 0, seq: 0, time: moment(epoch) }, "{name}");
    assert_eq!(l.parse(high).unwrap().time, moment(last), "{name}");
    assert_eq!(l.tick_at(moment(epoch + unit)), Ok(1), "{name}");
}

fn wide_layout_vector(v: &Json) {
    let l = wide_layout(v.text("name")).unwrap();
    let mut facts = std::mem::MaybeUninit::uninit();
    assert_eq!(unsafe { sys::sfid_wide_layout_describe(&l, facts.as_mut_ptr()) }, 0);
    let facts: sys::sfid_wide_facts = unsafe { facts.assume_init() };
    let mut fields = [NO_FIELD; 8];
    let n = unsafe { sys::sfid_wide_layout_fields(&l, fields.as_mut_ptr(), fields.len()) } as usize;
    fields_agree(v, &fields[..n]);
    order_agrees(v, &facts.facts);
    let got = (l.epoch_ms, facts.bits, facts.form, facts.width);
    let want = (v.number("epoch_ms").unwrap(), v.number("bits").unwrap(), form_number(v.text("form")), v.number("width").unwrap());
    assert_eq!(got, want, "{}", v.text("name"));
}

/// The bounds of an ID's millisecond are the ID with the bits of pid, sequence and chance all clear and all set.
fn wide_bounds(v: &Json, id: &Json) {
    let name = v.text("name");
    let free: u128 = v.list("fields").iter().fold(0, |free, f| match f {
        Json::List(f) => match &f[..] {
            [_, Json::Number(shift), Json::Number(bits), Json::Text(kind)] if ["pid", "seq", "random"].contains(&&kind[..]) => {
                free | ((1 << bits.parse::<u32>().unwrap()) - 1) << shift.parse::<u32>().unwrap()
            }
            _ => free,
        },
        other => panic!("{other:?}"),
    });
    let l: WideLayout = name.parse().unwrap();
    let (n, unix_ms): (u128, i64) = (id.text("id").parse().unwrap(), id.number("unix_ms").unwrap());
    let (low, high) = l.bounds(moment(unix_ms) + Duration::from_micros(999));
    assert_eq!((low, high), (n & !free, n | free), "{name} {n}");
    let next = l.bounds(moment(unix_ms + 1)).0;
    assert!(next > high || next == low, "{name} {n}"); // the last millisecond is its own next
    let epoch = moment(v.number("epoch_ms").unwrap());
    assert_eq!(l.bounds(epoch - Duration::from_millis(1)), l.bounds(epoch), "{name}: before the epoch");
}

fn id_vector(v: &Json) {
    let (name, text) = (v.text("layout"), v.text("id"));
    let number = |key| v.number::<u64>(key).unwrap();
    let (tick, pid, seq, unix_ms) = (number("tick"), number("pid"), number("seq"), v.number("unix_ms").unwrap());
    let id: u128 = text.parse().unwrap();
    let bits = if let Some(l) = wide_layout(name) {
        let mut p = sys::sfid_wide_parts { tick: 0, pid: 0, seq: 0, random: 0, unix_ms: 0 };
        assert_eq!(unsafe { sys::sfid_wide_parse(&l, wide(id), &mut p) }, 0);
        assert_eq!((p.tick, p.pid, p.seq, p.unix_ms), (tick, pid, seq, unix_ms), "{name} {text}");
        assert_eq!(p.random, v.number("random").unwrap_or(0), "{name} {text}");
        let mut back = wide(77);
        assert_eq!(unsafe { sys::sfid_wide_compose(&l, &p, &mut back) }, 0);
        assert_eq!((back.high, back.low), (wide(id).high, wide(id).low), "{name} {text}");
        128
    } else {
        let (l, id) = (name.parse::<Layout>().unwrap(), text.parse::<Id>().unwrap());
        let parts = Parts { tick, pid, seq, time: moment(unix_ms) };
        assert_eq!(id.to_string(), text);
        assert_eq!(l.parse(id), Ok(parts), "{name} {text}");
        assert_eq!(l.compose(&parts), Ok(id), "{name} {text}");
        assert_eq!(l.tick_at(parts.time), Ok(tick), "{name} {text}");
        let (low, high) = l.bounds(parts.time);
        assert!(low <= id && id <= high, "{name} {text}");
        assert!(name != "sfid" || id.time() == parts.time);
        64
    };
    if let Some(Json::Object(texts)) = v.get("texts") {
        for (form, t) in texts {
            match t {
                Json::Text(plain) => text_vector(form, bits, id, t, plain),
                padded => text_vector(form, bits, id, padded, padded.text("text")),
            }
        }
    }
}

fn refused(v: &Json) -> (i32, Option<Error>) {
    let number = |key| v.number::<u64>(key).unwrap_or(0);
    let (tick, pid, seq, random) = (number("tick"), number("pid"), number("seq"), number("random"));
    let parts = Parts { tick, pid, seq, time: UNIX_EPOCH };
    let wide_parts = sys::sfid_wide_parts { tick, pid, seq, random, unix_ms: 0 };
    let wide_l = v.get("layout").and_then(|_| wide_layout(v.text("layout")));
    let l = v.get("layout").and_then(|_| v.text("layout").parse::<Layout>().ok());
    let mut w = wide(77);
    let mut wp = wide_parts;
    match (v.text("call"), wide_l) {
        ("layout_parse", _) => {
            assert_eq!(v.text("text").parse::<WideLayout>().err(), Some(Error::Invalid));
            (0, v.text("text").parse::<Layout>().err())
        }
        ("compose", Some(l)) => (unsafe { sys::sfid_wide_compose(&l, &wide_parts, &mut w) }, None),
        ("parse", Some(l)) => (unsafe { sys::sfid_wide_parse(&l, wide(v.text("id").parse().unwrap()), &mut wp) }, None),
        ("compose", None) => (0, l.unwrap().compose(&parts).err()),
        ("tick_at", None) => (0, l.unwrap().tick_at(moment(v.number("unix_ms").unwrap())).err()),
        ("parse", None) => match Id::try_from(v.text("id").parse::<i64>().unwrap()) {
            Ok(id) => (0, l.unwrap().parse(id).err()),
            Err(e) => (0, Some(e)),
        },
        (call, _) => panic!("{call} is no call"),
    }
}

fn refused_vector(v: &Json) {
    let want = error(v.text("error"));
    if v.text("call") != "from_text" {
        let (code, got) = refused(v);
        assert!(got == Some(want) || code == want as i32, "{v:?}: {code}, {got:?}");
        return;
    }
    let (name, text, bits, at) = (v.text("form"), v.text("text"), v.number("bits").unwrap(), v.number("at").unwrap());
    assert_eq!(raw_read(form_number(name), &given(name, text), bits), (want as i32, 77, at), "{v:?}");
    if let (Some(f), 64) = (form(name), bits) {
        assert_eq!(Id::from_text(f, text), Err((want, at)), "{v:?}");
        assert!(name != "dec" || text.parse::<Id>() == Err(want));
    }
}

#[test]
fn all_vectors() {
    let path = std::env::var("SFID_VECTORS").expect("SFID_VECTORS names vectors.json");
    let all = json::read(&std::fs::read_to_string(path).unwrap());
    assert_eq!(all.number("format"), Some(1));
    all.list("layouts").iter().for_each(layout_vector);
    all.list("wide_layouts").iter().for_each(wide_layout_vector);
    for v in all.list("wide_layouts") {
        let ids: Vec<_> = all.list("ids").iter().filter(|id| id.text("layout") == v.text("name")).collect();
        assert!(!ids.is_empty());
        ids.into_iter().for_each(|id| wide_bounds(v, id));
    }
    all.list("ids").iter().for_each(id_vector);
    for v in all.list("texts") {
        text_vector(v.text("form"), v.number("bits").unwrap(), v.text("id").parse().unwrap(), v, v.text("text"));
    }
    all.list("refused").iter().for_each(refused_vector);
}

#[test]
fn what_is_never_in_a_vector() {
    assert_eq!("ms\0".parse::<Layout>().err(), Some(Error::Invalid));
    assert_eq!("uuid7\0".parse::<WideLayout>().err(), Some(Error::Invalid));
    assert_eq!(Id::from_text(Form::Dec, "5é"), Err((Error::Invalid, 1)));
    let l: Layout = "51:10:2/1ms@-62135596800000".parse().unwrap();
    let before = moment(-1) - Duration::from_nanos(1); // rounded down, not towards 0
    assert_eq!(l.tick_at(before).unwrap() + 1, l.tick_at(moment(-1)).unwrap());
    assert_eq!(l.parse(l.bounds(before).0).unwrap().time, moment(-2));
    assert_eq!(Id::try_from(5).unwrap().to_text(Form::Hex, 99), Err(Error::Invalid));
    assert_eq!(format!("{:>5}", Id::try_from(7).unwrap()), "    7");
}
