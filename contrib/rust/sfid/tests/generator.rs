// SPDX-License-Identifier: MIT
use sfid::{Error, Exhaustion, Generator, Id, Layout, Options};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, path::PathBuf, thread};

/// Directories of one test, removed at its end.
struct Dirs(PathBuf);

impl Dirs {
    fn new(name: &str) -> Dirs {
        let dir = env::temp_dir().join(format!("sfid-rust-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Dirs(dir)
    }
    fn options(&self) -> Options {
        let dir = |name| self.0.join(name).to_str().unwrap().to_owned();
        Options::new().app("rust").store("local").run_dir(&dir("run")).state_dir(&dir("state"))
    }
}

impl Drop for Dirs {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn layout(text: &str) -> Layout {
    text.parse().unwrap()
}

fn assert_unique(ids: &[Id], at_least: usize) {
    assert!(ids.len() >= at_least);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "an ID is there twice");
}

/// IDs of some threads, by each call. Those of one thread increase.
fn drawn(g: &Generator, threads: usize, n: usize) -> Vec<Id> {
    let draw = || {
        let mut ids = vec![];
        while ids.len() < n {
            match ids.len() % 7 {
                0 => ids.extend(g.batch(5).unwrap()),
                5 => ids.extend(g.try_next()),
                _ => ids.push(g.next().unwrap()),
            }
            if g.retry_after().unwrap() > Duration::ZERO {
                ids.push(g.next().unwrap());
            }
        }
        assert!(ids.windows(2).all(|w| w[0] < w[1]));
        ids
    };
    thread::scope(|s| {
        let all: Vec<_> = (0..threads).map(|_| s.spawn(draw)).collect();
        all.into_iter().flat_map(|t| t.join().unwrap()).collect()
    })
}

#[test]
fn threads_share_a_generator() {
    let dirs = Dirs::new("threads");
    let g = dirs.options().layout(layout("ms")).open().unwrap();
    assert_unique(&drawn(&g, 8, 20000), 8 * 20000);
}

/// If one call returns before another begins, its ID is lower.
#[test]
fn ids_are_in_order_over_threads() {
    let dirs = Dirs::new("order");
    let g = dirs.options().layout(layout("ms")).open().unwrap();
    let last = std::sync::Mutex::new(None);
    thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..5000 {
                    let mut last = last.lock().unwrap();
                    let id = g.next().unwrap();
                    assert!(*last < Some(id));
                    *last = Some(*g.batch(2).unwrap().last().unwrap());
                    assert!(*last > Some(id));
                }
            });
        }
    });
}

#[test]
#[ignore = "processes_share_an_app runs it, as its children"]
fn child() {
    let Ok(dir) = env::var("SFID_TEST_CHILD") else { return };
    let dirs = std::mem::ManuallyDrop::new(Dirs(dir.into()));
    let g = dirs.options().open().unwrap();
    let ids: Vec<_> = drawn(&g, 4, 1000).iter().map(|id| format!("id {id}\n")).collect();
    println!("{}all", ids.concat());
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap(); // it holds its pid until all have one
}

#[test]
fn processes_share_an_app() {
    let dirs = Dirs::new("processes");
    let (mut ids, mut running) = (vec![], vec![]);
    for _ in 0..4 {
        let mut c = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
            .env("SFID_TEST_CHILD", &dirs.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(c.stdout.take().unwrap());
        let mut lines = lines.lines().map_while(Result::ok);
        ids.extend(lines.by_ref().take_while(|l| l != "all").filter_map(|l| Some(l.split_once("id ")?.1.parse::<Id>().unwrap())));
        running.push((c, lines));
    }
    for (mut c, lines) in running {
        drop(c.stdin.take());
        lines.for_each(drop);
        assert!(c.wait().unwrap().success());
    }
    assert_unique(&ids, 4 * 4000);
    let pids: HashSet<_> = ids.iter().map(|&id| Layout::default().parse(id).unwrap().pid).collect();
    assert_eq!(pids.len(), 4);
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
    fn write(fd: i32, from: *const Id, size: usize) -> isize;
}

/// A child that the program forks draws from the same sequence: nothing is ready here that both could return.
#[test]
fn a_forked_child_shares_the_generator() {
    use std::os::fd::AsRawFd;
    let dirs = Dirs::new("fork");
    let g = dirs.options().open().unwrap();
    let mut all = vec![];
    for _ in 0..20 {
        all.push(g.next().unwrap());
        let path = dirs.0.join("ids");
        let file = fs::File::create(&path).unwrap();
        let mut ids = [Id::try_from(0).unwrap(); 100];
        let size = std::mem::size_of_val(&ids);
        // SAFETY: the child allocates nothing, and makes only calls that a child of several threads may make.
        let pid = unsafe { fork() };
        let full = g.fill(&mut ids);
        if pid == 0 {
            unsafe { _exit((full != Ok(100) || write(file.as_raw_fd(), ids.as_ptr(), size) != size as isize).into()) }
        }
        let mut status = -1;
        assert_eq!((unsafe { waitpid(pid, &mut status, 0) }, status), (pid, 0));
        all.extend(ids);
        let bytes = fs::read(&path).unwrap();
        all.extend(bytes.chunks(8).map(|b| Id::try_from(i64::from_ne_bytes(b.try_into().unwrap())).unwrap()));
    }
    assert_unique(&all, 20 * 201);
}

#[test]
fn an_id_has_pid_and_time() {
    let dirs = Dirs::new("parts");
    let g = dirs.options().pid_min(7).pid_max(7).open().unwrap();
    let id = g.next().unwrap();
    let age = SystemTime::now().duration_since(id.time()).unwrap();
    assert!(age < Duration::from_secs(60), "{age:?}");
    assert_eq!((g.pid(), Layout::default().parse(id).unwrap().pid, g.ready()), (Ok(7), 7, true));
    assert!(dirs.0.join("run").is_dir() && dirs.0.join("state/rust/layout").exists());
    drop(g);
    let again = dirs.options().pid_min(7).pid_max(7).open().unwrap();
    assert!(again.next().unwrap() > id, "a drop closes");
}

/// Ticks of an hour with four IDs each, all used up.
fn hourly(dirs: &Dirs, o: impl Fn(Options) -> Options) -> Generator {
    let g = o(dirs.options().layout(layout("30:4:2/3600s"))).open().unwrap();
    while g.try_next().is_ok() {}
    g
}

#[test]
fn what_a_used_up_sequence_does() {
    let dirs = Dirs::new("again");
    let g = hourly(&dirs, |o| o.exhaustion(Exhaustion::Fail));
    let began = Instant::now();
    assert_eq!(g.next(), Err(Error::Again));
    assert_eq!(g.batch(3), Err(Error::Again));
    assert_eq!(g.batch(0), Ok(vec![]));
    let part = Dirs::new("part");
    let ids = part.options().layout(layout("30:4:4/3600s")).exhaustion(Exhaustion::Fail).open().unwrap().batch(100).unwrap();
    assert!(ids.len() == 16 || ids.len() == 32, "{ids:?}"); // 32 if the hour ended just then
    assert_unique(&ids, 16);
    assert!(g.last_error().contains("used up"), "{}", g.last_error());
    let wait = g.retry_after().unwrap();
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(3600), "{wait:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
    let (borrows, waits) = (Dirs::new("borrow"), Dirs::new("wait"));
    let g = borrows.options().layout(layout("36:8:4/10s")).exhaustion(Exhaustion::Borrow).max_ahead_ms(40000).max_wait_ms(0);
    assert_unique(&g.open().unwrap().batch(64).unwrap(), 64);
    let g = waits.options().layout(layout("40:4:4/100ms")).open().unwrap();
    assert_unique(&g.batch(40).unwrap(), 40);
    assert_unique(&(0..40).map(|_| g.next().unwrap()).collect::<Vec<_>>(), 40);
}

#[test]
fn errors_say_what_is_wrong() {
    let dirs = Dirs::new("errors");
    let e = dirs.options().app("x/y").open().unwrap_err();
    assert!(e.error == Error::Invalid && e.to_string().contains("x/y"), "{e}");
    let e: Box<dyn std::error::Error> = e.into();
    assert_eq!(e.source().unwrap().to_string(), "invalid argument");
    for nul in
        [dirs.options().app("x\0y"), dirs.options().store("local\0"), dirs.options().run_dir("/\0"), dirs.options().state_dir("\0")]
    {
        assert_eq!(nul.open().unwrap_err().error, Error::Invalid);
    }
    let dir = |name| dirs.0.join(name).to_str().unwrap().to_owned();
    let one = Options::new().app("errors").pid(5).run_dir(&dir("run")).state_dir(&dir("state"));
    let _first = one.open().unwrap();
    assert_eq!(one.open().unwrap_err().error, Error::Busy);
    assert_eq!(Error::Unsupported.to_string(), "not supported by this build or system");
    assert_eq!(Id::try_from(-1), Err(Error::Invalid));
}

#[test]
fn options_reach_the_library() {
    let dirs = Dirs::new("options");
    let redis = || dirs.options().store("redis://127.0.0.1:1");
    for (name, o) in [
        ("ttl_ms", redis().ttl_ms(1)),
        ("heartbeat_ms", redis().heartbeat_ms(3_600_000)),
        ("max_ahead_ms", redis().max_ahead_ms(90_000_000)),
        ("open_timeout_ms", redis().open_timeout_ms(0)),
        ("skew_budget_ms", redis().skew_budget_ms(7_200_000)),
        ("random_start", redis().random_start(1 << 40)),
        ("max_wait_ms", redis().max_wait_ms(10)),
        ("pid_m", redis().pid_min(9).pid_max(8)),
        ("share", Options::new().pid(3).share(true)),
        ("app", Options::new().store("local")),
        ("pid", Options::new().app("x").pid(u32::MAX)),
    ] {
        let e = o.open().unwrap_err();
        assert!(e.error == Error::Invalid && e.text.contains(name), "{name}: {e:?}");
    }
    assert_eq!(redis().open_timeout_ms(3000).open().unwrap_err().error, Error::Redis);
}

#[test]
fn types_are_sent_and_shared() {
    fn all<T: Send + Sync>() {}
    all::<Generator>();
    all::<Id>();
    all::<Layout>();
    all::<sfid::OpenError>();
}
