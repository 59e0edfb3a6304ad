/* SPDX-License-Identifier: MIT */
/*
 * The random bits of UUIDs: what the authors of cipher and hash publish, one by one and many at
 * once; a key for each process, which a child does not find; calls without a key, which wait for
 * nobody. The program has a getrandom() of its own, in which a signal comes.
 */
#include "base/keyed.h"

#include "base/process.h"
#include "support/scene.h"

#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { NUMBERS = 1000, BITS = 64, THREADS = 4, EACH = 2000, CHILDREN = 6 };

static _Atomic(void (*)(void)) in_getrandom;

ssize_t getrandom(void *bytes, size_t n, unsigned flags) {
    void (*then)(void) = atomic_exchange(&in_getrandom, NULL);
    const ssize_t got = syscall(SYS_getrandom, bytes, n, flags);
    if (then)
        then();
    return got;
}

static struct sfid__key *own(void) { return sfid__process_room(); }

static uint64_t kind_now(void) { return atomic_load(&own()->kind); }

/* ---- the functions --------------------------------------------------------- */

/* How many of the bits differ between two results, summed over many: half of them, if each is as
 * good as thrown. */
static void about_half(uint64_t differing, const char *name, const char *what) {
    const uint64_t half = NUMBERS * BITS / 2;
    ok(differing > half - half / 20 && differing < half + half / 20,
       "%s: %s changes half of the bits (%.3f)", name, what, (double)differing / (NUMBERS * BITS));
}

static void spread(const char *name, enum sfid__key_kind kind) {
    static const uint64_t keys[2][2] = {{1, 2}, {1, 3}};
    static uint64_t by[2][NUMBERS + 1];
    uint64_t by_number = 0, by_key = 0, by_nonce = 0, wrong = 0;
    for (int k = 1; k >= 0; k--) {
        sfid__key_set(own(), keys[k], kind);
        for (uint64_t n = 0; n <= NUMBERS; n++)
            by[k][n] = sfid__keyed(7, n);
    }
    for (uint64_t n = 0; n < NUMBERS; n++) {
        by_number += (uint64_t)__builtin_popcountll(by[0][n] ^ by[0][n + 1]);
        by_key += (uint64_t)__builtin_popcountll(by[0][n] ^ by[1][n]);
        by_nonce += (uint64_t)__builtin_popcountll(by[0][n] ^ sfid__keyed(8, n));
    }
    about_half(by_number, name, "the next number");
    about_half(by_key, name, "another key");
    about_half(by_nonce, name, "another nonce");
    for (size_t count = 0; count <= 19; count++) {
        uint64_t many[20] = {0};
        sfid__keyed_n(7, count, many, count);
        for (size_t i = 0; i < count; i++)
            wrong += many[i] != by[0][count + i];
        wrong += many[count] != 0;
    }
    is_u64(wrong, 0, "%s: many at once are those that one by one are, and no more", name);
}

static void published(void) {
    static const uint64_t counted[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    static const uint64_t example[2] = {UINT64_C(0xa6d2ae2816157e2b), UINT64_C(0x3c4fcf098815f7ab)};
    sfid__key_set(own(), counted, SFID__KEY_HASH);
    is_u64(sfid__keyed(counted[0], counted[1]), UINT64_C(0x3f2acc7f57c29bdb),
           "SipHash-2-4: the authors' 16 bytes");
    spread("SipHash", SFID__KEY_HASH);
    if (!sfid__key_may_cipher()) {
        skip(7, "no instructions for AES");
        return;
    }
    sfid__key_set(own(), counted, SFID__KEY_CIPHER);
    is_u64(sfid__keyed(UINT64_C(0x7766554433221100), UINT64_C(0xffeeddccbbaa9988)),
           UINT64_C(0x30047b6ad8e0c469), "AES-128: FIPS 197, appendix C.1");
    sfid__key_set(own(), example, SFID__KEY_CIPHER);
    is_u64(sfid__keyed(UINT64_C(0x8d305a88a8f64332), UINT64_C(0x340737e0a2983131)),
           UINT64_C(0xfb09dc021d842539), "appendix B");
    is_u64(own()->rounds[10][1], UINT64_C(0xa60c63b6c80c3fe1), "appendix A.1: its last round key");
    spread("AES", SFID__KEY_CIPHER);
}

/* ---- the key of a process ------------------------------------------------------ */

static enum sfid__key_kind made(void) {
    return sfid__key_may_cipher() ? SFID__KEY_CIPHER : SFID__KEY_HASH;
}

static void forget(void) { atomic_store(&own()->kind, SFID__KEY_NONE); }

static bool may_map(void) {
    void *at = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED && munmap(at, 65536) == 0;
}

/* First of all: the library asks for its memory once. */
static void without_memory(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) < 0 ||
        setrlimit(RLIMIT_AS, &(struct rlimit){0, limit.rlim_max}) < 0 || may_map()) {
        skip(1, "the system does not limit memory");
    } else {
        const uint64_t a = sfid__keyed(1, 2), b = sfid__keyed(1, 2);
        const bool none = sfid__process_room() == NULL;
        setrlimit(RLIMIT_AS, &limit); /* the checks below allocate */
        ok(none && a != b, "without memory there is no key, and all bits are the kernel's");
    }
    setrlimit(RLIMIT_AS, &limit);
    ok(own() != NULL && kind_now() == SFID__KEY_NONE, "with memory there is none at first");
    sfid__keyed_prepare();
    is_u64(kind_now(), made(), "it is made");
    const uint64_t bits = sfid__keyed(1, 2);
    sfid__keyed_prepare();
    is_u64(sfid__keyed(1, 2), bits, "and kept: a number keeps its bits");
}

static void begun(void) {
    uint64_t bits[8], same = 0;
    atomic_store(&own()->kind, SFID__KEY_BEGUN);
    sfid__keyed_n(1, 2, bits, 4);
    for (uint64_t i = 4; i < 8; i++)
        bits[i] = sfid__keyed(1, i - 2);
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < i; k++)
            same += bits[k] == bits[i];
    is_u64(same, 0, "while another thread writes the key, nobody waits: all bits are the kernel's");
    is_u64(kind_now(), SFID__KEY_BEGUN, "and nobody else writes it");
    forget();
    sfid__keyed_n(1, 2, bits, 8);
    ok(kind_now() == made() && bits[7] == sfid__keyed(1, 9),
       "the first of many at once makes the key for the others");
}

static uint64_t by_handler;

static void on_signal(int number) {
    (void)number;
    (void)sfid__keyed(1, 2);
    by_handler = sfid__keyed(1, 2);
}

static void interrupt(void) { raise(SIGUSR1); }

static void interrupted(void) {
    signal(SIGUSR1, on_signal);
    forget();
    const uint64_t alone = sfid__keyed(1, 2);
    ok(alone != own()->words[0] && alone != own()->words[1],
       "the call that makes the key gives away nothing of its key");
    forget();
    in_getrandom = interrupt;
    const uint64_t first = sfid__keyed(1, 2);
    ok(by_handler != 0 && first != by_handler,
       "a handler interrupts a call that is about to make the key");
    is_u64(sfid__keyed(1, 2), by_handler, "and the key that it makes stays");
}

/* ---- forks --------------------------------------------------------------------- */

static struct shared { uint64_t bits, child[CHILDREN], grandchild[CHILDREN]; } * shared;

static bool wipes; /* the kernel does; emulators may only say so */

/* As fork() does it, or without the C library's knowledge: then wiped memory alone shows that it is
 * a child. */
static pid_t split(bool raw) {
    return raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

static int descend(int i, bool raw) {
    const bool blank =
        kind_now() == SFID__KEY_NONE && own()->words[0] == 0 && own()->rounds[10][1] == 0;
    (void)sfid__keyed(1, 2);
    shared->child[i] = sfid__keyed(1, 2);
    const pid_t child = split(raw);
    if (child == 0) {
        (void)sfid__keyed(1, 2);
        shared->grandchild[i] = sfid__keyed(1, 2);
        _exit(0);
    }
    return status_of(child) == 0 && sfid__keyed(1, 2) == shared->child[i] ? blank ? 2 : 1 : 0;
}

static void forks(void) {
    shared = shared_memory(sizeof *shared);
    unsigned blank = 0, bad = 0, same = 0;
    sfid__keyed_prepare();
    shared->bits = sfid__keyed(1, 2);
    for (int i = 0; i < CHILDREN; i++) {
        const bool raw = wipes && i % 2;
        const pid_t child = split(raw);
        if (child == 0)
            _exit(descend(i, raw));
        const int status = status_of(child);
        blank += status == 2;
        bad += status < 1;
    }
    const uint64_t *bits = &shared->bits;
    for (int i = 0; i < 2 * CHILDREN + 1; i++)
        for (int k = 0; k < i; k++)
            same += bits[k] == bits[i];
    is_u64(bad, 0, "children and theirs keep the keys that they make");
    if (wipes)
        is_u64(blank, CHILDREN, "and find nothing of their parent's key");
    else
        skip(1, "memory is not wiped on fork here");
    is_u64(same, 0, "each has other bits for a number");
    is_u64(sfid__keyed(1, 2), shared->bits, "the parent keeps its own");
}

/* ---- threads ------------------------------------------------------------------- */

static uint64_t drawn[THREADS * EACH];
static pthread_barrier_t start;

static void *draw(void *arg) {
    uint64_t *into = arg;
    const uint64_t first = (uint64_t)(into - drawn);
    pthread_barrier_wait(&start);
    for (uint64_t i = 0; i < EACH; i++)
        into[i] = sfid__keyed(1, first + i);
    return NULL;
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void threads(void) {
    pthread_t thread[THREADS];
    uint64_t changed = UINT64_MAX, same = 0;
    /* on a busy machine the key may come late */
    for (int round = 0; round < 5 && changed > THREADS * EACH / 10; round++) {
        forget();
        pthread_barrier_init(&start, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&thread[i], NULL, draw, drawn + i * EACH) != 0)
                bail("no thread");
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        changed = 0;
        for (uint64_t i = 0; i < THREADS * EACH; i++)
            changed += drawn[i] != sfid__keyed(1, i);
    }
    ok(changed <= THREADS * EACH / 10, "threads make one key (%" PRIu64 " numbers came before it)",
       changed);
    qsort(drawn, COUNT(drawn), sizeof drawn[0], by_value);
    for (size_t i = 1; i < COUNT(drawn); i++)
        same += drawn[i] == drawn[i - 1];
    is_u64(same, 0, "and no two of them get the same bits");
}

/* ---- core dumps ------------------------------------------------------------------ */

static void dumps(void) {
    char line[256], flags[256] = "";
    bool here = false;
    FILE *f = fopen("/proc/self/smaps", "re");
    while (f && fgets(line, sizeof line, f)) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            here = (uintptr_t)own() >= from && (uintptr_t)own() < to;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            snprintf(flags, sizeof flags, "%s ", line + 8);
    }
    if (f)
        fclose(f);
    if (!wipes) {
        skip(1, "memory is not wiped on fork here");
        return;
    }
    ok(strstr(flags, " dd ") && strstr(flags, " wf "),
       "the key's memory is in no core dump and in no child:%s", flags);
}

int main(void) {
    sfid__process_prepare();
    without_memory();
    begun();
    interrupted();
    void *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    wipes = page != MAP_FAILED && sfid__process_wipes(page, 65536);
    forks();
    threads();
    dumps();
    published();
    return done_testing();
}
