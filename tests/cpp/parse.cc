/* SPDX-License-Identifier: MIT */
/* parse.cc - a program that only takes IDs apart: it is linked without the library, with every
 * header included. */
#include <cstdio>
#include <sfid.hpp>

int main(int argc, char **argv) {
    using namespace libsfid;
    const id tweet = from_text(argc > 1 ? argv[1] : "1ptWyK4WgZU", form::base62);
    const parts p = layouts::twitter.parse(tweet);
    const wide_id uuid = wide_from_text("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
    std::error_code ec;
    if (from_text("-1", form::dec, ec).valid() || ec != errc::invalid_argument ||
        ec.message() != "invalid argument")
        return 1;
    try {
        layouts::sfid.tick_at(moment());
        return 2;
    } catch (const error &e) {
        if (e.code() != errc::clock)
            return 3;
    }
    if (!layouts::twitter.at(p.time).contains(tweet) ||
        !wide_layout::uuid7().at(wide_layout::uuid7().time(uuid)).contains(uuid))
        return 4;
    const std::string found = std::to_string(p.pid) + ' ' + std::to_string(p.seq) + ' ';
    std::puts((found + std::to_string(p.time.time_since_epoch().count())).c_str());
    return 0;
}
