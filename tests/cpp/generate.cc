/* SPDX-License-Identifier: MIT */
/*
 * generate.cc - generators of sfid.hpp over threads, moved, closed and forked; batches, wide IDs,
 * lanes; every error of a call both ways. SFID_RUN_DIR and SFID_STATE_DIR are the test's own.
 */
#include "shared.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static_assert(!std::is_copy_constructible_v<generator> && !std::is_copy_assignable_v<generator>,
              "generators are not copied");
static_assert(std::is_nothrow_move_constructible_v<generator> &&
                  std::is_nothrow_move_assignable_v<generator>,
              "they are moved");
static_assert(!std::is_copy_constructible_v<libsfid::lane> &&
                  std::is_nothrow_move_constructible_v<libsfid::lane>,
              "lanes, too");

/* ---- generators --------------------------------------------------------- */

static void one_after_another() {
    std::error_code ec = errc::busy;
    generator g("cpp", "local");
    ok(bool(g) && g.ready() && g.pid() >= 0 && g.pid(ec) == g.pid() && !ec,
       "a generator with a store has a pid");
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
    ok(std::chrono::abs(layout().time(last) - now) < 10s && layout().at(now - 10s).last < last,
       "the IDs are of now");
    is(g.last_error(), "", "nothing went wrong");
    ok(g.status().issued >= 4000 && g.status(ec).pid == g.pid() && !ec && g.retry_after() == 0ms &&
           g.retry_after(ec) == 0ms && !ec,
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
    ok(all.size() >= threads * each && std::adjacent_find(all.begin(), all.end()) == all.end(),
       what + ": none twice");
    ok(std::all_of(all.begin(), all.end(), [](Id i) { return i.valid(); }), what + ": all valid");
}

static void moved() {
    std::error_code ec;
    generator none;
    ok(!none && none.get() == nullptr && !none.ready() && none.last_error().empty(),
       "none by default");
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
    ok(many.front().get() == handle && many.front().pid() == 11 && many.back().pid() == 39,
       "moved by a vector");
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
    ok(g.generate_n(std::back_inserter(few), 3, ec) == 0 && ec == want && few.empty(),
       "closed: generate_n");
    ok(g.pid(ec) == -1 && ec == want, "closed: pid");
    ok(g.retry_after(ec) == 0ms && ec == want, "closed: retry_after");
    ok(thrown<libsfid::error>([&] { return g.next(); }, "closed: next throws").code() == want,
       "so");
    ok(thrown<libsfid::error>([&] { return g.try_next(); }, "closed: try_next throws").code() ==
           want,
       "so");
    ok(thrown<libsfid::error>([&] { return g.next_n(some.data(), 3); }, "closed: next_n throws")
               .code() == want,
       "so");
    ok(thrown<libsfid::error>([&] { return g.fill(some); }, "closed: fill throws").code() == want,
       "so");
    ok(thrown<libsfid::error>([&] { return g.generate_n(few.begin(), 3); },
                              "closed: generate_n throws")
               .code() == want,
       "so");
    ok(thrown<libsfid::error>([&] { return g.pid(); }, "closed: pid throws").code() == want, "so");
    ok(thrown<libsfid::error>([&] { return g.retry_after(); }, "closed: retry_after throws")
               .code() == want,
       "so");
    ok(!g.ready(), "closed: not ready");
    const generator none;
    ok(thrown<libsfid::error>([&] { return none.status(); }, "no status of none").code() ==
           errc::invalid_argument,
       "so");
    none.status(ec);
    ok(ec == errc::invalid_argument, "by its code, too");
    wide_generator wide(fixed_wide(13));
    wide.close();
    ok(!wide.next(ec).valid() && ec == want && !wide.try_next(ec).valid() && ec == want,
       "closed: wide IDs");
    ok(thrown<libsfid::error>([&] { return wide.next(); }, "closed: wide next throws").code() ==
           want,
       "so");
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

static void exhausted() {
    options opt = fixed(1);
    opt.layout = layout(36, 4, 1, 24h); /* a tick that does not end in here, but for midnight */
    opt.exhaustion = libsfid::exhaustion::fail;
    generator g(opt);
    std::error_code ec;
    int issued = 0;
    while (issued < 10 && g.next(ec).valid())
        issued++;
    ok(ec == errc::again && ec == std::errc::resource_unavailable_try_again && issued <= 4,
       "the sequence is used up");
    ok(thrown<libsfid::error>([&] { return g.next(); }, "next throws").code() == errc::again, "so");
    ok(!g.try_next(), "try_next has none");
    ok(!g.try_next(ec).valid() && ec == errc::again, "by its code, too");
    ok(g.retry_after() > 0ms && g.retry_after() <= 24h && g.ready(), "and knows when to try again");
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
    ok(g.fill(numbers, ec) == 10 && !ec && increasing(numbers, 10) && plain[9].value() < numbers[0],
       "an array of numbers");
    ok(g.fill(array) == 10 && increasing(array, 10), "a std::array");
    ok(g.fill(vector) == 1000 && increasing(vector, 1000), "a std::vector");
    ok(g.fill(raw, ec) == 1000 && increasing(raw, 1000) && vector.back().value() < raw.front(),
       "a std::vector of numbers");
    ok(g.generate_n(std::back_inserter(list), 1000) == 1000 && increasing(list, 1000) &&
           raw.back() < list.front().value(),
       "a list");
    ok(g.generate_n(std::inserter(set, set.end()), 200, ec) == 200 && set.size() == 200 &&
           list.back() < *set.begin(),
       "a set");
    ok(g.next_n(vector.data() + 1, 2) == 2 && g.next_n(raw.data(), 2, ec) == 2 &&
           vector[3] < vector[1] && vector[1] < vector[2],
       "a part of one");
    std::vector<id> empty;
    ec = errc::busy;
    ok(g.fill(empty) == 0 && g.fill(empty, ec) == 0 && !ec && g.generate_n(list.begin(), 0) == 0,
       "nothing wanted, nothing wrong");
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
               thrown<libsfid::error>([&] { return few.generate_n(got.begin(), 5); }, "none is one")
                       .code() == ec,
           "so");

    wide_generator w(fixed_wide(51));
    std::vector<wide_id> wide(100);
    std::vector<sfid_wide> values(100);
    std::list<wide_id> others;
    ok(w.fill(wide) == 100 && increasing(wide, 100) && w.fill(values, ec) == 100 && !ec &&
           wide.back() < wide_id(values.front()),
       "wide IDs");
    ok(w.generate_n(std::back_inserter(others), 100) == 100 && increasing(others, 100),
       "a list of wide IDs");
}

/* ---- wide IDs --------------------------------------------------------------- */

static void wide() {
    wide_generator g(fixed_wide(77));
    std::error_code ec = errc::busy;
    const wide_id a = g.next(), b = g.next(ec);
    const std::optional<wide_id> c = g.try_next();
    ok(!ec && c && a < b && b < *c, "wide IDs increase");
    const libsfid::wide_parts p = wide_layout::uuid7().parse(b);
    ok(p.pid == 77 && std::chrono::abs(p.time - std::chrono::system_clock::now()) < 10s,
       "and have pid and time");
    is(wide_layout::uuid7().text(a).size(), 36U, "as UUIDs");
    options opt = fixed(SFID_AWS_PID(3, 0x10203));
    opt.wide = wide_layout::awsflake();
    wide_generator aws(opt);
    is(aws.pid(), (3 << 16) + 0x203, "awsflake's region and address");
    is(wide_layout::awsflake().parse(aws.next()).pid, static_cast<std::uint64_t>(aws.pid()),
       "are in the ID");
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
    ok(thrown<libsfid::error>([&] { libsfid::lane bad(none); }, "no lane of no generator").code() ==
           errc::invalid_argument,
       "so");
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
    exhausted();
    batches();
    wide();
    lanes();
    return tap::done();
}
