/* SPDX-License-Identifier: MIT */
/*
 * opens.cc - what sfid.hpp opens with: options, refused ones both ways, and events. SFID_RUN_DIR
 * and SFID_STATE_DIR are the test's own.
 */
#include "shared.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/* ---- not opened ------------------------------------------------------------ */

/* Opens both ways; the errors have to agree. */
template <class Generator>
std::error_code refusal(const options &opt, const std::string &part, std::string &sentence) {
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
        return e.code() == ec && std::string(e.what()).find(part) != std::string::npos
                   ? ec
                   : std::error_code();
    }
    return {};
}

template <class Generator = generator>
void refused(const options &opt, errc want, const std::string &part, const std::string &name) {
    std::string sentence;
    is(refusal<Generator>(opt, part, sentence), make_error_code(want),
       name + ": refused both ways");
    ok(!sentence.empty() && sentence.find(part) != std::string::npos,
       name + ": and the sentence says so: " + sentence);
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
    opt.layout = layout(41, 10, 12, 1ms,
                        libsfid::moment(std::chrono::floor<libsfid::milliseconds>(
                                            std::chrono::system_clock::now() + 24h)
                                            .time_since_epoch()));
    refused(opt, errc::clock, "epoch", "an epoch still to come");
    opt.layout = libsfid::layouts::baidu;
    refused(opt, errc::overflow, "ends at", "a layout that has ended");
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
        {&options::max_wait, "max_wait"},
        {&options::max_ahead, "max_ahead"},
        {&options::ttl, "ttl"},
        {&options::heartbeat, "heartbeat"},
        {&options::open_timeout, "open_timeout"},
        {&options::max_skew, "max_skew"},
        {&options::skew_budget, "skew_budget"},
        {&options::short_lease, "short_lease"},
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
#define NUMBER(name, type, initial, least, most, stores) \
    is(c.name, want.name, #name " not set is that of SFID_OPTIONS_INIT");
#define POINTER(name, stores) ok(c.name == nullptr, #name " not set is NULL");
    SFID_OPTION_LIST(NUMBER, POINTER)
#undef NUMBER
#undef POINTER
    is(c.size, want.size, "and so is the size");

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
    ok(c.size == sizeof c && c.app == *opt.app && c.store == *opt.store && c.pid == 1 &&
           c.pid_min == 2 && c.pid_max == 3 && c.layout == &opt.layout->raw() &&
           c.wide == &opt.wide->raw() && c.run_dir == *opt.run_dir &&
           c.state_dir == *opt.state_dir && c.exhaustion == SFID_BORROW && c.max_wait_ms == 4000 &&
           c.max_ahead_ms == 5,
       "each option reaches C");
    ok(c.random_start == 6 && c.ttl_ms == 7 && c.heartbeat_ms == 8 && c.open_timeout_ms == 9 &&
           c.max_skew_ms == 10 && c.skew_budget_ms == 11 && c.on_unknown == SFID_TRUST &&
           c.on_event == nullptr && c.user == nullptr && c.short_ms == UINT32_MAX &&
           c.keep_pid == 1 && c.share == 1,
       "and the rest of them");
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
    ok(std::count(all.kinds.begin(), all.kinds.end(), SFID_EVENT_LEASED) == 1 &&
           all.app == "cpp-events" && !all.text.empty(),
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
    ok(done > 0 && drawn && g.ready(),
       "inside on_event a close does nothing, and IDs are generated");
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
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 42,
       "an exception that leaves on_event ends the program");
}

int main() {
    not_opened();
    times_out_of_range();
    options_for_c();
    events();
    inside_events();
    destroyed_inside();
    fails_in_events();
    return tap::done();
}
