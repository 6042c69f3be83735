/* A node in C: soft clipping, y = d x / (1 + |d x|), with a drive d.
 *
 *   gcc -std=c99 -O2 -fPIC -shared -ffp-contract=off -I include \
 *       -o softclip.amp.so examples/flow/softclip/softclip.c
 *
 * It has no state, so it needs no amp_release_state; it has a backward mode,
 * so gradients go through it. include/template.c explains every line.        */
#include "amp.h"
#include <math.h>
#include <string.h>

static const char* const params[] = {"drive"};
static const char* const ports[] = {"in", "out"};
static const amp_node_info_t nodes[] = {{sizeof(amp_node_info_t),
    AMP_CAP_V2 | AMP_CAP_BACKWARD | AMP_CAP_STATELESS | AMP_CAP_F64 | AMP_CAP_RT_SAFE | AMP_CAP_NEED_X,
    "SoftClip", 1, 1, 1, 1, 0, AMP_JAC_DIAGONAL, params, ports}};
static const amp_library_info_t library = {sizeof(amp_library_info_t), AMP_ABI_MAJOR, AMP_ABI_MINOR, 1, "atenia", "1", nodes};

const amp_library_info_t* amp_library_info(const amp_host_t* host) {
    (void)host;
    return &library;
}

static size_t at(const amp_buffer_t* p, uint32_t row, uint32_t f, uint32_t channels) {
    uint32_t b = p->batches == 1 ? 0 : row / channels, c = p->channels == 1 ? 0 : row % channels;
    return ((size_t)b * p->channels + c) * p->frames + (p->frames == 1 ? 0 : f);
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

int amp_run_node_v2(const amp_node_descriptor_t* desc, amp_state_t** state, const amp_buffer_t* in,
                    amp_buffer_t* out, amp_execution_mode_t mode, amp_node_metrics_t* metrics) {
    (void)state, (void)metrics;
    if (!desc || !in || !out) return AMP_E_INVALID_ARG;
    if (desc->struct_size < offsetof(amp_node_descriptor_t, reserved)) return AMP_E_VERSION;
    if (desc->type_len != 8 || memcmp(desc->type, "SoftClip", 8)) return AMP_E_UNKNOWN_NODE;
    if (mode != AMP_FORWARD && mode != AMP_BACKWARD) return AMP_E_INVALID_ARG;
    /* forward: x, drive -> y. backward: gy, x, drive -> gx, gdrive. */
    const amp_buffer_t *gy = &in[0], *x = mode == AMP_FORWARD ? &in[0] : &in[1], *drive = x + 1;
    amp_buffer_t* sum = mode == AMP_FORWARD ? NULL : &out[1];
    uint32_t channels = in[0].channels, rows = in[0].batches * channels;
    if (sum && sum->data && !(sum->flags & AMP_BUF_ACCUMULATE))
        memset(sum->data, 0, (size_t)sum->batches * sum->channels * sum->frames * (sum->dtype == AMP_F64 ? 8 : 4));
    for (uint32_t f = in[0].frames; f-- > 0;)
        for (uint32_t row = 0; row < rows; row++) {
            size_t i = (size_t)row * in[0].frames + f, k = at(drive, row, f, channels);
            double d = drive->flags & AMP_BUF_ABSENT ? 1 : get(drive, k), v = get(x, i), t = 1 + fabs(d * v);
            if (mode == AMP_FORWARD) {
                put(&out[0], i, d * v / t);
                continue;
            }
            if (out[0].data) put(&out[0], i, get(gy, i) * d / (t * t));
            if (sum->data) put(sum, k, get(sum, k) + get(gy, i) * v / (t * t));
        }
    return AMP_E_SUCCESS;
}

int amp_run_node(const amp_node_descriptor_t* desc, amp_state_t** state, const amp_buffer_t* in, amp_buffer_t* out) {
    return amp_run_node_v2(desc, state, in, out, AMP_FORWARD, NULL);
}
