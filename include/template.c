/* template.c - a complete node of a flow graph in C: copy it and change it.
 *
 *   gcc -std=c99 -O2 -fPIC -shared -ffp-contract=off -o smooth.amp.so template.c
 *
 * The node is a one-pole low-pass with one filter per row (one channel of one
 * batch):
 *
 *   y[n] = y[n-1] + a[n] * (x[n] - y[n-1])
 *
 * It has one signal input, one output, and two parameters: "a", which may be
 * a constant or have a value per frame, and "thermo.heat", which every node may
 * have. It runs in float32 and in float64, has both calls, a backward mode and
 * snapshots. Comments say what to leave out for a node without one of these. */
#include "amp.h"

#include <stdlib.h>
#include <string.h>

/* ---- description of the library ------------------------------------------ */

/* Names of the parameters in the order in which the calls pass them. */
static const char* const param_names[] = {"a", "thermo.heat"};
/* Names of the ports: inputs, then outputs. */
static const char* const port_names[] = {"in", "out"};

static const amp_node_info_t nodes[] = {{
    sizeof(amp_node_info_t),
    AMP_CAP_V2            /* amp_run_node_v2 knows this type                  */
        | AMP_CAP_BACKWARD /* has a backward mode; leave out without one       */
        | AMP_CAP_LINEAR | AMP_CAP_TIMEINV /* allows hosts to optimize         */
        | AMP_CAP_F64      /* accepts AMP_F64 as well as AMP_F32               */
        | AMP_CAP_RT_SAFE  /* after the first call: no locks, no allocation    */
        | AMP_CAP_SNAPSHOT /* amp_state_save and amp_state_load work           */
        | AMP_CAP_NEED_X | AMP_CAP_NEED_Y | AMP_CAP_NEED_S0, /* see backward   */
    "Smooth", 1, 2, 1, /* type; signal inputs, parameters, outputs           */
    1, 0,               /* oversampling ratio, declared delay in frames       */
    AMP_JAC_TOEPLITZ_CAUSAL, param_names, port_names,
}};

static const amp_library_info_t library = {
    sizeof(amp_library_info_t), AMP_ABI_MAJOR, AMP_ABI_MINOR, 1, "template", "1", nodes};

const amp_library_info_t* amp_library_info(const amp_host_t* host) {
    (void)host;
    return &library;
}

/* ---- state --------------------------------------------------------------- */

/* One object serves both modes. y belongs to the forward mode and is all that
 * a snapshot holds; lambda, the gradient with respect to y after the frame at
 * hand, belongs to a backward sweep, which leaves y alone.
 * A node without state sets AMP_CAP_STATELESS, never writes *state, and needs
 * no amp_release_state.                                                     */
struct amp_state_t {
    uint32_t rows;
    double* y;
    double* lambda;
};

void amp_release_state(amp_state_t* s) {
    if (s) {
        free(s->y);
        free(s->lambda);
        free(s);
    }
}

static amp_state_t* make_state(uint32_t rows) {
    amp_state_t* s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->rows = rows;
    s->y = calloc(rows, sizeof *s->y);
    s->lambda = calloc(rows, sizeof *s->lambda);
    if (!s->y || !s->lambda) {
        amp_release_state(s);
        return NULL;
    }
    return s;
}

/* Returns the bytes that the snapshot takes; writes it only if it fits, so
 * that a host may ask first.                                                */
int64_t amp_state_save(const amp_node_descriptor_t* desc, const amp_state_t* s, void* dst, uint64_t cap) {
    (void)desc;
    uint64_t n = s ? s->rows * sizeof(double) : 0;
    if (n && n <= cap) memcpy(dst, s->y, n);
    return (int64_t)n;
}

int amp_state_load(const amp_node_descriptor_t* desc, amp_state_t** state, const void* src, uint64_t len) {
    (void)desc;
    uint64_t rows = len / sizeof(double);
    if (len % sizeof(double) || rows > UINT32_MAX || (*state && (*state)->rows != rows)) return AMP_E_STATE;
    if (!rows) return AMP_E_SUCCESS;
    if (!*state && !(*state = make_state((uint32_t)rows))) return AMP_E_NO_MEMORY;
    memcpy((*state)->y, src, len);
    return AMP_E_SUCCESS;
}

/* ---- reading and writing buffers ----------------------------------------- */

/* Index of element (b, c, f). A dimension of size 1 broadcasts, so that a
 * parameter with one value applies to all rows and frames. Without
 * AMP_CAP_STRIDED rows are contiguous.                                       */
static size_t at(const amp_buffer_t* p, uint32_t b, uint32_t c, uint32_t f) {
    if (p->batches == 1) b = 0;
    if (p->channels == 1) c = 0;
    if (p->frames == 1) f = 0;
    return ((size_t)b * p->channels + c) * p->frames + f;
}

static double get(const amp_buffer_t* p, uint32_t b, uint32_t c, uint32_t f) {
    size_t i = at(p, b, c, f);
    return p->dtype == AMP_F64 ? ((const double*)p->data)[i] : ((const float*)p->data)[i];
}

static void put(amp_buffer_t* p, uint32_t b, uint32_t c, uint32_t f, double v) {
    size_t i = at(p, b, c, f);
    if (p->dtype == AMP_F64)
        ((double*)p->data)[i] = v;
    else
        ((float*)p->data)[i] = (float)v;
}

static void add(amp_buffer_t* p, uint32_t b, uint32_t c, uint32_t f, double v) {
    put(p, b, c, f, get(p, b, c, f) + v);
}

/* A gradient without AMP_BUF_ACCUMULATE starts at zero. */
static void begin(amp_buffer_t* p) {
    if (p->data && !(p->flags & AMP_BUF_ACCUMULATE))
        memset(p->data, 0, (size_t)p->batches * p->channels * p->frames * (p->dtype == AMP_F64 ? 8 : 4));
}

/* ---- the two modes -------------------------------------------------------- */

/* inputs: x, a, thermo.heat. outputs: y. A parameter that the plan does not
 * give is flagged AMP_BUF_ABSENT: the default of the node applies.          */
static int forward(amp_state_t* s, const amp_buffer_t* inputs, amp_buffer_t* outputs, amp_node_metrics_t* metrics) {
    const amp_buffer_t *x = &inputs[0], *a = &inputs[1], *heat = &inputs[2];
    amp_buffer_t* y = &outputs[0];
    for (uint32_t b = 0; b < x->batches; b++)
        for (uint32_t c = 0; c < x->channels; c++) {
            double last = s->y[b * x->channels + c];
            for (uint32_t f = 0; f < x->frames; f++) {
                double k = a->flags & AMP_BUF_ABSENT ? 0.5 : get(a, b, c, f);
                last += k * (get(x, b, c, f) - last);
                put(y, b, c, f, last);
            }
            s->y[b * x->channels + c] = last;
        }
    if (metrics) { /* NULL if the host does not collect metrics */
        double sum = 0;
        if (!(heat->flags & AMP_BUF_ABSENT))
            for (uint32_t b = 0; b < heat->batches; b++)
                for (uint32_t c = 0; c < heat->channels; c++)
                    for (uint32_t f = 0; f < x->frames; f++) sum += get(heat, b, c, f);
        metrics->measured_delay_frames = 0;
        metrics->accumulated_heat = (float)sum; /* the host clears it before the call */
    }
    return AMP_E_SUCCESS;
}

/* The transpose of the whole stream's derivative, block by block in reverse;
 * within a block from the last frame to the first. With t the gradient with
 * respect to y[n], through the output and through y[n+1]:
 *
 *   t = gy[n] + lambda;  gx[n] = a t;  ga[n] = t (x[n] - y[n-1]);
 *   lambda = (1 - a) t
 *
 * inputs:  gy | x, a, thermo.heat (NEED_X) | y (NEED_Y) | snapshot (NEED_S0)
 * outputs: gx | ga, gheat                                                    */
static int backward(amp_state_t* s, const amp_buffer_t* inputs, amp_buffer_t* outputs) {
    const amp_buffer_t *gy = &inputs[0], *x = &inputs[1], *a = &inputs[2], *y = &inputs[4], *before = &inputs[5];
    amp_buffer_t *gx = &outputs[0], *ga = &outputs[1], *gheat = &outputs[2];
    /* x is absent when no parameter gradients are requested. */
    int params = ga->data && !(x->flags & AMP_BUF_ABSENT);
    if (params && (before->frames != s->rows * sizeof(double))) return AMP_E_STATE;
    if (gy->flags & AMP_BUF_SWEEP_BEGIN) memset(s->lambda, 0, s->rows * sizeof *s->lambda);
    begin(ga);
    begin(gheat); /* heat is not part of the output: its gradient is zero */
    /* Frames in the outer loop: sums over rows then do not depend on how the
     * stream is cut into blocks, to the bit.                                 */
    for (uint32_t f = gy->frames; f-- > 0;)
        for (uint32_t row = 0; row < s->rows; row++) {
            uint32_t b = row / gy->channels, c = row % gy->channels;
            double k = a->flags & AMP_BUF_ABSENT ? 0.5 : get(a, b, c, f);
            double t = get(gy, b, c, f) + s->lambda[row];
            if (gx->data) put(gx, b, c, f, k * t);
            if (params) {
                /* Before the block y is the snapshot's, rounded as outputs are:
                 * the gradient must not tell where a block begins.          */
                double last = f ? get(y, b, c, f - 1) : ((const double*)before->data)[row];
                if (y->dtype == AMP_F32) last = (float)last;
                add(ga, b, c, f, t * (get(x, b, c, f) - last));
            }
            s->lambda[row] = (1 - k) * t;
        }
    return AMP_E_SUCCESS;
}

/* ---- entry points ---------------------------------------------------------- */

int amp_run_node_v2(const amp_node_descriptor_t* desc, amp_state_t** state, const amp_buffer_t* inputs,
                    amp_buffer_t* outputs, amp_execution_mode_t mode, amp_node_metrics_t* metrics) {
    /* Everything is checked before anything is changed. */
    if (!desc || !state || !inputs || !outputs) return AMP_E_INVALID_ARG;
    if (desc->struct_size < offsetof(amp_node_descriptor_t, reserved)) return AMP_E_VERSION;
    if (desc->type_len != 6 || memcmp(desc->type, "Smooth", 6)) return AMP_E_UNKNOWN_NODE;
    if (mode != AMP_FORWARD && mode != AMP_BACKWARD) return AMP_E_INVALID_ARG;
    /* The first input is x or gy: both have the node's rows. */
    uint32_t rows = inputs[0].batches * inputs[0].channels;
    if (*state && (*state)->rows != rows) return AMP_E_SHAPE;
    if (!*state && !(*state = make_state(rows))) return AMP_E_NO_MEMORY;
    return mode == AMP_FORWARD ? forward(*state, inputs, outputs, metrics) : backward(*state, inputs, outputs);
}

/* v1: for plans without "supports_v2", and for hosts that know no v2. */
int amp_run_node(const amp_node_descriptor_t* desc, amp_state_t** state, const amp_buffer_t* inputs,
                 amp_buffer_t* outputs) {
    return amp_run_node_v2(desc, state, inputs, outputs, AMP_FORWARD, NULL);
}
