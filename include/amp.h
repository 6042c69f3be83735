/* amp.h - the AMP node ABI, major 2: nodes of flow graphs in C.
 *
 * A library exports amp_run_node (v1) and optionally amp_run_node_v2, which adds
 * the execution mode and metrics. Nothing here allocates or calls back on the
 * hot path, and all fields are pointers or of fixed width, so that a host can
 * bind a library without a C compiler (dlopen and dlsym).
 * template.c next to this file is a complete node; docs/c-nodes.md is the manual.
 *
 * Tags of the functions below:
 *   [thread]  who may call it when
 *   [state]   what it may do with *state
 *   [own]     who owns what is passed
 *
 * Order of the arrays (counts come from the descriptor):
 *   forward   inputs   signal inputs, then parameters
 *             outputs  outputs
 *   backward  inputs   gradients of the outputs,
 *                      NEED_X: signal inputs and parameters,
 *                      NEED_Y: outputs,
 *                      NEED_S0: the state before the block, as amp_state_save
 *                      wrote it, dtype AMP_U8
 *             outputs  gradients of the signal inputs, then of the parameters;
 *                      data == NULL: not requested
 * The gradient of an input that the forward call did not use is zero.
 * A parameter gradient has the parameter's own shape, summed over the
 * dimensions that broadcast; with AMP_BUF_ACCUMULATE it is added to the
 * existing values.                                                          */
#ifndef AMP_H
#define AMP_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined(_WIN32)
#  define AMP_EXPORT __declspec(dllexport)
#else
#  define AMP_EXPORT __attribute__((visibility("default")))
#endif

#define AMP_ABI_MAJOR 2u      /* break: fields moved, meaning changed        */
#define AMP_ABI_MINOR 1u      /* growth: fields appended, new enum values    */
                              /* 1: AMP_CAP_EVENTS, desc->reserved[0]        */

/* ---- result codes. <0 error, 0 success. -1..-5 keep the historic numbers. */
enum {
    AMP_E_SUCCESS      =   0,
    AMP_E_FAIL         =  -1,  /* unspecified                                 */
    AMP_E_SHAPE        =  -2,  /* tensor or parameter shape mismatch          */
    AMP_E_UNKNOWN_NODE =  -3,  /* desc->type is not in this library           */
    AMP_E_UNSUPPORTED  =  -4,  /* mode/feature absent (no adjoint)            */
    AMP_E_PENDING      =  -5,  /* consumed input, no output this call         */
    AMP_E_INVALID_ARG  =  -6,  /* unknown mode, NULL pointer, bad count       */
    AMP_E_NO_MEMORY    =  -7,
    AMP_E_NUMERIC      =  -8,  /* node detected NaN/Inf                       */
    AMP_E_STATE        =  -9,  /* state blob rejected                         */
    AMP_E_VERSION      = -10,  /* struct_size / ABI major not understood      */
    AMP_E_END          = -11,  /* source exhausted; outputs[].frames is final */
    /* -64 and below are produced by the host only, never by a node */
    AMP_E_CRASHED      = -64,
    AMP_E_TIMEOUT      = -65,
    AMP_E_DEADLOCK     = -66,
    AMP_E_PLAN         = -67
};

typedef enum {
    AMP_FORWARD  = 0,
    AMP_BACKWARD = 1
} amp_execution_mode_t;

typedef struct {
    uint32_t measured_delay_frames;
    float    accumulated_heat;
    float    reserved[6];
} amp_node_metrics_t;

typedef struct amp_state_t amp_state_t;          /* opaque, owned by library */

enum { AMP_F32 = 0, AMP_F64 = 1, AMP_F16 = 2, AMP_BF16 = 3, AMP_F8E4M3 = 4,
       AMP_I32 = 8, AMP_U8 = 9 };

/* amp_buffer_t.role */
enum { AMP_ROLE_SIGNAL = 0, AMP_ROLE_PARAM = 1, AMP_ROLE_GRAD = 2,
       AMP_ROLE_PRIMAL_IN = 3, AMP_ROLE_PRIMAL_OUT = 4, AMP_ROLE_STATE0 = 5 };

/* amp_buffer_t.flags */
enum { AMP_BUF_ABSENT      = 1u << 0,  /* port unconnected: data may be NULL */
       AMP_BUF_CONST       = 1u << 1,  /* value constant over the block      */
       AMP_BUF_SILENT      = 1u << 2,  /* all zero                           */
       AMP_BUF_SWEEP_BEGIN = 1u << 3,  /* first call of a sweep in this mode */
       AMP_BUF_FINAL       = 1u << 4,  /* last block of the stream           */
       AMP_BUF_ACCUMULATE  = 1u << 5 };/* backward output: += not =          */

/* (batch, channel, frame), row major: element (b,c,f) is
 * data[b*stride_b + c*stride_c + f]. Unless the node declares AMP_CAP_STRIDED
 * the host guarantees stride_c == frames and stride_b == channels*frames.
 * A dimension of size 1 broadcasts (parameters).                            */
typedef struct {
    void*    data;
    uint32_t batches, channels, frames;
    uint32_t dtype;
    int64_t  stride_b, stride_c;         /* elements                         */
    int64_t  frame0;                     /* absolute index of frame 0        */
    uint32_t role, flags;
    uint32_t rate_num, rate_den;         /* port rate / base rate            */
} amp_buffer_t;

/* capability bits: what the node can do */
enum { AMP_CAP_V2          = 1u << 0,
       AMP_CAP_BACKWARD    = 1u << 1,
       AMP_CAP_STRIDED     = 1u << 2,
       AMP_CAP_INPLACE     = 1u << 3,  /* output may alias input 0           */
       AMP_CAP_STATELESS   = 1u << 4,
       AMP_CAP_LINEAR      = 1u << 5,  /* linear in signal inputs            */
       AMP_CAP_TIMEINV     = 1u << 6,  /* LTI for constant params            */
       AMP_CAP_F64         = 1u << 7,
       AMP_CAP_RT_SAFE     = 1u << 8,  /* no locks/alloc/syscalls            */
       AMP_CAP_BATCH_FUSE  = 1u << 9,  /* rows independent: may stack nodes  */
       AMP_CAP_SNAPSHOT    = 1u << 10, /* amp_state_save/load work           */
       AMP_CAP_NEED_X      = 1u << 11, /* backward reads primal inputs       */
       AMP_CAP_NEED_Y      = 1u << 12, /* backward reads primal outputs      */
       AMP_CAP_NEED_S0     = 1u << 13, /* backward reads state at block start*/
       AMP_CAP_EVENTS      = 1u << 14 };/* takes notes: amp_node_events       */

typedef struct amp_host_t amp_host_t;
struct amp_host_t {
    uint32_t struct_size, abi_major, abi_minor, flags;
    void*    ctx;
    void*  (*alloc)(void* ctx, uint64_t bytes, uint32_t align);  /* not RT   */
    void   (*free)(void* ctx, void* p);
    void   (*log)(void* ctx, int level, const char* msg);        /* wait-free*/
};

typedef struct {
    uint32_t struct_size;          /* bytes the host filled                  */
    uint32_t descriptor_version;   /* 1 or 2                                 */
    const char* name;        uint64_t name_len;
    const char* type;        uint64_t type_len;
    const char* params_json; uint64_t params_len;
    uint32_t input_count;          /* signal inputs                          */
    uint32_t param_count;          /* parameter inputs, after signal inputs  */
    uint32_t output_count;
    uint32_t oversample_ratio;     /* power of two, >= 1                     */
    uint32_t declared_delay;       /* frames                                 */
    uint32_t flags;                /* bit0 supports_v2, bit1 training        */
    uint32_t max_frames;           /* largest frames any call will carry     */
    uint32_t dtype;                /* AMP_F32 or AMP_F64                     */
    double   sample_rate;          /* base rate, Hz                          */
    const amp_host_t* host;
    const void* reserved[4];       /* extensions; NULL: absent               */
} amp_node_descriptor_t;

/* ---- extension 0: notes and controllers, for nodes with AMP_CAP_EVENTS.
 * Hosts before minor version 1 leave it NULL, and so does every host for a node
 * without the capability: a node must play on without events.              */
enum { AMP_EVENT_NOTE_ON = 1,      /* key, value: velocity above 0           */
       AMP_EVENT_NOTE_OFF = 2,     /* key, value: velocity of the release    */
       AMP_EVENT_KEY_PRESSURE = 3, /* key, value                             */
       AMP_EVENT_CONTROLLER = 4,   /* key: number, value: position           */
       AMP_EVENT_PROGRAM = 5,      /* key: number                            */
       AMP_EVENT_PRESSURE = 6,     /* value, of the whole channel            */
       AMP_EVENT_BEND = 7 };       /* value, -1 to 1                         */
/* Kinds above these belong to later versions: ignore them.                  */

typedef struct {
    uint32_t offset;               /* frames after the first of the call     */
    uint8_t  kind, channel, key;   /* above; 0 to 15; 0 to 127, 69 is A4     */
    uint8_t  reserved;
    float    value;                /* 0 to 1, or as the kind says            */
    float    tune;                 /* semitones added to the note            */
} amp_event_t;                     /* 16 bytes; event_size says if it grows  */

typedef struct {
    uint32_t struct_size;          /* bytes the host filled                  */
    uint32_t version;              /* 1                                      */
    uint32_t count;                /* events of this call, by offset         */
    uint32_t event_size;           /* bytes from one event to the next       */
    const amp_event_t* events;     /* valid until the call returns           */
} amp_events_t;

/* The events of the call that runs, or NULL if the host has none to give. In a
 * backward call they are those of the forward call.                         */
static inline const amp_events_t* amp_node_events(const amp_node_descriptor_t* desc) {
    const amp_events_t* e = 0;
    if (desc->struct_size >= offsetof(amp_node_descriptor_t, reserved) + sizeof desc->reserved[0])
        e = (const amp_events_t*)desc->reserved[0];
    return e && e->struct_size >= sizeof *e && e->version >= 1 ? e : 0;
}

typedef struct {
    uint32_t struct_size;
    uint32_t caps;
    const char* type;
    uint32_t inputs, params, outputs;
    uint32_t oversample_ratio, declared_delay;
    uint32_t jacobian;             /* enum below                             */
    const char* const* param_names;
    const char* const* port_names; /* inputs then outputs                    */
} amp_node_info_t;

enum { AMP_JAC_DENSE = 0, AMP_JAC_ZERO = 1, AMP_JAC_IDENTITY = 2,
       AMP_JAC_DIAGONAL = 3,      /* y[n] depends on x[n] only               */
       AMP_JAC_TOEPLITZ_CAUSAL=4, /* LTI                                     */
       AMP_JAC_BANDED = 5,        /* finite memory                           */
       AMP_JAC_BLOCK = 6,         /* frame-synchronous transform (FFT, mel)  */
       AMP_JAC_SCALAR = 7 };      /* one common factor                       */

typedef struct {
    uint32_t struct_size, abi_major, abi_minor, node_count;
    const char* vendor; const char* version;
    const amp_node_info_t* nodes;
} amp_library_info_t;

/* ---- entry points ------------------------------------------------------- */

/* [thread] one call at a time per state, on any thread.
 * [state]  created by the node if *state is NULL, and replaced by writing
 *          *state: the host then releases the old one, once. One state serves
 *          both modes; a backward sweep must not change the forward part.
 * [own]    all arrays and what they point to belong to the host and are valid
 *          until the call returns. A node may write outputs[i].data[...] and
 *          lower outputs[i].frames, nothing else.
 * v1: forward only.                                                         */
AMP_EXPORT int amp_run_node(const amp_node_descriptor_t* desc, amp_state_t** state,
                 const amp_buffer_t* inputs, amp_buffer_t* outputs);
/* v2: the same with a mode, and metrics, which may be NULL. For an unknown mode
 * return AMP_E_INVALID_ARG without side effects. A node that changes MXCSR or
 * FPCR must restore it. The host clears *metrics before the call.           */
AMP_EXPORT int amp_run_node_v2(const amp_node_descriptor_t* desc, amp_state_t** state,
                 const amp_buffer_t* inputs, amp_buffer_t* outputs,
                 amp_execution_mode_t mode, amp_node_metrics_t* metrics);
/* [thread] any, while no call uses the state. [own] the library frees it.    */
AMP_EXPORT void amp_release_state(amp_state_t* state);
/* optional */
/* [thread] any. [own] the result belongs to the library and is never freed.  */
AMP_EXPORT const amp_library_info_t* amp_library_info(const amp_host_t* host);
/* Saves the forward part of the state: returns its size in bytes and, if cap
 * suffices, writes it. A negative result is a code. s may be NULL.
 * [thread] as the calls. [own] dst belongs to the host, cap bytes.           */
AMP_EXPORT int64_t amp_state_save(const amp_node_descriptor_t* desc, const amp_state_t* s, void* dst, uint64_t cap);
/* Restores a saved state to the bit; *s may be NULL. AMP_E_STATE rejects it.  */
AMP_EXPORT int     amp_state_load(const amp_node_descriptor_t* desc, amp_state_t** s, const void* src, uint64_t len);

#ifdef __cplusplus
}
#endif
#endif
