// SPDX-License-Identifier: MIT
//! What an ID costs in Rust, beside floors, all in turn in each round: medians of the processor's time, of all threads, so that
//! other programs on the machine hardly count.
use sfid::{Generator, Id, Layout, Options};
use std::hint::black_box;
use std::time::SystemTime;
use std::{env, fmt::Write, fs, thread};

const ROUNDS: usize = 9;
const CALLS: usize = 200_000;

extern "C" {
    fn getrandom(buf: *mut u8, size: usize, flags: u32) -> isize;
    fn getppid() -> i32;
    fn clock_gettime(clock: i32, now: *mut [std::ffi::c_long; 2]) -> i32;
}

/// The processor's time of this process, in nanoseconds.
fn used() -> f64 {
    let mut now = [0; 2];
    assert_eq!(unsafe { clock_gettime(2, &mut now) }, 0); // CLOCK_PROCESS_CPUTIME_ID
    now[0] as f64 * 1e9 + now[1] as f64
}

fn random() -> [u8; 16] {
    let mut b = [0; 16];
    assert_eq!(unsafe { getrandom(b.as_mut_ptr(), b.len(), 0) }, 16);
    b
}

/// What a random UUID is made of: 16 bytes of the kernel's, and 36 characters.
fn uuid() -> String {
    let mut b = random();
    (b[6], b[8]) = (b[6] & 0x0f | 0x40, b[8] & 0x3f | 0x80);
    let mut text = String::with_capacity(36);
    for (i, byte) in b.iter().enumerate() {
        if [4, 6, 8, 10].contains(&i) {
            text.push('-');
        }
        write!(text, "{byte:02x}").unwrap();
    }
    text
}

fn keep<T>(value: T) {
    black_box(value);
}

fn each(mut f: impl FnMut()) {
    for _ in 0..CALLS {
        f();
    }
}

fn parallel(g: &Generator) {
    let n = thread::available_parallelism().unwrap().get();
    thread::scope(|s| {
        for _ in 0..n {
            s.spawn(|| (0..CALLS / n).for_each(|_| keep(g.next().unwrap())));
        }
    });
}

fn main() {
    let dir = env::temp_dir().join(format!("sfid-bench-{}", std::process::id()));
    let path = |name| dir.join(name).to_str().unwrap().to_owned();
    let layout: Layout = "32:2:30/1s".parse().unwrap(); // a sequence that no loop uses up
    let options = Options::new().app("bench").store("local").run_dir(&path("run")).state_dir(&path("state")).layout(layout);
    let g = options.open().unwrap();
    let mut ids = vec![Id::try_from(0).unwrap(); 1000];
    type Row<'a> = (&'static str, Box<dyn FnMut() + 'a>);
    let mut rows: Vec<Row> = vec![
        ("random UUID: 16 bytes of getrandom as text", Box::new(|| each(|| keep(uuid())))),
        ("next and to_string", Box::new(|| each(|| keep(g.next().unwrap().to_string())))),
        ("16 bytes of getrandom", Box::new(|| each(|| keep(random())))),
        ("SystemTime::now", Box::new(|| each(|| keep(SystemTime::now())))),
        ("a lock of a Mutex", {
            let m = std::sync::Mutex::new(0);
            Box::new(move || each(|| *black_box(&m).lock().unwrap() += 1))
        }),
        ("next", Box::new(|| each(|| keep(g.next().unwrap())))),
        ("next, a thread each processor", Box::new(|| parallel(&g))),
        ("fill of 1000, an ID", Box::new(|| (0..CALLS / 1000).for_each(|_| keep(g.fill(&mut ids).unwrap())))),
        ("a system call", Box::new(|| each(|| keep(unsafe { getppid() })))),
    ];
    let mut ns = vec![vec![]; rows.len()];
    for round in 0..=ROUNDS {
        for (row, ns) in rows.iter_mut().zip(&mut ns) {
            let began = used();
            row.1();
            if round > 0 {
                ns.push((used() - began) / CALLS as f64); // the first one warms up
            }
        }
    }
    let median = |ns: &mut Vec<f64>| {
        ns.sort_by(f64::total_cmp);
        ns[ROUNDS / 2]
    };
    let medians: Vec<f64> = ns.iter_mut().map(median).collect();
    for (row, ns) in rows.iter().zip(&medians) {
        println!("{:<48} {ns:8.1} ns {:8.3} of a UUID", row.0, ns / medians[0]);
    }
    drop(rows);
    drop(g);
    fs::remove_dir_all(dir).unwrap();
}
