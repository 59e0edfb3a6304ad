/* SPDX-License-Identifier: MIT */
/* tap.hpp - TAP for the tests in C++. */
#ifndef SFID_TESTS_CPP_TAP_HPP
#define SFID_TESTS_CPP_TAP_HPP

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace tap {

inline int run = 0;
inline int failed = 0;

inline bool ok(bool good, const std::string &name) {
    failed += good ? 0 : 1;
    std::cout << (good ? "ok " : "not ok ") << ++run << " - " << name << std::endl;
    return good;
}

template <class Got, class Want>
bool is(const Got &got, const Want &want, const std::string &name) {
    const bool good = got == want;
    ok(good, name);
    if (!good)
        std::cout << "# got:  " << got << "\n# want: " << want << std::endl;
    return good;
}

[[noreturn]] inline void bail(const std::string &why) {
    std::cout << "Bail out! " << why << std::endl;
    std::exit(255);
}

/* Runs what has to throw an Exception, and returns it. */
template <class Exception, class Call> Exception thrown(Call call, const std::string &name) {
    try {
        call();
    } catch (const Exception &e) {
        ok(true, name);
        return e;
    }
    ok(false, name);
    bail("nothing was thrown");
}

/* Waits for a condition, at most ten seconds. */
template <class Condition> bool wait_until(Condition condition) {
    for (int i = 0; i < 1000; i++) {
        if (condition())
            return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
}

inline int done() {
    std::cout << "1.." << run << std::endl;
    return failed == 0 ? 0 : 1;
}

} /* namespace tap */

#endif
