/* SPDX-License-Identifier: MIT */
/* cancel.cc - a thread that sleeps in a call for IDs can be cancelled: it is unwound through the
 * call, and the program goes on. */
#include "shared.hpp"

#include <array>
#include <functional>
#include <iterator>
#include <pthread.h>
#include <vector>

struct caller {
    std::function<void()> call;
    bool unwound = false;
};

struct at_end {
    bool &reached;
    explicit at_end(bool &flag) : reached(flag) {}
    at_end(const at_end &) = delete;
    at_end &operator=(const at_end &) = delete;
    ~at_end() { reached = true; }
};

[[noreturn]] static void *call_for_ever(void *arg) {
    caller &c = *static_cast<caller *>(arg);
    const at_end noted(c.unwound);
    for (;;)
        c.call();
}

/* The cancellation waits for the sleep: no other point is on the way. */
static void cancelled(const std::string &name, std::function<void()> call) {
    caller c{std::move(call)};
    pthread_t thread;
    void *result = nullptr;
    ok(pthread_create(&thread, nullptr, call_for_ever, &c) == 0 && pthread_cancel(thread) == 0 &&
           pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED && c.unwound,
       name + ": cancelled in its sleep");
}

int main() {
    options opt;
    opt.pid = 1;
    opt.layout = layout(30, 8, 1, 1h); /* two IDs an hour */
    opt.max_wait = 10h;
    generator g(opt);
    std::error_code ec;
    std::array<id, 4> some;
    std::array<std::int64_t, 4> raw;
    std::vector<id> many;
    cancelled("next", [&] { (void)g.next(); });
    cancelled("next with a code", [&] { (void)g.next(ec); });
    cancelled("next_n", [&] { (void)g.next_n(some.data(), some.size()); });
    cancelled("next_n with a code", [&] { (void)g.next_n(some.data(), some.size(), ec); });
    cancelled("next_n of numbers", [&] { (void)g.next_n(raw.data(), raw.size()); });
    cancelled("next_n of numbers with a code", [&] { (void)g.next_n(raw.data(), raw.size(), ec); });
    cancelled("fill", [&] { (void)g.fill(some); });
    cancelled("fill with a code", [&] { (void)g.fill(some, ec); });
    cancelled("generate_n", [&] { (void)g.generate_n(std::back_inserter(many), 3); });
    cancelled("generate_n with a code",
              [&] { (void)g.generate_n(std::back_inserter(many), 3, ec); });
    libsfid::lane lane(g);
    cancelled("next of a lane", [&] { (void)lane.next(); });
    cancelled("next of a lane with a code", [&] { (void)lane.next(ec); });
    return tap::done();
}
