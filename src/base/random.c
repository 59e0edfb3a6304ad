/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <uuid.h>

/* splitmix64 again, see slow.c. The bytes differ between processes, between calls, and by what the
 * clocks and `sign` say. */
static void mix_in(unsigned char *bytes, size_t n, uint64_t sign) {
    static _Atomic uint64_t calls;
    struct timespec ts = {0, 0}, wall = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &ts);
    clock_gettime(CLOCK_REALTIME, &wall);
    uint64_t x = (uint64_t)ts.tv_nsec ^ (uint64_t)ts.tv_sec << 30 ^ (uint64_t)getpid() << 44;
    x += (sign ^ (uint64_t)wall.tv_nsec << 34 ^ (uint64_t)wall.tv_sec) *
         UINT64_C(0xff51afd7ed558ccd);
    /* This must not be the step of the loop: a call would then begin with the second byte of the
     * call before. */
    x += atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) * UINT64_C(0xd1342543de82ef95);
    for (size_t i = 0; i < n; i++) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        bytes[i] ^= (unsigned char)(z ^ z >> 31);
    }
}

void sfid__random(void *bytes, size_t n) {
    if (getrandom(bytes, n, 0) == (ssize_t)n) /* up to 256 bytes come whole */
        return;
    memset(bytes, 0, n); /* a seccomp filter: the bytes only have to differ */
    mix_in(bytes, n, (uint64_t)(uintptr_t)&bytes);
}

void sfid__random_stirred(void *bytes, size_t n, uint64_t sign) {
    sfid__random(bytes, n);
    mix_in(bytes, n, sign);
}

void sfid__random_uuid(char text[SFID__UUID_STR_LEN]) {
    uuid_t id;
    sfid__random(id, sizeof id);
    id[6] = (unsigned char)((id[6] & 0x0f) | 0x40);
    id[8] = (unsigned char)((id[8] & 0x3f) | 0x80);
    uuid_unparse_lower(id, text);
}
