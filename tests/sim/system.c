/* SPDX-License-Identifier: MIT */
/* system.c - clocks, names, memory, and what else the library asks of its host. */
#include "sim.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <link.h>
#include <netdb.h>
#include <stdarg.h>
#include <sys/resource.h>

/* ---- time ------------------------------------------------------------------------------- */

static struct timespec spec(int64_t ns) { return (struct timespec){ns / SECOND, ns % SECOND}; }

IMPORT(int, clock_gettime, clockid_t clock, struct timespec *t) {
    point(150);
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        *t = spec(wall_ns(here()));
        return 0;
    case CLOCK_BOOTTIME:
        *t = spec(now_ns + here()->slept_ns);
        return 0;
    default:
        *t = spec(now_ns);
        return 0;
    }
}

IMPORT(time_t, time, time_t *to) {
    const time_t t = (time_t)(wall_ns(here()) / SECOND);
    if (to)
        *to = t;
    return t;
}

IMPORT(int, nanosleep, const struct timespec *t, struct timespec *left) {
    (void)left;
    nap(t->tv_sec * SECOND + t->tv_nsec + 50000);
    return 0;
}

IMPORT(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *t,
       struct timespec *left) {
    if (flags)
        broken("a sleep until a time is not simulated (clock %d)", (int)clock);
    return sim_nanosleep(t, left);
}

IMPORT(int, sched_yield, void) {
    nap(1000);
    return 0;
}

/* ---- who and where ------------------------------------------------------------------------ */

IMPORT(pid_t, getpid, void) { return me->process->pid; }
IMPORT(uid_t, getuid, void) { return 0; }
IMPORT(uid_t, geteuid, void) { return 0; }
IMPORT(gid_t, getegid, void) { return 0; }
IMPORT(unsigned long, getauxval, unsigned long what) { return what & 0; }
IMPORT(int, dl_iterate_phdr, int (*f)(struct dl_phdr_info *, size_t, void *), void *arg) {
    return f && arg ? 0 : 0;
}

IMPORT(int, kill, pid_t pid, int sig) {
    point(100);
    if (sig)
        broken("the signal %d is not simulated", sig);
    for (int i = 0; i < PROCESSES; i++)
        if (process[i].used && process[i].pid == pid && process[i].host == me->process->host)
            return 0;
    errno = ESRCH;
    return -1;
}

IMPORT(int, gethostname, char *to, size_t size) {
    snprintf(to, size, "host-%u", here()->number);
    return 0;
}

IMPORT(char *, secure_getenv, const char *name) {
    (void)name;
    return NULL;
}

IMPORT(int, prctl, int what, ...) {
    (void)what;
    errno = EINVAL;
    return -1;
}

IMPORT(int, getrlimit, int what, struct rlimit *limit) {
    (void)what;
    *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return 0;
}

IMPORT(int, getifaddrs, struct ifaddrs **list) {
    *list = NULL;
    errno = ENOSYS;
    return -1;
}

IMPORT(void, freeifaddrs, struct ifaddrs *list) { (void)list; }

IMPORT(ssize_t, getrandom, void *to, size_t n, unsigned flags) {
    (void)flags;
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)to)[i] = (unsigned char)draw64(chances());
    return (ssize_t)n;
}

/* ---- the resolver: server-N is 10.0.0.N; now and then it takes its time. An address as text it
 * need not ask for ------ */

struct answer {
    struct addrinfo info;
    struct sockaddr_in at;
};

static bool is_known(const char *name, struct in_addr *at) {
    unsigned n;
    if (sscanf(name, "server-%u", &n) != 1 || now_ns < here()->name_lost_till)
        return false;
    n += n == 1 ? here()->name_leads_to : 0;
    at->s_addr = htonl(10u << 24 | n);
    return true;
}

static void ask_resolver(void) {
    nap(up_to(chances(), 2 * MS));
    if (!chance(chances(), 5) || wire_is_stated())
        return;
    const int64_t takes = up_to(chances(), 3 * SECOND);
    cause_spoilt_try(me->process->host, now_ns + takes);
    nap(takes);
}

IMPORT(int, getaddrinfo, const char *name, const char *service, const struct addrinfo *hints,
       struct addrinfo **answer) {
    struct in_addr at;
    point(1000);
    if (inet_pton(AF_INET, name, &at) != 1) {
        if (hints->ai_flags & AI_NUMERICHOST)
            return EAI_NONAME;
        ask_resolver();
        if (!is_known(name, &at))
            return EAI_NONAME;
    }
    struct answer *a = heap_get(sizeof *a, 16);
    memset(a, 0, sizeof *a);
    a->at = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(service)), .sin_addr = at};
    a->info = (struct addrinfo){.ai_family = AF_INET,
                                .ai_socktype = SOCK_STREAM,
                                .ai_addr = (struct sockaddr *)&a->at,
                                .ai_addrlen = sizeof a->at};
    *answer = &a->info;
    return 0;
}

IMPORT(void, freeaddrinfo, struct addrinfo *answer) { heap_put(answer); }

/* ---- memory
 * -------------------------------------------------------------------------------------- */

IMPORT(void *, malloc, size_t n) { return heap_get(n, 16); }
IMPORT(void, free, void *at) { heap_put(at); }
IMPORT(void *, aligned_alloc, size_t align, size_t n) { return heap_get(n, align); }

IMPORT(void *, calloc, size_t a, size_t b) { return memset(heap_get(a * b, 16), 0, a * b); }

IMPORT(void *, realloc, void *at, size_t n) {
    if (at && n <= heap_size(at))
        return at;
    void *to = heap_get(n, 16);
    if (at)
        memcpy(to, at, heap_size(at));
    heap_put(at);
    return to;
}

IMPORT(int, posix_memalign, void **to, size_t align, size_t n) {
    *to = heap_get(n, align);
    return 0;
}

IMPORT(char *, strndup, const char *s, size_t n) {
    const size_t len = strnlen(s, n);
    char *to = heap_get(len + 1, 16);
    memcpy(to, s, len);
    to[len] = '\0';
    return to;
}

IMPORT(char *, strdup, const char *s) { return sim_strndup(s, strlen(s)); }

IMPORT(int, vasprintf, char **to, const char *format, va_list ap) {
    va_list again;
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *to = heap_get((size_t)n + 1, 16);
    return vsnprintf(*to, (size_t)n + 1, format, ap);
}

IMPORT(int, asprintf, char **to, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    const int n = sim_vasprintf(to, format, ap);
    va_end(ap);
    return n;
}

IMPORT(int, __asprintf_chk, char **to, int flag, const char *format, ...) {
    va_list ap;
    (void)flag;
    va_start(ap, format);
    const int n = sim_vasprintf(to, format, ap);
    va_end(ap);
    return n;
}

IMPORT(int, __vasprintf_chk, char **to, int flag, const char *format, va_list ap) {
    (void)flag;
    return sim_vasprintf(to, format, ap);
}
