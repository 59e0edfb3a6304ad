/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - the simulator beside the kernel: runs the program of tests/proc/kernel.c, joined as
 * the library is, and prints what it prints. What it asks of a system beside the library's calls
 * (tests/support/system.h) is here. Behind it, a loss of power.
 */
#include "sim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>

#define DIR "/state"

static unsigned lines, failed;
static int (*facts)(void);
static void (*stores)(void);
static unsigned (*finds)(void);
static unsigned found[HOSTS];

/* ---- tests/support/tap.h; join takes is_i64 for is_i -------------------------- */

static bool line(bool is, const char *name, va_list ap) {
    failed += !is;
    printf("%s %u - ", is ? "ok" : "not ok", ++lines);
    vprintf(name, ap);
    putchar('\n');
    return is;
}

IMPORT(bool, ok, bool is, const char *name, ...) {
    va_list ap;
    va_start(ap, name);
    line(is, name, ap);
    va_end(ap);
    return is;
}

IMPORT(bool, is_u, uint64_t got, uint64_t want, const char *name, ...) {
    va_list ap;
    va_start(ap, name);
    if (!line(got == want, name, ap))
        printf("# got %" PRIu64 ", want %" PRIu64 "\n", got, want);
    va_end(ap);
    return got == want;
}

IMPORT(bool, is_i, int64_t got, int64_t want, const char *name, ...) {
    va_list ap;
    va_start(ap, name);
    if (!line(got == want, name, ap))
        printf("# got %" PRId64 ", want %" PRId64 "\n", got, want);
    va_end(ap);
    return got == want;
}

IMPORT(int, done_testing, void) {
    printf("1..%u\n", lines);
    return failed != 0;
}

/* ---- tests/support/system.h ---------------------------------------------------- */

static struct process *child(int pid) {
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].pid == pid)
            return &process[i];
    return NULL;
}

IMPORT(int, task_begin, void) { return process_fork(); }

IMPORT(void, task_end, void) {
    me->process->exits = true;
    wait_on(0, FOREVER);
}

IMPORT(void, task_wait, int pid) {
    while (child(pid))
        nap(MS);
}

IMPORT(void, task_kill, int pid) { process_kill(child(pid)); }
IMPORT(void, task_stop, int pid, int ms) { process_stop(child(pid), now_ns + ms * MS); }

IMPORT(void, task_go_on, int pid) {
    const struct process *p = child(pid);
    if (p && p->stopped_till > now_ns)
        nap(p->stopped_till - now_ns);
}

IMPORT(const char *, system_dir, void) { return DIR; }
IMPORT(bool, system_is_layered, void) { return false; }

/* The order is that of enum serving. */
IMPORT(struct sockaddr_in, system_server, int how) {
    here()->cut_till = how == 2 ? now_ns + SECOND : now_ns;
    server[0].down_till = how == 1 ? now_ns + SECOND : now_ns;
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(6379), .sin_addr.s_addr = htonl(0x0a000001)};
}

/* ---- the run ------------------------------------------------------------------------ */

static void *run_facts(void *arg) {
    facts();
    sim_task_end();
    return arg;
}

static void *store_some(void *arg) {
    stores();
    sim_task_end();
    return arg;
}

static void *find_some(void *arg) {
    found[me->process->host] = finds();
    sim_task_end();
    return arg;
}

/* The bits of what is there on all hosts, or on any. */
static unsigned found_on(bool all) {
    unsigned bits = all ? ~0u : 0;
    for (unsigned i = 0; i < hosts; i++)
        bits = all ? bits & found[i] : bits | found[i];
    return bits;
}

static void on_all(void *(*f)(void *)) {
    for (unsigned i = 0; i < hosts; i++)
        process_start((int)i, f, NULL, now_ns);
    turns_run(now_ns + 60 * SECOND);
}

int kernel_compare(void) {
    *(void **)&facts = library_symbol(0, "kernel_facts");
    *(void **)&stores = library_symbol(0, "kernel_stores");
    *(void **)&finds = library_symbol(0, "kernel_finds");
    hosts = HOSTS;
    for (unsigned i = 0; i < hosts; i++)
        host_boot(&host[i], false);
    process_start(0, run_facts, NULL, now_ns);
    turns_run(3600 * SECOND);
    on_all(store_some);
    for (unsigned i = 0; i < hosts; i++)
        host_boot(&host[i], true);
    on_all(find_some);
    printf("power: %x stays, %x may stay\n", found_on(true), found_on(false));
    return failed != 0;
}
