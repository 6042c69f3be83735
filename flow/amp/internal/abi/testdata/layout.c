/* Prints sizes and offsets of amp.h, for the host to compare its own with.
 * Compiled as C99, C11 and C++11.                                            */
#include "amp.h"
#include <stdio.h>

struct align_metrics { char c; amp_node_metrics_t v; };
static const amp_node_metrics_t m = {0, 0, {0}};

#define S(t) printf(#t " %u\n", (unsigned)sizeof(t))
#define O(t, f) printf(#t "." #f " %u\n", (unsigned)offsetof(t, f))

int main(void) {
    S(amp_node_metrics_t), S(amp_buffer_t), S(amp_node_descriptor_t), S(amp_host_t), S(amp_node_info_t), S(amp_library_info_t);
    S(amp_event_t), S(amp_events_t);
    S(amp_execution_mode_t);
    printf("align metrics %u\n", (unsigned)offsetof(struct align_metrics, v));
    printf("reserved %u\n", (unsigned)(sizeof m.reserved / sizeof m.reserved[0]));
    printf("modes %d %d\n", AMP_FORWARD, AMP_BACKWARD);
    printf("last codes %d %d\n", AMP_E_END, AMP_E_PLAN);
    O(amp_node_metrics_t, measured_delay_frames), O(amp_node_metrics_t, accumulated_heat), O(amp_node_metrics_t, reserved);
    O(amp_buffer_t, data), O(amp_buffer_t, batches), O(amp_buffer_t, channels), O(amp_buffer_t, frames), O(amp_buffer_t, dtype);
    O(amp_buffer_t, stride_b), O(amp_buffer_t, stride_c), O(amp_buffer_t, frame0), O(amp_buffer_t, role), O(amp_buffer_t, flags);
    O(amp_buffer_t, rate_num), O(amp_buffer_t, rate_den);
    O(amp_node_descriptor_t, struct_size), O(amp_node_descriptor_t, descriptor_version), O(amp_node_descriptor_t, name);
    O(amp_node_descriptor_t, name_len), O(amp_node_descriptor_t, type), O(amp_node_descriptor_t, type_len);
    O(amp_node_descriptor_t, params_json), O(amp_node_descriptor_t, params_len), O(amp_node_descriptor_t, input_count);
    O(amp_node_descriptor_t, param_count), O(amp_node_descriptor_t, output_count), O(amp_node_descriptor_t, oversample_ratio);
    O(amp_node_descriptor_t, declared_delay), O(amp_node_descriptor_t, flags), O(amp_node_descriptor_t, max_frames);
    O(amp_node_descriptor_t, dtype), O(amp_node_descriptor_t, sample_rate), O(amp_node_descriptor_t, host), O(amp_node_descriptor_t, reserved);
    O(amp_host_t, struct_size), O(amp_host_t, abi_major), O(amp_host_t, abi_minor), O(amp_host_t, flags), O(amp_host_t, ctx);
    O(amp_host_t, alloc), O(amp_host_t, free), O(amp_host_t, log);
    O(amp_node_info_t, struct_size), O(amp_node_info_t, caps), O(amp_node_info_t, type), O(amp_node_info_t, inputs);
    O(amp_node_info_t, params), O(amp_node_info_t, outputs), O(amp_node_info_t, oversample_ratio), O(amp_node_info_t, declared_delay);
    O(amp_node_info_t, jacobian), O(amp_node_info_t, param_names), O(amp_node_info_t, port_names);
    O(amp_library_info_t, struct_size), O(amp_library_info_t, abi_major), O(amp_library_info_t, abi_minor);
    O(amp_library_info_t, node_count), O(amp_library_info_t, vendor), O(amp_library_info_t, version), O(amp_library_info_t, nodes);
    O(amp_event_t, offset), O(amp_event_t, kind), O(amp_event_t, channel), O(amp_event_t, key), O(amp_event_t, value), O(amp_event_t, tune);
    O(amp_events_t, struct_size), O(amp_events_t, version), O(amp_events_t, count), O(amp_events_t, event_size), O(amp_events_t, events);
    printf("events %d %d\n", AMP_EVENT_NOTE_ON, AMP_EVENT_BEND);
    return 0;
}
