/* SPDX-License-Identifier: MIT */
/*
 * keyed.c - the key of a process, and the function.
 *
 * The key goes NONE, BEGUN, then HASH or CIPHER, and is not written any more.
 * Only a fork takes it back to NONE, and only in the child.
 *
 * Who may run with whom: any number of threads, and handlers that interrupt
 * them. Nobody waits:
 *
 *   A call that finds no key asks the kernel for the bits that it returns, and
 *   for a key. The exchange from NONE to BEGUN lets one thread write its key.
 *   The kernel is asked before the exchange, so BEGUN lasts for some
 *   instructions only, and a thread that is cancelled in getrandom() leaves
 *   nothing begun.
 *   A call that finds BEGUN, for example in a handler that interrupted the
 *   writer, has its bits from the kernel as well.
 *   A child that was forked while another thread was writing finds NONE: its
 *   kernel wiped the memory, or the fork handler did (process.h). Where neither
 *   does, it stays at BEGUN, and asks the kernel each time.
 *   A child that is forked by a handler goes on with the interrupted call, half
 *   of it perhaps with wiped round keys. That affects one ID, and the nonce in
 *   it is known to nobody outside.
 */
#include "base/keyed.h"

#include "base/process.h"
#include "base/random.h"

#include <string.h>

/* sfid__process_room(), once it is there. A child has it at the same address. */
static _Atomic(struct sfid__key *) own_key;

static_assert(sizeof(struct sfid__key) <= SFID__PROCESS_ROOM, "a process has room for its key");
static_assert(offsetof(struct sfid__key, kind) == 0, "the fork handler takes back the kind");

/* ---- AES-128 (FIPS 197) ------------------------------------------------------- */

typedef uint64_t block __attribute__((vector_size(16)));

/* x without AddRoundKey: SubBytes and ShiftRows; enc has MixColumns in between, last does not. Then
 * the key is added. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <wmmintrin.h>

#define HAVE_CIPHER 1
#define CIPHER __attribute__((target("aes")))

bool sfid__key_may_cipher(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_AES) != 0;
}

static inline CIPHER block enc(block x, block key) {
    return (block)_mm_aesenc_si128((__m128i)x, (__m128i)key);
}
static inline CIPHER block last(block x, block key) {
    return (block)_mm_aesenclast_si128((__m128i)x, (__m128i)key);
}

#elif defined(__aarch64__) && defined(__AARCH64EL__)
#include <sys/auxv.h>

#define HAVE_CIPHER 1
#ifdef __clang__
#define CIPHER __attribute__((target("aes")))
#else
#define CIPHER __attribute__((target("+crypto")))
#endif

bool sfid__key_may_cipher(void) { return (getauxval(AT_HWCAP) & (1 << 3)) != 0; } /* HWCAP_AES */

/* Not by intrinsics: older compilers have those only where the whole file may use them. The key
 * added first is of zeros. */
static inline CIPHER block enc(block x, block key) {
    __asm__("aese %0.16b, %1.16b\n\taesmc %0.16b, %0.16b" : "+w"(x) : "w"((block){0, 0}));
    return x ^ key;
}

static inline CIPHER block last(block x, block key) {
    __asm__("aese %0.16b, %1.16b" : "+w"(x) : "w"((block){0, 0}));
    return x ^ key;
}

#else
#define HAVE_CIPHER 0
#define CIPHER
bool sfid__key_may_cipher(void) { return false; }
#endif

#if HAVE_CIPHER
static inline CIPHER block round_key(const struct sfid__key *key, int i) {
    return (block){key->rounds[i][0], key->rounds[i][1]};
}

/* Where all four words are equal, the last round moves nothing: it is SubWord. */
static CIPHER uint32_t sub_word(uint32_t word) {
    const uint64_t twice = (uint64_t)word << 32 | word;
    return (uint32_t)last((block){twice, twice}, (block){0, 0})[0];
}

static CIPHER void schedule(struct sfid__key *key) {
    uint32_t w[4] = {(uint32_t)key->words[0], (uint32_t)(key->words[0] >> 32),
                     (uint32_t)key->words[1], (uint32_t)(key->words[1] >> 32)};
    uint32_t constant = 1;
    for (int i = 0; i <= 10; i++) {
        key->rounds[i][0] = w[0] | (uint64_t)w[1] << 32;
        key->rounds[i][1] = w[2] | (uint64_t)w[3] << 32;
        w[0] ^= sub_word(w[3] >> 8 | w[3] << 24) ^ constant;
        for (int k = 1; k < 4; k++)
            w[k] ^= w[k - 1];
        constant = (constant << 1) ^ (constant >> 7) * 0x11b;
    }
}

static inline CIPHER block stream_begin(const struct sfid__key *key, uint64_t nonce, uint64_t n) {
    return (block){nonce, n} ^ round_key(key, 0);
}

static inline CIPHER uint64_t cipher(const struct sfid__key *key, uint64_t nonce, uint64_t n) {
    block x = stream_begin(key, nonce, n);
    for (int i = 1; i < 10; i++)
        x = enc(x, round_key(key, i));
    return last(x, round_key(key, 10))[0];
}

/* Four at a time: a round has to wait for the one before, but not for its neighbours. */
static inline CIPHER void cipher_four(const struct sfid__key *key, uint64_t nonce, uint64_t n,
                                      uint64_t *bits) {
    block a = stream_begin(key, nonce, n), b = stream_begin(key, nonce, n + 1),
          c = stream_begin(key, nonce, n + 2), d = stream_begin(key, nonce, n + 3);
    for (int i = 1; i < 10; i++) {
        const block k = round_key(key, i);
        a = enc(a, k);
        b = enc(b, k);
        c = enc(c, k);
        d = enc(d, k);
    }
    const block k = round_key(key, 10);
    bits[0] = last(a, k)[0];
    bits[1] = last(b, k)[0];
    bits[2] = last(c, k)[0];
    bits[3] = last(d, k)[0];
}
#endif

/* ---- SipHash-2-4 (Aumasson, Bernstein 2012) ------------------------------------ */

static inline uint64_t rotate(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static inline void siphash_rounds(uint64_t v[4], int rounds) {
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate(v[1], 13) ^ v[0];
        v[3] = rotate(v[3], 16) ^ v[2];
        v[0] = rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate(v[1], 17) ^ v[2];
        v[3] = rotate(v[3], 21) ^ v[0];
        v[2] = rotate(v[2], 32);
    }
}

static inline void siphash_word(uint64_t v[4], uint64_t m) {
    v[3] ^= m;
    siphash_rounds(v, 2);
    v[0] ^= m;
}

static uint64_t hash(const struct sfid__key *key, uint64_t nonce, uint64_t n) {
    const uint64_t *w = key->words;
    uint64_t v[4] = {w[0] ^ UINT64_C(0x736f6d6570736575), w[1] ^ UINT64_C(0x646f72616e646f6d),
                     w[0] ^ UINT64_C(0x6c7967656e657261), w[1] ^ UINT64_C(0x7465646279746573)};
    siphash_word(v, nonce);
    siphash_word(v, n);
    siphash_word(v, UINT64_C(16) << 56); /* the length in bytes */
    v[2] ^= 0xff;
    siphash_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- the key ------------------------------------------------------------------- */

void sfid__key_set(struct sfid__key *key, const uint64_t words[2], enum sfid__key_kind kind) {
    key->words[0] = words[0];
    key->words[1] = words[1];
#if HAVE_CIPHER
    if (kind == SFID__KEY_CIPHER)
        schedule(key);
#endif
    /* with the acquire in kind_of(): the key is there */
    atomic_store_explicit(&key->kind, kind, memory_order_release);
}

static inline uint64_t kind_of(const struct sfid__key *key) {
    return likely(key) ? atomic_load_explicit(&key->kind, memory_order_acquire) : SFID__KEY_NONE;
}

static inline const struct sfid__key *key_now(void) {
    /* with the release in kernel_bits(): the memory is mapped */
    return atomic_load_explicit(&own_key, memory_order_acquire);
}

/* Bits from the kernel. Makes the key, if nobody has begun one. */
static SFID__COLD uint64_t kernel_bits(void) {
    struct sfid__key *key = sfid__process_room();
    const enum sfid__key_kind kind = sfid__key_may_cipher() ? SFID__KEY_CIPHER : SFID__KEY_HASH;
    uint64_t fresh[3], none = SFID__KEY_NONE;
    sfid__random(fresh, sizeof fresh);
    const uint64_t bits = fresh[2];
    /* Relaxed: the key has no data behind it until sfid__key_set() says what it is. */
    if (key && atomic_compare_exchange_strong_explicit(&key->kind, &none, SFID__KEY_BEGUN,
                                                       memory_order_relaxed, memory_order_relaxed))
        sfid__key_set(key, fresh, kind);
    atomic_store_explicit(&own_key, key, memory_order_release);
    explicit_bzero(fresh, sizeof fresh);
    return bits;
}

void sfid__keyed_prepare(void) {
    if (kind_of(key_now()) == SFID__KEY_NONE)
        kernel_bits();
}

/* ---- the function ---------------------------------------------------------------- */

CIPHER uint64_t sfid__keyed(uint64_t nonce, uint64_t n) {
    const struct sfid__key *key = key_now();
    const uint64_t kind = kind_of(key);
#if HAVE_CIPHER
    if (likely(kind == SFID__KEY_CIPHER))
        return cipher(key, nonce, n);
#endif
    return kind == SFID__KEY_HASH ? hash(key, nonce, n) : kernel_bits();
}

CIPHER void sfid__keyed_n(uint64_t nonce, uint64_t n, uint64_t *bits, size_t count) {
    size_t i = 0;
#if HAVE_CIPHER
    const struct sfid__key *key = key_now();
    if (kind_of(key) == SFID__KEY_CIPHER)
        for (; i + 4 <= count; i += 4)
            cipher_four(key, nonce, n + i, bits + i);
#endif
    for (; i < count; i++)
        bits[i] = sfid__keyed(nonce, n + i);
}
