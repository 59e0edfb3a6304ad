/* SPDX-License-Identifier: MIT */
#include "base/signs.h"

#include "base/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the hypervisor's page --------------------------------------------------- */

/* As Linux has it in vmclock-abi.h: little endian. Halves, because a 32-bit processor may write to
 * load an 8-byte atomic. */
struct vmclock {
    _Atomic uint32_t magic, size;
    uint32_t version_and_kind, sequence;
    _Atomic uint32_t marker[2], flags[2];
    uint32_t of_clocks[18];
    _Atomic uint32_t generation[2];
};

static_assert(offsetof(struct vmclock, marker) == 16 && offsetof(struct vmclock, flags) == 24 &&
                  offsetof(struct vmclock, generation) == 104,
              "the members lie where the kernel has them");

#define MAGIC 0x4b4c4356u /* "VCLK" */
#define COUNTS (1u << 8)  /* in flags: the hypervisor counts generations */
#define LEAST_SIZE 104    /* without the counter of generations */
#define PAGE 4096

const char *sfid__signs_path = "/dev/vmclock0";

static const struct vmclock none;
static _Atomic(const struct vmclock *) found; /* NULL: not looked for yet */

/*
 * Relaxed, here and below: the members change while the machine is not running, and nothing else is
 * read by them. A value that is torn all the same only shows a change that there is.
 */
static uint32_t shown(const _Atomic uint32_t *p) {
    const uint32_t n = atomic_load_explicit(p, memory_order_relaxed);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(n);
#else
    return n;
#endif
}

/* A file that is too short to be one is not touched: that would be SIGBUS. */
static const struct vmclock *map_vmclock(void) {
    struct stat st;
    const int fd = open(sfid__signs_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return &none;
    const bool fits =
        fstat(fd, &st) == 0 && (S_ISCHR(st.st_mode) || st.st_size >= (off_t)sizeof(struct vmclock));
    void *at = fits ? mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    close(fd);
    if (at == MAP_FAILED)
        return &none;
    const struct vmclock *vmclock = at;
    if (shown(&vmclock->magic) == MAGIC && shown(&vmclock->size) >= LEAST_SIZE)
        return vmclock;
    munmap(at, PAGE);
    return &none;
}

/* Relaxed: this process writes nothing there, and a mapping is there for all its threads before any
 * of them has the address. */
static const struct vmclock *vmclock_found(void) {
    return atomic_load_explicit(&found, memory_order_relaxed);
}

static void look_for_vmclock(void) {
    const struct vmclock *vmclock = map_vmclock(), *nobody = NULL;
    /* Of two threads one wins. Relaxed: as vmclock_found(). */
    if (!atomic_compare_exchange_strong_explicit(&found, &nobody, vmclock, memory_order_relaxed,
                                                 memory_order_relaxed) &&
        vmclock != &none)
        munmap((void *)(uintptr_t)vmclock, PAGE);
}

static uint64_t join(const _Atomic uint32_t half[2]) {
    return (uint64_t)shown(&half[1]) << 32 | shown(&half[0]);
}

/* Never 0 if there is a page. */
static uint64_t read_generation(const struct vmclock *vmclock) {
    if (vmclock == NULL || vmclock == &none)
        return 0;
    const bool counts =
        (shown(&vmclock->flags[0]) & COUNTS) && shown(&vmclock->size) >= sizeof *vmclock;
    return counts ? join(vmclock->generation) << 2 | 1 : join(vmclock->marker) << 2 | 3;
}

/* ---- the clocks -------------------------------------------------------------- */

#define SHARP_NS 10000000 /* within this time both clocks are read, or what they say is not used */
#define JUMP_MS 50        /* suspensions last longer */
#define TRIES 4

static bool read_ns(clockid_t clock, int64_t *ns) {
    struct timespec ts;
    if (clock_gettime(clock, &ts) < 0)
        return false;
    *ns = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
    return true;
}

/* How far the clocks are apart. 0: not known. A thread that was preempted in between finds it too
 * large by that time. */
static uint64_t read_apart(int64_t *before_ns) {
    int64_t boot_ns;
    if (!read_ns(CLOCK_MONOTONIC, before_ns) || !read_ns(CLOCK_BOOTTIME, &boot_ns))
        return 0;
    return (uint64_t)((boot_ns - *before_ns) / 1000000) + 1;
}

static uint64_t read_slept(void) {
    int64_t before_ns, after_ns;
    for (int i = 0; i < TRIES; i++) {
        const uint64_t ms = read_apart(&before_ns);
        if (ms == 0 || !read_ns(CLOCK_MONOTONIC, &after_ns))
            return 0;
        if (after_ns - before_ns <= SHARP_NS)
            return ms;
    }
    return 0;
}

/* Kernels before 5.6 have one for all. The kernel numbers namespaces with 32 bits. */
static uint32_t read_namespace(void) {
    struct stat st;
    if (stat("/proc/self/ns/time", &st) == 0)
        return (uint32_t)st.st_ino;
    return stat("/proc/self/ns", &st) == 0;
}

/* A child may be born into another time namespace, so each process looks once. Relaxed: one word
 * says who looked, and what it found. */
static uint64_t time_namespace(void) {
    static _Atomic uint64_t looked;
    const uint64_t us = sfid__process() << 32;
    uint64_t word = atomic_load_explicit(&looked, memory_order_relaxed);
    if (word >> 32 != us >> 32) {
        word = us | read_namespace();
        atomic_store_explicit(&looked, word, memory_order_relaxed);
    }
    return word & UINT32_MAX;
}

static bool is_jump(uint64_t a, uint64_t b) {
    return a != 0 && b != 0 && (a > b ? a - b : b - a) > JUMP_MS;
}

/* ---- all of them ------------------------------------------------------------- */

void sfid__signs_prepare(void) {
    if (vmclock_found() == NULL)
        look_for_vmclock();
    time_namespace();
}

void sfid__signs_read(struct sfid__signs *out) {
    sfid__signs_prepare();
    *out = (struct sfid__signs){.generation = read_generation(vmclock_found()),
                                .slept_ms = read_slept(),
                                .clocks = time_namespace()};
}

/* A jump is looked at again: the first look may have been preempted. */
static bool has_slept(const struct sfid__signs *then) {
    int64_t ignored;
    return is_jump(then->slept_ms, read_apart(&ignored)) && then->clocks != 0 &&
           then->clocks == time_namespace() && is_jump(then->slept_ms, read_slept());
}

bool sfid__signs_changed(const struct sfid__signs *then, uint64_t boot) {
    const uint64_t generation = read_generation(vmclock_found());
    if (then->generation != 0 && generation != 0 && then->generation != generation)
        return true;
    if (then->boot != 0 && boot != 0 && then->boot != boot)
        return true;
    return then->slept_ms != 0 && has_slept(then);
}
