/* SPDX-License-Identifier: MIT */
#include "support/fleet.h"

/* ---- servers ------------------------------------------------------------ */

struct servers servers;

void servers_find(void) { servers.n = redis_installed_ones(servers.installed, COUNT_OF(servers.installed)); }

void on_servers(unsigned number, unsigned flags, void (*test)(struct redis *r)) {
    for (size_t i = 0; i < servers.n; i++) {
        struct redis r;
        if (!getenv("SFID_TEST_LONG") && i != number % servers.n)
            continue;
        redis_start(&r, servers.installed[i], "fleet", flags, NULL);
        diag("%s", servers.installed[i]);
        test(&r);
        redis_kill(&r);
    }
}

void fleet_timeout(sfid_options *opt, const struct redis *r, unsigned ms) {
    static char stores[64][180];
    static unsigned used;
    char *store = stores[used++ % COUNT_OF(stores)];
    snprintf(store, sizeof stores[0], "unix://%s?timeout=%ums&connect_timeout=%ums", r->socket, ms, ms);
    opt->store = store;
}

sfid_options fleet_options(const struct redis *r, const char *app, const sfid_layout *l) {
    sfid_options opt = options_of(app, -1, l);
    fleet_timeout(&opt, r, 300);
    opt.pid_min = 1;
    opt.pid_max = (int64_t)l->max_pid;
    opt.ttl_ms = 4000;
    opt.heartbeat_ms = 1000;
    opt.skew_budget_ms = 50; /* a server that forgets ends no lease even of 1 s (heartbeat 300) */
    opt.open_timeout_ms = patience(5000);
    opt.on_unknown = SFID_TRUST;
    return opt;
}

void on_host(sfid_options *opt, unsigned number) {
    static char paths[16][2][4300];
    char(*both)[4300] = paths[number % COUNT_OF(paths)];
    snprintf(both[0], sizeof both[0], "%s/host-%u", dirs.shm, number);
    snprintf(both[1], sizeof both[1], "%s-%u", dirs.state, number);
    opt->run_dir = both[0];
    opt->state_dir = both[1];
}

static bool is_known(void *opt) {
    char why[SFID_WHY_LEN];
    const int rc = sfid_app_init(opt, 0, NULL, why, sizeof why);
    if (rc != 0)
        diag("init: %s", why);
    return rc == 0;
}

void fleet_app_init(const sfid_options *opt) {
    must(tap_wait_until(is_known, (void *)opt, patience(5000)), "an app cannot be made known");
}

static uint64_t count_in(const char *stats, const char *name) {
    const char *at = strstr(stats, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

uint64_t evals(struct redis *r) {
    char eval[200], sha[200];
    redis_info(r, "commandstats", "cmdstat_eval", eval, sizeof eval);
    redis_info(r, "commandstats", "cmdstat_evalsha", sha, sizeof sha);
    return count_in(eval, "calls=") + count_in(sha, "calls=") - count_in(sha, ",failed_calls=");
}

const char *record_of(struct redis *r, const char *app, int64_t pid, char line[RECORD]) {
    char key[100], field[24];
    snprintf(key, sizeof key, "sfid:%s", app);
    snprintf(field, sizeof field, "%" PRId64, pid);
    snprintf(line, RECORD, "%s", redis_text(r, "HGET", key, field, NULL));
    return line;
}

bool is_released(const char *record) {
    const size_t n = strspn(record, "0123456789");
    return n >= 11 && record[n] == 0;
}

char *files_text(const char *const *names) {
    char *text = NULL, path[4400];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (; out && *names; names++) {
        snprintf(path, sizeof path, "%s/%s", getenv("srcdir") ? getenv("srcdir") : "..", *names);
        FILE *in = fopen(path, "re");
        need(in != NULL, "%s: %s", path, strerror(errno));
        for (int c = getc(in); c != EOF; c = getc(in))
            putc(c, out);
        fclose(in);
    }
    need(out != NULL && fclose(out) == 0, "out of memory");
    return text;
}

size_t registration_of(const char *app, int64_t pid, char key[100]) {
    const int n = snprintf(key, 98, "sfid:%s:", app);
    key[n] = (char)(pid & 0xff);
    key[n + 1] = (char)(pid >> 8 & 0xff);
    return (size_t)n + 2;
}

const char *registration_text(struct redis *r, const char *command, const char *app, int64_t pid) {
    char key[100];
    const size_t sizes[] = {strlen(command), registration_of(app, pid, key)};
    return redis_text_n(r, 2, (const char *const[]){command, key}, sizes);
}

/* ---- a member ----------------------------------------------------------- */

/* Counts the processes of all members of a test. */
static _Atomic uint64_t *processes;

/* ---- inside a member ----------------------------------------------------- */

struct recorder recorder;

static uint64_t text_hash(const char *text, uint64_t hash) {
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return hash;
}

/* Records the window if it has changed, also one that is over: its IDs can still be given back. Needs the lock. */
static void recorder_note(struct recorder *w, uint64_t flags) {
    sfid_status_info st;
    if (sfid_status(w->g, &st) != 0 || st.pid < 0)
        return;
    const struct winlog_window now = {(uint64_t)st.pid, st.first_tick, st.limit_tick, w->holder, flags};
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

/* Records an ID's window before the ID is logged, so that a kill in between leaves nothing unexplained. */
static void recorder_id(struct recorder *w, const sfid_layout *l, int64_t id) {
    pthread_mutex_lock(&w->lock);
    const struct winlog_window *last = &w->last;
    if ((uint64_t)id_pid(l, id) != last->pid || id_tick(l, id) < last->first || id_tick(l, id) >= last->limit)
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
    must(stat(w->m->opt.run_dir, &st) >= 0 && sfid_status(g, &status) == 0, "%s: %s", w->m->opt.run_dir, strerror(errno));
    w->holder =
        text_hash(w->m->by_slot ? strrchr(status.identity, ':') : status.identity, (uint64_t)st.st_dev * 1000003 + st.st_ino);
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
    *seen = (struct seen){e->kind, e->code, e->pid, e->value, mono_ns(), ""};
    snprintf(seen->text, sizeof seen->text, "%s", e->text);
    atomic_store(&m->events, n + 1);
    if ((unsigned)e->kind < SFID_EVENT_KINDS)
        atomic_fetch_add(&m->of_kind[e->kind], 1);
    let_go();
}

void member_note(struct member *m, struct idlog *log, int64_t id) {
    const sfid_layout *l = m->noted ? m->noted : m->opt.layout;
    if (id < 0) {
        atomic_store(&m->error, id);
        atomic_store(&m->error_at_ns, mono_ns());
        atomic_fetch_add(&m->errors, 1);
        return;
    }
    recorder_id(&recorder, l, id);
    idlog_put(log, id);
    int64_t none = 0;
    if (atomic_load(&m->first_id) == 0 && atomic_compare_exchange_strong(&m->first_id, &none, id))
        atomic_store(&m->first_ns, mono_ns() - recorder.begin_ns);
    atomic_store(&m->last_id, id);
    atomic_store(&m->pid, id_pid(l, id));
    atomic_store(&m->ok_at_ns, mono_ns());
    atomic_fetch_add(&m->ids, 1);
}

void member_log(struct idlog *log, uint64_t room, unsigned thread) {
    log_start(log, room, recorder.process, IDLOG_ANY_PID, "ids-%" PRIu64 "-%u", recorder.process, thread);
    log->head->process = recorder.process;
}

/* The longest gap is shared with the test, which may be another process. */
static void lock_gap(struct member *m) {
    while (atomic_flag_test_and_set_explicit(&m->gap_lock, memory_order_acquire)) /* of the release in free_gap() */
        nap_us(50);
}

static void free_gap(struct member *m) { atomic_flag_clear_explicit(&m->gap_lock, memory_order_release); /* to lock_gap() */ }

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
    recorder.begin_ns = mono_ns();
    m->rc = sfid_open(g, &opt);
    m->open_ns = mono_ns() - recorder.begin_ns;
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
    m->close_ns = mono_ns() - begin;
    m->close = took_since(begin / NS_PER_MS);
    atomic_store(&m->closed, 1);
}

static int member_live(void *arg) {
    struct member *m = arg;
    pthread_t threads[MOST_THREADS];
    sfid *g = NULL;
    if (m->prepare)
        m->prepare(m);
    witness_begin();
    atomic_store(&m->ready, 1);
    if (m->waits && !flag_wait(&m->may_open, 1, patience(60000)))
        return DIED;
    member_open(m, &g);
    if (m->rc == 0 && m->closes_fds)
        close_range(3, ~0U, 0);
    for (unsigned i = 0; m->rc == 0 && i < m->threads; i++)
        start_thread(&threads[i], member_draw, (void *)(uintptr_t)i);
    atomic_store(&m->opened, 1);
    while (!atomic_load(&m->may_end))
        nap_us(500);
    for (unsigned i = 0; m->rc == 0 && i < m->threads; i++)
        pthread_join(threads[i], NULL);
    if (!m->leaves)
        member_close(m, g);
    return 0;
}

/* ---- the test's side ------------------------------------------------------ */

struct member *members_new(size_t n, const sfid_options *opt) {
    struct member *all = shared_memory(n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        all[i].opt = *opt;
        all[i].threads = 1;
        all[i].burst = 8;
        all[i].nap_us = 2000;
        atomic_store(&all[i].may_draw, 1);
    }
    return all;
}

void member_start(struct member *m) {
    const size_t told = offsetof(struct member, may_end);
    memset((char *)m + told, 0, sizeof *m - told);
    m->child = child_start(m->live ? m->live : member_live, m);
}

int member_open_one(struct member *m) {
    member_start(m);
    must(flag_wait(&m->opened, 1, m->opt.open_timeout_ms + patience(10000)), "a member does not open");
    return m->rc;
}

void member_open_or_die(struct member *m) { must(member_open_one(m) == 0, "open: %s", m->text); }

struct member *member_drawing(const sfid_options *opt) {
    struct member *m = members_new(1, opt);
    member_open_or_die(m);
    must(member_draws(m, 1, patience(5000)), "a member does not draw: %" PRIi64 " calls failed, the last one with %" PRIi64,
         atomic_load(&m->errors), atomic_load(&m->error));
    return m;
}

bool member_opens(struct member *m, unsigned limit_ms) {
    const bool done = flag_wait(&m->opened, 1, patience(limit_ms));
    if (done && m->rc == 0)
        return true;
    diag("%s: %s", m->name, done ? m->text : "sfid_open() has not come back");
    return false;
}

int member_end(struct member *m) {
    atomic_store(&m->may_end, 1);
    if (m->child != 0)
        m->ended = child_wait(m->child, patience(30000));
    m->child = 0;
    if (m->ended != 0)
        diag("%s: ended with %d", m->name, m->ended);
    return m->ended;
}

void member_kill(struct member *m) {
    child_kill(m->child);
    m->child = 0;
}

void member_stop(const struct member *m) { kill(m->child, SIGSTOP); }

void member_go_on(const struct member *m) { kill(m->child, SIGCONT); }

void member_forget(struct member *m) {
    lock_gap(m);
    m->gap = (struct took){0, 0};
    free_gap(m);
    atomic_store(&m->gap_ms, 0);
    atomic_store(&m->errors, 0);
    atomic_store(&m->error, 0);
}

/* Waits until the member has generated this many more IDs. */
struct more_wait {
    const struct member *m;
    int64_t ids;
};

static bool more_drawn(void *arg) {
    const struct more_wait *w = arg;
    return atomic_load(&w->m->ids) >= w->ids;
}

bool member_draws(const struct member *m, int64_t ids, unsigned limit_ms) {
    return tap_wait_until(more_drawn, &(struct more_wait){m, atomic_load(&m->ids) + ids}, limit_ms);
}

/* Waits until one more call has failed. */
static bool error_came(void *arg) {
    const struct more_wait *w = arg;
    return atomic_load(&w->m->errors) >= w->ids;
}

bool member_fails(const struct member *m, unsigned limit_ms) {
    return tap_wait_until(error_came, &(struct more_wait){m, atomic_load(&m->errors) + 1}, limit_ms);
}

/* Waits for an event, from event number `from` on. found stays NULL if none comes. */
struct event_wait {
    const struct member *m;
    sfid_event_kind kind;
    int from, code; /* code: 0 any */
    const char *words, *server;
    const struct seen *found;
};

static bool event_came(void *arg) {
    struct event_wait *w = arg;
    const int n = atomic_load(&w->m->events);
    for (; w->from < n && w->found == NULL; w->from++) {
        const struct seen *e = &w->m->seen[w->from % EVENTS_KEPT];
        if (e->kind == w->kind && (w->code == 0 || e->code == w->code) && strstr(e->text, w->words) && strstr(e->text, w->server))
            w->found = e;
    }
    return w->found != NULL;
}

const struct seen *member_event(const struct member *m, sfid_event_kind kind, int from, unsigned limit_ms) {
    struct event_wait w = {m, kind, from, 0, "", "", NULL};
    tap_wait_until(event_came, &w, limit_ms);
    return w.found;
}

const struct seen *member_told(const struct member *m, int from, int code, const char *words, const char *server) {
    struct event_wait w = {m, SFID_EVENT_RENEW_FAILED, from, code, words, server, NULL};
    if (!tap_wait_until(event_came, &w, patience(6000)))
        diag("%s: no renewal failed with %d, \"%s\" and \"%s\"", m->name, code, words, server);
    return w.found;
}

int events_of(const struct member *m, sfid_event_kind kind) { return atomic_load(&m->of_kind[kind]); }

bool member_had(struct member *m, sfid_event_kind kind, int least, unsigned limit_ms) {
    return flag_wait(&m->of_kind[kind], least, patience(limit_ms));
}

sfid_layout layout;

uint64_t fleet_begin(const char *layout_text) {
    layout = layout_of(layout_text);
    dirs_make();
    witness_disk();
    witness_begin();
    servers_find();
    processes = shared_memory(sizeof *processes);
    need(pthread_atfork(hold, let_go, let_go) == 0, "no memory");
    return seed();
}

int fleet_main(const char *layout_text, unsigned number, unsigned flags, void (*test)(struct redis *r)) {
    fleet_begin(layout_text);
    on_servers(number, flags, test);
    return done_testing();
}

sfid_options fleet_lease(const struct redis *r, const char *app, uint32_t ttl_ms, uint32_t heartbeat_ms) {
    sfid_options opt = fleet_options(r, app, &layout);
    opt.ttl_ms = ttl_ms;
    opt.heartbeat_ms = heartbeat_ms;
    return opt;
}
