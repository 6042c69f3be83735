/* Nodes for tests: each does one thing that a host must cope with. With
 * -DV1ONLY the library has no amp_run_node_v2; with -DMAJOR=n it claims that
 * version.                                                                   */
#define _POSIX_C_SOURCE 200809L
#include "amp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#ifndef MAJOR
#define MAJOR AMP_ABI_MAJOR
#endif
#ifndef MINOR
#define MINOR AMP_ABI_MINOR
#endif

struct amp_state_t {
    int64_t calls;
    double held[64];
    uint32_t count;
};
static int live, released;
AMP_EXPORT int test_live(void) { return live; }
AMP_EXPORT int test_released(void) { return released; }

/* What the last call of any node was passed. */
static uintptr_t seen[8];
AMP_EXPORT const void* test_seen(void) { return seen; }

/* The probe of the calling convention: it follows no pointer. */
AMP_EXPORT int test_six(const void* a, void* b, const void* c, void* d, uint32_t e, void* f) {
    seen[0] = (uintptr_t)a, seen[1] = (uintptr_t)b, seen[2] = (uintptr_t)c, seen[3] = (uintptr_t)d, seen[4] = e, seen[5] = (uintptr_t)f;
    return AMP_E_UNSUPPORTED;
}
AMP_EXPORT int test_four(const void* a, void* b, const void* c, void* d) {
    seen[0] = (uintptr_t)a, seen[1] = (uintptr_t)b, seen[2] = (uintptr_t)c, seen[3] = (uintptr_t)d;
    return AMP_E_UNSUPPORTED;
}

static double get(const amp_buffer_t* p, size_t i) {
    return p->dtype == AMP_F64 ? ((const double*)p->data)[i] : ((const float*)p->data)[i];
}
static void put(amp_buffer_t* p, size_t i, double v) {
    if (p->dtype == AMP_F64)
        ((double*)p->data)[i] = v;
    else
        ((float*)p->data)[i] = (float)v;
}
static size_t size(const amp_buffer_t* p) { return (size_t)p->batches * p->channels * p->frames; }
static void zero(amp_buffer_t* p) {
    if (p->data) memset(p->data, 0, size(p) * (p->dtype == AMP_F64 ? 8 : 4));
}
static void copy(amp_buffer_t* y, const amp_buffer_t* x) {
    for (size_t i = 0; i < size(x); i++) put(y, i, get(x, i));
}

static amp_state_t* state(amp_state_t** s) {
    if (!*s && (*s = calloc(1, sizeof **s))) live++;
    return *s;
}
void amp_release_state(amp_state_t* s) {
    if (s) live--, released++, free(s);
}

enum { F, B }; /* modes */
typedef int (*node)(const amp_node_descriptor_t*, amp_state_t**, const amp_buffer_t*, amp_buffer_t*, int, amp_node_metrics_t*);
#define NODE(name)                                                                                                       \
    static int name(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out, int mode, \
                    amp_node_metrics_t* m)
#define UNUSED (void)d, (void)s, (void)in, (void)out, (void)mode, (void)m

/* y = gain x, one gain for all rows or one a row, constant or framed. */
NODE(gain) {
    UNUSED;
    if (mode == F) {
        const amp_buffer_t* g = &in[1];
        for (size_t i = 0, n = in[0].frames; i < size(&in[0]); i++) {
            size_t row = size(g) == g->frames ? 0 : i / n;
            put(&out[0], i, get(&in[0], i) * get(g, g->frames == 1 ? row : row * n + i % n));
        }
        if (m)
            for (size_t i = 0; i < in[0].frames; i++) m->accumulated_heat += in[2].flags & AMP_BUF_ABSENT ? 0 : (float)get(&in[2], in[2].frames == 1 ? 0 : i);
        return 0;
    }
    const amp_buffer_t *gy = &in[0], *x = &in[1], *g = &in[2];
    amp_buffer_t* gg = &out[1];
    if (gg->data && !(gg->flags & AMP_BUF_ACCUMULATE)) zero(gg);
    for (size_t j = size(gy), n = gy->frames, rows = n ? j / n : 0; j-- > 0;) { /* frames outside, rows inside */
        size_t k = j % rows * n + j / rows;
        size_t row = size(g) == g->frames ? 0 : k / n, at = g->frames == 1 ? row : row * n + k % n;
        if (out[0].data) put(&out[0], k, get(gy, k) * get(g, at));
        if (gg->data) put(gg, at, get(gg, at) + get(gy, k) * get(x, k));
    }
    zero(&out[2]);
    return 0;
}
NODE(midside) {
    UNUSED;
    for (size_t i = 0; i < in[0].frames; i++) {
        double a = get(&in[0], i), b = get(&in[1], i); /* the transpose is the matrix itself */
        put(&out[0], i, (a + b) / 2), put(&out[1], i, (a - b) / 2);
    }
    return 0;
}
NODE(ignore) { /* the second input has no influence */
    UNUSED;
    if (mode == F) return copy(&out[0], &in[0]), 0;
    return copy(&out[0], &in[0]), zero(&out[1]), 0;
}
NODE(index_) {
    UNUSED;
    for (uint32_t b = 0; b < out->batches; b++)
        for (uint32_t c = 0; c < out->channels; c++)
            for (uint32_t f = 0; f < out->frames; f++)
                put(out, (b * (size_t)out->channels + c) * out->frames + f, 10000.0 * b + 100.0 * c + (double)out->frame0 + f);
    return 0;
}
NODE(arena) { /* says where its output lies */
    UNUSED;
    seen[0] = (uintptr_t)out[0].data;
    return copy(&out[0], &in[0]), 0;
}
NODE(thief) { /* lets the host look at other memory */
    UNUSED;
    static double mine[4096];
    copy(&out[0], &in[0]);
    return out[0].data = mine, 0;
}
NODE(widen) { return UNUSED, copy(&out[0], &in[0]), out[0].frames++, 0; }
NODE(positive) { return UNUSED, 5; }
NODE(hostcode) { return UNUSED, AMP_E_CRASHED; }
NODE(look) { /* 37 frames late: gives out nothing until it has them */
    UNUSED;
    enum { D = 37 };
    amp_state_t* st = state(s);
    uint32_t n = in[0].frames, made = 0;
    for (uint32_t f = 0; f < n; f++) {
        double v = get(&in[0], f);
        if (st->count < D)
            st->held[st->count++] = v;
        else {
            put(&out[0], made++, st->held[0]);
            memmove(st->held, st->held + 1, (D - 1) * sizeof(double));
            st->held[D - 1] = v;
        }
    }
    out[0].frames = made;
    if (m) m->measured_delay_frames = st->count;
    return made ? 0 : AMP_E_PENDING;
}
NODE(replace) { /* a new state every third call, in either mode */
    UNUSED;
    amp_state_t* st = state(s);
    if (st->calls++ % 3 == 2) {
        *s = NULL;
        state(s)->calls = st->calls;
    }
    seen[6] = (uintptr_t)st, seen[7] = (uintptr_t)*s;
    return copy(&out[0], &in[0]), 0;
}
static int after(const amp_node_descriptor_t* d) { /* "after": n of the settings */
    const char* p = strstr(d->params_json, "\"after\":");
    return p ? atoi(p + 8) : 10;
}
NODE(crash) { /* adds up what it has seen, and dies of 666 */
    UNUSED;
    amp_state_t* st = state(s);
    if (in[0].frames && get(&in[0], 0) == 666) *(volatile int*)0 = 0;
    for (uint32_t f = 0; f < in[0].frames; f++) put(&out[0], f, st->held[0] += get(&in[0], f));
    return 0;
}
NODE(hang) {
    UNUSED;
    if (state(s)->calls++ >= after(d))
        for (;;) nanosleep(&(struct timespec){1, 0}, NULL);
    return copy(&out[0], &in[0]), 0;
}
NODE(nap) { /* adds up what it has seen, and sleeps 300 ms once; logs and prints, and ends the program at 333 */
    UNUSED;
    amp_state_t* st = state(s);
    if (in[0].frames && get(&in[0], 0) == 333) {
        d->host->log(d->host->ctx, 1, "no more");
        fprintf(stderr, "giving up");
        exit(3);
    }
    if (in[0].frames && st->calls++ == after(d)) nanosleep(&(struct timespec){0, 300000000}, NULL);
    for (uint32_t f = 0; f < in[0].frames; f++) put(&out[0], f, st->held[0] += get(&in[0], f));
    return 0;
}
NODE(latch) { /* y = x times the first value of p that it was ever given, in a call of any length; logs that length */
    UNUSED;
    amp_state_t* st = *s;
    if (!st) {
        st = state(s);
        st->held[0] = in[1].flags & AMP_BUF_ABSENT ? 1 : get(&in[1], 0);
        st->count = in[0].frames;
        d->host->log(d->host->ctx, 1, st->count ? "made by frames" : "made without frames");
    }
    for (uint32_t f = 0; f < in[0].frames; f++) put(&out[0], f, get(&in[0], f) * st->held[0]);
    return 0;
}
NODE(deep) { /* overflows the stack at 444, and ends the program at 333 */
    UNUSED;
    volatile char big[4096];
    big[0] = 1;
    if (in[0].frames && get(&in[0], 0) == 444) return deep(d, s, in, out, mode, m) + big[0];
    if (in[0].frames && get(&in[0], 0) == 333) exit(0);
    return copy(&out[0], &in[0]), 0;
}
NODE(denormals) { /* flushes denormals and does not set it back */
    UNUSED;
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    __asm__ volatile("msr fpcr, %0" : : "r"(v | 1 << 24));
#endif
    return copy(&out[0], &in[0]), 0;
}
NODE(rounding) { /* rounds toward zero and does not set it back */
    UNUSED;
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x6000);
#elif defined(__aarch64__)
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    __asm__ volatile("msr fpcr, %0" : : "r"(v | 3 << 22));
#endif
    return copy(&out[0], &in[0]), 0;
}
NODE(talk) { /* uses all that the host offers */
    UNUSED;
    char* p = d->host->alloc(d->host->ctx, 100, 64);
    int ok = p && (uintptr_t)p % 64 == 0;
    if (ok) memset(p, 'x', 100);
    d->host->log(d->host->ctx, 2, ok ? "hello from C" : "no memory");
    d->host->free(d->host->ctx, p);
    return copy(&out[0], &in[0]), 0;
}
NODE(reluctant) { /* has a v2 that does not know the forward mode */
    UNUSED;
    return mode == F && seen[3] ? AMP_E_UNSUPPORTED : (copy(&out[0], &in[0]), 0);
}
NODE(spare) { /* fills the floats that have no meaning yet */
    UNUSED;
    if (m) m->reserved[1] = 2.5f, m->reserved[5] = (float)out[0].frames;
    return copy(&out[0], &in[0]), 0;
}
NODE(heatset) { return UNUSED, copy(&out[0], &in[0]), m ? (void)(m->accumulated_heat = .25f) : (void)0, 0; }
NODE(heatadd) { return UNUSED, copy(&out[0], &in[0]), m ? (void)(m->accumulated_heat += .25f) : (void)0, 0; }
NODE(metrics) { return UNUSED, seen[5] = (uintptr_t)m, copy(&out[0], &in[0]), 0; }
NODE(flags) { /* what the buffers say: flags of up to four inputs, frame0, role, descriptor */
    UNUSED;
    uint32_t n = d->input_count + d->param_count;
    for (uint32_t i = 0; i < n && i < 4; i++) seen[i] = in[i].flags | (uintptr_t)in[i].role << 16 | (uintptr_t)(in[i].data != 0) << 32;
    seen[4] = (uintptr_t)in[0].frame0, seen[5] = d->flags, seen[6] = (uintptr_t)d->params_json, seen[7] = d->max_frames;
    return copy(&out[0], &in[0]), 0;
}

NODE(ledger) { /* adds to its input what events say, and forgets a quarter at each; backward: the number of events */
    UNUSED;
    amp_state_t* st = state(s);
    const amp_events_t* e = amp_node_events(d);
    uint32_t at = 0;
    if (mode == B) return zero(&out[0]), put(&out[0], 0, e ? e->count : 0), 0;
    for (uint32_t f = 0; f < in[0].frames; f++) {
        for (; e && at < e->count; at++) {
            const amp_event_t* v = (const amp_event_t*)((const char*)e->events + (size_t)at * e->event_size);
            if (v->offset != f) break;
            st->held[0] = 0.75 * st->held[0] + v->kind + v->key / 128. + v->channel + (double)v->value + (double)v->tune;
        }
        put(&out[0], f, st->held[0] + get(&in[0], f));
    }
    return e && at < e->count ? AMP_E_INVALID_ARG : 0;
}
NODE(blind) { /* takes no events: it must see the descriptor of 2.0 */
    UNUSED;
    seen[0] = (uintptr_t)amp_node_events(d), seen[1] = (uintptr_t)d->reserved[0] | (uintptr_t)d->reserved[1] | (uintptr_t)d->reserved[2] | (uintptr_t)d->reserved[3];
    seen[2] = d->struct_size;
    return copy(&out[0], &in[0]), 0;
}

static const char* const io[] = {"in", "out"};
static const char* const io2[] = {"a", "b", "out", "side"};
static const char* const no[] = {"out"};
static const char* const gp[] = {"gain", "thermo.heat"};
static const char* const fp[] = {"p", "q"};
#define INFO(type, caps, ins, params, outs, pn, io) {sizeof(amp_node_info_t), AMP_CAP_F64 | (caps), type, ins, params, outs, 1, 0, 0, pn, io}
#define BOTH (AMP_CAP_V2 | AMP_CAP_BACKWARD | AMP_CAP_STATELESS | AMP_CAP_RT_SAFE)
static const struct {
    amp_node_info_t info;
    node run;
} table[] = {
    {INFO("Gain.c", BOTH | AMP_CAP_LINEAR | AMP_CAP_NEED_X, 1, 2, 1, gp, io), gain},
    {INFO("MidSide.c", BOTH, 2, 0, 2, 0, io2), midside},
    {INFO("Ignore.c", BOTH, 2, 0, 1, 0, io2), ignore},
    {INFO("Index.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 0, 0, 1, 0, no), index_},
    {INFO("Arena.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), arena},
    {INFO("Thief.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), thief},
    {INFO("Widen.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), widen},
    {INFO("Positive.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), positive},
    {INFO("HostCode.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), hostcode},
    {INFO("Look.c", AMP_CAP_V2, 1, 0, 1, 0, io), look},
    {INFO("Replace.c", AMP_CAP_V2 | AMP_CAP_BACKWARD, 1, 0, 1, 0, io), replace},
    {INFO("Crash.c", AMP_CAP_V2 | AMP_CAP_SNAPSHOT, 1, 0, 1, 0, io), crash},
    {INFO("Hang.c", AMP_CAP_V2, 1, 0, 1, 0, io), hang},
    {INFO("Nap.c", AMP_CAP_V2 | AMP_CAP_SNAPSHOT, 1, 0, 1, 0, io), nap},
    {INFO("Latch.c", AMP_CAP_V2 | AMP_CAP_SNAPSHOT, 1, 2, 1, fp, io), latch},
    {INFO("Deep.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), deep},
    {INFO("Denormals.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), denormals},
    {INFO("Rounding.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), rounding},
    {INFO("Talk.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), talk},
    {INFO("Reluctant.c", BOTH, 1, 0, 1, 0, io), reluctant},
    {INFO("Spare.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), spare},
    {INFO("HeatSet.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), heatset},
    {INFO("HeatAdd.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), heatadd},
    {INFO("Metrics.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), metrics},
    {INFO("Flags.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 2, 1, fp, io), flags},
    {INFO("Ledger.c", AMP_CAP_V2 | AMP_CAP_SNAPSHOT | AMP_CAP_EVENTS, 1, 0, 1, 0, io), ledger},
    {INFO("Blind.c", AMP_CAP_V2 | AMP_CAP_STATELESS, 1, 0, 1, 0, io), blind},
};
enum { COUNT = sizeof table / sizeof table[0] };

const amp_library_info_t* amp_library_info(const amp_host_t* host) {
    static amp_node_info_t nodes[COUNT];
    static const amp_library_info_t info = {sizeof info, MAJOR, MINOR, COUNT, "tests", "1", nodes};
    (void)host;
    for (int i = 0; i < COUNT; i++) nodes[i] = table[i].info;
    return &info;
}

static int run(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out, int mode, amp_node_metrics_t* m) {
    if (d->struct_size < offsetof(amp_node_descriptor_t, reserved)) return AMP_E_VERSION;
    if (mode != AMP_FORWARD && mode != AMP_BACKWARD) return AMP_E_INVALID_ARG;
    for (int i = 0; i < COUNT; i++)
        if (d->type_len == strlen(table[i].info.type) && !memcmp(d->type, table[i].info.type, d->type_len)) return table[i].run(d, s, in, out, mode, m);
    return AMP_E_UNKNOWN_NODE;
}
int amp_run_node(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out) {
    seen[3] = 0; /* for reluctant: this is the first version */
    return run(d, s, in, out, AMP_FORWARD, NULL);
}
#ifndef V1ONLY
int amp_run_node_v2(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out, amp_execution_mode_t mode, amp_node_metrics_t* m) {
    seen[3] = 1;
    return run(d, s, in, out, (int)mode, m);
}
#endif

int64_t amp_state_save(const amp_node_descriptor_t* d, const amp_state_t* s, void* dst, uint64_t cap) {
    (void)d;
    if (!s) return 0;
    if (cap >= sizeof *s) memcpy(dst, s, sizeof *s);
    return sizeof *s;
}
int amp_state_load(const amp_node_descriptor_t* d, amp_state_t** s, const void* src, uint64_t len) {
    (void)d;
    if (len != sizeof **s) return AMP_E_STATE;
    if (!state(s)) return AMP_E_NO_MEMORY;
    memcpy(*s, src, len);
    return 0;
}
