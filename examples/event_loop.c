/* SPDX-License-Identifier: MIT */
/*
 * event_loop.c - generate IDs in a loop that must not block. Each byte of
 * standard input requests one ID. While the sequence of the tick is used up,
 * requests wait, and a timer wakes the loop to try again.
 *
 * The layout is tiny, so that this happens: 16 IDs in 100 milliseconds.
 *
 *     seq 20 | ./event_loop
 *
 * cc event_loop.c $(pkg-config --cflags --libs sfid)
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sfid.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

static const sfid_layout layout = SFID_LAYOUT(40, 4, 4, 100, SFID_EPOCH_MS);

struct loop {
    sfid *g;
    int timer;
    uint64_t waiting; /* requests that have no ID yet */
    int at_end;       /* no more requests will come */
};

static int give_up(const struct loop *loop, int code) {
    const char *why = sfid_last_error(loop->g);
    fprintf(stderr, "%s\n", why[0] ? why : sfid_strerror(code));
    return -1;
}

static int arm(const struct loop *loop, int ms) {
    /* 0 would disarm it */
    const struct itimerspec when = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L + 1}};
    return timerfd_settime(loop->timer, 0, &when, NULL);
}

/* Answers as many requests as there are IDs for now; the timer brings the loop back for the
 * rest. */
static int answer(struct loop *loop) {
    while (loop->waiting > 0) {
        const int64_t id = sfid_try_next(loop->g); /* never sleeps */
        /* the sequence is used up, or the clock was set back */
        if (id == SFID_EAGAIN || id == SFID_ECLOCK) {
            const int ms = sfid_retry_ms(loop->g);
            return ms < 0 ? give_up(loop, ms) : arm(loop, ms);
        }
        if (id < 0)
            return give_up(loop, (int)id);
        printf("%" PRId64 "\n", id);
        loop->waiting--;
    }
    return 0;
}

/* Reads what poll() reported: requests, or an expired timer. */
static int take(struct loop *loop, const struct pollfd *fds) {
    char requests[64];
    uint64_t expired;
    if (fds[1].revents && read(loop->timer, &expired, sizeof expired) < 0)
        return -1;
    if (!fds[0].revents)
        return 0;
    const ssize_t n = read(STDIN_FILENO, requests, sizeof requests);
    if (n < 0)
        return -1;
    loop->at_end = n == 0;
    loop->waiting += (uint64_t)n;
    return 0;
}

static int run(struct loop *loop) {
    while (loop->waiting > 0 || !loop->at_end) {
        struct pollfd fds[] = {{.fd = loop->at_end ? -1 : STDIN_FILENO, .events = POLLIN},
                               {.fd = loop->timer, .events = POLLIN}};
        if (poll(fds, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            perror("poll");
            return -1;
        }
        if (take(loop, fds) < 0) {
            perror("read");
            return -1;
        }
        if (answer(loop) < 0 || fflush(stdout) != 0)
            return -1;
    }
    return 0;
}

int main(void) {
    struct loop loop = {.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
    sfid_options opt = SFID_OPTIONS_INIT;
    opt.app = "event-loop";
    opt.store = "local";
    opt.layout = &layout;
    if (loop.timer < 0) {
        perror("timerfd_create");
        return 1;
    }
    /* Opening and closing wait for the disk, so both stay outside the loop. */
    const int rc = sfid_open(&loop.g, &opt);
    const int failed = rc < 0 ? give_up(&loop, rc) : run(&loop);
    sfid_close(loop.g);
    close(loop.timer);
    return failed != 0;
}
