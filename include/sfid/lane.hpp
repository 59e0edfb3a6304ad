/* SPDX-License-Identifier: MIT */
/**
 * sfid/lane.hpp - lanes in C++: runs of IDs of one thread each, which close
 * themselves. The calls here are those of sfid/lane.h, and need the library.
 */
#ifndef SFID_LANE_HPP
#define SFID_LANE_HPP

#include "generator.hpp"
#include "lane.h"

#include <cstdint>
#include <memory>

namespace libsfid {

/** A thread's own run of IDs, as sfid_lane: for one thread at a time. Its generator must stay open
 * while it is used. */
class lane {
  public:
    /** None: every call is errc::closed. */
    lane() noexcept = default;

    /** As sfid_lane_open(). errc::invalid_argument, errc::no_memory. */
    explicit lane(generator &g) {
        if (const int rc = open(g); rc < 0)
            detail::fail(rc, "the lane cannot be opened");
    }
    lane(generator &g, std::error_code &ec) noexcept { ec = detail::code_of(open(g)); }

    /** Generates one ID, as sfid_lane_next(). With ec the ID of a failure is not valid(). */
    [[nodiscard]] id next() {
        const std::int64_t value = sfid_lane_next(lane_.get());
        if (value < 0)
            detail::fail(detail::code_in(value), "the lane generates no ID");
        return id(value);
    }
    [[nodiscard]] id next(std::error_code &ec) {
        const std::int64_t value = sfid_lane_next(lane_.get());
        return detail::failed(detail::code_in(value), ec) ? id() : id(value);
    }

    explicit operator bool() const noexcept { return lane_ != nullptr; }
    ::sfid_lane *get() const noexcept { return lane_.get(); }

  private:
    struct closer {
        void operator()(::sfid_lane *l) const noexcept { sfid_lane_close(l); }
    };

    int open(generator &g) noexcept {
        ::sfid_lane *l = nullptr;
        const int rc = sfid_lane_open(&l, g.get());
        lane_.reset(l);
        return rc;
    }

    std::unique_ptr<::sfid_lane, closer> lane_;
};

} /* namespace libsfid */

#endif
