/* Prints sizes and offsets of the structures, to be compared with those in Go. */
#include <stddef.h>
#include <stdio.h>

#ifdef REAL
#include <clap/clap.h>
#else
#include "clap.h"
#endif

#define S(t) printf(#t " %zu\n", sizeof(t))
#define O(t, f) printf(#t "." #f " %zu\n", offsetof(t, f))

int main(void) {
	S(clap_plugin_entry_t), O(clap_plugin_entry_t, init), O(clap_plugin_entry_t, get_factory);
	S(clap_plugin_factory_t), O(clap_plugin_factory_t, create_plugin);
	S(clap_plugin_descriptor_t), O(clap_plugin_descriptor_t, id), O(clap_plugin_descriptor_t, version), O(clap_plugin_descriptor_t, features);
	S(clap_plugin_t), O(clap_plugin_t, init), O(clap_plugin_t, activate), O(clap_plugin_t, start_processing), O(clap_plugin_t, reset), O(clap_plugin_t, process), O(clap_plugin_t, get_extension), O(clap_plugin_t, on_main_thread);
	S(clap_host_t), O(clap_host_t, host_data), O(clap_host_t, name), O(clap_host_t, version), O(clap_host_t, get_extension), O(clap_host_t, request_restart), O(clap_host_t, request_callback);
	S(clap_process_t), O(clap_process_t, steady_time), O(clap_process_t, frames_count), O(clap_process_t, transport), O(clap_process_t, audio_inputs), O(clap_process_t, audio_outputs), O(clap_process_t, audio_inputs_count), O(clap_process_t, audio_outputs_count), O(clap_process_t, in_events), O(clap_process_t, out_events);
	S(clap_audio_buffer_t), O(clap_audio_buffer_t, data64), O(clap_audio_buffer_t, channel_count), O(clap_audio_buffer_t, latency), O(clap_audio_buffer_t, constant_mask);
	S(clap_audio_port_info_t), O(clap_audio_port_info_t, name), O(clap_audio_port_info_t, channel_count), O(clap_audio_port_info_t, port_type), O(clap_audio_port_info_t, in_place_pair);
	S(clap_param_info_t), O(clap_param_info_t, flags), O(clap_param_info_t, name), O(clap_param_info_t, module), O(clap_param_info_t, min_value), O(clap_param_info_t, default_value);
	S(clap_plugin_params_t), O(clap_plugin_params_t, get_info), O(clap_plugin_params_t, flush);
	S(clap_plugin_state_t), S(clap_plugin_latency_t), S(clap_plugin_audio_ports_t), S(clap_plugin_note_ports_t);
	S(clap_event_header_t), O(clap_event_header_t, time), O(clap_event_header_t, space_id), O(clap_event_header_t, type), O(clap_event_header_t, flags);
	S(clap_event_param_value_t), O(clap_event_param_value_t, param_id), O(clap_event_param_value_t, cookie), O(clap_event_param_value_t, note_id), O(clap_event_param_value_t, port_index), O(clap_event_param_value_t, channel), O(clap_event_param_value_t, key), O(clap_event_param_value_t, value);
	S(clap_event_note_t), O(clap_event_note_t, note_id), O(clap_event_note_t, port_index), O(clap_event_note_t, channel), O(clap_event_note_t, key), O(clap_event_note_t, velocity);
	S(clap_input_events_t), O(clap_input_events_t, size), O(clap_input_events_t, get);
	S(clap_output_events_t), O(clap_output_events_t, try_push);
	S(clap_istream_t), O(clap_istream_t, read), S(clap_ostream_t), O(clap_ostream_t, write);
	return 0;
}
