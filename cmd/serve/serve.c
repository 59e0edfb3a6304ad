/* SPDX-License-Identifier: MIT */
/* serve.c - sfid serve: a daemon that hands out IDs, from its start to its end. */
#include "args/args.h"
#include "args/store.h"
#include "io/say.h"
#include "serve/answer.h"
#include "serve/connection.h"
#include "serve/listen.h"
#include "serve/log.h"
#include "serve/settings.h"
#include "serve/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ACCEPT_AT_ONCE = 64, ACCEPT_PAUSE_MS = 100, TICK_MS = 1000, LOOK_MS = 300 };

static struct {
    uv_loop_t loop;
    uv_signal_t term, interrupt;
    uv_timer_t tick, watchdog, pause, grace;
    uv_poll_t polls[COUNT_OF(listeners)], events;
    int pipe[2]; /* events of the library's thread, to the loop */
    bool ready;  /* as last reported */
} daemon_;

/* Tries to open the generator; of the last one, once it is over, what came of it. */
static struct {
    uv_thread_t thread;
    uv_async_t tried;
    bool under_way;
    sfid *g;
    int code;
    bool waits; /* the server does not know the app, so a later try may find a pid */
} opening;

static void on_nothing(uv_handle_t *handle) { (void)handle; }

/* ---- events of the generator ---------------------------------------------------- */

/* Written and read as a whole: a pipe does not tear up to PIPE_BUF bytes. */
struct heard {
    sfid_event_kind kind;
    int64_t pid;
    char text[512];
};

static void hear_serve(void *user, const sfid_event *event) {
    struct heard heard = {.kind = event->kind, .pid = event->pid};
    (void)user;
    if ((int)event->kind < SFID_EVENT_KINDS)
        /* statistic */
        atomic_fetch_add_explicit(&state.events[event->kind], 1, memory_order_relaxed);
    snprintf(heard.text, sizeof heard.text, "%s", event->text);
    if (write(daemon_.pipe[1], &heard, sizeof heard) < 0)
        return; /* the loop is far behind; /metrics shows what counts */
}

static void on_heard(uv_poll_t *poll, int status, int events) {
    static const char keys[SFID_EVENT_KINDS];
    struct heard heard;
    (void)poll, (void)status, (void)events;
    while (read(daemon_.pipe[0], &heard, sizeof heard) == (ssize_t)sizeof heard) {
        const char *name = sfid_event_name(heard.kind);
        log_keyed(name ? sfid_event_level(heard.kind) : LOG_NOTICE,
                  &keys[(int)heard.kind < SFID_EVENT_KINDS ? heard.kind : 0], "%s: %s",
                  name ? name : "EVENT", heard.text);
    }
}

/* ---- accepting --------------------------------------------------------------------- */

static void on_accept(uv_poll_t *poll, int status, int events);

static void watch_listeners(void) {
    for (int i = 0; i < listener_count; i++)
        uv_poll_start(&daemon_.polls[i], UV_READABLE, on_accept);
}

static void on_pause_over(uv_timer_t *timer) {
    (void)timer;
    if (!state.stopping)
        watch_listeners();
}

/* Without descriptors or memory the listeners stay readable, and the loop would spin. */
static void pause_accepting(int why) {
    log_line(LOG_WARNING, "connections cannot be accepted: %s", strerror(why));
    if (state.stopping)
        return;
    for (int i = 0; i < listener_count; i++)
        uv_poll_stop(&daemon_.polls[i]);
    uv_timer_start(&daemon_.pause, on_pause_over, ACCEPT_PAUSE_MS, 0);
}

/* Returns whether there may be more to accept. */
static bool accept_from(const struct listener *listener) {
    for (int i = 0; i < ACCEPT_AT_ONCE; i++) {
        struct listen_address from = {.len = sizeof from.un};
        const int fd = accept(listener->fd, &from.any, &from.len), why = fd < 0 ? errno : 0;
        if (fd >= 0)
            connection_open(fd, &from, listener->local);
        else if (why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS)
            pause_accepting(why);
        if (fd < 0 && why != ECONNABORTED && why != EINTR)
            return false;
    }
    return true;
}

static void on_accept(uv_poll_t *poll, int status, int events) {
    (void)status, (void)events;
    accept_from(poll->data);
}

/* ---- each second --------------------------------------------------------------------- */

static void report_ready(bool ready) {
    sfid_status_info info;
    daemon_.ready = ready;
    source_status(&info);
    if (ready) {
        notify("STATUS=issuing IDs, pid %" PRId64 "\n", info.pid);
        log_line(LOG_NOTICE, "IDs can be issued, pid %" PRId64, info.pid);
    } else {
        const char *why = source_error();
        notify("STATUS=no IDs can be issued: %s\n", why);
        log_line(LOG_ERROR, "no IDs can be issued%s%s", why[0] ? ": " : "", why);
    }
}

static void on_tick(uv_timer_t *timer) {
    (void)timer;
    http_clock();
    log_tick();
    const bool ready = source_ready();
    if (ready != daemon_.ready && !state.stopping)
        report_ready(ready);
}

static void on_watchdog(uv_timer_t *timer) {
    (void)timer;
    notify("WATCHDOG=1\n");
}

/* ---- the end -------------------------------------------------------------------------- */

static void on_empty(void) { uv_stop(&daemon_.loop); }

static void on_grace_over(uv_timer_t *timer) {
    (void)timer;
    if (state.connections > 0)
        log_line(LOG_WARNING, "%" PRIu64 " connections were closed with requests under way",
                 state.connections);
    uv_stop(&daemon_.loop);
}

/*
 * Connections that wait in a socket of our own are taken, since closing it
 * resets them. Those of a passed socket wait for the next start.
 */
static void close_listeners(void) {
    for (int i = 0; i < listener_count; i++) {
        uv_poll_stop(&daemon_.polls[i]);
        while (!listeners[i].passed && accept_from(&listeners[i]))
            ;
        uv_close((uv_handle_t *)&daemon_.polls[i], on_nothing);
        listen_close(&listeners[i]);
    }
    uv_timer_stop(&daemon_.pause);
    listener_count = 0;
}

static void on_stop(uv_signal_t *handle, int signal) {
    (void)handle;
    if (state.stopping) {
        uv_stop(&daemon_.loop);
        return;
    }
    notify("STOPPING=1\nSTATUS=stopping\n");
    log_line(LOG_NOTICE, "stopping on %s: %" PRIu64 " connections",
             signal == SIGTERM ? "SIGTERM" : "SIGINT", state.connections);
    state.stopping = true;
    close_listeners();
    uv_timer_start(&daemon_.grace, on_grace_over, settings.grace_ms, 0);
    connections_finish();
}

/* ---- the start -------------------------------------------------------------------------- */

/* Lines that say what is served. */
static void report_start(void) {
    char list[512] = "";
    for (int i = 0; i < listener_count; i++) {
        const size_t len = strlen(list);
        snprintf(list + len, sizeof list - len, "%s%s", i == 0 ? "" : " ", listeners[i].name);
    }
    log_line(LOG_NOTICE,
             "ready: %s, app %s, pid %" PRId64 ", layout %s, at most %" PRIu64 " IDs a second",
             list, settings.opt.app ? settings.opt.app : "-", source_pid(), source_layout(),
             source_rate());
    if (settings.local)
        log_line(LOG_NOTICE, "pids come from store local: IDs are unique on this host only");
    daemon_.ready = true;
    notify("READY=1\nSTATUS=issuing IDs, pid %" PRId64 "\n", source_pid());
}

/* In a thread of its own, since the loop answers meanwhile. Looked before the try: afterwards the
 * wait may just be over. */
static void try_open(void *unused) {
    (void)unused;
    const uint64_t began_ns = uv_hrtime();
    /* a server that is silent is not to be waited for twice */
    const bool known = source_waits_for_app(LOOK_MS, &opening.waits);
    opening.code = source_open(&opening.g, (uv_hrtime() - began_ns) / 1000000, hear_serve);
    if (opening.code == SFID_ENOPID && !known)
        source_waits_for_app(settings.opt.open_timeout_ms, &opening.waits);
    uv_async_send(&opening.tried);
}

static void begin_try(void) {
    opening.code = SFID_ENOMEM; /* no thread: the loop ends */
    opening.under_way = uv_thread_create(&opening.thread, try_open, NULL) == 0;
    if (!opening.under_way)
        uv_stop(&daemon_.loop);
}

/* After it opening.g belongs to this thread. */
static void end_try(void) {
    if (opening.under_way)
        uv_thread_join(&opening.thread);
    opening.under_way = false;
}

/* The lease that an unknown app waits for may take a minute; the service manager has to know. */
static void on_tried(uv_async_t *tried) {
    (void)tried;
    end_try();
    if (state.stopping)
        return;
    if (opening.code == 0) {
        source_use(opening.g);
        report_start();
    } else if (opening.code != SFID_ENOPID || !opening.waits) {
        uv_stop(&daemon_.loop);
    } else {
        const char *why = sfid_last_error(opening.g);
        log_line(LOG_NOTICE, "waiting for a pid: %s", why);
        notify("EXTEND_TIMEOUT_USEC=%" PRIu64 "\nSTATUS=waiting for a pid: %s\n",
               (UINT64_C(2) * settings.opt.open_timeout_ms + 10000) * 1000, why);
        begin_try();
    }
}

static void begin_loop(void) {
    uv_loop_init(&daemon_.loop);
    uv_signal_init(&daemon_.loop, &daemon_.term);
    uv_signal_init(&daemon_.loop, &daemon_.interrupt);
    uv_timer_init(&daemon_.loop, &daemon_.tick);
    uv_timer_init(&daemon_.loop, &daemon_.watchdog);
    uv_timer_init(&daemon_.loop, &daemon_.pause);
    uv_timer_init(&daemon_.loop, &daemon_.grace);
    for (int i = 0; i < listener_count; i++) {
        uv_poll_init(&daemon_.loop, &daemon_.polls[i], listeners[i].fd);
        daemon_.polls[i].data = &listeners[i];
    }
    uv_async_init(&daemon_.loop, &opening.tried, on_tried);
    connections_begin(&daemon_.loop, on_empty);
    signal(SIGHUP, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    uv_signal_start(&daemon_.term, on_stop, SIGTERM);
    uv_signal_start(&daemon_.interrupt, on_stop, SIGINT);
}

static bool begin_events(void) {
    if (pipe(daemon_.pipe) < 0 || fcntl(daemon_.pipe[1], F_SETFL, O_NONBLOCK) < 0)
        return false;
    uv_poll_init(&daemon_.loop, &daemon_.events, daemon_.pipe[0]);
    uv_poll_start(&daemon_.events, UV_READABLE, on_heard);
    return true;
}

static int fail_open(int code) {
    const int status = store_failure(code, sfid_last_error(opening.g));
    sfid_close(opening.g);
    while (listener_count > 0)
        listen_close(&listeners[--listener_count]);
    return status;
}

static void run_loop(uint64_t watchdog_ms) {
    source_prepare();
    http_clock();
    watch_listeners();
    uv_timer_start(&daemon_.tick, on_tick, TICK_MS, TICK_MS);
    if (watchdog_ms > 0)
        uv_timer_start(&daemon_.watchdog, on_watchdog, watchdog_ms, watchdog_ms);
    begin_try();
    uv_run(&daemon_.loop, UV_RUN_DEFAULT);
    connections_drop();
    end_try();
}

static int run_serve(const struct args *args) {
    int status = settings_read(args);
    if (status == STATUS_GOOD)
        status = listen_open();
    if (status != STATUS_GOOD)
        return status;
    log_begin();
    const uint64_t watchdog_ms = notify_begin();
    begin_loop();
    if (!begin_events())
        return fail_open(SFID_ENOMEM);
    run_loop(watchdog_ms);
    if (opening.code < 0 && !state.stopping)
        return fail_open(opening.code);
    sfid_close(opening.g); /* gives the pid back, with the exact position */
    on_heard(&daemon_.events, 0, 0);
    log_line(LOG_NOTICE, "stopped: %" PRIu64 " IDs were issued", state.issued);
    return STATUS_GOOD;
}

const struct command command_serve = {
    .name = "serve",
    .synopsis =
        "[--listen ADDRESS]... [--expose] [--protocols LIST] [--mode OCTAL] --app APP [--store STORE | --pid PID] "
        "[--layout LAYOUT] [--format dec|hex|base62|base32|base58|uuid] "
        "[--mac ADDRESS] [--region REGION] [--ip ADDRESS | --interface NAME] [--ec2] [--run-dir DIR] [--state-dir DIR] "
        "[--ttl-ms MS] [--short-ms MS] [--skew-budget-ms MS] [--timeout-ms MS] [--max-ids N] [--max-connections N] "
        "[--max-per-address N] "
        "[--max-memory BYTES] [--wait-ms MS] [--request-ms MS] [--idle-ms MS] [--grace-ms MS] "
        "[--integers auto|always|never] [--access-log]",
    .summary = "serve IDs over HTTP, RESP and flakeid's frames",
    .about =
        "Holds one generator and hands out its IDs to programs in any language. Each address takes all\n"
        "three protocols: HTTP (GET /id, /ids?n=N), RESP (SFID.NEXT [N], for every Redis client) and\n"
        "flakeid's frames. It runs in the foreground until TERM or INT. Then it answers requests\n"
        "that have begun and releases its pid; the next start goes on at the next ID.\n\n"
        "APP is needed unless the layout names the host (flake, flake-go, awsflake). IDs of store\n"
        "local are unique on this host only. There are no passwords and no TLS: without --expose only\n"
        "loopback addresses and Unix sockets are allowed. Put a proxy in front of other addresses.\n\n"
        "Layout sfid gives 131072 IDs a second in all; twitter gives 4 M a second.\n",
    .options = serve_options,
    .run = run_serve,
};
