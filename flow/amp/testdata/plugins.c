/* Plug-ins for tests. Each checks on which thread it is called, and says what
 * is wrong through clap.log.
 *
 *   test.gain    y = gain x, gain follows its events to the frame; 2 channels
 *   test.delay   y[n] = x[n - 100], a latency of 100 frames, twice at 96 kHz or with gain 4; mono
 *   test.state   y = x + offset: the offset is state, which an event of its parameter replaces; mono
 *   test.synth   a square wave of the last key that is held, at its velocity; no input
 *   test.size    y[n] = frames of the process call; mono
 *   test.side    y = x + 2 side; mono, two inputs
 *   test.crash   writes to address 8 if x > 10; mono
 *   test.exit    calls exit(0) if x > 10; mono
 *   test.over    writes 4 frames too many if x > 10; mono
 *   test.fail    process returns CLAP_PROCESS_ERROR if x > 10, 77 if x < -10; mono
 *   test.lie     describes one channel at first and two later
 *   test.null    has no process
 *   test.ports   claims 4 billion ports
 *   test.params  claims 4 billion parameters
 *   test.name    has a parameter whose name has no end, from NaN to infinity
 *   test.refuse  its init refuses
 *   test.many    has 300 parameters p0 to p299: y = x + the sum of i * p_i; mono
 *   test.early   crashes when it is made
 *   test.big     saves 20 MB, whether they are taken or not; mono
 *
 * Definitions break the library itself: NULLENTRY, NULLFACTORY, NODESC, NULLID,
 * LONGID, COUNT, DRAFT, INITFAIL, INITCRASH.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clap.h"

typedef struct {
	clap_plugin_t plugin;
	const clap_host_t *host;
	const clap_host_log_t *log;
	const clap_host_thread_check_t *thread;
	int kind, calls;
	double gain, offset, rate;
	double many[300];
	float line[200];
	int at, key;
	double velocity, phase;
	bool active, processing, asked;
} self_t;

enum { GAIN, DELAY, STATE, SYNTH, SIZE, SIDE, CRASH, EXIT, OVER, FAIL, LIE, NIL, PORTS, PARAMS, NAME, REFUSE, MANY, EARLY, BIG, KINDS };

#define D(s) { {1, 2, 2}, "test." s, "Test " s, "Atenia", "", "", "", "1.0", "", NULL }
static const clap_plugin_descriptor_t descriptors[KINDS] = {
	D("gain"), D("delay"), D("state"), D("synth"), D("size"), D("side"), D("crash"), D("exit"), D("over"), D("fail"), D("lie"), D("null"),
	D("ports"), D("params"), D("name"), D("refuse"), D("many"), D("early"), D("big"),
};

static self_t *self(const clap_plugin_t *p) { return p->plugin_data; }

static void complain(self_t *s, const char *text) {
	if (s->log) s->log->log(s->host, 6, text);
}

static void on_main(self_t *s, const char *where) {
	if (!s->thread || s->thread->is_main_thread(s->host)) return;
	complain(s, where);
}

static void on_audio(self_t *s, const char *where) {
	if (!s->thread || s->thread->is_audio_thread(s->host)) return;
	complain(s, where);
}

static bool init(const clap_plugin_t *p) {
	self_t *s = self(p);
	s->log = s->host->get_extension(s->host, "clap.log");
	s->thread = s->host->get_extension(s->host, "clap.thread-check");
	if (!s->log || !s->thread || s->host->get_extension(s->host, "clap.lo") || s->host->get_extension(s->host, NULL)) return false;
	on_main(s, "init is not called on the main thread");
	if (s->thread->is_audio_thread(s->host)) complain(s, "init is called on the audio thread");
	if (s->kind == GAIN) s->host->request_callback(s->host);
	return s->kind != REFUSE;
}

static void destroy(const clap_plugin_t *p) {
	self_t *s = self(p);
	on_main(s, "destroy is not called on the main thread");
	if (s->active) complain(s, "destroyed while active");
	free(s);
}

static int late(self_t *s) { return s->rate > 90000 || s->gain == 4 ? 200 : 100; }

static uint32_t latency(const clap_plugin_t *p) {
	on_main(self(p), "latency is not called on the main thread");
	return late(self(p));
}

static void reset(const clap_plugin_t *p) {
	self_t *s = self(p);
	on_audio(s, "reset is not called on the audio thread");
	memset(s->line, 0, sizeof s->line);
	s->at = 0, s->key = -1, s->phase = 0;
}

static bool activate(const clap_plugin_t *p, double rate, uint32_t min, uint32_t max) {
	self_t *s = self(p);
	on_main(s, "activate is not called on the main thread");
	if (s->active) complain(s, "activated twice");
	s->rate = rate;
	return s->active = rate >= 8000 && rate <= 192000 && min >= 1 && min <= max;
}

static void deactivate(const clap_plugin_t *p) {
	on_main(self(p), "deactivate is not called on the main thread");
	if (self(p)->processing) complain(self(p), "deactivated while processing");
	self(p)->active = false;
}

static bool start(const clap_plugin_t *p) {
	on_audio(self(p), "start_processing is not called on the audio thread");
	if (!self(p)->active || self(p)->processing) complain(self(p), "started while inactive or twice");
	return self(p)->processing = true;
}

static void stop(const clap_plugin_t *p) {
	on_audio(self(p), "stop_processing is not called on the audio thread");
	self(p)->processing = false;
}

static void event(self_t *s, const clap_event_header_t *e) {
	if (e->space_id != 0) return;
	if (e->type == CLAP_EVENT_PARAM_VALUE) {
		const clap_event_param_value_t *v = (const void *)e;
		if (e->size != sizeof *v || v->note_id != -1 || v->port_index != -1 || v->channel != -1 || v->key != -1 || v->cookie) complain(s, "a bad event of a parameter");
		if (s->kind == MANY && v->param_id >= 1000 && v->param_id < 1300) s->many[v->param_id - 1000] = v->value;
		if (s->kind == STATE && v->param_id == 7) s->offset = v->value;
		else if (s->kind != MANY && v->param_id == 7) s->gain = v->value;
	}
	if (e->type == CLAP_EVENT_NOTE_ON || e->type == CLAP_EVENT_NOTE_OFF) {
		const clap_event_note_t *n = (const void *)e;
		if (e->size != sizeof *n || n->port_index != 0 || n->channel < 0 || n->channel > 15 || n->note_id < 0) complain(s, "a bad note");
		if (e->type == CLAP_EVENT_NOTE_ON) s->key = n->key, s->velocity = n->velocity, s->phase = 0;
		else if (s->key == n->key) s->key = -1;
	}
}

static int32_t process(const clap_plugin_t *p, const clap_process_t *c) {
	self_t *s = self(p);
	on_audio(s, "process is not called on the audio thread");
	if (s->thread->is_main_thread(s->host)) complain(s, "process is called on the main thread");
	if (!s->processing) complain(s, "process without start_processing");
	uint32_t next = 0, events = c->in_events->size(c->in_events), last = 0;
	if (c->in_events->get(c->in_events, events)) complain(s, "an event beyond the last");
	const clap_audio_buffer_t *in = c->audio_inputs;
	clap_audio_buffer_t *out = c->audio_outputs;
	int32_t status = 1;
	for (uint32_t n = 0; n < c->frames_count; n++) {
		for (; next < events; next++) {
			const clap_event_header_t *e = c->in_events->get(c->in_events, next);
			if (e->time < last || e->time >= c->frames_count) complain(s, "events out of order");
			if (e->time > n) break;
			last = e->time;
			event(s, e);
		}
		float x = c->audio_inputs_count ? in->data32[0][n] : 0;
		switch (s->kind) {
		case GAIN:
			for (uint32_t k = 0; k < out->channel_count; k++) out->data32[k][n] = (float)s->gain * in->data32[k][n];
			break;
		case DELAY: out->data32[0][n] = s->line[s->at % late(s)], s->line[s->at % late(s)] = x, s->at++; break;
		case STATE: out->data32[0][n] = x + (float)s->offset; break;
		case SYNTH:
			out->data32[0][n] = s->key < 0 ? 0 : (float)(s->phase < 0.5 ? s->velocity : -s->velocity);
			s->phase += (1 + s->key) / 256.0, s->phase -= (int)s->phase;
			break;
		case SIZE: out->data32[0][n] = (float)c->frames_count; break;
		case SIDE: out->data32[0][n] = x + 2 * in[1].data32[0][n]; break;
		case MANY: {
			double sum = x;
			for (int i = 0; i < 300; i++) sum += i * s->many[i];
			out->data32[0][n] = (float)sum;
			break;
		}
		default: out->data32[0][n] = x;
		}
		if (s->kind == CRASH && x > 10) *(volatile int *)8 = 1;
		if (s->kind == EXIT && x > 10) exit(0);
		if (s->kind == OVER && x > 10) out->data32[0][c->frames_count + 3] = 1;
		if (s->kind == FAIL && x > 10) status = 0;
		if (s->kind == FAIL && x < -10) status = 77;
	}
	clap_event_header_t echo = {sizeof echo, 0, 0, CLAP_EVENT_NOTE_OFF, 0};
	if (!c->out_events->try_push(c->out_events, &echo)) complain(s, "an event is refused");
	return status;
}

static uint32_t port_count(const clap_plugin_t *p, bool input) {
	on_main(self(p), "ports are not asked for on the main thread");
	switch (self(p)->kind) {
	case PORTS: return 4000000000u;
	case SYNTH: return !input;
	case SIDE: return input ? 2 : 1;
	}
	return 1;
}

static bool port_get(const clap_plugin_t *p, uint32_t i, bool input, clap_audio_port_info_t *info) {
	self_t *s = self(p);
	static int asked;
	info->id = i;
	snprintf(info->name, sizeof info->name, "%s", i ? "Side Chain" : input ? "Main In" : "Main Out");
	info->channel_count = s->kind == GAIN ? 2 : 1;
	if (s->kind == LIE && asked++ > 1) info->channel_count = 2;
	return true;
}

static uint32_t param_count(const clap_plugin_t *p) {
	return self(p)->kind == PARAMS ? 4000000000u : self(p)->kind == MANY ? 300 : 2;
}

static bool param_info(const clap_plugin_t *p, uint32_t i, clap_param_info_t *info) {
	int kind = self(p)->kind;
	on_main(self(p), "parameters are not asked for on the main thread");
	if (kind == MANY) {
		info->id = 1000 + i, info->flags = 1 << 5, info->min_value = 0, info->max_value = 1, info->default_value = 0;
		snprintf(info->name, sizeof info->name, "P%u", i);
		return true;
	}
	if (i == 1) { /* hidden: never seen */
		info->id = 8, info->flags = 1 << 2;
		return true;
	}
	info->id = 7, info->flags = 1 << 5;
	info->min_value = 0, info->max_value = 4, info->default_value = 1;
	snprintf(info->name, sizeof info->name, "Gain (x)");
	snprintf(info->module, sizeof info->module, "Amp");
	if (kind == NAME) {
		memset(info->name, 'a', sizeof info->name), memset(info->module, 'b', sizeof info->module);
		info->min_value = NAN, info->max_value = INFINITY;
	}
	return true;
}

static bool no(const clap_plugin_t *p, uint32_t id, double *v) { (void)p, (void)id, (void)v; return false; }
static bool no_text(const clap_plugin_t *p, uint32_t id, double v, char *t, uint32_t n) { (void)p, (void)id, (void)v, (void)t, (void)n; return false; }
static bool no_value(const clap_plugin_t *p, uint32_t id, const char *t, double *v) { (void)p, (void)id, (void)t, (void)v; return false; }
static void flush(const clap_plugin_t *p, const clap_input_events_t *in, const clap_output_events_t *out) {
	if (self(p)->active) complain(self(p), "flushed while active");
	on_main(self(p), "flush is not called on the main thread");
	if (!out || !in || in->size(in) == 0) complain(self(p), "nothing to flush");
	for (uint32_t i = 0; i < in->size(in); i++) event(self(p), in->get(in, i));
}

static uint32_t note_count(const clap_plugin_t *p, bool input) { return self(p)->kind == SYNTH && input; }
static bool note_get(const clap_plugin_t *p, uint32_t i, bool input, clap_note_port_info_t *info) { (void)p, (void)i, (void)input, (void)info; return false; }

/* The state is "offset" and 300 kB that must come back as they were, which need
 * more than one read. */
enum { FILL = 300000 };

static bool save(const clap_plugin_t *p, const clap_ostream_t *o) {
	self_t *s = self(p);
	on_main(s, "state is not saved on the main thread");
	if (s->kind == BIG) {
		static char b[1000];
		for (int i = 0; i < 20000; i++) o->write(o, b, sizeof b);
		return o->write(o, b, 1) != 2;
	}
	if (o->write(o, &s->offset, sizeof s->offset) != sizeof s->offset) return false;
	for (int i = 0; i < FILL; i++) {
		unsigned char b = (unsigned char)(i * 7);
		if (o->write(o, &b, 1) != 1) return false;
	}
	return true;
}

static bool load(const clap_plugin_t *p, const clap_istream_t *in) {
	self_t *s = self(p);
	on_main(s, "state is not loaded on the main thread");
	double v;
	if (in->read(in, &v, sizeof v) != sizeof v || in->read(in, NULL, 1) >= 0) return false;
	unsigned char b[1000];
	int n = 0;
	for (int64_t got; (got = in->read(in, b, sizeof b)) > 0;)
		for (int i = 0; i < got; i++, n++)
			if (b[i] != (unsigned char)(n * 7)) return false;
	if (n != FILL) return false;
	s->offset = v;
	return true;
}

static const void *get_extension(const clap_plugin_t *p, const char *id) {
	static const clap_plugin_audio_ports_t ports = {port_count, port_get};
	static const clap_plugin_params_t params = {param_count, param_info, no, no_text, no_value, flush};
	static const clap_plugin_note_ports_t notes = {note_count, note_get};
	static const clap_plugin_latency_t delay = {latency};
	static const clap_plugin_state_t state = {save, load};
	int kind = self(p)->kind;
	if (!strcmp(id, "clap.audio-ports")) return &ports;
	if (!strcmp(id, "clap.params") && (kind == GAIN || kind == DELAY || kind == STATE || kind == PARAMS || kind == NAME || kind == MANY)) return &params;
	if (!strcmp(id, "clap.note-ports")) return &notes;
	if (!strcmp(id, "clap.latency") && kind == DELAY) return &delay;
	if (!strcmp(id, "clap.state") && (kind == STATE || kind == BIG)) return &state;
	return NULL;
}

static void on_main_thread(const clap_plugin_t *p) {
	on_main(self(p), "on_main_thread is not called on the main thread");
	if (!self(p)->asked) complain(self(p), "called back");
	self(p)->asked = true;
}

static uint32_t count(const clap_plugin_factory_t *f) {
	(void)f;
#ifdef COUNT
	return 4000000000u;
#endif
	return KINDS;
}

static const clap_plugin_descriptor_t *descriptor(const clap_plugin_factory_t *f, uint32_t i) {
	(void)f;
#ifdef NODESC
	return NULL;
#endif
#if defined LONGID || defined NULLID
	static clap_plugin_descriptor_t bad;
	static char longer[100000];
	memset(longer, 'x', sizeof longer - 1);
	bad = descriptors[0];
#ifdef LONGID
	bad.id = longer;
#else
	bad.id = NULL;
#endif
	return &bad;
#endif
	return i < KINDS ? &descriptors[i] : NULL;
}

static const clap_plugin_t *create(const clap_plugin_factory_t *f, const clap_host_t *host, const char *id) {
	(void)f;
	for (int i = 0; i < KINDS; i++) {
		if (strcmp(id, descriptors[i].id)) continue;
		self_t *s = calloc(1, sizeof *s);
		s->kind = i, s->host = host, s->gain = 1, s->key = -1, s->offset = 3;
		clap_plugin_t v = {&descriptors[i], s, init, destroy, activate, deactivate, start, stop, reset, i == NIL ? NULL : process, get_extension, on_main_thread};
		s->plugin = v;
		if (i == EARLY) *(volatile int *)8 = 1;
		return &s->plugin;
	}
	return NULL;
}

static const clap_plugin_factory_t factory = {count, descriptor, create};

static bool entry_init(const char *path) {
#ifdef INITFAIL
	return false;
#endif
#ifdef INITCRASH
	*(volatile int *)8 = 1;
#endif
	return path && path[0] == '/';
}
static void entry_deinit(void) {}
static const void *get_factory(const char *id) {
#ifdef NULLFACTORY
	return NULL;
#endif
	return strcmp(id, "clap.plugin-factory") ? NULL : &factory;
}

#ifdef DRAFT
#define VERSION {0, 26, 0}
#else
#define VERSION {1, 2, 2}
#endif
#ifdef NULLENTRY
const clap_plugin_entry_t clap_entry = {VERSION, NULL, NULL, NULL};
void *unused[] = {(void *)entry_init, (void *)entry_deinit, (void *)get_factory};
#else
const clap_plugin_entry_t clap_entry = {VERSION, entry_init, entry_deinit, get_factory};
#endif
