/* SPDX-License-Identifier: MIT */
/*
 * generate.cc - the part of sfid.hpp that needs the library: generators over threads, moved, closed and forked, every error both
 * ways, batches, events, lanes, options. SFID_RUN_DIR and SFID_STATE_DIR are the test's own.
 */
#include "tap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <mutex>
#include <set>
#include <sfid.hpp>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;
using libsfid::errc;
using libsfid::generator;
using libsfid::id;
using libsfid::layout;
using libsfid::options;
using libsfid::wide_generator;
using libsfid::wide_id;
using libsfid::wide_layout;
using tap::is;
using tap::ok;
using tap::thrown;

static_assert(!std::is_copy_constructible_v<generator> && !std::is_copy_assignable_v<generator>, "generators are not copied");
static_assert(std::is_nothrow_move_constructible_v<generator> && std::is_nothrow_move_assignable_v<generator>, "they are moved");
static_assert(!std::is_copy_constructible_v<libsfid::lane> && std::is_nothrow_move_constructible_v<libsfid::lane>, "lanes, too");

static options fixed(std::int64_t pid) {
    options opt;
    opt.pid = pid;
    return opt;
}

static options fixed_wide(std::int64_t pid) {
    options opt = fixed(pid);
    opt.wide = wide_layout::uuid7();
    return opt;
}

/* ---- generators --------------------------------------------------------- */

static void one_after_another() {
    std::error_code ec = errc::busy;
    generator g("cpp", "local");
    ok(bool(g) && g.ready() && g.pid() >= 0 && g.pid(ec) == g.pid() && !ec, "a generator with a store has a pid");
    id last;
    bool good = true;
    for (int i = 0; i < 1000; i++) {
        const id a = g.next();
        ec = errc::busy;
        const id b = g.next(ec);
        const std::optional<id> c = g.try_next();
        const bool clear = !ec;
        ec = errc::busy;
        const id d = g.try_next(ec);
        good = good && clear && !ec && c && last < a && a < b && b < *c && *c < d &&
               layout().parse(a).pid == static_cast<std::uint64_t>(g.pid());
        last = d;
    }
    ok(good, "each way gives the next ID of one sequence, with its pid");
    const auto now = std::chrono::system_clock::now();
    ok(std::chrono::abs(layout().time(last) - now) < 10s && layout().at(now - 1s).last < last, "the IDs are of now");
    is(g.last_error(), "", "nothing went wrong");
    ok(g.status().issued >= 4000 && g.status(ec).pid == g.pid() && !ec && g.retry_after() == 0ms && g.retry_after(ec) == 0ms && !ec,
       "status");
    ec = errc::busy;
    generator second("cpp", "local", ec);
    ok(!ec && second && second.pid() != g.pid(), "another generator has another pid");
}

template <class Id, class Make> void over_threads(Make make, const std::string &what) {
    constexpr std::size_t threads = 4, each = 20000;
    libsfid::basic_generator<Id> g(make);
    std::vector<std::vector<Id>> ids(threads);
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; t++)
        running.emplace_back([&g, &mine = ids[t]] {
            std::error_code ec;
            std::array<Id, 100> some;
            while (mine.size() < each) {
                mine.push_back(g.next());
                if (const Id one = g.try_next(ec); !ec)
                    mine.push_back(one);
                for (std::size_t i = 0, n = g.fill(some, ec); i < n; i++)
                    mine.push_back(some[i]);
            }
        });
    for (std::thread &t : running)
        t.join();
    std::vector<Id> all;
    bool increasing = true;
    for (const std::vector<Id> &mine : ids) {
        increasing = increasing && std::is_sorted(mine.begin(), mine.end());
        all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    ok(increasing, what + ": those of each thread increase");
    ok(all.size() >= threads * each && std::adjacent_find(all.begin(), all.end()) == all.end(), what + ": none twice");
    ok(std::all_of(all.begin(), all.end(), [](Id i) { return i.valid(); }), what + ": all valid");
}

static void moved() {
    std::error_code ec;
    generator none;
    ok(!none && none.get() == nullptr && !none.ready() && none.last_error().empty(), "none by default");
    is(none.next(ec).valid() || ec != errc::closed, false, "it is closed");

    generator a(fixed(11));
    sfid *const handle = a.get();
    generator b(std::move(a));
    const id first = b.next();
    ok(b.get() == handle && first < b.next(), "a moved generator goes on");
    ok(!a && a.next(ec) == id() && ec == errc::closed, "the one moved from is none");
    generator c(fixed(12));
    sfid *const replaced = c.get();
    c = std::move(b);
    ok(c.get() == handle && c.pid() == 11 && !b, "moved over another");
    is(sfid_next(replaced), SFID_ECLOSED, "which is closed");
    generator &same = c;
    c = std::move(same);
    ok(c.get() == handle && c.next(ec).valid(), "moved to itself");
    std::vector<generator> many;
    many.push_back(std::move(c));
    for (std::int64_t pid = 20; pid < 40; pid++)
        many.emplace_back(fixed(pid));
    ok(many.front().get() == handle && many.front().pid() == 11 && many.back().pid() == 39, "moved by a vector");
    {
        const generator gone = std::move(many.front());
        ok(gone.ready(), "open to the end of its scope");
    }
    is(sfid_next(handle), SFID_ECLOSED, "closed behind it");
}

static void closed() {
    generator g(fixed(13));
    std::atomic<bool> started{false};
    std::atomic<int> wrong{0};
    std::thread other([&] {
        std::error_code ec;
        id last = g.next(ec);
        started = true;
        while (!ec) {
            const id one = g.next(ec);
            wrong += !ec && one <= last ? 1 : 0;
            last = one;
        }
        wrong += ec == errc::closed && last == id() ? 0 : 1;
    });
    tap::wait_until([&] { return started.load(); });
    g.close();
    other.join();
    is(wrong.load(), 0, "a close ends the calls of another thread, as closed");
    g.close();
    ok(bool(g), "closed twice");

    std::error_code ec;
    const std::error_code want = errc::closed;
    std::array<id, 3> some;
    std::list<id> few;
    id one = g.next(ec);
    ok(ec == want && !one.valid(), "closed: next");
    one = g.try_next(ec);
    ok(ec == want && !one.valid(), "closed: try_next");
    ok(g.next_n(some.data(), 3, ec) == 0 && ec == want, "closed: next_n");
    ok(g.fill(some, ec) == 0 && ec == want, "closed: fill");
    ok(g.generate_n(std::back_inserter(few), 3, ec) == 0 && ec == want && few.empty(), "closed: generate_n");
    ok(g.pid(ec) == -1 && ec == want, "closed: pid");
    ok(g.retry_after(ec) == 0ms && ec == want, "closed: retry_after");
    ok(thrown<libsfid::error>([&] { return g.next(); }, "closed: next throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.try_next(); }, "closed: try_next throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.next_n(some.data(), 3); }, "closed: next_n throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.fill(some); }, "closed: fill throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.generate_n(few.begin(), 3); }, "closed: generate_n throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.pid(); }, "closed: pid throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.retry_after(); }, "closed: retry_after throws").code() == want, "so");
    ok(!g.ready(), "closed: not ready");
    const generator none;
    ok(thrown<libsfid::error>([&] { return none.status(); }, "no status of none").code() == errc::invalid_argument, "so");
    none.status(ec);
    ok(ec == errc::invalid_argument, "by its code, too");
    wide_generator wide(fixed_wide(13));
    wide.close();
    ok(!wide.next(ec).valid() && ec == want && !wide.try_next(ec).valid() && ec == want, "closed: wide IDs");
    ok(thrown<libsfid::error>([&] { return wide.next(); }, "closed: wide next throws").code() == want, "so");
}

static void forked() {
    generator g("cpp-fork", "local");
    const id before = g.next();
    const pid_t child = fork();
    if (child == 0) {
        bool good = false;
        {
            const generator mine = std::move(g);
            good = const_cast<generator &>(mine).next() > before && mine.pid() >= 0;
        }
        _exit(good ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    is(status, 0, "a child generates with its copy and closes it");
    ok(g.next() > before && g.ready(), "the parent goes on");
}

/* ---- not opened ------------------------------------------------------------ */

/* Opens both ways; the errors have to agree. */
template <class Generator> std::error_code refusal(const options &opt, const std::string &part, std::string &sentence) {
    std::error_code ec;
    {
        Generator g(opt, ec);
        sentence = g.last_error();
        std::error_code later;
        if (bool(g) != !ec || (ec && (g.next(later).valid() || later != errc::closed)))
            return {};
    }
    if (!ec)
        return ec;
    try {
        Generator g(opt);
    } catch (const libsfid::error &e) {
        return e.code() == ec && std::string(e.what()).find(part) != std::string::npos ? ec : std::error_code();
    }
    return {};
}

template <class Generator = generator>
void refused(const options &opt, errc want, const std::string &part, const std::string &name) {
    std::string sentence;
    is(refusal<Generator>(opt, part, sentence), make_error_code(want), name + ": refused both ways");
    ok(!sentence.empty() && sentence.find(part) != std::string::npos, name + ": and the sentence says so: " + sentence);
}

static void not_opened() {
    options opt;
    refused(opt, errc::invalid_argument, "store", "no store and no pid");
    opt = fixed(2048);
    refused(opt, errc::invalid_argument, "pid", "a pid past the layout's");
    const generator holds([] {
        options with_app = fixed(5);
        with_app.app = "cpp-busy";
        return with_app;
    }());
    opt = fixed(5);
    opt.app = "cpp-busy";
    refused(opt, errc::busy, "5", "a pid that is held");
    opt.app = "";
    refused(opt, errc::invalid_argument, "app", "an empty app is an app, and none to use");
    opt.app = std::string("cpp\0busy", 8);
    refused(opt, errc::invalid_argument, "app has a NUL", "an app with a NUL inside");
    opt = fixed(5);
    opt.store = std::string("local\0", 6);
    refused(opt, errc::invalid_argument, "store has a NUL", "a store");
    opt = fixed(5);
    opt.run_dir = std::string("/\0", 2);
    refused(opt, errc::invalid_argument, "run_dir has a NUL", "a directory");
    opt = fixed(5);
    opt.state_dir = std::string("/\0", 2);
    refused(opt, errc::invalid_argument, "state_dir has a NUL", "the other");
    opt = fixed(6);
    opt.layout = layout(
        41, 10, 12, 1ms,
        libsfid::moment(std::chrono::floor<libsfid::milliseconds>(std::chrono::system_clock::now() + 24h).time_since_epoch()));
    refused(opt, errc::clock, "epoch", "an epoch still to come");
    opt.layout = libsfid::layouts::baidu;
    refused(opt, errc::overflow, "ended", "a layout that has ended");
    opt = options();
    opt.app = "cpp";
    opt.store = "redis://127.0.0.1:1/0?connect_timeout=100";
    opt.open_timeout = 300ms;
    refused(opt, errc::redis, "127.0.0.1", "a server that is not there");
    opt = fixed(5);
    opt.wide = wide_layout::uuid7();
    refused(opt, errc::invalid_argument, "wide_generator", "64-bit IDs of a wide layout");
    refused<wide_generator>(fixed(5), errc::invalid_argument, "wide layout", "wide IDs of none");
    std::error_code ec;
    const generator g("", "local", ec);
    ok(ec == errc::invalid_argument && !g, "by app and store, with a code");
    thrown<libsfid::error>([] { generator("cpp", "nowhere"); }, "by app and store, thrown");
}

static void times_out_of_range() {
    const std::pair<libsfid::milliseconds options::*, const char *> times[] = {
        {&options::max_wait, "max_wait"},       {&options::max_ahead, "max_ahead"},       {&options::ttl, "ttl"},
        {&options::heartbeat, "heartbeat"},     {&options::open_timeout, "open_timeout"}, {&options::max_skew, "max_skew"},
        {&options::skew_budget, "skew_budget"}, {&options::short_lease, "short_lease"},
    };
    for (const auto &[time, name] : times)
        for (const libsfid::milliseconds value : {-1ms, libsfid::milliseconds(INT64_C(1) << 32)}) {
            options opt = fixed(7);
            opt.*time = value;
            refused(opt, errc::invalid_argument, std::string(name) + " is out of range",
                    std::string(name) + " " + std::to_string(value.count()));
        }
    options opt = fixed(7);
    opt.max_wait = -1ms;
    thrown<libsfid::error>([&] { return opt.raw(); }, "raw() refuses it");
}

/* ---- options --------------------------------------------------------------- */

static void options_for_c() {
    const sfid_options want = SFID_OPTIONS_INIT;
    options opt;
    sfid_options c = opt.raw();
    ok(c.size == want.size && c.app == want.app && c.store == want.store && c.pid == want.pid && c.pid_min == want.pid_min &&
           c.pid_max == want.pid_max && c.layout == want.layout && c.run_dir == want.run_dir && c.state_dir == want.state_dir &&
           c.exhaustion == want.exhaustion && c.max_wait_ms == want.max_wait_ms && c.max_ahead_ms == want.max_ahead_ms &&
           c.random_start == want.random_start && c.ttl_ms == want.ttl_ms && c.heartbeat_ms == want.heartbeat_ms,
       "options not set are those of SFID_OPTIONS_INIT");
    ok(c.open_timeout_ms == want.open_timeout_ms && c.max_skew_ms == want.max_skew_ms && c.skew_budget_ms == want.skew_budget_ms &&
           c.on_unknown == want.on_unknown && c.on_event == want.on_event && c.user == want.user && c.wide == want.wide &&
           c.short_ms == want.short_ms && c.keep_pid == want.keep_pid && c.share == want.share,
       "and so are the others");

    opt.app = "app";
    opt.store = "store";
    opt.pid = 1;
    opt.pid_min = 2;
    opt.pid_max = 3;
    opt.layout = libsfid::layouts::ms;
    opt.wide = wide_layout::flake();
    opt.run_dir = "run";
    opt.state_dir = "state";
    opt.exhaustion = libsfid::exhaustion::borrow;
    opt.max_wait = 4s;
    opt.max_ahead = 5ms;
    opt.random_start = 6;
    opt.ttl = 7ms;
    opt.heartbeat = 8ms;
    opt.open_timeout = 9ms;
    opt.max_skew = 10ms;
    opt.skew_budget = 11ms;
    opt.on_unknown = libsfid::on_unknown::trust;
    opt.on_event = [](const libsfid::event &) {};
    opt.short_lease = libsfid::milliseconds(UINT32_MAX);
    opt.keep_pid = true;
    opt.share = true;
    c = opt.raw();
    ok(c.size == sizeof c && c.app == *opt.app && c.store == *opt.store && c.pid == 1 && c.pid_min == 2 && c.pid_max == 3 &&
           c.layout == &opt.layout->raw() && c.wide == &opt.wide->raw() && c.run_dir == *opt.run_dir &&
           c.state_dir == *opt.state_dir && c.exhaustion == SFID_BORROW && c.max_wait_ms == 4000 && c.max_ahead_ms == 5,
       "each option reaches C");
    ok(c.random_start == 6 && c.ttl_ms == 7 && c.heartbeat_ms == 8 && c.open_timeout_ms == 9 && c.max_skew_ms == 10 &&
           c.skew_budget_ms == 11 && c.on_unknown == SFID_TRUST && c.on_event == nullptr && c.user == nullptr &&
           c.short_ms == UINT32_MAX && c.keep_pid == 1 && c.share == 1,
       "and the rest of them");
}

static void exhausted() {
    options opt = fixed(1);
    opt.layout = layout(36, 4, 1, 60s);
    opt.exhaustion = libsfid::exhaustion::fail;
    generator g(opt);
    std::error_code ec;
    int issued = 0;
    while (issued < 10 && g.next(ec).valid())
        issued++;
    ok(ec == errc::again && ec == std::errc::resource_unavailable_try_again && issued <= 4, "the sequence is used up");
    ok(thrown<libsfid::error>([&] { return g.next(); }, "next throws").code() == errc::again, "so");
    ok(!g.try_next(), "try_next has none");
    ok(!g.try_next(ec).valid() && ec == errc::again, "by its code, too");
    ok(g.retry_after() > 0ms && g.retry_after() <= 60s && g.ready(), "and knows when to try again");
    is(g.last_error().empty(), false, "the sentence is there: " + g.last_error());
}

/* ---- batches --------------------------------------------------------------- */

template <class Range> bool increasing(const Range &range, std::size_t count) {
    return std::size(range) == count && std::is_sorted(std::begin(range), std::end(range)) &&
           std::adjacent_find(std::begin(range), std::end(range)) == std::end(range);
}

static void batches() {
    generator g(fixed(50));
    std::error_code ec = errc::busy;
    id plain[10];
    std::int64_t numbers[10];
    std::array<id, 10> array;
    std::vector<id> vector(1000);
    std::vector<std::int64_t> raw(1000);
    std::list<id> list;
    std::set<id> set;
    ok(g.fill(plain) == 10 && increasing(plain, 10), "an array");
    ok(g.fill(numbers, ec) == 10 && !ec && increasing(numbers, 10) && plain[9].value() < numbers[0], "an array of numbers");
    ok(g.fill(array) == 10 && increasing(array, 10), "a std::array");
    ok(g.fill(vector) == 1000 && increasing(vector, 1000), "a std::vector");
    ok(g.fill(raw, ec) == 1000 && increasing(raw, 1000) && vector.back().value() < raw.front(), "a std::vector of numbers");
    ok(g.generate_n(std::back_inserter(list), 1000) == 1000 && increasing(list, 1000) && raw.back() < list.front().value(),
       "a list");
    ok(g.generate_n(std::inserter(set, set.end()), 200, ec) == 200 && set.size() == 200 && list.back() < *set.begin(), "a set");
    ok(g.next_n(vector.data() + 1, 2) == 2 && g.next_n(raw.data(), 2, ec) == 2 && vector[3] < vector[1] && vector[1] < vector[2],
       "a part of one");
    std::vector<id> empty;
    ec = errc::busy;
    ok(g.fill(empty) == 0 && g.fill(empty, ec) == 0 && !ec && g.generate_n(list.begin(), 0) == 0, "nothing wanted, nothing wrong");
    id *const nowhere = nullptr;
    ok(g.next_n(nowhere, 1, ec) == 0 && ec == errc::invalid_argument, "nowhere to put them");

    options opt = fixed(2);
    opt.layout = layout(30, 4, 7, 60s);
    opt.exhaustion = libsfid::exhaustion::fail;
    generator few(opt);
    std::vector<id> got;
    ec = errc::busy;
    std::size_t count = few.generate_n(std::back_inserter(got), 1000, ec);
    ok(!ec && count == got.size() && count >= 128 && count <= 256 && increasing(got, count),
       "fewer than wanted is no error: " + std::to_string(count));
    count = few.fill(vector, ec);
    if (ec) /* the minute may have ended in between */
        ok(ec == errc::again && count == 0 &&
               thrown<libsfid::error>([&] { return few.generate_n(got.begin(), 5); }, "none is one").code() == ec,
           "so");

    wide_generator w(fixed_wide(51));
    std::vector<wide_id> wide(100);
    std::vector<sfid_wide> values(100);
    std::list<wide_id> others;
    ok(w.fill(wide) == 100 && increasing(wide, 100) && w.fill(values, ec) == 100 && !ec && wide.back() < wide_id(values.front()),
       "wide IDs");
    ok(w.generate_n(std::back_inserter(others), 100) == 100 && increasing(others, 100), "a list of wide IDs");
}

/* ---- wide IDs --------------------------------------------------------------- */

static void wide() {
    wide_generator g(fixed_wide(77));
    std::error_code ec = errc::busy;
    const wide_id a = g.next(), b = g.next(ec);
    const std::optional<wide_id> c = g.try_next();
    ok(!ec && c && a < b && b < *c, "wide IDs increase");
    const libsfid::wide_parts p = wide_layout::uuid7().parse(b);
    ok(p.pid == 77 && std::chrono::abs(p.time - std::chrono::system_clock::now()) < 10s, "and have pid and time");
    is(wide_layout::uuid7().text(a).size(), 36U, "as UUIDs");
    options opt = fixed(SFID_AWS_PID(3, 0x10203));
    opt.wide = wide_layout::awsflake();
    wide_generator aws(opt);
    is(aws.pid(), (3 << 16) + 0x203, "awsflake's region and address");
    is(wide_layout::awsflake().parse(aws.next()).pid, static_cast<std::uint64_t>(aws.pid()), "are in the ID");
}

/* ---- events ----------------------------------------------------------------- */

struct heard {
    std::mutex lock;
    std::vector<sfid_event_kind> kinds;
    std::string app, text;
    std::atomic<int> count{0};

    void note(const libsfid::event &e) {
        const std::lock_guard<std::mutex> hold(lock);
        kinds.push_back(e.kind);
        if (e.kind == SFID_EVENT_LEASED) {
            app = e.app;
            text = e.text;
        }
        count++;
    }
};

static void events() {
    heard all;
    options opt;
    opt.app = "cpp-events";
    opt.store = "local";
    opt.on_event = [&all](const libsfid::event &e) { all.note(e); };
    {
        generator g(opt);
        opt.on_event = nullptr; /* the generator has its own copy */
        generator moved(std::move(g));
        g = generator(fixed(60));
        ok(tap::wait_until([&] { return all.count > 0; }), "events come, also after a move");
        moved = std::move(g);
        const int after = all.count;
        ok(moved.status().pid == 60 && moved.next().valid(), "another one takes its place");
        is(all.count.load(), after, "and none comes after the generator has ended");
    }
    const std::lock_guard<std::mutex> hold(all.lock);
    ok(std::count(all.kinds.begin(), all.kinds.end(), SFID_EVENT_LEASED) == 1 && all.app == "cpp-events" && !all.text.empty(),
       "one is LEASED: " + all.text);
}

/* Closing and destroying inside on_event does nothing, and breaks nothing. */
static void inside_events() {
    std::atomic<generator *> target{nullptr};
    std::atomic<int> done{0};
    std::atomic<bool> drawn{false};
    options opt = fixed(9);
    opt.layout = layout(36, 4, 2, 1s);
    opt.exhaustion = libsfid::exhaustion::fail;
    opt.on_event = [&](const libsfid::event &) {
        if (generator *const g = target.load()) {
            std::error_code ec;
            g->close();
            drawn = g->next(ec).valid() || ec == errc::again;
            done++;
        }
    };
    generator g(opt);
    target = &g;
    std::error_code ec;
    tap::wait_until([&] {
        for (int i = 0; i < 10; i++)
            static_cast<void>(g.next(ec)); /* until EXHAUSTED is reported */
        return done > 0;
    });
    ok(done > 0 && drawn && g.ready(), "inside on_event a close does nothing, and IDs are generated");
    target = nullptr;
    g.close();
    ok(!g.ready(), "outside it closes");
}

/* Forbidden, but what on_event has captured stays as long as on_event may run. */
static void destroyed_inside() {
    struct capture {
        std::atomic<bool> *gone;
        ~capture() { *gone = true; }
    };
    static std::atomic<bool> gone{false}; /* not captured, and so there whatever happens */
    static std::atomic<generator *> target{nullptr};
    static std::atomic<int> seen{0};
    options opt = fixed(8);
    opt.layout = layout(36, 4, 2, 1s);
    opt.exhaustion = libsfid::exhaustion::fail;
    opt.on_event = [held = std::make_shared<capture>(capture{&gone})](const libsfid::event &) {
        if (generator *const g = target.exchange(nullptr)) {
            gone = false;
            delete g;
            seen = gone ? 2 : 1;
        }
    };
    auto *const g = new generator(opt);
    opt.on_event = nullptr;
    sfid *const handle = g->get();
    target = g;
    tap::wait_until([&] {
        for (int i = 0; i < 10; i++)
            static_cast<void>(sfid_try_next(handle) < 0); /* until EXHAUSTED is reported */
        return seen != 0;
    });
    is(seen.load(), 1, "destroyed inside on_event: what it captured stays");
    sfid_close(handle);
}

static void fails_in_events() {
    const pid_t child = fork();
    if (child == 0) {
        std::set_terminate([] { _exit(42); });
        options opt;
        opt.app = "cpp-throws";
        opt.store = "local";
        opt.on_event = [](const libsfid::event &) { throw 1; };
        const generator g(opt);
        tap::wait_until([] { return false; });
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 42, "an exception that leaves on_event ends the program");
}

/* ---- lanes ------------------------------------------------------------------ */

static void lanes() {
    generator g(fixed(62));
    std::error_code ec = errc::busy;
    libsfid::lane a(g), b(g, ec);
    ok(!ec && a && b && a.get() != b.get(), "two lanes");
    std::set<id> ids;
    id last;
    bool good = true;
    for (int i = 0; i < 1000; i++) {
        const id one = a.next(), two = b.next(ec);
        good = good && !ec && last < one && ids.insert(one).second && ids.insert(two).second;
        last = one;
    }
    ok(good, "IDs of lanes: each once, in order within a lane");
    libsfid::lane c(std::move(a));
    ok(c.next() > last && !a, "a lane is moved");
    ok(!a.next(ec).valid() && ec == errc::closed, "the one moved from is closed");
    ok(thrown<libsfid::error>([&] { return a.next(); }, "and throws").code() == errc::closed, "so");
    generator none;
    ok(thrown<libsfid::error>([&] { libsfid::lane bad(none); }, "no lane of no generator").code() == errc::invalid_argument, "so");
    libsfid::lane bad(none, ec);
    ok(ec == errc::invalid_argument && !bad, "by its code, too");
}

int main() {
    one_after_another();
    over_threads<id>(fixed(10), "threads");
    over_threads<wide_id>(fixed_wide(10), "threads with wide IDs");
    moved();
    closed();
    forked();
    not_opened();
    times_out_of_range();
    options_for_c();
    exhausted();
    batches();
    wide();
    events();
    inside_events();
    destroyed_inside();
    fails_in_events();
    lanes();
    return tap::done();
}
