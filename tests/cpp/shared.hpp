/* SPDX-License-Identifier: MIT */
/* shared.hpp - what several tests in C++ need: the presets by name, an error both ways, options
 * with a fixed pid. */
#ifndef SFID_TESTS_CPP_SHARED_HPP
#define SFID_TESTS_CPP_SHARED_HPP

#include "tap.hpp"

#include <map>
#include <sfid.hpp>

using namespace std::chrono_literals;
using libsfid::errc;
using libsfid::form;
using libsfid::generator;
using libsfid::id;
using libsfid::layout;
using libsfid::moment;
using libsfid::options;
using libsfid::wide_generator;
using libsfid::wide_id;
using libsfid::wide_layout;
using tap::is;
using tap::ok;
using tap::thrown;

inline constexpr id tweet(1541815603606036480);
inline constexpr layout twitter = libsfid::layouts::twitter;
inline constexpr wide_id rfc = libsfid::wide_from_text("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");

inline const std::map<std::string, layout> presets = {
    {"sfid", libsfid::layouts::sfid},
    {"sfid-0.1.13", libsfid::layouts::sfid_0_1_13},
    {"ms", libsfid::layouts::ms},
    {"js53", libsfid::layouts::js53},
    {"twitter", libsfid::layouts::twitter},
    {"leaf", libsfid::layouts::leaf},
    {"discord", libsfid::layouts::discord},
    {"instagram", libsfid::layouts::instagram},
    {"sonyflake", libsfid::layouts::sonyflake},
    {"sonyflake2", libsfid::layouts::sonyflake2},
    {"mastodon", libsfid::layouts::mastodon},
    {"icicle", libsfid::layouts::icicle},
    {"kestrel", libsfid::layouts::kestrel},
    {"cosid", libsfid::layouts::cosid},
    {"baidu", libsfid::layouts::baidu},
    {"tso", libsfid::layouts::tso},
};

/* The error of a call that has to fail: by its code, and the same one thrown. */
template <class Coded, class Throwing> std::error_code refusal(Coded coded, Throwing throwing) {
    std::error_code ec;
    coded(ec);
    try {
        throwing();
    } catch (const libsfid::error &e) {
        return e.code() == ec && *e.what() != '\0' ? ec : std::error_code();
    }
    return {};
}

inline options fixed(std::int64_t pid) {
    options opt;
    opt.pid = pid;
    return opt;
}

inline options fixed_wide(std::int64_t pid) {
    options opt = fixed(pid);
    opt.wide = wide_layout::uuid7();
    return opt;
}

#endif
