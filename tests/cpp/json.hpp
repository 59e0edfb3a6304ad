/* SPDX-License-Identifier: MIT */
/* json.hpp - a small reader of JSON, for tests/vectors.json: whole numbers only, no \u, bad input
 * ends the test. */
#ifndef SFID_TESTS_CPP_JSON_HPP
#define SFID_TESTS_CPP_JSON_HPP

#include "tap.hpp"

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

struct json {
    std::string name{};          /* within an object */
    std::string text{};          /* of a string, a number or a word */
    bool quoted = false;         /* a string */
    std::vector<json> members{}; /* of an array or an object */

    const json *get(const std::string &which) const {
        for (const json &member : members)
            if (member.name == which)
                return &member;
        return nullptr;
    }
    const json &need(const std::string &which) const {
        if (const json *found = get(which))
            return *found;
        tap::bail("vectors: " + which + " is missing");
    }
    const std::string &str(const std::string &which) const { return need(which).text; }
    std::string str(const std::string &which, const std::string &otherwise) const {
        const json *found = get(which);
        return found != nullptr ? found->text : otherwise;
    }
    std::int64_t i64(const std::string &which) const { return std::stoll(str(which)); }
    std::uint64_t u64(const std::string &which, std::uint64_t otherwise) const {
        const json *found = get(which);
        return found != nullptr ? std::stoull(found->text) : otherwise;
    }
};

class json_reader {
  public:
    explicit json_reader(std::string all) : all_(std::move(all)) {}

    json value() {
        json v;
        switch (peek()) {
        case '{':
        case '[':
            members(v, peek() == '{');
            break;
        case '"':
            v.quoted = true;
            v.text = string();
            break;
        default:
            while (at_ < all_.size() &&
                   std::string("+-.0123456789aeflnrstu").find(all_[at_]) != std::string::npos)
                v.text += all_[at_++];
            if (v.text.empty())
                bad("no value");
        }
        return v;
    }

  private:
    [[noreturn]] void bad(const std::string &what) const {
        tap::bail("vectors: " + what + " at byte " + std::to_string(at_));
    }

    char peek() {
        while (at_ < all_.size() && std::string(" \t\r\n").find(all_[at_]) != std::string::npos)
            at_++;
        if (at_ == all_.size())
            bad("the end");
        return all_[at_];
    }

    void expect(char c) {
        if (peek() != c)
            bad("another character was expected");
        at_++;
    }

    std::string string() {
        std::string s;
        expect('"');
        while (all_.at(at_) != '"') {
            if (all_[at_] != '\\') {
                s += all_[at_++];
                continue;
            }
            const std::string escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
            const std::size_t which = escapes.find(all_.at(at_ + 1));
            if (which == std::string::npos)
                bad("an unknown escape");
            s += meant[which];
            at_ += 2;
        }
        at_++;
        return s;
    }

    void members(json &v, bool named) {
        const char end = named ? '}' : ']';
        at_++;
        while (peek() != end) {
            std::string name;
            if (named) {
                name = string();
                expect(':');
            }
            v.members.push_back(value());
            v.members.back().name = name;
            if (peek() != end)
                expect(',');
        }
        at_++;
    }

    std::string all_;
    std::size_t at_ = 0;
};

inline json read_json(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    if (!in)
        tap::bail("cannot open " + path);
    return json_reader(std::string(std::istreambuf_iterator<char>(in), {})).value();
}

#endif
