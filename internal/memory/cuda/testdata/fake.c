// A driver of devices whose memory is the host's. It does what package cuda
// uses of libcuda and NVML, complains about misuse, fails on demand and counts
// what is not given back. Asynchronous copies happen later, on a thread of
// each stream, and can be held up.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_CONTEXT = 201, BAD_ADDRESS = 700 };
enum { DEVICES = 2, BLOCKS = 4096 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

// What tests read and set.
static struct {
	int64_t devices, device_bytes, pinned_limit;
	int64_t fail_at, fail_code; // the fail_at-th call from now, 0 = none
	int64_t calls, contexts, streams, events, misuse, held, in_flight, most_in_flight, threads, inits;
} state = {.devices = DEVICES, .device_bytes = 1 << 30, .pinned_limit = 1 << 30};

static int rot; // copies change a byte
static char fail_name[64]; // "" = any function
static char broken[64];    // a function that always fails; "" = none
static int64_t in_use;     // bytes of a device that others have
static long threads[64];
static __thread void *current;

struct block {
	char *at;
	size_t n;
	int pinned;
};
static struct block blocks[BLOCKS];

static size_t used(int pinned) {
	size_t sum = 0;
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].at && blocks[i].pinned == pinned)
			sum += blocks[i].n;
	return sum;
}

static int inside(const void *p, size_t n, int pinned) {
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].at && blocks[i].pinned == pinned && (char *)p >= blocks[i].at && (char *)p + n <= blocks[i].at + blocks[i].n)
			return 1;
	return 0;
}

static int64_t live(int pinned) {
	int64_t n = 0;
	for (int i = 0; i < BLOCKS; i++)
		n += blocks[i].at && blocks[i].pinned == pinned;
	return n;
}

// enter counts a call and says whether it is to fail. mu is held.
static CUresult enter(const char *name, int needs_context) {
	state.calls++;
	if (needs_context) {
		long id = gettid();
		int i = 0;
		while (i < state.threads && threads[i] != id)
			i++;
		if (i == state.threads && i < 64)
			threads[state.threads++] = id;
	}
	if (broken[0] && !strcmp(broken, name))
		return BAD_ADDRESS;
	if (state.fail_at > 0 && (!fail_name[0] || !strcmp(fail_name, name)) && --state.fail_at == 0)
		return state.fail_code;
	if (needs_context && !current) {
		state.misuse++;
		return NO_CONTEXT;
	}
	return OK;
}

#define BEGIN(context)                                          \
	pthread_mutex_lock(&mu);                                    \
	CUresult result = enter(__func__, context);                 \
	if (result) {                                               \
		pthread_mutex_unlock(&mu);                              \
		return result;                                          \
	}
#define END                      \
	pthread_mutex_unlock(&mu);   \
	return result;

static CUresult take(void **at, size_t n, int pinned, size_t limit) {
	if (!n)
		return INVALID;
	if (used(pinned) + n > limit)
		return NO_MEMORY;
	for (int i = 0; i < BLOCKS; i++)
		if (!blocks[i].at) {
			*at = malloc(n);
			memset(*at, 0xa5, n);
			blocks[i] = (struct block){*at, n, pinned};
			return OK;
		}
	return NO_MEMORY;
}

static CUresult give(void *at, int pinned) {
	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].at == at && blocks[i].pinned == pinned) {
			memset(at, 0x5a, blocks[i].n);
			free(at);
			blocks[i].at = 0;
			return OK;
		}
	state.misuse++;
	return INVALID;
}

CUresult cuInit(unsigned flags) { BEGIN(0) END }
CUresult cuDriverGetVersion(int *v) { BEGIN(0) *v = 13000; END }
CUresult cuDeviceGetCount(int *n) { BEGIN(0) *n = state.devices; END }
CUresult cuDeviceGet(CUdevice *d, int i) { BEGIN(0) *d = 10 + i; END }
CUresult cuDeviceGetName(char *s, int n, CUdevice d) { BEGIN(0) snprintf(s, n, "Fake %d", d - 10); END }
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) { BEGIN(0) *n = state.device_bytes; END }
CUresult cuDeviceGetPCIBusId(char *s, int n, CUdevice d) { BEGIN(0) snprintf(s, n, "0000:%02x:00.0", d); END }

CUresult cuDeviceGetAttribute(int *v, int a, CUdevice d) {
	BEGIN(0)
	switch (a) {
	case 13: *v = 1000000; break;
	case 16: *v = 100; break;
	case 36: *v = 2000000; break;
	case 37: *v = 4096; break;
	case 75: *v = 9; break;
	case 76: *v = 0; break;
	default: state.misuse++; result = INVALID;
	}
	END
}

CUresult cuDevicePrimaryCtxRetain(void **c, CUdevice d) { BEGIN(0) state.contexts++; *c = (void *)(intptr_t)(0x1000 + d); END }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) { BEGIN(0) state.contexts--; END }
CUresult cuCtxSetCurrent(void *c) { BEGIN(0) current = c; END }

CUresult cuMemGetInfo_v2(size_t *f, size_t *t) { BEGIN(1) *t = state.device_bytes; *f = *t - used(0) - in_use; END }
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { BEGIN(1) void *at = 0; result = take(&at, n, 0, state.device_bytes); if (!result) *p = (CUdeviceptr)at; END }

// Freeing waits for copies, as the driver does.
static void settle(void) {
	while (state.in_flight)
		pthread_cond_wait(&changed, &mu);
}

CUresult cuMemFree_v2(CUdeviceptr p) { BEGIN(1) settle(); result = give((void *)p, 0); END }
CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) { BEGIN(1) result = take(p, n, 1, state.pinned_limit); END }
CUresult cuMemFreeHost(void *p) { BEGIN(1) settle(); result = give(p, 1); END }

CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) {
	BEGIN(1)
	if (!inside((void *)d, n, 0)) {
		state.misuse++;
		result = BAD_ADDRESS;
	} else
		memcpy((void *)d, s, n);
	END
}

CUresult cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) {
	BEGIN(1)
	if (!inside((void *)s, n, 0)) {
		state.misuse++;
		result = BAD_ADDRESS;
	} else
		memcpy(d, (void *)s, n);
	END
}

// A stream is a queue of copies and events.
struct work {
	struct work *next;
	void *to, *from;
	size_t n;
	int up;
	struct event *event;
};
struct event {
	int recorded, done; // how often
};
struct stream {
	struct work *first, *last;
	int busy, stop;
	pthread_t thread;
};

static void *serve(void *arg) {
	struct stream *s = arg;
	pthread_mutex_lock(&mu);
	for (;;) {
		while ((!s->first || state.held) && !(s->stop && !s->first))
			pthread_cond_wait(&changed, &mu);
		struct work *w = s->first;
		if (!w)
			break;
		s->first = w->next;
		if (!s->first)
			s->last = 0;
		if (w->event)
			w->event->done++;
		else {
			if (!inside(w->up ? w->to : w->from, w->n, 0) || !inside(w->up ? w->from : w->to, w->n, 1))
				state.misuse++;
			else
				memcpy(w->to, w->from, w->n);
			if (rot && w->n)
				((char *)w->to)[w->n / 2] ^= 1 << w->up;
			state.in_flight--;
		}
		s->busy--;
		free(w);
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mu);
	return 0;
}

static void push(struct stream *s, struct work w) {
	struct work *p = malloc(sizeof w);
	*p = w;
	if (s->last)
		s->last->next = p;
	else
		s->first = p;
	s->last = p;
	s->busy++;
	pthread_cond_broadcast(&changed);
}

CUresult cuStreamCreate(struct stream **s, unsigned flags) {
	BEGIN(1)
	*s = calloc(1, sizeof **s);
	pthread_create(&(*s)->thread, 0, serve, *s);
	state.streams++;
	END
}

CUresult cuStreamSynchronize(struct stream *s) {
	BEGIN(1)
	while (s->busy)
		pthread_cond_wait(&changed, &mu);
	END
}

CUresult cuStreamDestroy_v2(struct stream *s) {
	BEGIN(1)
	s->stop = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mu);
	pthread_join(s->thread, 0);
	pthread_mutex_lock(&mu);
	free(s);
	state.streams--;
	END
}

static void copy(struct stream *s, void *to, void *from, size_t n, int up) {
	if (++state.in_flight > state.most_in_flight)
		state.most_in_flight = state.in_flight;
	push(s, (struct work){.to = to, .from = from, .n = n, .up = up});
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, void *h, size_t n, struct stream *s) { BEGIN(1) copy(s, (void *)d, h, n, 1); END }
CUresult cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, struct stream *s) { BEGIN(1) copy(s, h, (void *)d, n, 0); END }

CUresult cuEventCreate(struct event **e, unsigned flags) { BEGIN(1) *e = calloc(1, sizeof **e); state.events++; END }
CUresult cuEventDestroy_v2(struct event *e) { BEGIN(1) free(e); state.events--; END }
CUresult cuEventRecord(struct event *e, struct stream *s) { BEGIN(1) e->recorded++; push(s, (struct work){.event = e}); END }

CUresult cuEventSynchronize(struct event *e) {
	BEGIN(1)
	int until = e->recorded;
	while (e->done < until)
		pthread_cond_wait(&changed, &mu);
	END
}

int nvmlInit_v2(void) { BEGIN(0) state.inits++; END }
int nvmlShutdown(void) { BEGIN(0) state.inits--; END }
int nvmlSystemGetDriverVersion(char *s, unsigned n) { BEGIN(0) snprintf(s, n, "580.1"); END }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **h) {
	BEGIN(0)
	int n;
	if (sscanf(bus, "0000:%x:00.0", &n) != 1)
		result = INVALID;
	*h = (void *)(intptr_t)n;
	END
}

struct memory { unsigned long long total, free, used; };
struct use { unsigned gpu, memory; };

int nvmlDeviceGetMemoryInfo(void *h, struct memory *m) {
	BEGIN(0)
	m->total = state.device_bytes;
	m->used = used(0) + in_use;
	m->free = m->total - m->used;
	END
}
int nvmlDeviceGetUtilizationRates(void *h, struct use *u) { BEGIN(0) u->gpu = 37, u->memory = 5; END }
int nvmlDeviceGetTemperature(void *h, int sensor, unsigned *t) { BEGIN(0) *t = sensor == 0 ? 55 : 0; END }
int nvmlDeviceGetCurrPcieLinkGeneration(void *h, unsigned *n) { BEGIN(0) *n = 1; END }
int nvmlDeviceGetCurrPcieLinkWidth(void *h, unsigned *n) { BEGIN(0) *n = 8; END }
int nvmlDeviceGetMaxPcieLinkGeneration(void *h, unsigned *n) { BEGIN(0) *n = 5; END }
int nvmlDeviceGetMaxPcieLinkWidth(void *h, unsigned *n) { BEGIN(0) *n = 16; END }

// A program that loads this as its driver says in FAKE_CUDA what it is:
// "devices=1,bytes=1073741824,used=0,broken=cuMemGetInfo_v2".
__attribute__((constructor)) static void configure(void) {
	const char *s = getenv("FAKE_CUDA");
	if (!s)
		return;
	long long devices = DEVICES, bytes = 1 << 30, used = 0;
	sscanf(s, "devices=%lld,bytes=%lld,used=%lld,broken=%63s", &devices, &bytes, &used, broken);
	state.devices = devices, state.device_bytes = bytes, in_use = used;
}

// fake_reset sets everything back. Tests call it when nothing is live.
void fake_reset(void) {
	pthread_mutex_lock(&mu);
	memset(&state, 0, sizeof state);
	state.devices = DEVICES, state.device_bytes = state.pinned_limit = 1 << 30;
	fail_name[0] = rot = 0;
	pthread_mutex_unlock(&mu);
}

void fake_devices(int64_t n) { state.devices = n; }
void fake_limits(int64_t device, int64_t pinned) { state.device_bytes = device, state.pinned_limit = pinned; }

// fake_fail makes the n-th call of a function, "" = of any, return a code.
void fake_fail(const char *name, int64_t n, int64_t code) {
	pthread_mutex_lock(&mu);
	snprintf(fail_name, sizeof fail_name, "%s", name);
	state.fail_at = n, state.fail_code = code;
	pthread_mutex_unlock(&mu);
}

// fake_hold keeps streams from going on.
void fake_hold(int64_t on) {
	pthread_mutex_lock(&mu);
	state.held = on;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mu);
}

// fake_rot makes copies by streams change a byte.
void fake_rot(int64_t on) { rot = on; }

int64_t fake_count(const char *what) {
	pthread_mutex_lock(&mu);
	int64_t n = !strcmp(what, "allocations") ? live(0)
		: !strcmp(what, "pinned") ? live(1)
		: !strcmp(what, "pinned bytes") ? (int64_t)used(1)
		: !strcmp(what, "contexts") ? state.contexts
		: !strcmp(what, "streams") ? state.streams
		: !strcmp(what, "events") ? state.events
		: !strcmp(what, "misuse") ? state.misuse
		: !strcmp(what, "in flight") ? state.in_flight
		: !strcmp(what, "most in flight") ? state.most_in_flight
		: !strcmp(what, "threads") ? state.threads
		: !strcmp(what, "inits") ? state.inits
		: !strcmp(what, "calls") ? state.calls
		: !strcmp(what, "failing") ? state.fail_at
		: -1;
	pthread_mutex_unlock(&mu);
	return n;
}
