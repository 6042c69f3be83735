/* The part of CLAP 1.2 that the plug-ins for tests use, declared anew from the
 * published ABI. */
#ifndef TEST_CLAP_H
#define TEST_CLAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct { uint32_t major, minor, revision; } clap_version_t;

typedef struct clap_host {
	clap_version_t clap_version;
	void *host_data;
	const char *name, *vendor, *url, *version;
	const void *(*get_extension)(const struct clap_host *, const char *id);
	void (*request_restart)(const struct clap_host *);
	void (*request_process)(const struct clap_host *);
	void (*request_callback)(const struct clap_host *);
} clap_host_t;

typedef struct {
	clap_version_t clap_version;
	const char *id, *name, *vendor, *url, *manual_url, *support_url, *version, *description;
	const char *const *features;
} clap_plugin_descriptor_t;

typedef struct {
	uint32_t size, time;
	uint16_t space_id, type;
	uint32_t flags;
} clap_event_header_t;

enum { CLAP_EVENT_NOTE_ON = 0, CLAP_EVENT_NOTE_OFF = 1, CLAP_EVENT_PARAM_VALUE = 5 };

typedef struct {
	clap_event_header_t header;
	int32_t note_id;
	int16_t port_index, channel, key;
	double velocity;
} clap_event_note_t;

typedef struct {
	clap_event_header_t header;
	uint32_t param_id;
	void *cookie;
	int32_t note_id;
	int16_t port_index, channel, key;
	double value;
} clap_event_param_value_t;

typedef struct clap_input_events {
	void *ctx;
	uint32_t (*size)(const struct clap_input_events *);
	const clap_event_header_t *(*get)(const struct clap_input_events *, uint32_t);
} clap_input_events_t;

typedef struct clap_output_events {
	void *ctx;
	bool (*try_push)(const struct clap_output_events *, const clap_event_header_t *);
} clap_output_events_t;

typedef struct {
	float **data32;
	double **data64;
	uint32_t channel_count, latency;
	uint64_t constant_mask;
} clap_audio_buffer_t;

typedef struct {
	int64_t steady_time;
	uint32_t frames_count;
	const void *transport;
	const clap_audio_buffer_t *audio_inputs;
	clap_audio_buffer_t *audio_outputs;
	uint32_t audio_inputs_count, audio_outputs_count;
	const clap_input_events_t *in_events;
	const clap_output_events_t *out_events;
} clap_process_t;

typedef struct clap_plugin {
	const clap_plugin_descriptor_t *desc;
	void *plugin_data;
	bool (*init)(const struct clap_plugin *);
	void (*destroy)(const struct clap_plugin *);
	bool (*activate)(const struct clap_plugin *, double rate, uint32_t min, uint32_t max);
	void (*deactivate)(const struct clap_plugin *);
	bool (*start_processing)(const struct clap_plugin *);
	void (*stop_processing)(const struct clap_plugin *);
	void (*reset)(const struct clap_plugin *);
	int32_t (*process)(const struct clap_plugin *, const clap_process_t *);
	const void *(*get_extension)(const struct clap_plugin *, const char *id);
	void (*on_main_thread)(const struct clap_plugin *);
} clap_plugin_t;

typedef struct clap_plugin_factory {
	uint32_t (*get_plugin_count)(const struct clap_plugin_factory *);
	const clap_plugin_descriptor_t *(*get_plugin_descriptor)(const struct clap_plugin_factory *, uint32_t);
	const clap_plugin_t *(*create_plugin)(const struct clap_plugin_factory *, const clap_host_t *, const char *id);
} clap_plugin_factory_t;

typedef struct {
	clap_version_t clap_version;
	bool (*init)(const char *path);
	void (*deinit)(void);
	const void *(*get_factory)(const char *id);
} clap_plugin_entry_t;

typedef struct {
	uint32_t id;
	char name[256];
	uint32_t flags, channel_count;
	const char *port_type;
	uint32_t in_place_pair;
} clap_audio_port_info_t;

typedef struct {
	uint32_t (*count)(const clap_plugin_t *, bool is_input);
	bool (*get)(const clap_plugin_t *, uint32_t index, bool is_input, clap_audio_port_info_t *);
} clap_plugin_audio_ports_t;

typedef struct {
	uint32_t id, supported_dialects, preferred_dialect;
	char name[256];
} clap_note_port_info_t;

typedef struct {
	uint32_t (*count)(const clap_plugin_t *, bool is_input);
	bool (*get)(const clap_plugin_t *, uint32_t index, bool is_input, clap_note_port_info_t *);
} clap_plugin_note_ports_t;

typedef struct {
	uint32_t id, flags;
	void *cookie;
	char name[256], module[1024];
	double min_value, max_value, default_value;
} clap_param_info_t;

typedef struct {
	uint32_t (*count)(const clap_plugin_t *);
	bool (*get_info)(const clap_plugin_t *, uint32_t index, clap_param_info_t *);
	bool (*get_value)(const clap_plugin_t *, uint32_t id, double *);
	bool (*value_to_text)(const clap_plugin_t *, uint32_t id, double, char *, uint32_t);
	bool (*text_to_value)(const clap_plugin_t *, uint32_t id, const char *, double *);
	void (*flush)(const clap_plugin_t *, const clap_input_events_t *, const clap_output_events_t *);
} clap_plugin_params_t;

typedef struct clap_istream {
	void *ctx;
	int64_t (*read)(const struct clap_istream *, void *, uint64_t);
} clap_istream_t;

typedef struct clap_ostream {
	void *ctx;
	int64_t (*write)(const struct clap_ostream *, const void *, uint64_t);
} clap_ostream_t;

typedef struct {
	bool (*save)(const clap_plugin_t *, const clap_ostream_t *);
	bool (*load)(const clap_plugin_t *, const clap_istream_t *);
} clap_plugin_state_t;

typedef struct { uint32_t (*get)(const clap_plugin_t *); } clap_plugin_latency_t;

typedef struct { void (*log)(const clap_host_t *, int32_t severity, const char *); } clap_host_log_t;

typedef struct {
	bool (*is_main_thread)(const clap_host_t *);
	bool (*is_audio_thread)(const clap_host_t *);
} clap_host_thread_check_t;

#endif
