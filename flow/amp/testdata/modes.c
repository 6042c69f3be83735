/* Calls the template with modes that there are not and with a descriptor that
 * is too short: it must say so, and change neither outputs nor state nor
 * metrics. Prints what is wrong.                                             */
#include "amp.h"
#include <stdio.h>
#include <string.h>

int main(void) {
    double x[4] = {1, 2, 3, 4}, y[4], a = 0.5, heat = 1;
    amp_node_descriptor_t d;
    memset(&d, 0, sizeof d);
    d.struct_size = sizeof d, d.descriptor_version = 2, d.type = "Smooth", d.type_len = 6, d.params_json = "{}", d.params_len = 2;
    d.input_count = 1, d.param_count = 2, d.output_count = 1, d.oversample_ratio = 1, d.max_frames = 4, d.dtype = AMP_F64, d.sample_rate = 48000;
    amp_buffer_t row = {x, 1, 1, 4, AMP_F64, 4, 4, 0, AMP_ROLE_SIGNAL, 0, 1, 1}, in[3] = {row, row, row}, out[1] = {row};
    in[1].data = &a, in[2].data = &heat, in[1].frames = in[2].frames = 1;
    out[0].data = y;
    amp_state_t* s = NULL;
    amp_node_metrics_t m, m0;
    if (amp_run_node_v2(&d, &s, in, out, AMP_FORWARD, &m) || y[3] != 3.0625 || !s || m.accumulated_heat != 4) puts("forward");
    char before[64], after[64];
    amp_buffer_t out0[1];
    double y0[4];
    memset(y, 7, sizeof y), memset(&m, 7, sizeof m);
    memcpy(y0, y, sizeof y), memcpy(&m0, &m, sizeof m), memcpy(out0, out, sizeof out);
    int64_t n = amp_state_save(&d, s, before, sizeof before);
    const unsigned modes[] = {2, 7, 1u << 31};
    for (int i = 0; i < 4; i++) {
        amp_state_t* s0 = s;
        if (i == 3) d.struct_size = 40;
        int rc = amp_run_node_v2(&d, &s, in, out, i < 3 ? (amp_execution_mode_t)modes[i] : AMP_FORWARD, &m);
        if (rc != (i < 3 ? AMP_E_INVALID_ARG : AMP_E_VERSION)) printf("case %d: %d\n", i, rc);
        if (s != s0 || amp_state_save(&d, s, after, sizeof after) != n || memcmp(before, after, (size_t)n)) printf("case %d: state\n", i);
        if (memcmp(y, y0, sizeof y) || memcmp(&m, &m0, sizeof m) || memcmp(out, out0, sizeof out)) printf("case %d: outputs or metrics\n", i);
    }
    amp_release_state(s);
    return 0;
}
