/* SPDX-License-Identifier: MIT */
/* member.c - what a member of a fleet does, for fleet.h. */
#include "support/fleet.h"

#include "support/retake.h"

enum { NAP_MS = 2 };

/* Counts the processes of all members of a test. */
static _Atomic uint64_t *processes;

struct recorder recorder;

static uint64_t text_hash(const char *text, uint64_t hash) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Records the window if it has changed, also one that is over: its IDs can still be given back.
 * Needs the lock. */
static void recorder_note(struct recorder *w, uint64_t flags) {
    sfid_status_info st;
    if (sfid_status(w->g, &st) != 0 || st.pid < 0)
        return;
    const struct winlog_window now = {(uint64_t)st.pid, st.first_tick, st.limit_tick, w->holder,
                                      flags};
    if (memcmp(&now, &w->last, sizeof now) == 0)
        return;
    w->last = now;
    atomic_store(&w->m->limit, now.limit);
    winlog_put(&w->log, &now);
}

static void recorder_look(struct recorder *w, uint64_t flags) {
    pthread_mutex_lock(&w->lock);
    if (w->log.head)
        recorder_note(w, flags);
    pthread_mutex_unlock(&w->lock);
}

/* Records an ID's window before the ID is logged, so that a kill in between leaves nothing
 * unexplained. */
static void recorder_id(struct recorder *w, const sfid_layout *l, int64_t id) {
    pthread_mutex_lock(&w->lock);
    const struct winlog_window *last = &w->last;
    if ((uint64_t)id_pid(l, id) != last->pid || id_tick(l, id) < last->first ||
        id_tick(l, id) >= last->limit)
        recorder_note(w, 0);
    pthread_mutex_unlock(&w->lock);
}

void recorder_prepare(struct recorder *w, struct member *m) {
    memset(w, 0, sizeof *w);
    w->m = m;
    pthread_mutex_init(&w->lock, NULL);
}

void recorder_begin(struct recorder *w, sfid *g) {
    char path[4400];
    struct stat st;
    sfid_status_info status;
    w->process = atomic_fetch_add(processes, 1) + 1;
    snprintf(path, sizeof path, "%s/windows-%" PRIu64, dirs.logs, w->process);
    pthread_mutex_lock(&w->lock);
    w->last = (struct winlog_window){.pid = UINT64_MAX};
    must(stat(w->m->opt.run_dir, &st) >= 0 && sfid_status(g, &status) == 0, "%s: %s",
         w->m->opt.run_dir, strerror(errno));
    w->holder = text_hash(w->m->by_slot ? strrchr(status.identity, ':') : status.identity,
                          (uint64_t)st.st_dev * 1000003 + st.st_ino);
    must(winlog_open(&w->log, path, WINDOWS_ROOM, w->process), "%s: %s", path, strerror(errno));
    atomic_store(&w->g, g);
    recorder_note(w, 0);
    pthread_mutex_unlock(&w->lock);
}

/* Threads of two shared pages may be here at once; a member may fork meanwhile. */
static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER;
static void hold(void) { pthread_mutex_lock(&hearing); }
static void let_go(void) { pthread_mutex_unlock(&hearing); }

static void hear(void *user, const sfid_event *e) {
    struct recorder *w = user;
    struct member *m = w->m;
    hold();
    const int n = atomic_load(&m->events);
    if (atomic_load(&w->g))
        recorder_look(w, 0);
    struct seen *seen = &m->seen[n % EVENTS_KEPT];
    sfid_status_info st = {.window_ms = -1};
    if (atomic_load(&w->g))
        sfid_status(atomic_load(&w->g), &st);
    *seen = (struct seen){e->kind, e->code, e->pid, e->value, mono_ns(), st.window_ms, ""};
    snprintf(seen->text, sizeof seen->text, "%s", e->text);
    atomic_store(&m->events, n + 1);
    if ((unsigned)e->kind < SFID_EVENT_KINDS)
        atomic_fetch_add(&m->of_kind[e->kind], 1);
    let_go();
}

void member_note(struct member *m, struct idlog *log, int64_t id) {
    const sfid_layout *l = m->noted ? m->noted : m->opt.layout;
    if (id < 0) {
        int64_t never = 0;
        atomic_compare_exchange_strong(&m->failed_at_ns, &never, mono_ns());
        atomic_store(&m->error, id);
        atomic_fetch_add(&m->errors, 1);
        return;
    }
    recorder_id(&recorder, l, id);
    idlog_put(log, id);
    int64_t none = 0;
    if (atomic_load(&m->first_id) == 0 && atomic_compare_exchange_strong(&m->first_id, &none, id))
        m->first = took_since(recorder.begin_ns / NS_PER_MS);
    atomic_store(&m->last_id, id);
    atomic_store(&m->pid, id_pid(l, id));
    atomic_fetch_add(&m->ids, 1);
}

void member_log(struct idlog *log, uint64_t room, unsigned thread) {
    log_start(log, room, recorder.process, IDLOG_ANY_PID, "ids-%" PRIu64 "-%u", recorder.process,
              thread);
    log->head->process = recorder.process;
}

/* The longest gap is shared with the test, which may be another process. */
static void lock_gap(struct member *m) {
    /* of the release in free_gap() */
    while (atomic_flag_test_and_set_explicit(&m->gap_lock, memory_order_acquire))
        nap_us(50);
}

static void free_gap(struct member *m) {
    atomic_flag_clear_explicit(&m->gap_lock, memory_order_release); /* to lock_gap() */
}

static void note_gap(struct member *m, int64_t from_ns, int64_t to_ns) {
    const int64_t ms = (to_ns - from_ns) / NS_PER_MS;
    if (ms <= atomic_load(&m->gap_ms))
        return;
    const struct took took = took_between(from_ns / NS_PER_MS, to_ns / NS_PER_MS);
    raise_to(&m->gap_ms, ms);
    lock_gap(m);
    m->gap = took_longer(m->gap, took);
    free_gap(m);
}

struct took member_gap(const struct member *m) {
    struct member *shared = (struct member *)m;
    lock_gap(shared);
    const struct took gap = m->gap;
    free_gap(shared);
    return gap;
}

void member_forget(struct member *m) {
    lock_gap(m);
    m->gap = (struct took){0, 0};
    free_gap(m);
    atomic_store(&m->gap_ms, 0);
    atomic_store(&m->failed_at_ns, 0);
    atomic_store(&m->errors, 0);
    atomic_store(&m->error, 0);
}

bool member_is_well(const struct member *m, const char *what) {
    if (!is_i64(atomic_load(&m->errors), 0, "%s: no call failed", what))
        diag("%s", sfid_strerror((int)atomic_load(&m->error)));
    return in_time(member_gap(m), CALL_MS, "%s: and none waited for a window", what) &&
           atomic_load(&m->errors) == 0;
}

static void *member_draw(void *arg) {
    struct member *m = recorder.m;
    const unsigned number = (unsigned)(uintptr_t)arg;
    uint64_t rng = recorder.process * 1000 + number;
    struct idlog log;
    member_log(&log, 1 << 19, number);
    int64_t last = mono_ns();
    while (!atomic_load(&m->may_end)) {
        for (unsigned i = 0; i < m->burst && atomic_load(&m->may_draw) && !idlog_full(&log); i++) {
            const int64_t id = sfid_next(recorder.g), now = mono_ns();
            member_note(m, &log, id);
            if (id < 0)
                continue;
            note_gap(m, last, now);
            last = now;
        }
        nap_us(m->nap_us + (long)(draw_random(&rng) % (uint64_t)(m->nap_us + 1)));
    }
    note_gap(m, last, mono_ns());
    idlog_close(&log);
    return NULL;
}

void member_open(struct member *m, sfid **g) {
    sfid_options opt = m->opt;
    recorder_prepare(&recorder, m);
    opt.on_event = hear;
    opt.user = &recorder;
    witness_begin();
    recorder.begin_ns = mono_ns();
    m->rc = sfid_open(g, &opt);
    m->open = took_since(recorder.begin_ns / NS_PER_MS);
    snprintf(m->text, sizeof m->text, "%s", sfid_last_error(*g));
    atomic_store(&m->pid, sfid_pid(*g));
    if (m->rc == 0)
        recorder_begin(&recorder, *g);
    m->process = recorder.process;
}

void member_close(struct member *m, sfid *g) {
    sfid_status(g, &m->status);
    recorder_look(&recorder, WINLOG_GIVEN_BACK);
    const int64_t begin = mono_ns();
    sfid_close(g);
    m->close = took_since(begin / NS_PER_MS);
    atomic_store(&m->closed, 1);
}

/* Notes how late it wakes. A member that the test had stopped was not late. */
static void wait_for_end(const struct member *m) {
    while (!atomic_load(&m->may_end)) {
        const int stops = atomic_load(&m->stops);
        const int64_t before = tap_now_ms();
        nap_us(NAP_MS * 1000);
        const int64_t late_ms = tap_now_ms() - before - NAP_MS;
        if (stops == atomic_load(&m->stops))
            retake_note(late_ms);
    }
}

int member_live(void *arg) {
    struct member *m = arg;
    pthread_t threads[MOST_THREADS];
    sfid *g = NULL;
    if (m->prepare)
        m->prepare(m);
    witness_begin();
    atomic_store(&m->ready, 1);
    if (m->waits && !flag_wait(&m->may_open, 1, TAP_WAIT_MS))
        return DIED;
    member_open(m, &g);
    if (m->rc == 0 && m->closes_fds)
        close_range(3, ~0U, 0);
    for (unsigned i = 0; m->rc == 0 && i < m->threads; i++)
        start_thread(&threads[i], member_draw, (void *)(uintptr_t)i);
    atomic_store(&m->opened, 1);
    wait_for_end(m);
    for (unsigned i = 0; m->rc == 0 && i < m->threads; i++)
        pthread_join(threads[i], NULL);
    if (!m->leaves)
        member_close(m, g);
    return 0;
}

void members_begin(void) {
    processes = shared_memory(sizeof *processes);
    need(pthread_atfork(hold, let_go, let_go) == 0, "no memory");
}
