/* SPDX-License-Identifier: MIT */
/* first_id.cc - an ID in C++17. c++ -std=c++17 first_id.cc $(pkg-config --cflags --libs sfid) */
#include <iostream>
#include <sfid.hpp>

int main() {
    try {
        libsfid::generator g("orders", "local"); // closed at the end of its scope
        const libsfid::id id = g.next();
        const libsfid::parts parts = libsfid::layouts::sfid.parse(id);
        std::cout << id << ' ' << to_text(id, libsfid::form::base62) << " pid " << parts.pid
                  << '\n';
    } catch (const libsfid::error &e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
