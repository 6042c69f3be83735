/* A tremolo: y = x (1 - depth (1 + sin p) / 2), with the phase p in the state, so that a block that the node did not see
 * is heard for ever. */
#include "amp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct amp_state_t {
    double phase;
};
void amp_release_state(amp_state_t* s) { free(s); }

static double value(const amp_buffer_t* p, uint32_t f, double absent) {
    if (p->flags & AMP_BUF_ABSENT) return absent;
    size_t i = p->frames == 1 ? 0 : f;
    return p->dtype == AMP_F64 ? ((const double*)p->data)[i] : ((const float*)p->data)[i];
}

static int run(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out) {
    if (!*s && !(*s = calloc(1, sizeof **s))) return AMP_E_NO_MEMORY;
    for (uint32_t f = 0; f < in[0].frames; f++) {
        double gain = 1 - value(&in[2], f, 0.5) * (1 + sin((*s)->phase)) / 2;
        for (uint32_t r = 0; r < in[0].batches * in[0].channels; r++) {
            size_t i = (size_t)r * in[0].frames + f;
            if (in[0].dtype == AMP_F64)
                ((double*)out[0].data)[i] = ((const double*)in[0].data)[i] * gain;
            else
                ((float*)out[0].data)[i] = (float)(((const float*)in[0].data)[i] * gain);
        }
        (*s)->phase = fmod((*s)->phase + 6.283185307179586 * value(&in[1], f, 5) / d->sample_rate, 6.283185307179586);
    }
    return AMP_E_SUCCESS;
}
int amp_run_node(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out) { return run(d, s, in, out); }
int amp_run_node_v2(const amp_node_descriptor_t* d, amp_state_t** s, const amp_buffer_t* in, amp_buffer_t* out, amp_execution_mode_t mode, amp_node_metrics_t* m) {
    (void)m;
    return mode == AMP_FORWARD ? run(d, s, in, out) : mode == AMP_BACKWARD ? AMP_E_UNSUPPORTED : AMP_E_INVALID_ARG;
}

int64_t amp_state_save(const amp_node_descriptor_t* d, const amp_state_t* s, void* dst, uint64_t cap) {
    (void)d;
    if (s && cap >= sizeof *s) memcpy(dst, s, sizeof *s);
    return s ? (int64_t)sizeof *s : 0;
}
int amp_state_load(const amp_node_descriptor_t* d, amp_state_t** s, const void* src, uint64_t len) {
    (void)d;
    if (len != sizeof **s) return AMP_E_STATE;
    if (!*s && !(*s = calloc(1, sizeof **s))) return AMP_E_NO_MEMORY;
    return memcpy(*s, src, len), AMP_E_SUCCESS;
}

const amp_library_info_t* amp_library_info(const amp_host_t* host) {
    static const char* const ports[] = {"in", "out"};
    static const char* const params[] = {"rate", "depth"};
    static const amp_node_info_t nodes[] = {{sizeof(amp_node_info_t), AMP_CAP_V2 | AMP_CAP_F64 | AMP_CAP_RT_SAFE | AMP_CAP_SNAPSHOT,
                                             "Tremolo.c", 1, 2, 1, 1, 0, 0, params, ports}};
    static const amp_library_info_t info = {sizeof info, AMP_ABI_MAJOR, AMP_ABI_MINOR, 1, "tests", "1", nodes};
    (void)host;
    return &info;
}
