/* SPDX-License-Identifier: MIT */
/**
 * sfid.hpp - libsfid for C++17 and later: unique, time-ordered IDs.
 *
 *     #include <iostream>
 *     #include <sfid.hpp>
 *
 *     int main() {
 *         libsfid::generator g("orders", "local");
 *         const libsfid::id id = g.next();
 *         std::cout << id << '\n';
 *     }
 *
 * Everything is in namespace libsfid (sfid is the C type), in these headers:
 *
 *     sfid/error.hpp      errc, error: std::error_code and exceptions
 *     sfid/id.hpp         id, wide_id: values that are compared and hashed; ranges of them
 *     sfid/text.hpp       text forms, <<, std::format
 *     sfid/layout.hpp     layout, layouts::twitter, …: IDs taken apart and put together, times,
 *                         ranges
 *     sfid/wide.hpp       wide_layout: the same for IDs of up to 128 bits
 *     sfid/generator.hpp  generator, wide_generator, options, event
 *     sfid/lane.hpp       lane
 *
 * A program that generates IDs links the library: `pkg-config --cflags --libs
 * sfid`. One that only takes IDs apart needs the headers alone. Each call that can
 * fail has two forms: one takes a std::error_code & and throws nothing, the other
 * throws libsfid::error. The headers of C describe each call in full; what is said
 * there holds here.
 *
 * SFID_DEFINE of sfid/inline.h works in C++ as well.
 */
#ifndef SFID_HPP
#define SFID_HPP

#if __cplusplus < 201703L
#error "sfid.hpp needs C++17; sfid.h does not"
#else
#include "sfid/error.hpp"
#include "sfid/generator.hpp"
#include "sfid/id.hpp"
#include "sfid/lane.hpp"
#include "sfid/layout.hpp"
#include "sfid/text.hpp"
#include "sfid/wide.hpp"
#endif

#endif
